package pftrace_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// An encoder writes a Kineto document as PyTorch's monitor writes it: names interned once, all begins of a category, then all ends. GPU
// activities are slices, or render stages.
type encoder struct {
	stages  bool
	out     []byte // packets
	names   map[string]uint64
	order   []string
	tracks  map[[2]int64]uint64
	kernels map[string]uint64
}

type kinetoEvent struct {
	Ph   string         `json:"ph"`
	Cat  string         `json:"cat"`
	Name string         `json:"name"`
	PID  any            `json:"pid"`
	TID  any            `json:"tid"`
	TS   json.Number    `json:"ts"`
	Dur  json.Number    `json:"dur"`
	Args map[string]any `json:"args"`
}

func msg(dst []byte, id protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, id, protowire.BytesType), m)
}

func num(dst []byte, id protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, id, protowire.VarintType), v)
}

func str(dst []byte, id protowire.Number, s string) []byte { return msg(dst, id, []byte(s)) }

// nanos reads microseconds with three decimals.
func nanos(t testing.TB, n json.Number) uint64 {
	t.Helper()
	whole, part, _ := strings.Cut(string(n), ".")
	v, err := strconv.ParseInt(whole+(part + "000")[:3], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(v)
}

func (e *encoder) name(s string) uint64 {
	id, ok := e.names[s]
	if !ok {
		id = uint64(len(e.names) + 1)
		e.names[s] = id
		e.order = append(e.order, s)
	}
	return id
}

func (e *encoder) track(pid, tid int64) uint64 {
	k := [2]int64{pid, tid}
	id, ok := e.tracks[k]
	if !ok {
		id = uint64(len(e.tracks) + 1)
		e.tracks[k] = id
		d := num(nil, 1, id)
		d = msg(d, 4, num(num(nil, 1, uint64(pid)), 2, uint64(tid)))
		e.out = msg(e.out, 1, msg(nil, 60, d))
	}
	return id
}

func whole(v any) int64 {
	switch x := v.(type) {
	case json.Number:
		n, _ := strconv.ParseInt(string(x), 10, 64)
		return n
	case string:
		n, _ := strconv.ParseInt(x, 10, 64)
		return n
	}
	return 0
}

// annotation is one debug annotation.
func annotation(name string, v any) []byte {
	m := str(nil, 10, name)
	switch x := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(x), 10, 64); err == nil {
			m = num(m, 4, uint64(n))
		}
	case string:
		m = str(m, 6, x)
	case []any:
		for _, y := range x {
			m = msg(m, 12, num(nil, 4, uint64(whole(y))))
		}
	}
	return m
}

var stageOf = map[string]uint64{"kernel": 1, "gpu_memcpy": 2, "gpu_memset": 3, "gpu_user_annotation": 4}

// encode writes the document; it returns the packets one by one.
func encode(t testing.TB, doc []byte, stages bool) [][]byte {
	t.Helper()
	var d struct {
		TraceEvents []kinetoEvent
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	if err := dec.Decode(&d); err != nil {
		t.Fatal(err)
	}
	e := &encoder{stages: stages, names: map[string]uint64{}, tracks: map[[2]int64]uint64{}, kernels: map[string]uint64{}}
	type slice struct {
		begin, end []byte
	}
	groups := map[string][]slice{}
	var cats []string
	var render [][]byte
	for _, ev := range d.TraceEvents {
		if ev.Ph != "X" || ev.Cat == "Trace" || ev.Cat == "" {
			continue
		}
		ts, dur := nanos(t, ev.TS), nanos(t, ev.Dur)
		if stage, ok := stageOf[ev.Cat]; ok && stages {
			render = append(render, packet(ts, msg(nil, 53, e.renderStage(ev, stage, dur))))
			continue
		}
		pid, tid := whole(ev.PID), whole(ev.TID)
		id := e.track(pid, tid)
		begin := num(num(num(nil, 9, 1), 11, id), 10, e.name(ev.Name))
		for name, v := range ev.Args {
			begin = msg(begin, 4, annotation(name, v))
		}
		if _, ok := groups[ev.Cat]; !ok {
			cats = append(cats, ev.Cat)
		}
		groups[ev.Cat] = append(groups[ev.Cat], slice{packet(ts, msg(nil, 11, begin)), packet(ts+dur, msg(nil, 11, num(num(nil, 9, 2), 11, id)))})
	}
	out := [][]byte{e.out, e.interned()}
	for _, c := range cats {
		for _, s := range groups[c] {
			out = append(out, s.begin)
		}
		for _, s := range groups[c] {
			out = append(out, s.end)
		}
	}
	return append(out, render...)
}

func packet(ts uint64, body []byte) []byte {
	return msg(nil, 1, append(num(num(num(nil, 8, ts), 10, 1), 13, 2), body...))
}

func (e *encoder) renderStage(ev kinetoEvent, stage, dur uint64) []byte {
	b := num(num(num(nil, 1, uint64(whole(ev.Args["correlation"]))), 2, dur), 14, stage)
	if stage == 1 || stage == 4 {
		b = num(b, 20, e.name(ev.Name))
	}
	if grid, ok := ev.Args["grid"].([]any); ok {
		dim := func(x []any) (m []byte) {
			for i, v := range x {
				m = num(m, protowire.Number(i+1), uint64(whole(v)))
			}
			return m
		}
		launch := msg(nil, 1, dim(grid))
		if block, ok := ev.Args["block"].([]any); ok {
			launch = msg(launch, 2, dim(block))
		}
		b = msg(b, 21, launch)
	}
	for _, k := range []string{"device", "stream", "correlation", "graph id", "graph node id", "bytes"} {
		if v, ok := ev.Args[k]; ok {
			name := map[string]string{"device": "device id", "stream": "stream id"}[k]
			if name == "" {
				name = k
			}
			b = msg(b, 6, str(str(nil, 1, name), 2, strconv.FormatInt(whole(v), 10)))
		}
	}
	return b
}

func (e *encoder) interned() []byte {
	var in []byte
	for _, s := range e.order {
		in = msg(in, 2, str(num(nil, 1, e.names[s]), 2, s))
	}
	for name, id := range map[string]uint64{"Kernel": 1, "Memcpy": 2, "Memset": 3, "Annotation": 4} {
		in = msg(in, 24, str(num(nil, 1, id), 2, name))
	}
	return msg(nil, 1, append(num(num(nil, 10, 1), 13, 1), msg(nil, 12, in)...))
}

// plain decompresses a gzip file.
func plain(t testing.TB, packed []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
