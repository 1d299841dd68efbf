package pftrace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen/pftracegen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/internal/wire"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/pftrace"
)

// document is the demo as JSON.
func document(t testing.TB) []byte {
	t.Helper()
	packed, err := os.ReadFile("../../internal/demo/demo.trace.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	return testdata.Unpacked(t, packed)
}

func read(t testing.TB, data []byte) *trace.Trace {
	t.Helper()
	tr, err := pftrace.Read(context.Background(), bytes.NewReader(data), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// events are all events of a trace.
func events(tr *trace.Trace) iter.Seq[trace.Event] {
	return func(yield func(trace.Event) bool) {
		for i := range tr.Len() {
			if !yield(tr.At(trace.EventID(i))) {
				return
			}
		}
	}
}

// lines describes each event of a trace by what both formats carry, sorted.
func lines(tr *trace.Trace, copies bool) []string {
	var out []string
	for e := range events(tr) {
		if e.Kind() == event.Other {
			continue // Kineto's row for the profiler itself
		}
		name := e.Name()
		if k := e.Kind(); copies && (k == event.Memcpy || k == event.Memset) {
			name = "copy" // render stages have no name for it
		}
		s := fmt.Sprintf("%v %s %d+%d corr %d", e.Kind(), name, tr.Raw(e.Start())+tr.Meta().BaseTime, e.Duration(),
			e.Data().Correlation)
		if e.Kind().Lane() == event.LaneGPU {
			s += fmt.Sprintf(" dev %d stream %d", e.Device(), e.Stream())
			s += " " + e.Shape()
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

var forms = []pftracegen.Form{pftracegen.Slices, pftracegen.Stages, pftracegen.Categories}

func encode(t testing.TB, doc []byte, form pftracegen.Form) [][]byte {
	t.Helper()
	packets, err := pftracegen.Encode(doc, form)
	if err != nil {
		t.Fatal(err)
	}
	return packets
}

// All forms give the events that the JSON gives.
func TestSameAsJSON(t *testing.T) {
	doc := document(t)
	want, err := trace.Read(context.Background(), bytes.NewReader(doc), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range forms {
		t.Run(form.String(), func(t *testing.T) {
			got := read(t, bytes.Join(encode(t, doc, form), nil))
			if diff := cmp.Diff(lines(want, form != pftracegen.Slices),
				lines(got, form != pftracegen.Slices)); diff != "" {
				t.Errorf("(-json +pftrace)\n%.4000s", diff)
			}
			if h := got.Health(); h.Status != want.Health().Status {
				t.Errorf("health %s, want %s: %v", h.Status, want.Health().Status, h.Findings)
			}
		})
	}
}

// Slices that overlap without nesting keep their own ends: a stack would exchange them.
func TestOverlappingSlices(t *testing.T) {
	doc := `{"traceEvents":[
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":10,"dur":10,"args":{"device":0,"stream":7,"correlation":1,"grid":[1,1,1],"block":[1,1,1]}},
{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":15,"dur":20,"args":{"device":0,"stream":7,"correlation":2,"grid":[1,1,1],"block":[1,1,1]}},
{"ph":"X","cat":"kernel","name":"c","pid":0,"tid":7,"ts":16,"dur":2,"args":{"device":0,"stream":7,"correlation":3,"grid":[1,1,1],"block":[1,1,1]}}]}`
	tr := read(t, bytes.Join(encode(t, []byte(doc), pftracegen.Slices), nil))
	got := map[string]string{}
	for e := range events(tr) {
		got[e.Name()] = fmt.Sprint(e.Duration())
	}
	if diff := cmp.Diff(map[string]string{"a": "10µs", "b": "20µs", "c": "2µs"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A writer that writes as time goes on ends the slice that began last.
func TestNestedSlicesInOrderOfTime(t *testing.T) {
	event := func(ts uint64, typ uint64, name string) []byte {
		m := wire.Num(wire.Num(nil, 9, typ), 11, 1)
		if name != "" {
			m = wire.Msg(wire.Str(m, 23, name), 4,
				wire.Num(wire.Str(nil, 10, "External id"), 4, 1))
		}
		return pftracegen.Packet(ts, wire.Msg(nil, 11, m))
	}
	data := bytes.Join([][]byte{
		wire.Msg(nil, 1, wire.Msg(nil, 60,
			wire.Msg(wire.Num(nil, 1, 1), 4, wire.Num(wire.Num(nil, 1, 5), 2, 6)))),
		event(1000, 1, "outer"), event(2000, 1, "inner"), event(3000, 2, ""), event(9000, 2, ""),
	}, nil)
	got := map[string]string{}
	for e := range events(read(t, data)) {
		got[e.Name()] = fmt.Sprint(e.Duration())
	}
	if diff := cmp.Diff(map[string]string{"outer": "8µs", "inner": "1µs"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Cut off at any packet or byte, every whole event is kept and the loss is counted.
func TestTruncated(t *testing.T) {
	testdata.ManyInputs(t)
	packets := encode(t, document(t), pftracegen.Stages)
	whole := bytes.Join(packets, nil)
	all := len(lines(read(t, whole), true))
	r := rand.New(rand.NewPCG(1, 2))
	cuts := map[int]bool{}
	at, borders := 0, map[int]bool{}
	every := 17
	if !testdata.Long() {
		every = 67
	}
	for i, p := range packets {
		at += len(p)
		borders[at] = true
		if i > 2 && i%every == 0 && at < len(whole) {
			cuts[at] = true
		}
	}
	random := 200
	if !testdata.Long() {
		random = 50
	}
	for range random {
		cuts[len(packets[0])+len(packets[1])+r.IntN(len(whole)-len(packets[0])-len(packets[1]))] = true
	}
	for n := range cuts {
		tr, err := pftrace.Read(context.Background(), bytes.NewReader(whole[:n]), trace.Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		got := len(lines(tr, true))
		if got > all {
			t.Errorf("cut at %d: %d events of %d", n, got, all)
		}
		if lost := losses(tr); !borders[n] && lost == 0 {
			t.Errorf("cut at %d, inside a packet: nothing is said to be lost", n)
		}
		if want := complete(packets, n); got != want {
			t.Errorf("cut at %d: %d events, %d are whole", n, got, want)
		}
	}
}

// complete counts the slices and stages whose packets lie before n.
func complete(packets [][]byte, n int) int {
	at, events := 0, 0
	for i, p := range packets {
		if at += len(p); at > n {
			break
		}
		if i < 2 {
			continue
		}
		if bytes.Contains(p[:min(len(p), 24)], []byte{0x48, 2}) || !isTrackEvent(p) {
			events++
		}
	}
	return events
}

// isTrackEvent reports whether a packet holds field 11.
func isTrackEvent(p []byte) bool { return bytes.Contains(p[:min(len(p), 24)], []byte{0x5a}) }

func losses(tr *trace.Trace) int64 {
	var n int64
	for _, l := range tr.Health().Losses {
		n += l.Count
	}
	return n
}

func TestRefused(t *testing.T) {
	for name, data := range map[string]string{"empty": "", "JSON": `{"traceEvents":[]}`, "text": "hello",
		"another message": "\x12\x03abc"} {
		_, err := pftrace.Read(context.Background(), strings.NewReader(data), trace.Options{})
		if !errors.Is(err, trace.ErrFormat) {
			t.Errorf("%s: %v, want it refused as no trace", name, err)
		}
		if pftrace.Format().Match([]byte(data)) {
			t.Errorf("%s matches", name)
		}
	}
	if !pftrace.Format().Match(bytes.Join(encode(t, document(t), pftracegen.Slices), nil)[:64]) {
		t.Error("a trace does not match")
	}
	// A packet that claims to be larger than allowed is passed over.
	big := wire.Msg(nil, 1, wire.Msg(nil, 11, bytes.Repeat([]byte{0}, 5000)))
	data := append(append(bytes.Clone(bytes.Join(encode(t, document(t), pftracegen.Stages), nil)), big...), big...)
	tr, err := pftrace.Read(context.Background(), bytes.NewReader(data),
		trace.Options{Limits: trace.Limits{EventBytes: 4000}})
	if err == nil && losses(tr) == 0 {
		t.Error("nothing is said of the packets that were passed over")
	}
	_, err = pftrace.Read(context.Background(), bytes.NewReader(data), trace.Options{Limits: trace.Limits{Events: 10}})
	if !errors.Is(err, trace.ErrLimit) {
		t.Errorf("above the limit of events: %v", err)
	}
}

// Bombs are refused before they fill the memory: too many events, too many for the budget, too much once decompressed.
func TestBombs(t *testing.T) {
	data := bytes.Join(encode(t, document(t), pftracegen.Categories), nil)
	n := int64(read(t, data).Len())
	var zeros bytes.Buffer
	z := gzip.NewWriter(&zeros)
	first := pftracegen.Packet(1, wire.Msg(nil, 11, wire.Num(nil, 9, 1)))
	if _, err := z.Write(append(first, bytes.Repeat([]byte{0x0a, 0x02, 0x40, 0x01}, 1<<20)...)); err != nil ||
		z.Close() != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		o    trace.Options
		want error
	}{
		"as many events as allowed": {data, trace.Options{Limits: trace.Limits{Events: n}}, nil},
		"one more":                  {data, trace.Options{Limits: trace.Limits{Events: n - 1}}, trace.ErrLimit},
		"a budget that suffices":    {data, trace.Options{MemoryBudget: 64 << 20}, nil},
		"one that does not":         {data, trace.Options{MemoryBudget: 64 << 10}, trace.ErrLimit},
		"more behind compression": {zeros.Bytes(), trace.Options{Limits: trace.Limits{InputBytes: 1 << 20}},
			trace.ErrLimit},
	} {
		c.o.Formats = []trace.Format{pftrace.Format()}
		if _, err := trace.Read(context.Background(), bytes.NewReader(c.data), c.o); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	doc := []byte(`{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":5,"tid":6,"ts":1,"dur":9,"args":{"External id":1}},
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":10,"dur":10,"args":{"device":0,"stream":7,"correlation":1,"grid":[1,1,1],"block":[1,1,1]}}]}`)
	f.Add(bytes.Join(encode(f, doc, pftracegen.Slices), nil))
	f.Add(bytes.Join(encode(f, doc, pftracegen.Stages), nil))
	f.Add(bytes.Join(encode(f, doc, pftracegen.Categories), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := pftrace.Read(context.Background(), bytes.NewReader(data), trace.Options{})
		if err != nil {
			return
		}
		for e := range events(tr) {
			if e.Duration() < 0 {
				t.Errorf("%s takes %v", e.Name(), e.Duration())
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	doc := document(b)
	data := bytes.Join(encode(b, doc, pftracegen.Stages), nil)
	n := len(lines(read(b, data), true))
	b.Run("form=pftrace", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			read(b, data)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
	})
	b.Run("form=json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := trace.Read(context.Background(), bytes.NewReader(doc), trace.Options{}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
	})
}

// Counters are read where they are described once and referred to, in the event itself, and on tracks of their own.
func TestCounters(t *testing.T) {
	spec := func(id uint64, name string) []byte { return wire.Str(wire.Num(nil, 1, id), 2, name) }
	value := func(id uint64, v float64) []byte { return wire.Double(wire.Num(nil, 1, id), 3, v) }
	described := wire.Msg(wire.Msg(nil, 1, spec(0, "SM Clock (MHz)")), 1, spec(1, "Power (W)"))
	data := bytes.Join([][]byte{
		pftracegen.Packet(0, wire.Msg(nil, 12,
			wire.Msg(nil, 47, wire.Num(wire.Msg(wire.Num(nil, 1, 1), 2, described), 3, 1)))),
		pftracegen.Packet(20, wire.Msg(nil, 52, wire.Msg(wire.Num(nil, 4, 1), 2, value(0, 1980)))),
		pftracegen.Packet(30, wire.Msg(nil, 52, wire.Msg(wire.Num(nil, 4, 1), 2, value(1, 650.5)))),
		pftracegen.Packet(35, wire.Msg(nil, 52,
			wire.Msg(wire.Num(nil, 4, 1), 2, wire.Num(wire.Num(nil, 1, 1), 2, 600)))),
		// never described
		pftracegen.Packet(36, wire.Msg(nil, 52, wire.Msg(wire.Num(nil, 4, 9), 2, value(1, 1)))),
		pftracegen.Packet(40, wire.Msg(nil, 52,
			wire.Num(wire.Msg(wire.Msg(nil, 2, value(7, 55)), 1,
				wire.Msg(nil, 1, spec(7, "Temperature (C)"))), 3, 2))),
		wire.Msg(nil, 1, wire.Msg(nil, 60,
			wire.Msg(wire.Num(nil, 1, 5), 3,
				wire.Str(wire.Num(nil, 1, 3), 6, "GPU 3 Counters")))),
		wire.Msg(nil, 1, wire.Msg(nil, 60,
			wire.Str(wire.Num(wire.Num(nil, 1, 6), 5, 5), 2, "HBM BW (%)"))),
		pftracegen.Packet(50, wire.Msg(nil, 11,
			wire.Double(wire.Num(wire.Num(nil, 9, 4), 11, 6), 44, 71.5))),
		pftracegen.Packet(60, wire.Msg(nil, 11,
			wire.Num(wire.Num(wire.Num(nil, 9, 4), 11, 6), 30, 72))),
	}, nil)
	tr := read(t, data)
	var got []string
	for e := range tr.Events(event.LaneCounter) {
		got = append(got, fmt.Sprint(tr.Raw(e.Start()), " ", e.Device(), " ", e.Name(), " ", e.Data().Value))
	}
	if diff := cmp.Diff([]string{"20 1 SM Clock (MHz) 1980", "30 1 Power (W) 650.5", "35 1 Power (W) 600",
		"40 2 Temperature (C) 55",
		"50 3 HBM BW (%) 71.5", "60 3 HBM BW (%) 72"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if losses := tr.Health().Losses; len(losses) != 1 || losses[0].Count != 1 {
		t.Errorf("losses %v, want the sample that was not described", losses)
	}
}

// The form with categories has kinds by them; queues are named with their stream in brackets, and events are
// numbered for themselves.
func TestCategoriesForm(t *testing.T) {
	name := func(id uint64, s string) []byte { return wire.Str(wire.Num(nil, 1, id), 2, s) }
	interned := wire.Msg(wire.Msg(nil, 2, name(1, "odd op")), 1, name(1, "cpu_op"))
	interned = wire.Msg(wire.Msg(wire.Msg(interned, 24, name(1, "Kernel")), 24,
		name(9, "[07] side comms")), 24, name(5, "HostNode"))
	stage := func(id, stage uint64, extra ...string) []byte {
		m := wire.Num(wire.Num(wire.Num(wire.Num(nil, 1, id), 2, 5), 13, 9), 14, stage)
		for i := 0; i < len(extra); i += 2 {
			m = wire.Msg(m, 6, wire.Str(wire.Str(nil, 1, extra[i]), 2, extra[i+1]))
		}
		return wire.Msg(nil, 53, m)
	}
	data := bytes.Join([][]byte{
		pftracegen.Packet(1_000, wire.Msg(nil, 6,
			wire.Msg(wire.Msg(nil, 1, wire.Num(wire.Num(nil, 1, 6), 2, 1_000)), 1,
				wire.Num(wire.Num(nil, 1, 1), 2, 501_000)))),
		wire.Msg(nil, 1, wire.Msg(nil, 60,
			wire.Msg(wire.Num(nil, 1, 1), 4, wire.Num(wire.Num(nil, 1, 5), 2, 6)))),
		pftracegen.Packet(1_000, wire.Msg(nil, 12, interned)),
		pftracegen.Packet(1_010, wire.Msg(nil, 11,
			wire.Num(wire.Num(wire.Num(wire.Num(nil, 9, 1), 11, 1), 10, 1), 3, 1))),
		pftracegen.Packet(1_020, wire.Msg(nil, 11, wire.Num(wire.Num(nil, 9, 2), 11, 1))),
		pftracegen.Packet(1_030, stage(41, 1, "correlation", "12", "device id", "0")),
		pftracegen.Packet(1_040, stage(42, 1, "device id", "0")),
		pftracegen.Packet(1_050, stage(43, 5)),
	}, nil)
	tr := read(t, data)
	var got []string
	for e := range events(tr) {
		got = append(got, fmt.Sprint(e.Kind(), " ", e.Name(), " ", e.Data().Correlation, " ", e.Stream()))
	}
	if diff := cmp.Diff([]string{"kernel  12 7", "kernel  0 7", "op odd op 0 -1", "other HostNode 43 -1"},
		got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if base := tr.Meta().BaseTime; base != 500_000 {
		t.Errorf("base time %d, want the difference of the clocks", base)
	}
}

// What was not asked for is not kept.
func TestLanes(t *testing.T) {
	data := bytes.Join(encode(t, document(t), pftracegen.Stages), nil)
	all := read(t, data)
	some, err := pftrace.Read(context.Background(), bytes.NewReader(data),
		trace.Options{Lanes: []event.Lane{event.LaneGPU}})
	if err != nil {
		t.Fatal(err)
	}
	n := all.Len(event.LaneGPU)
	if got := some.Len(event.LaneGPU); got != n || some.Len() != n || some.Raw(0) != all.Raw(0) {
		t.Errorf("%d activities of %d events from %d on, want %d, none more, %d", got, some.Len(), some.Raw(0), n,
			all.Raw(0))
	}
}
