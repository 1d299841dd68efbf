package layer_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// TestTimelineIsAPartition: over random activities, each nanosecond of the device is in one slice, and that says what
// a sweep over single nanoseconds says: the activity that started first of those that run, or the next one to start.
func TestTimelineIsAPartition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var acts []act
		for i := range 1 + rng.IntN(30) {
			acts = append(acts, act{name: fmt.Sprint("k", i), cat: "kernel", start: 1000 + rng.Int64N(400),
				dur: rng.Int64N(60), stream: i, launch: -1})
		}
		d := analyze(t, written(t, acts), layer.Options{})
		start, end := d.Window()
		kernel, next := make([]int32, end-start), make([]int32, end-start)
		for ns := range kernel {
			at := start + trace.Time(ns)
			kernel[ns], next[ns] = trace.None, trace.None
			for k := range d.Kernels() {
				e := k.Event()
				if e.Start() <= at && at < e.End() && kernel[ns] == trace.None {
					kernel[ns] = int32(k.Index())
				}
				if e.Start() > at && next[ns] == trace.None {
					next[ns] = int32(k.Index())
				}
			}
			if kernel[ns] != trace.None {
				next[ns] = trace.None
			}
		}
		at := start
		for s := range d.Timeline() {
			if s.Start != at || s.End <= s.Start {
				t.Fatalf("round %d: slice %+v behind %d", round, s, at)
			}
			owner := max(s.Kernel, s.Next)
			if s.Pass != d.Kernel(int(owner)).Place().Pass {
				t.Fatalf("round %d: slice %+v, its kernel is in pass %d", round, s, d.Kernel(int(owner)).Place().Pass)
			}
			for ; at < s.End; at++ {
				if kernel[at-start] != s.Kernel || next[at-start] != s.Next {
					t.Fatalf("round %d: at %d slice %+v, want kernel %d, next %d", round, at, s, kernel[at-start],
						next[at-start])
				}
			}
		}
		if at != end {
			t.Fatalf("round %d: the slices end at %d, the device at %d", round, at, end)
		}
	}
}

// TestAheadOfTheGPU: with overlap scheduling the CPU prepares a step while the GPU runs the one before. GPU time and
// idle time belong to the pass that launched the kernels, whatever the CPU does meanwhile.
func TestAheadOfTheGPU(t *testing.T) {
	for _, c := range gen.Cases() {
		if !c.Ahead() {
			continue
		}
		var b bytes.Buffer
		truths, err := c.Write(&b)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Read(t.Context(), &b, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := analyze(t, tr, layer.Options{})
		if len(d.Passes) != len(c.Passes) {
			t.Fatalf("%s: %d passes, want %d", c.Name, len(d.Passes), len(c.Passes))
		}
		if share, wrong := placed(d, truths, itself); share < 1 {
			t.Errorf("%s: %.2f%% right\n%v", c.Name, 100*share, wrong)
		}
		ahead := 0
		for p := 1; p < len(d.Passes); p++ {
			if d.Passes[p].Host.End < d.Passes[p-1].End {
				ahead++
			}
		}
		if 2*ahead < len(d.Passes) {
			t.Errorf("%s: the CPU has done %d of %d passes before the GPU has done the one before, and the trace was made to "+
				"be so", c.Name, ahead, len(d.Passes))
		}
		got := make([]spent, len(c.Passes)+1) // outside of passes last
		for s := range d.Timeline() {
			got[(s.Pass+len(got))%len(got)].add(s.Kernel == trace.None, int64(s.End-s.Start))
		}
		if diff := cmp.Diff(truthTime(truths, len(got)), got, cmp.AllowUnexported(spent{})); diff != "" {
			t.Errorf("%s: time by pass (-truth +got):\n%s", c.Name, diff)
		}
	}
}

// spent is time on a device, in ns.
type spent struct{ busy, idle int64 }

func (s *spent) add(idle bool, ns int64) {
	if idle {
		s.idle += ns
		return
	}
	s.busy += ns
}

// truthTime is the time of each pass as the generator knows it, that outside of passes last.
func truthTime(truths []gen.Truth, n int) []spent {
	out := make([]spent, n)
	truths = slices.Clone(truths)
	slices.SortStableFunc(truths, func(x, y gen.Truth) int { return int(x.Start - y.Start) })
	at := truths[0].Start
	for _, k := range truths {
		s := &out[(k.Pass+n)%n]
		s.idle += max(0, k.Start-at)
		at = max(at, k.Start)
		s.busy += max(0, k.Start+k.Duration-at)
		at = max(at, k.Start+k.Duration)
	}
	return out
}

// TestStepEnd: a step lasts to the start of the next pass, however long and rare the time between them is. What
// leaves a step follows from causes: see TestPausesAreNoPartOfSteps.
func TestStepEnd(t *testing.T) {
	const wall, pause = trace.Time(100), trace.Time(100 * time.Millisecond)
	for _, c := range []struct {
		gaps []trace.Time // after each pass
		want trace.Time   // of the first that counts to its step
	}{
		{[]trace.Time{0}, 0},
		{[]trace.Time{-1}, 0},
		{[]trace.Time{100, 1, 1}, 100},
		{[]trace.Time{101, 1, 1}, 101},
		{[]trace.Time{101, 101, 1, 1}, 101},
		{[]trace.Time{pause}, pause},
		{[]trace.Time{pause + 1}, pause + 1},
		{[]trace.Time{101, 1, pause + 1, pause + 1}, 101},
	} {
		var passes []layer.ForwardPass
		var at trace.Time
		for _, gap := range append(c.gaps, 0) {
			passes = append(passes, layer.ForwardPass{Index: len(passes), Start: at, End: at + wall, Kernels: 1})
			at += wall + gap
		}
		ends := layer.StepEnds(passes)
		if got := ends[0] - wall; got != c.want {
			t.Errorf("gaps of %v: %d of the first count to its step, want %d", c.gaps, got, c.want)
		}
		if last := len(passes) - 1; ends[last] != passes[last].End {
			t.Errorf("the last step ends at %d, want %d", ends[last], passes[last].End)
		}
	}
}

// TestEdges: each activity starts and ends once, by time, and those that start at one time do so before others end.
func TestEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 50 {
		var acts []act
		for i := range 1 + rng.IntN(30) {
			acts = append(acts, act{name: fmt.Sprint("k", i), cat: "kernel", start: 1000 + rng.Int64N(40),
				dur: rng.Int64N(9), stream: i, launch: -1})
		}
		d := analyze(t, written(t, acts), layer.Options{})
		runs, at, ended := make([]int, d.NumKernels()), trace.Time(-1), false
		edges := d.Edges()
		for range 2 * d.NumKernels() {
			when := edges.When()
			k, starts := edges.Next()
			e := d.Kernel(int(k)).Event()
			switch {
			case starts && (when != e.Start() || runs[k] != 0), !starts && (when != e.End() || runs[k] != 1):
				t.Fatalf("round %d: kernel %d of %d–%d after %d edges, starts %t at %d", round, k, e.Start(), e.End(), runs[k],
					starts, when)
			case when < at, when == at && starts && ended:
				t.Fatalf("round %d: an edge at %d after one at %d, starts %t", round, when, at, starts)
			}
			runs[k]++
			at, ended = when, !starts
		}
		if edges.When() != math.MaxInt64 {
			t.Fatalf("round %d: an edge at %d after the last", round, edges.When())
		}
	}
}
