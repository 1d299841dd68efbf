package trace_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// small is an op with a module frame around two launches; one is a
// graph launch with two kernels.
const small = `{"baseTimeNanoseconds": 1000, "traceEvents": [
{"ph":"M","name":"process_name","pid":7,"args":{"name":"python"}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":7,"tid":7,"ts":100.000,"dur":50.500},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":7,"tid":7,"ts":110.000,"dur":10.000,"args":{"External id":5,"Input Dims":[[2,3],[3,4]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":112.001,"dur":2.0,"args":{"correlation":9}},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":7,"tid":7,"ts":130,"dur":2.0,"args":{"correlation":10}},
{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":3,"ts":140,"dur":1.000,"args":{"device":0,"stream":3,"correlation":10}},
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":3,"ts":120.123,"dur":5.001,"args":{"device":0,"stream":3,"correlation":9,"External id":5}},
{"ph":"X","cat":"kernel","name":"c","pid":0,"tid":4,"ts":141,"dur":1.000,"args":{"device":0,"stream":4,"correlation":10}},
{"ph":"X","cat":"kernel","name":"d","pid":0,"tid":3,"ts":150,"dur":1.000,"args":{"device":0,"stream":3,"correlation":11}}
]}`

func TestLinksFollowKernelToLaunchOpAndFrames(t *testing.T) {
	tr, err := trace.Read(context.Background(), strings.NewReader(small), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := tr.Raw(0); got != 100_000 {
		t.Errorf("Raw(0) = %d, want 100000", got)
	}
	a := tr.LaneAt(event.LaneGPU, 0)
	if a.Name() != "a" || a.Start() != 20_123 || a.Duration() != 5001 {
		t.Errorf("first activity = %s at %d for %d, want a at 20123 for 5001", a.Name(), a.Start(), a.Duration())
	}
	if got := a.Launch().Name(); got != "cudaLaunchKernel" {
		t.Errorf("launch = %q", got)
	}
	if got := a.Op().Name(); got != "aten::mm" {
		t.Errorf("op = %q", got)
	}
	if got := a.Op().Shape(); got != "[[2,3],[3,4]]" {
		t.Errorf("input dims = %q", got)
	}
	if got := a.Frame().Name(); got != "nn.Module: Linear_0" {
		t.Errorf("frame = %q", got)
	}
	graph := tr.LaneAt(event.LaneGPU, 1).Launch()
	if !kind.IsGraphLaunch(graph.Name()) || count(graph.Activities()) != 2 {
		t.Errorf("graph launch %q has %d activities, want 2", graph.Name(), count(graph.Activities()))
	}
	if h := tr.Health(); h.Orphans != 1 || h.Status != trace.HealthDegraded {
		t.Errorf("health = %+v, want one orphan, degraded", h)
	}
	if got := tr.Streams(0); len(got) != 2 || got[0] != 3 || got[1] != 4 {
		t.Errorf("streams = %v, want [3 4]", got)
	}
}

// TestBuilderTakesEventsOfEveryKind: what is added is what is seen, whatever its order.
func TestBuilderTakesEventsOfEveryKind(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	if b.Meta.Rank != -1 {
		t.Errorf("rank %d of a recording that says nothing", b.Meta.Rank)
	}
	b.Meta = trace.Meta{Source: "test", Rank: -1}
	b.Meta.Rank = 4
	b.Grow(event.LaneGPU, 10)
	b.Grow(event.LaneAnnotation, 10)
	const process = 7
	b.Name(trace.Thread{Process: process, ProcessName: "server"})
	b.Name(trace.Thread{Process: process, ID: 8, Name: "main"})
	b.Meta.Counts = map[string]map[string]int64{"X": {"kernel": 2}}
	none := trace.EventData{Process: process, Scope: "a", Thread: 8, Device: trace.None, Stream: trace.None}
	add := func(kind event.Kind, name string, start, dur int64, more func(*trace.EventData)) {
		e := none
		e.Kind, e.Name, e.Start, e.Duration = kind, name, start, dur
		if more != nil {
			more(&e)
		}
		if at := b.Add(e); (at < 0) != (name == "x") {
			t.Errorf("%s is at %d", name, at)
		}
	}
	gpu := func(e *trace.EventData) {
		e.Device, e.Stream, e.Correlation, e.GraphID, e.GraphNode, e.Shape = 1, 3, 9, 2, 5, "1,1,1|32,1,1"
	}
	add(event.Kernel, "k2", 4000, 100, gpu)
	add(event.Kernel, "k1", 3000, 100, gpu)
	add(event.Memcpy, "copy", 5000, 7_000_000, func(e *trace.EventData) {
		gpu(e)
		e.Unfinished, e.Correlation = true,
			0
	})
	add(event.Memset, "set", 6000, 10, func(e *trace.EventData) { gpu(e); e.Bytes = 64; e.Args = []byte(`{"bytes":64}`) })
	add(event.Runtime, "cudaGraphLaunch", 2000, 100, func(e *trace.EventData) { e.Correlation = 9 })
	add(event.Range, "range", 1000, 5000, func(e *trace.EventData) { e.Domain = "NCCL" })
	add(event.Frame, "outer", 1000, 5000, nil)
	add(event.Module, "nn.Module: A_0", 1500, 2000, nil)
	add(event.Op, "aten::x", 1600, 1000, func(e *trace.EventData) { e.ExternalID, e.Shape = 3, "[[1]]" })
	add(event.Other, "odd", 1600, 1, func(e *trace.EventData) { e.Category = "zzz" })
	add(event.GPUAnnotation, "step", 3000, 1100, func(e *trace.EventData) { e.Device, e.Stream = 1, 3 })
	add(0, "x", 1, 1, nil)
	add(event.Op, "x", 1, -1, nil)
	add(event.Kernel, "x", 0, 0, nil)
	add(event.Op, "x", 1<<62+1, 0, nil)
	tr := built.Trace(b)

	launch := tr.LaneAt(event.LaneLaunch, 0)
	var acts, stack []string
	for a := range launch.Activities() {
		acts = append(acts, a.Name())
	}
	k := tr.LaneAt(event.LaneGPU, 0)
	for f := range k.Frame().Enclosing() {
		stack = append(stack, f.Name())
	}
	copied, set := tr.LaneAt(event.LaneGPU, 2), tr.LaneAt(event.LaneGPU, 3)
	th := tr.Threads()[launch.Thread()]
	ann := tr.Innermost(event.LaneAnnotation, launch.Thread(), 1000)
	got := fmt.Sprintln(acts, stack, k.Index(), k.IsReplay(), k.Shape(), kind.IsGraphLaunch(launch.Name()),
		count(launch.Activities()),
		copied.Duration(), time.Duration(copied.Data().Duration), set.Data().Bytes, string(set.Data().Args), ann.Name(),
		ann.Data().Domain, th.Name, th.ProcessName,
		tr.Raw(0), tr.Meta().Rank, tr.OpByExternalID(3).Shape(), tr.LaneAt(event.LaneOther, 0).Data().Category,
		time.Duration(k.Start()+trace.Time(time.Microsecond)-0))
	want := "[k1 k2 set] [nn.Module: A_0 outer] 0 true 1,1,1|32,1,1 true 3 1µs 7ms 64 {\"bytes\":64} range NCCL main server 1000 4 [[1]] zzz 3µs\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var reasons []string
	for _, l := range tr.Health().Losses {
		reasons = append(reasons, string(l.Reason))
		if l.Count != 1 || len(l.Offsets) != 0 {
			t.Errorf("%+v, want one, which is at no place of a file", l)
		}
	}
	if want := []string{"bad-time", "negative-duration", "not-collected", "unknown-kind"}; !slices.Equal(reasons,
		want) {
		t.Errorf("losses %v, want %v", reasons, want)
	}
}

// TestOfKind: the events of a kind are those of its lane that have it, in the lane's order, for as long as they are
// asked for; of numbers that are no kinds there are none.
func TestOfKind(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	kinds := []event.Kind{event.Frame, event.Module, event.Module, event.Frame, event.Module, event.Kernel, event.Memset,
		event.Kernel, event.Op}
	for i, k := range kinds {
		e := trace.EventData{Kind: k, Name: fmt.Sprint(i), Start: int64(1000 - 10*i), Duration: 5, Device: trace.None,
			Stream: trace.None}
		if k.Lane() == event.LaneGPU {
			e.Device, e.Stream = 0, 0
		}
		b.Add(e)
	}
	tr := built.Trace(b)
	for k := range event.Kind(math.MaxUint8) {
		var got, want []string
		for e := range tr.Events(k.Lane()) {
			if e.Kind() == k {
				want = append(want, e.Name())
			}
		}
		for e := range tr.OfKind(k) {
			got = append(got, e.Name())
		}
		if n := len(slices.DeleteFunc(slices.Clone(kinds), func(x event.Kind) bool { return x != k })); len(got) != n ||
			!slices.Equal(got, want) {
			t.Errorf("kind %v: %v, want the %d %v", k, got, n, want)
		}
	}
	for e := range tr.OfKind(event.Module) {
		if e.Name() != "4" {
			t.Errorf("the first module is %s, want the one that begins first", e.Name())
		}
		break
	}
}

// TestOpenEvents: an event that was added without its end gets it later, the last one that is given counts, and one
// without an end is left out.
func TestOpenEvents(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	op := trace.EventData{Kind: event.Op, Name: "a", Thread: 3, Device: trace.None, Stream: trace.None, Open: true}
	add := func(start int64, name string) int64 {
		op.Start, op.Name = start, name
		return b.Add(op)
	}
	lost, first := add(10, "never ended"), add(20, "a")
	like := b.AddLike(first, 30, 9, 5)
	back, negative := add(40, "taken back"), add(50, "ends before it begins")
	kernel := b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: 60, Duration: 5, Stream: 7,
		Shape: "1,1,1|32,1,1"})
	again := b.AddLike(kernel, 70, 4, 0)
	for _, e := range []struct{ at, end int64 }{{first, 90}, {first, 25}, {like, 33}, {back, 44}, {back, math.MinInt64},
		{negative, 49}, {again, 71}, {-1, 5}} {
		b.End(e.at, e.end)
	}
	if at := b.AddLike(-1, 80, 0, 0); at != -1 || lost < 0 {
		t.Errorf("AddLike of nothing returns %d, Add %d", at, lost)
	}
	tr := built.Trace(b)
	var got []string
	for i := range tr.Len() {
		e := tr.At(trace.EventID(i))
		got = append(got, fmt.Sprint(e.Kind(), " ", e.Name(), " ", tr.Raw(e.Start()), "+", int64(e.Duration()), " ",
			tr.Thread(e.Thread()).ID, " ", e.Stream(), " ", e.Data().Correlation, " ", e.Data().ExternalID, " ",
			e.Shape()))
	}
	want := []string{"kernel k 60+5 0 7 0 0 1,1,1|32,1,1", "kernel k 70+1 0 7 4 0 1,1,1|32,1,1", "op a 20+5 3 -1 0 0 ",
		"op a 30+3 3 -1 9 5 "}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	losses := map[string]int64{}
	for _, l := range tr.Health().Losses {
		losses[string(l.Reason)] = l.Count
		if len(l.Offsets) != 0 {
			t.Errorf("%+v is at a place of a file", l)
		}
	}
	if losses["negative-duration"] != 1 || losses["bad-time"] != 1 || len(losses) != 2 || tr.Raw(0) != 20 {
		t.Errorf("losses %v, origin %d, want one negative duration, one event without a place, and 20", losses,
			tr.Raw(0))
	}
}

// TestOneEventWithoutItsEnd is left out, and the others keep their order.
func TestOneEventWithoutItsEnd(t *testing.T) {
	for _, open := range []int{0, 1, 2} {
		b := trace.NewBuilder(trace.Options{})
		for i := range 3 {
			b.Add(trace.EventData{Kind: event.Op, Name: string(rune('a' + i)), Start: int64(10 + i), Duration: 5,
				Device: trace.None, Stream: trace.None, Open: i == open})
		}
		tr := built.Trace(b)
		var got string
		for e := range tr.Events(event.LaneOp) {
			got += e.Name()
		}
		if want := []string{"bc", "ac", "ab"}[open]; got != want {
			t.Errorf("event %d has no end: %s are left, want %s", open, got, want)
		}
	}
}

// TestNoEventAnswersNone: accessors of the zero Event and of ids out of range.
func TestNoEventAnswersNone(t *testing.T) {
	tr := built.Trace(trace.NewBuilder(trace.Options{}))
	for _, e := range []trace.Event{{}, tr.At(0), tr.At(-1), tr.LaneAt(event.LaneGPU, 0), tr.LaneAt(99, 0)} {
		got := fmt.Sprintln(e.Valid(), e.ID(), e.Kind().Lane(), e.Index(), e.Kind(), e.NameID(), e.Name(),
			e.Data().Category, e.Start(), e.Duration(), e.Data().Duration, e.End(),
			e.Thread(), e.Device(), e.Stream(), e.Data().Correlation, e.Data().ExternalID, e.Data().GraphID,
			e.Data().GraphNode, e.Shape(), e.Shape(), e.Data().Bytes, e.Data().Value, e.Data().Domain,
			len(e.Data().Args),
			e.Launch().Valid(), count(e.Activities()), kind.IsGraphLaunch(e.Name()), e.IsReplay(), e.Op().Valid(),
			e.Frame().Valid(), e.Parent().Valid())
		want := "false -1 0 -1 invalid 0 0 0s 0 0 -1 -1 -1 0 0 0 0 0 0 0 false 0 false false false false false"
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		for range e.Frame().Enclosing() {
			t.Error("a frame of no event")
		}
		for range e.Activities() {
			t.Error("an activity of no event")
		}
	}
	if tr.Len(99) != 0 || tr.Thread(5) != (trace.Thread{}) || tr.Name(5) != "" || tr.NumNames() != 1 {
		t.Error("something is where nothing is")
	}
	if got := tr.Health().Status; got != trace.HealthUnusable {
		t.Errorf("health %s", got)
	}
}

func count[T any](all iter.Seq[T]) int {
	n := 0
	for range all {
		n++
	}
	return n
}
