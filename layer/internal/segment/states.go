package segment

import "math"

// Span is a time in nanoseconds, two seconds at most.
type Span int32

// SpanOf cuts a time to what a Span holds.
func SpanOf(ns int64) Span { return Span(min(max(ns, 0), math.MaxInt32)) }

// A Stretch is consecutive kernels with their times.
type Stretch struct {
	*Sequence
	Gap, Time []Span // the GPU idles so long before each kernel, and it runs so long
	After     int64  // the GPU idles so long after the last one
	Open      Cuts   // ends that the window may have cut
}

// idle is how long the GPU idles before kernel i, or after the last one.
func (s *Stretch) idle(i int) int64 {
	if i == s.Len() {
		return s.After
	}
	return int64(s.Gap[i])
}

// part is the kernels [from, to).
func (s *Stretch) part(from, to int) Stretch {
	out := Stretch{Sequence: s.Slice(from, to), Gap: s.Gap[from:to], Time: s.Time[from:to]}
	out.Open = Cuts{Start: from == 0, End: to == s.Len()}
	if !out.Open.End {
		out.After = int64(s.Gap[to])
	}
	return out
}

// Parts are the kernels between bounds. The window may have cut the first part and the last one.
func (s *Stretch) Parts(bounds []int) []Stretch {
	all := make([]Stretch, len(bounds)+1)
	from := 0
	for p := range all {
		to := s.Len()
		if p < len(bounds) {
			to = bounds[p]
		}
		all[p], from = s.part(from, to), to
	}
	return all
}

// A Profile is what passes of one kind run: a column for each kernel, in order.
type Profile struct {
	Stretch
	at    map[int32][]int32 // columns by name, ascending
	least []int64           // least[j]: the least time that the columns before j take
	usual []int64           // usual[j]: the time that they usually take, with the idle time before each
}

// newProfile makes the profile of kernels that ran.
func newProfile(s Stretch) *Profile {
	p := &Profile{Stretch: s, at: map[int32][]int32{}, least: make([]int64, s.Len()+1), usual: make([]int64, s.Len()+1)}
	for j, id := range s.ID {
		p.at[id] = append(p.at[id], int32(j))
		p.least[j+1] = p.least[j] + int64(s.Time[j])/leastTime
		p.usual[j+1] = p.usual[j] + int64(s.Time[j]) + s.idle(j)
	}
	return p
}

// takes is the least time of the columns [from, to).
func (p *Profile) takes(from, to int) int64 { return p.least[to] - p.least[from] }

// fits says that the columns [from, to) may have run while the GPU idles so long: that takes as long as they do, and
// about as long as they usually take with the idle time between them.
func (p *Profile) fits(from, to int, idle int64) bool {
	return p.takes(from, to) <= idle+slack && p.usual[to]-p.usual[from] <= mostUsual*(idle+slack)
}

// Lacks says that the GPU idles before the column to as if the columns [from, to) ran before it, rather than as it does
// behind them: records are missing. A pass that goes another way does not wait for kernels that it does not run.
func (p *Profile) Lacks(from, to int, idle int64) bool {
	return to < p.Len() && 2*(idle-p.idle(to)) >= p.usual[to]-p.usual[from]
}

// A kernel is in one of these states: it matches column j of a profile, it follows column j and is foreign to
// it, or it is outside of all passes. From one state to the next columns may be skipped: their records are missing,
// which takes as much idle time as they would have run.
//
// Costs are nats, −ln of how often it happens. Of a hundred records at most one is lost by itself; a stretch of
// records is lost, or the window ends, once in a thousand kernels (e⁷); a length of one is as likely as any other up
// to some hundreds.
const (
	costName    = .01 // the name of the column
	costBase    = 1.5 // the same kernel with another tile
	costKind    = 3.5 // another kernel of the kind
	costForeign = 9   // any other

	costInsert  = 7   // a kernel that the profile lacks
	costInsert2 = 4   // each one after it
	costDrop    = 4.6 // one record lost by itself
	fewDropped  = 3   // more than so many are a stretch
	costHole    = 7   // a stretch of records
	costPerHole = .01 // each record of it
	costNoTime  = 16  // a stretch would have taken longer than the GPU idles
	costOrder   = 5   // a few would: two streams take turns in another order
	costUnusual = 3   // at most: the idle time is not what a stretch usually takes, a nat per factor e
	costNext    = 2   // another pass begins
	costOutside = 4.5 // a kernel outside of passes
	costLeave   = 3   // the first of them

	// leastTime: a kernel of the profile takes at least this part of its usual time. Collectives wait, clocks vary.
	leastTime = 2
	// mostUsual: a stretch takes at least this part of its usual time, with the idle time in it.
	mostUsual = 4
	// slack is how much longer than the idle time missing kernels may take: launches that were queued come earlier.
	slack = 3000

	beam      = 40  // paths that cost so much more than the best are given up
	maxStates = 400 // so many are followed at most
	maxJumps  = 48  // so many places are tried after a stretch of missing records,
	// and so many where the GPU did not idle long enough.
	maxWithout = 3
	// costGivenUp is what a stretch may cost beside what foreign kernels may before it is given up.
	costGivenUp = 120
)

// emit is what it costs that column j is kernel i of s.
func (p *Profile) emit(j int, s *Sequence, i int) float64 {
	switch {
	case s.ID[i] == p.ID[j]:
		return costName
	case s.Base[i] == p.Base[j]:
		return costBase
	case s.Role[i] == p.Role[j] && interchangeable(s.Role[i]):
		return costKind
	}
	return costForeign
}

// skip is what it costs that the columns [from, to) are missing where the GPU idles so long.
func (p *Profile) skip(from, to int, idle int64) float64 {
	k := to - from
	if k <= 0 {
		return 0
	}
	cost := min(costDrop*float64(k), costHole+costPerHole*float64(k))
	if p.takes(from, to) > idle+slack {
		if k <= fewDropped {
			return cost + costOrder
		}
		cost += costNoTime
	}
	if k > fewDropped && from > 0 && to < p.Len() {
		// Where the host is slow every gap holds a stretch: the place is where the GPU idles as long as it would take.
		usual := p.usual[to] - p.usual[from] + p.idle(to)
		cost += min(costUnusual, math.Abs(math.Log(float64(idle+slack)/float64(usual+slack))))
	}
	return cost
}
