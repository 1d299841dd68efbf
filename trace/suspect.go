package trace

import (
	"time"

	"github.com/llmstrata/strata/trace/internal/column"
)

// What GPU activities can not be, taken together, although each for itself may.
const (
	// sharedShare: one call launches one kernel, unless it launches a graph. Where
	// more than one kernel in sharedShare names a call that another one names, ids are
	// damaged or were used again. In no real trace at hand any does.
	sharedShare = 10
	// overlapShare: a stream runs one activity after the other; dependent launches
	// overlap by their first microseconds. Where activities of the same stream overlap
	// for more than one part in overlapShare of all GPU time, times are wrong.
	overlapShare = 2
)

// addSuspects makes findings of what GPU activities can not be together.
func (t *Trace) addSuspects(add addFinding) {
	g := &t.lanes[LaneGPU]
	if g.Len() == 0 {
		return
	}
	if n := t.sharedLaunches(); n*sharedShare > g.Len() {
		add("shared-launches", HealthDegraded, int64(n), []string{"attribution", "idle"},
			"%d kernels name a launch call that another kernel names, too, and that is no graph launch: correlation ids are damaged, and what launched a kernel is not to be trusted", n)
	}
	var overlap, work, jump int64
	lastEnd := make([]int64, len(t.queues))
	jumps, end := 0, g.End(0)
	for i := range g.Start {
		last := &lastEnd[g.Queue[i]]
		overlap += max(0, min(*last, g.End(i))-g.Start[i])
		work += g.Dur[i]
		*last = max(*last, g.End(i))
		if gap := g.Start[i] - end; gap > column.FarAway {
			jump += gap
			jumps++
		}
		end = max(end, g.End(i))
	}
	if overlap > work/overlapShare {
		add("impossible-overlap", HealthDegraded, 1, []string{"gpu-time", "layers"},
			"activities of the same stream overlap for %v of %v GPU time, which runs them one after the other: their times are not to be trusted", time.Duration(overlap), time.Duration(work))
	}
	if rest := end - g.Start[0] - jump; jumps > 0 && jump/column.FarSpans > rest {
		add("time-jump", HealthDegraded, int64(jumps), []string{"idle", "gpu-time"},
			"no GPU works for %v, and all of the rest of the recording lasts %v: a clock jumped, or the file holds several recordings; idle time is not to be trusted", time.Duration(jump), time.Duration(rest))
	}
}

// sharedLaunches counts the kernels whose launch call launched another one, too, and
// is no graph launch.
func (t *Trace) sharedLaunches() (n int) {
	g, launches := &t.lanes[LaneGPU], &t.lanes[LaneLaunch]
	taken := make([]bool, launches.Len())
	for i, l := range t.launchOf {
		if l < 0 || Kind(g.Kind[i]) != KindKernel {
			continue
		}
		if taken[l] && !IsGraphLaunchName(t.names[launches.Name[l]]) {
			n++
		}
		taken[l] = true
	}
	return n
}
