package xplane_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/pftrace"
	"github.com/llmstrata/strata/trace/xplane"
)

// fields are the fields of a message in its raw bytes.
func fields(t *testing.T, b []byte, f func(n protowire.Number, v uint64, text []byte)) {
	t.Helper()
	for len(b) > 0 {
		n, typ, k := protowire.ConsumeTag(b)
		if k < 0 {
			t.Fatal("not a message")
		}
		b = b[k:]
		var v uint64
		var text []byte
		if k = protowire.ConsumeFieldValue(n, typ, b); k < 0 {
			t.Fatal("not a field")
		}
		switch typ {
		case protowire.VarintType:
			v, _ = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			text, _ = protowire.ConsumeBytes(b)
		}
		f(n, v, text)
		b = b[k:]
	}
}

// TestFileEqualsItsRawSums: events and picoseconds of each GPU of a real recording are those of its file.
func TestFileEqualsItsRawSums(t *testing.T) {
	path := testdata.Shared(t, "traces/other/jax-conv-mi300.xplane.pb")
	count, picos := map[string]int{}, map[string]uint64{}
	fields(t, testdata.ReadFile(t, path), func(n protowire.Number, _ uint64, plane []byte) {
		name := ""
		if n != 1 {
			return
		}
		fields(t, plane, func(n protowire.Number, _ uint64, x []byte) {
			switch {
			case n == 2:
				name = string(x)
			case n == 3 && strings.HasPrefix(name, "/device:GPU:"):
				fields(t, x, func(n protowire.Number, _ uint64, e []byte) {
					if n == 4 {
						count[name]++
						fields(t, e, func(n protowire.Number, v uint64, _ []byte) {
							if n == 3 {
								picos[name] += v
							}
						})
					}
				})
			}
		})
	})
	tr, err := trace.Open(t.Context(), path, trace.Options{Formats: []trace.Format{xplane.Format(), pftrace.Format()}})
	if err != nil {
		t.Fatal(err)
	}
	gotCount, got := map[string]int{}, map[string]uint64{}
	linked, ops := 0, 0
	for e := range tr.Events(event.LaneGPU) {
		name := fmt.Sprintf("/device:GPU:%d", e.Device())
		gotCount[name]++
		got[name] += 1000 * uint64(e.Duration())
		if e.Launch().Valid() {
			linked++
		}
		if strings.HasSuffix(e.Name(), ".kd") {
			t.Errorf("%s keeps its ending", e.Name())
		}
	}
	if fmt.Sprint(gotCount) != fmt.Sprint(count) || fmt.Sprint(got) != fmt.Sprint(picos) || len(count) != 8 {
		t.Errorf("%v, %v; want %v, %v", gotCount, got, count, picos)
	}
	if linked != 232 { // of 235, three have the id of a call that waits
		t.Errorf("%d activities are linked", linked)
	}
	modules := 0
	for e := range tr.Events(event.LaneAnnotation) {
		if e.Kind() == event.GPUAnnotation {
			modules++
		}
	}
	kept, err := trace.Open(t.Context(), path, trace.Options{Formats: []trace.Format{xplane.Format()},
		Args: []event.Kind{event.Kernel}})
	if err != nil {
		t.Fatal(err)
	}
	for e := range kept.Events(event.LaneGPU) {
		var args struct {
			Op     string `json:"hlo_op"`
			Module string `json:"hlo_module"`
		}
		if raw := e.Data().Args; len(raw) > 0 && json.Unmarshal(raw, &args) == nil && args.Op != "" &&
			args.Module != "" {
			ops++
		}
	}
	if modules == 0 || ops != 198 {
		t.Errorf("%d stretches of modules, %d operations", modules, ops)
	}
	if m := tr.Meta(); m.Source != trace.SourceXLA || m.BaseTime != 1771595639214724894 || len(m.Devices) != 8 {
		t.Errorf("%+v", m)
	}
}

// TestPerfettoIsNotTaken: the two formats begin alike.
func TestPerfettoIsNotTaken(t *testing.T) {
	m := xplane.Format().Match
	packet := func(body ...byte) []byte { return append([]byte{0x0a, byte(len(body))}, body...) }
	for name, c := range map[string]struct {
		head []byte
		want bool
	}{
		"plane without a number": {packet(append([]byte{0x12, 9}, "/host:CPU"...)...), true},
		"plane with a number":    {packet(append([]byte{0x08, 1, 0x12, 9}, "/host:CPU"...)...), true},
		"packet with a time":     {packet(0x40, 1), false},
		"packet of a sequence":   {packet(0x50, 1), false},
		"process tree":           {packet(0x12, 4, 0x0a, 2, 0x08, 1), false},
		"text":                   {[]byte("\nabc"), false},
		"empty":                  {nil, false},
	} {
		if got := m(c.head); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestCutFile: wherever it ends, nothing panics, and health says that something is missing.
func TestCutFile(t *testing.T) {
	text := testdata.ReadFile(t, testdata.Shared(t, "traces/other/jax-conv-mi300.xplane.pb"))
	for n := 100; n < len(text); n += len(text) / 50 {
		tr, err := trace.Read(t.Context(), bytes.NewReader(text[:n]),
			trace.Options{Formats: []trace.Format{xplane.Format()}})
		if err == nil && tr.Health().Status == trace.HealthOK {
			t.Errorf("cut at %d: health is ok", n)
		}
	}
}

func FuzzRead(f *testing.F) {
	line := append([]byte{0x08, 7, 0x12, 1, 'S'}, 0x22, 6, 0x08, 1, 0x10, 8, 0x18, 9)
	plane := append(append([]byte{0x12, 13}, "/device:GPU:0"...), append([]byte{0x1a, byte(len(line))}, line...)...)
	plane = append(plane, 0x22, 7, 0x08, 1, 0x12, 3, 0x12, 1, 'k')
	f.Add(append([]byte{0x0a, byte(len(plane))}, plane...))
	f.Fuzz(func(t *testing.T, text []byte) {
		tr, err := trace.Read(t.Context(), bytes.NewReader(text),
			trace.Options{Formats: []trace.Format{xplane.Format()}})
		if err == nil && tr.Health().Status == "" {
			t.Error("no health")
		}
	})
}
