package layer

import (
	"testing"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// TestRegularTimesAreCode: the same time in most of at least five gaps is code, on both sides of every number.
func TestRegularTimesAreCode(t *testing.T) {
	for _, c := range []struct {
		name    string
		lengths []int64
		gaps    int
		length  int64
		want    bool
	}{
		{"in each of five", []int64{100, 100, 100, 100, 100}, 5, 100, true},
		{"in each of four", []int64{100, 100, 100, 100}, 4, 100, false},
		{"in two thirds", []int64{100, 100, 100, 100}, 6, 100, true},
		{"in less", []int64{100, 100, 100, 100}, 7, 100, false},
		{"one and a half times as long", []int64{100, 100, 100, 100, 150}, 5, 150, true},
		{"longer", []int64{100, 100, 100, 100, 151}, 5, 151, false},
		{"the others of it", []int64{100, 100, 100, 100, 151}, 5, 100, true},
		{"two thirds as long", []int64{66, 100, 100, 100, 100}, 5, 66, true},
		{"shorter", []int64{65, 100, 100, 100, 100}, 5, 65, false},
		{"of no common length", []int64{10, 50, 200, 900, 4000}, 5, 200, false},
		{"nowhere", nil, 0, 100, false},
	} {
		if got := regular(c.lengths, c.gaps, c.length); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCyclesOfEventLoops: three equal iterations without a launch are polling, or one that a function of the loop
// calls idle.
func TestCyclesOfEventLoops(t *testing.T) {
	recv, work, other, idle := item{name: 1, part: waits.Receive}, item{name: 2}, item{name: 3},
		item{name: 4, part: waits.Idle, idle: true}
	parked, busy := item{name: 4, part: waits.Idle}, item{name: 1, part: waits.Receive, busy: true}
	for _, c := range []struct {
		name  string
		items []item
		want  finding.Cause
		n     int // items that it lasts
	}{
		{"three equal ones", []item{recv, work, recv, work, recv, work, recv, other}, finding.NoRequests, 6},
		{"two equal ones", []item{recv, work, recv, work, recv, other}, finding.NoCause, 0},
		{"three that differ", []item{recv, work, recv, other, recv, work, recv, other}, finding.NoCause, 0},
		{"no look for requests", []item{work, other, work, other, work, other, work}, finding.NoCause, 0},
		{"looks that wait for a process", []item{busy, work, busy, work, busy, work, busy}, finding.NoCause, 0},
		{"one that is idle", []item{recv, work, idle, recv, other}, finding.NoRequests, 3},
		{"one with requests parked", []item{recv, work, parked, recv, other}, finding.OtherProcess, 3},
		{"behind the step before", []item{other, recv, work, idle, recv}, finding.NoRequests, 3},
		{"none", nil, finding.NoCause, 0},
	} {
		items, first := append([]item(nil), c.items...), int64(-1)
		for i := range items {
			items[i].Span = interval.Span{Start: int64(i) * 10, End: int64(i)*10 + 9}
			if first < 0 && items[i].part == waits.Receive {
				first = int64(i) * 10
			}
		}
		got := (&waitFinder{}).cycles(items)
		if got.Cause != c.want || got.Cause != finding.NoCause &&
			(int64(got.Start) != first || int64(got.End-got.Start) != int64(c.n)*10) ||
			got.Pause != (c.want == finding.NoRequests) {
			t.Errorf("%s: %+v, want %s of %d parts", c.name, got, c.want, c.n)
		}
	}
}

// TestPausesAreNoPartOfSteps: a step is as long as without its pauses, and ends for the eye where the first one begins.
func TestPausesAreNoPartOfSteps(t *testing.T) {
	d := &Device{Passes: []ForwardPass{{Start: 0, End: 100}, {Start: 500, End: 600}}, stepEnds: []trace.Time{500, 600},
		waits: []HostWait{{Start: 150, End: 160, Cause: finding.HostCode},
			{Start: 200, End: 300, Cause: finding.NoRequests, Pause: true},
			{Start: 400, End: 450, Cause: finding.Profiler, Pause: true}}}
	if got := d.StepTime(0); got != 350 {
		t.Errorf("the step takes %d ns, want 350", got)
	}
	if got, last := d.StepEnd(0), d.StepEnd(1); got != 200 || last != 600 {
		t.Errorf("the steps end at %d and %d, want 200 and 600", got, last)
	}
	var parts []trace.Time
	d.withoutPauses(Slice{Start: 100, End: 500, Kernel: trace.None}, func(s Slice) bool {
		parts = append(parts, s.Start, s.End)
		return true
	})
	if len(parts) != 6 || parts[0] != 100 || parts[1] != 200 || parts[2] != 300 || parts[3] != 400 || parts[4] != 450 ||
		parts[5] != 500 {
		t.Errorf("parts %v, want 100 to 200, 300 to 400, 450 to 500", parts)
	}
	if n := len(d.Pauses()); n != 2 || len(d.Waits()) != 3 {
		t.Errorf("%d pauses of %d waits", n, len(d.Waits()))
	}
}
