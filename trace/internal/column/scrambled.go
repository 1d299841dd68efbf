package column

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// Records of one launch can be scrambled: the profiler joined the names of a
// graph's kernels with the times of others. Names in the order of the file are
// then the model's, times sorted are the GPU's, and only their pairs are wrong.
// The sign is that a kernel's duration follows from what it does: if names in
// file order explain the durations in order of time, and names as recorded do
// not, the records are scrambled. Files whose rows are in any other order
// (sorted by name, shuffled) explain nothing that way.
const (
	// minReplay is how many kernels of a launch on one stream are judged: fewer
	// repeat too seldom for a spread. The smallest real model runs 60 a replay.
	minReplay = 32

	// minSpread is the spread of ln(duration) under one name from which names do
	// not explain durations, about a factor of 1.5. Replays of our real traces
	// have 0.17 and less, the scrambled one 0.93.
	minSpread = 0.4

	// maxRepaired is the part of that spread that may be left with names in file
	// order. In the scrambled trace a fifth is left; rows in any other order
	// leave all of it.
	maxRepaired = 0.5
)

// launchGroup is what one launch ran on one stream.
type launchGroup struct {
	queue int32
	scope uint16
	corr  uint64
}

// Scrambled counts the rows of scrambled launches. Where Repair is set, the
// names of such a launch are by the times in the order of the file.
type Scrambled struct {
	Repair   bool  // put them in order
	Launches int   // that are scrambled
	Rows     int64 // that have another time in the other order
	of       int64 // rows of these launches
}

// Judge looks for scrambled launches. The rows must be in file order.
func (s *Scrambled) Judge(ctx context.Context, c *Columns, queues int) {
	for _, rows := range c.disordered(queues) {
		if ctx.Err() != nil {
			return
		}
		s.judgeLaunch(c, rows)
	}
}

// disordered returns the rows of each launch that is not in the order of
// time, in file order, the launch that comes first in the file first.
func (c *Columns) disordered(queues int) [][]int32 {
	at := func(i int) launchGroup { return launchGroup{c.Queue[i], c.Scope.At(i), c.Corr.At(i)} }
	last := make([]int32, queues) // row + 1 of each queue
	index := map[launchGroup]int{}
	for i := range c.Start {
		p := &last[c.Queue[i]]
		if j := int(*p) - 1; j >= 0 && c.Start[i] < c.Start[j] && c.Corr.At(i) != 0 && at(i) == at(j) {
			if _, ok := index[at(i)]; !ok {
				index[at(i)] = len(index)
			}
		}
		*p = int32(i) + 1
	}
	if len(index) == 0 {
		return nil
	}
	out := make([][]int32, len(index))
	for i := range c.Start {
		if g, ok := index[at(i)]; ok {
			out[g] = append(out[g], int32(i))
		}
	}
	return out
}

// judgeLaunch judges the rows of one launch, and repairs them where asked to.
func (s *Scrambled) judgeLaunch(c *Columns, rows []int32) {
	if len(rows) < minReplay {
		return
	}
	byTime := slices.Clone(rows)
	slices.SortStableFunc(byTime, func(a, b int32) int { return cmp.Compare(c.Start[a], c.Start[b]) })
	before, after := c.spread(rows, rows), c.spread(rows, byTime)
	if before < minSpread || after > maxRepaired*before {
		return
	}
	s.Launches++
	s.of += int64(len(rows))
	for k := range rows {
		if rows[k] != byTime[k] {
			s.Rows++
		}
	}
	if s.Repair {
		c.timesInOrder(rows, byTime)
	}
}

// timesInOrder gives row rows[k] the time of row times[k].
func (c *Columns) timesInOrder(rows, times []int32) {
	start, dur := make([]int64, len(rows)), make([]int64, len(rows))
	for k, i := range times {
		start[k], dur[k] = c.Start[i], c.Dur[i]
	}
	for k, i := range rows {
		c.Start[i], c.Dur[i] = start[k], dur[k]
	}
}

// spread is how much ln(duration) varies under one name, where the k-th name is
// that of names[k] and the k-th duration that of times[k]: the root of the mean
// square, over names that occur more than once.
func (c *Columns) spread(names, times []int32) float64 {
	type sums struct {
		n       int
		x, both float64
	}
	by := map[uint32]*sums{}
	order := []*sums{} // so that the sum does not depend on the map
	for k, i := range names {
		s := by[c.Name[i]]
		if s == nil {
			s = &sums{}
			by[c.Name[i]] = s
			order = append(order, s)
		}
		x := math.Log(float64(max(1, c.Dur[times[k]])))
		s.n++
		s.x += x
		s.both += x * x
	}
	square, n := 0.0, 0
	for _, s := range order {
		if s.n > 1 {
			square += max(0, s.both-s.x*s.x/float64(s.n))
			n += s.n
		}
	}
	if n == 0 {
		return 0
	}
	return math.Sqrt(square / float64(n))
}

// String says what is scrambled.
func (s *Scrambled) String() string {
	launches := "1 graph launch"
	if s.Launches != 1 {
		launches = fmt.Sprintf("%d graph launches", s.Launches)
	}
	return fmt.Sprintf("%d of the %d kernels of %s carry other kernels' times", s.Rows, s.of, launches)
}
