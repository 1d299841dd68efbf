package rendezvous

import (
	"slices"
	"time"
)

// Numbers that decide whether kernels of several ranks are one exchange.
const (
	// endsWithin is how far apart ranks may end a collective, on clocks that are set by the median: the last bytes of a
	// small one reach all ranks within a few microseconds. endsShare allows more to long ones, a share of what the
	// shortest takes: their last parts arrive one after the other.
	endsWithin = int64(10 * time.Microsecond)
	endsShare  = 0.10
	// meeting is the share of the collectives that must end together for two ranks to be in one group. Ranks that
	// exchange nothing end at times that have nothing to do with each other; a few lost records must not hide a group.
	meeting = 0.90
	// closer is how much of the spread of the starts may be left in the ends: waiting takes differences of the start
	// away, and ranks that have nothing to do with each other end as far apart as they start.
	closer = 0.50
)

// Span is when a collective ran on one GPU, in nanoseconds of its clock.
type Span struct{ Start, End int64 }

// Clock is the median difference of the ends of pairs of collectives, theirs − mine: that of the clocks where the pairs
// are the same ones. Off is the median distance from it.
func Clock(mine, theirs []Span) (clock, off int64) {
	d := make([]int64, len(mine))
	for i := range mine {
		d[i] = theirs[i].End - mine[i].End
	}
	clock = spread(d)
	return clock, median(d)
}

// Together reports whether two GPUs end the collectives at the same times, and not because they start them so. Clocks
// of several hosts differ: the median difference is taken for that of the clocks. Both lists are of one length.
func Together(mine, theirs []Span) bool {
	if len(mine) == 0 || len(mine) != len(theirs) {
		return false
	}
	starts, ends := make([]int64, len(mine)), make([]int64, len(mine))
	for i := range mine {
		starts[i], ends[i] = theirs[i].Start-mine[i].Start, theirs[i].End-mine[i].End
	}
	spread(starts)
	spread(ends)
	met := 0
	for i := range mine {
		shorter := min(mine[i].End-mine[i].Start, theirs[i].End-theirs[i].Start)
		if ends[i] <= max(endsWithin, int64(endsShare*float64(shorter))) {
			met++
		}
	}
	return float64(met) >= meeting*float64(len(mine)) && float64(median(ends)) <= closer*float64(median(starts))
}

// spread turns differences of two clocks into distances from their median, which it returns.
func spread(d []int64) (clock int64) {
	if len(d) == 0 {
		return 0
	}
	clock = median(d)
	for i := range d {
		d[i] = max(d[i]-clock, clock-d[i])
	}
	return clock
}

// median is the upper one of an even number, 0 of none.
func median(d []int64) int64 {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Clone(d)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}
