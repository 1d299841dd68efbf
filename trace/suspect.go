package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/trace/internal/column"
)

const (
	// sharedShare: one call launches one kernel, unless it launches a graph. Where
	// more than one kernel in sharedShare names a call that another one names, ids are
	// damaged or were used again. In no real trace at hand any does.
	sharedShare = 10
	// overlapShare and insideShare: a stream runs one activity after the other; dependent launches overlap by their
	// first microseconds, and end in order. Where activities of the same stream overlap for more than one part in
	// overlapShare of all GPU time, or more than one in outlastShare and mostOutlast outlast later ones, times are
	// wrong: in no real trace at hand does any, whether 674 of 718 overlap or graphs run on five streams.
	overlapShare, outlastShare, mostOutlast = 2, 100, 3
	// lateStart is how long after their launch calls all activities begin, at least, for the clocks of host and GPU
	// to differ, in nanoseconds, where it is also longer than all that the GPUs did: no queue is as deep. In the real
	// traces at hand the first activity of an idle GPU begins within a millisecond.
	lateStart = 1_000_000_000
	// earlyShare: no activity begins before its launch call. Where more than one in earlyShare does, times are wrong;
	// in no real trace at hand any does.
	earlyShare = 100
	// Pauses of quiet nanoseconds each in which no GPU works and no call of an API begins, and that are quietSpans times
	// as long as all else, are none of a program that is worth a recording.
	quiet, quietSpans = 600_000_000_000, 100
)

// suspicions are what the activities may show, taken together, and what is not to be trusted then.
var suspicions = map[Code][]Area{
	CodeSharedLaunches:    {AffectsAttribution, AffectsIdle},
	CodeImpossibleOverlap: {AffectsGPUTime, AffectsIdle, AffectsLayers},
	CodeTimeJump:          {AffectsIdle, AffectsGPUTime},
	CodeClocksApart:       {AffectsIdle, AffectsAttribution},
	CodeNoDurations:       {AffectsGPUTime, AffectsIdle, AffectsLayers},
	CodeTimeScale:         {AffectsGPUTime, AffectsIdle},
	CodeEmptyLaunches:     {AffectsGPUTime, AffectsIdle, AffectsLayers},
}

// suspect adds one of the suspicions with what it counts.
type suspect func(code Code, n int, format string, args ...any)

// findSuspicions looks at the activities of all GPUs, in order of time. launchOf has the row of
// each one's launch call in launches, negative for none; kernel says that an activity is a
// kernel, and call what a call does.
func findSuspicions(g, launches *column.Columns, queues int, launchOf []int32, kernel func(i int) bool,
	call func(row int32) launchCall) (out []Remark) {
	if g.Len() == 0 {
		return nil
	}
	add := func(code Code, n int, format string, args ...any) {
		out = append(out, Remark{code, HealthDegraded, int64(n), fmt.Sprintf(format, args...), suspicions[code]})
	}
	plain := func(row int32) bool { return call(row) != graphLaunch }
	taken := make([]bool, launches.Len())
	shared, early, linked, outlast, end := 0, 0, 0, 0, g.End(0)
	var overlap, work, waited int64
	var pauses []pause
	late := int64(math.MaxInt64)
	lastEnd, counts := make([]int64, queues), make([]bool, queues) // and whether it is that of one in outlast
	for i := range g.Start {
		gap := g.Start[i] - end
		if l := launchOf[i]; l >= 0 {
			late, linked = min(late, g.Start[i]-launches.Start[l]), linked+1
			if g.Start[i] < launches.Start[l] {
				early++
			}
			if i > 1 && i < g.Len()-1 { // a jump moves what comes after; a single activity may be wrong alone
				waited = max(waited, min(gap, g.Start[i]-launches.End(int(l))))
			}
			if kernel(i) && plain(l) {
				if taken[l] {
					shared++
				}
				taken[l] = true
			}
		}
		last := &lastEnd[g.Queue[i]]
		overlap += max(0, min(*last, g.End(i))-g.Start[i])
		if counted := &counts[g.Queue[i]]; g.End(i) >= *last {
			*counted = false
		} else if !*counted {
			*counted = true
			outlast++
		}
		work += g.Dur[i]
		*last = max(*last, g.End(i))
		if gap >= quiet {
			pauses = append(pauses, pause{end, g.Start[i]})
		}
		end = max(end, g.End(i))
	}
	if shared*sharedShare > g.Len() {
		add(CodeSharedLaunches, shared,
			"%d kernels name a launch call that another kernel names, too, and that is no graph launch: correlation ids are "+
				"damaged, and what launched a kernel is not to be trusted", shared)
	}
	if overlap > work/overlapShare || outlast > max(mostOutlast, g.Len()/outlastShare) {
		add(CodeImpossibleOverlap, max(1, outlast),
			"activities of the same stream overlap for %v of %v GPU time, which runs them one after the other: their times "+
				"are not to be trusted", time.Duration(overlap).Round(time.Microsecond),
			time.Duration(work).Round(time.Microsecond))
	}
	span := end - g.Start[0]
	switch jumps, jump := withoutCalls(pauses, launches); {
	case jump/quietSpans > span-jump:
		add(CodeTimeJump, jumps,
			"for %v no GPU works and no call begins, and all of the rest of the recording lasts %v: a clock jumped, or the "+
				"file holds several recordings; idle time is not to be trusted", rough(jump), rough(span-jump))
	case waited >= lateStart && waited > span-waited:
		add(CodeTimeJump, 1,
			"an activity begins %v after its launch call, no GPU works until then, and all of the rest of the recording "+
				"lasts %v: a clock jumped; idle time is not to be trusted", rough(waited), rough(span-waited))
	}
	switch {
	case linked > 0 && late > max(lateStart, span):
		add(CodeClocksApart, g.Len(),
			"every GPU activity begins %v or more after its launch call, and all of them last %v: the clocks of host and GPU "+
				"differ, and the cause of idle time is unknown", rough(late), rough(span))
	case early*earlyShare > linked:
		add(CodeClocksApart, early,
			"%d of %d GPU activities begin before the call that launches them: the clocks of host and GPU differ, or times "+
				"were changed, and the cause of idle time is unknown", early, linked)
	}
	if work == 0 && g.Len() > 1 {
		add(CodeNoDurations, g.Len(),
			"none of %d GPU activities lasts: their ends were not recorded, and nothing about GPU time can be said", g.Len())
	}
	if lost, of := emptyLaunches(g, launches, launchOf, kernel, call); lost >= leastLost && lost*lostShare > of {
		add(CodeEmptyLaunches, lost,
			"%d of %d calls that launch a kernel have none in the trace, though calls before and after them do: records of "+
				"kernels are lost, GPU time is understated and idle time overstated", lost, of)
	}
	scale(g, launches, launchOf, kernel, plain, add)
	return out
}

// pause is a time in which no GPU works.
type pause struct{ from, to int64 }

// withoutCalls counts the times of quiet and more in which no call begins, within pauses, and sums them. The pauses
// come in order of time.
func withoutCalls(pauses []pause, launches *column.Columns) (n int, sum int64) {
	if len(pauses) == 0 {
		return 0, 0
	}
	var calls []int64 // within pauses
	for _, at := range launches.Start {
		i, _ := slices.BinarySearchFunc(pauses, at, func(p pause, at int64) int { return cmp.Compare(p.to, at) })
		if i < len(pauses) && pauses[i].from < at {
			calls = append(calls, at)
		}
	}
	slices.Sort(calls)
	add := func(length int64) {
		if length >= quiet {
			n++
			sum += length
		}
	}
	for _, p := range pauses {
		for ; len(calls) > 0 && calls[0] <= p.to; calls = calls[1:] {
			add(calls[0] - p.from)
			p.from = calls[0]
		}
		add(p.to - p.from)
	}
	return n, sum
}

// rough is a time as people read it.
func rough(ns int64) time.Duration { return time.Duration(ns).Round(time.Millisecond) }
