package suspect

import (
	"fmt"
	"math"
	"time"

	"github.com/llmstrata/strata/trace/internal/column"
)

const (
	// sharedShare: one call launches one kernel, unless it launches a graph. Where
	// more than one kernel in sharedShare names a call that another one names, ids are
	// damaged or were used again. In no real trace at hand any does.
	sharedShare = 10
	// overlapShare: a stream runs one activity after the other; dependent launches
	// overlap by their first microseconds. Where activities of the same stream overlap
	// for more than one part in overlapShare of all GPU time, times are wrong.
	overlapShare = 2
	// lateStart is how long after their launch calls all activities begin, at least, for the clocks of host and GPU
	// to differ, in nanoseconds, where it is also longer than all that the GPUs did: no queue is as deep. In the real
	// traces at hand the first activity of an idle GPU begins within a millisecond.
	lateStart = 1_000_000_000
)

// Kind is what is suspicious.
type Kind uint8

// The kinds.
const (
	SharedLaunches    Kind = iota // kernels that name the launch call of another kernel
	ImpossibleOverlap             // activities of one stream at the same time
	TimeJump                      // an hour and more in which no GPU works
	ClocksApart                   // every activity begins a second and more after its launch call
	NoDurations                   // no activity lasts
	TimeScale                     // durations that no GPU has, as in another unit
	Kinds                         // how many there are
)

// Suspicion is one of them.
type Suspicion struct {
	Kind    Kind
	Count   int64  // how many
	Message string // one sentence with the figures
}

// Find looks at the activities of all GPUs, in order of time. launchOf has the row of
// each one's launch call in launches, negative for none; kernel says that an activity is a
// kernel, and plain that a call is no graph launch.
func Find(g, launches *column.Columns, queues int, launchOf []int32, kernel func(i int) bool,
	plain func(call int32) bool) (out []Suspicion) {
	if g.Len() == 0 {
		return nil
	}
	taken := make([]bool, launches.Len())
	shared, jumps, end := 0, 0, g.End(0)
	var overlap, work, jump int64
	late, known := int64(math.MaxInt64), false
	lastEnd := make([]int64, queues)
	for i := range g.Start {
		if l := launchOf[i]; l >= 0 {
			late, known = min(late, g.Start[i]-launches.Start[l]), true
			if kernel(i) && plain(l) {
				if taken[l] {
					shared++
				}
				taken[l] = true
			}
		}
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
	if shared*sharedShare > g.Len() {
		out = append(out, Suspicion{SharedLaunches, int64(shared), fmt.Sprintf(
			"%d kernels name a launch call that another kernel names, too, and that is no graph launch: correlation ids are damaged, and what launched a kernel is not to be trusted", shared)})
	}
	if overlap > work/overlapShare {
		out = append(out, Suspicion{ImpossibleOverlap, 1, fmt.Sprintf(
			"activities of the same stream overlap for %v of %v GPU time, which runs them one after the other: their times are not to be trusted", time.Duration(overlap), time.Duration(work))})
	}
	if rest := end - g.Start[0] - jump; jumps > 0 && jump/column.FarSpans > rest {
		out = append(out, Suspicion{TimeJump, int64(jumps), fmt.Sprintf(
			"no GPU works for %v, and all of the rest of the recording lasts %v: a clock jumped, or the file holds several recordings; idle time is not to be trusted", time.Duration(jump), time.Duration(rest))})
	}
	if span := end - g.Start[0]; known && late > max(lateStart, span) {
		out = append(out, Suspicion{ClocksApart, int64(g.Len()), fmt.Sprintf(
			"every GPU activity begins %v or more after its launch call, and all of them last %v: the clocks of host and GPU differ, and what the GPU waits for is unknown", rough(late), rough(span))})
	}
	if work == 0 && g.Len() > 1 {
		out = append(out, Suspicion{NoDurations, int64(g.Len()), fmt.Sprintf(
			"none of %d GPU activities lasts: their ends were not recorded, and nothing about GPU time can be said",
			g.Len())})
	}
	return append(out, scale(g, launches, launchOf, kernel, plain)...)
}

// rough is a time as people read it.
func rough(ns int64) time.Duration { return time.Duration(ns).Round(time.Millisecond) }
