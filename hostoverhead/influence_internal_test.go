package hostoverhead

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestKernelFarFromAllOthers: steps of 1000 µs, idle for 50 of which the host causes 20, beside a pause that the host
// causes next to the first or last kernel. It decides where it is more than half of all idle time, and the answer or a
// tenth of the steps depends on it.
func TestKernelFarFromAllOthers(t *testing.T) {
	long := strings.Repeat("kernel", 20)
	for _, c := range []struct {
		name          string
		next, kernels int
		pause, others int64
		want          string
	}{
		{"the first", 1, 11, 200, 50, "k0, alone before all others by 200µs"},
		{"the last", 10, 11, 200, 50, "k10, alone after all others by 200µs"},
		{"one between", 5, 11, 200, 50, ""},
		{"few kernels", 1, 10, 200, 50, ""},
		{"as long as all other pauses", 1, 11, 200, 200, ""},
		{"longer than all other pauses", 1, 11, 200, 199, "k0, alone before all others by 200µs"},
		// 100 of 1000 µs are the host's with it, 20 of 920 without
		{"the answer depends on it", 1, 11, 80, 50, "k0, alone before all others by 80µs"},
		{"it moves little", 1, 11, 79, 50, ""},
		{"all of the steps", 1, 11, 1000, 50, ""},
		{"a long name", 1, 11 + len(long), 200, 50, long[:87] + "..., alone before all others by 200µs"},
	} {
		b := trace.NewBuilder(trace.Options{})
		var acts []int32
		for i := range c.kernels {
			name := fmt.Sprint("k", i)
			if c.kernels > len(long) {
				name = long
			}
			b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: int64(1000 * i), Duration: 1})
			acts = append(acts, int32(i))
		}
		p := defaultParams()
		a := &account{l: &ledger{w: &workload{t: built.Trace(b)}, p: &p}, d: &deviceWork{acts: acts}}
		s := stepAccount{}
		s.wall = 1_000_000
		s.idle[finding.HostCode], s.idle[finding.NoRequests] = 1000*(20+c.pause), 1000*(c.others-20)
		a.steps = []stepAccount{s}
		a.top = []gapAccount{{next: c.next, span: interval.Span{End: 1000 * c.pause},
			names: []keySum{{nameKey{cause: finding.HostCode}, nameSum{steps: 1000 * c.pause}}}}}
		all := s.headroom()
		if got := a.straggling(p.answer(&all)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRangesAroundPasses: a range that holds the work on two passes, and all of it, names the run.
func TestRangesAroundPasses(t *testing.T) {
	work := []interval.Span{{Start: 0, End: 10}, {Start: 20, End: 30}, {Start: 40, End: 50}}
	for _, c := range []struct {
		start, end int64
		work       []interval.Span
		want       bool
	}{{0, 30, work, true}, {0, 29, work, false}, {1, 30, work, false}, {1, 50, work, true}, {20, 50, work, true},
		{20, 49, work, false}, {0, 10, work, false}, {41, 60, work, false}, {0, 60, work[:2], true},
		{0, 60, work[:1], false}} {
		b := trace.NewBuilder(trace.Options{})
		b.Add(trace.EventData{Kind: event.Kernel, Name: "at 0", Start: 0, Duration: 1})
		b.Add(trace.EventData{Kind: event.Annotation, Name: "r", Start: c.start, Duration: c.end - c.start, Process: 1,
			Thread: 1, Device: trace.None, Stream: trace.None})
		tr := built.Trace(b)
		l := &ledger{w: &workload{t: tr}, work: c.work}
		id := tr.LaneAt(event.LaneAnnotation, 0).ID()
		if got := l.encloses(&timeline.Piece{ID: id, Kind: event.Annotation}); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
		if l.encloses(&timeline.Piece{}) {
			t.Error("nothing encloses passes")
		}
	}
}

// TestAnswersThatLean: of 1000 ns, a tenth being the host's for YES. What is freed may be the host's (NO is none any
// more from a tenth on), or not be there (90 of 900 are a tenth); YES stays.
func TestAnswersThatLean(t *testing.T) {
	p := defaultParams()
	for _, c := range []struct {
		host, unknown, freed int64
		want                 bool
	}{{50, 0, 49, false}, {50, 0, 50, true}, {90, 60, 99, false}, {90, 60, 100, true}, {100, 0, 500, false}} {
		if got := p.leans(Headroom{WallNS: 1000, HostNS: c.host, UnknownNS: c.unknown}, c.freed); got != c.want {
			t.Errorf("%d ns of the host, %d unknown, %d freed: %v", c.host, c.unknown, c.freed, got)
		}
	}
}

// TestDrainEndsWithItsCall: a call that waits from 5 to 10 emptied the queue of a gap that opens while it waits, not of
// one that opens as it begins or ends.
func TestDrainEndsWithItsCall(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Duration: 5})
	b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaStreamSynchronize", Start: 5, Duration: 5, Process: 1,
		Thread: 1, Device: trace.None, Stream: trace.None})
	tr, p := built.Trace(b), defaultParams()
	call := timeline.Piece{Span: interval.Span{Start: 5, End: 10}, ID: tr.LaneAt(event.LaneLaunch, 0).ID()}
	for opens, lead := range map[int64]int64{5: 0, 6: 1, 9: 4, 10: 0} {
		th := &timeline.Thread{}
		th.Now[timeline.Calls] = []timeline.Piece{call}
		l := &ledger{w: &workload{t: tr, layers: &layer.Analysis{}}, p: &p, names: make([]hostName, tr.NumNames()),
			threads: map[trace.ThreadIndex]*timeline.Thread{0: th}}
		g := gap{span: interval.Span{Start: opens, End: 20}}
		if l.findDrain(&g, 0); g.drain.lead != lead {
			t.Errorf("a gap that opens at %d: %d ns ahead, want %d", opens, g.drain.lead, lead)
		}
	}
}

// TestFirstOfEqualsDecides: of verdicts that lose as much the first decides, else the one that loses most.
func TestFirstOfEqualsDecides(t *testing.T) {
	of := func(host int64) *Verdict {
		return &Verdict{Headroom: Headroom{WallNS: 100, HostNS: host}, Ranks: []RankVerdict{{}}}
	}
	for _, c := range []struct{ a, b, deciding int }{{5, 5, 0}, {6, 5, 0}, {5, 6, 1}} {
		if v := Join([]*Verdict{of(int64(c.a)), of(int64(c.b))}, nil); v.Deciding != c.deciding {
			t.Errorf("%d and %d ns: the one at %d decides, want %d", c.a, c.b, v.Deciding, c.deciding)
		}
	}
	if Join(nil, nil) != nil {
		t.Error("of no ranks there is a verdict")
	}
}
