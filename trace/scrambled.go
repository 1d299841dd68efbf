package trace

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Records of one launch can be scrambled: the profiler joined the names of a
// graph's kernels with the times of others. Names in the order of the file are
// then the model's, times sorted are the GPU's, and only their pairs are wrong.
// What tells is that a kernel's duration follows from what it does: if names in
// file order explain the durations in order of time, and names as recorded do
// not, the records are scrambled. Files whose rows stand in any other order
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

// CodeScrambled is the [Finding] of scrambled records.
const CodeScrambled = "scrambled-records"

// launchGroup is what one launch ran on one stream.
type launchGroup struct {
	queue int32
	scope uint16
	corr  CorrelationID
}

// scrambled counts the rows of scrambled launches. Where repair is set, the
// names of such a launch stand by the times in the order of the file.
type scrambled struct {
	repair   bool
	launches int
	rows     int64 // that have another time in the other order
	of       int64 // rows of these launches

	before, after float64 // spread, of the launch with most rows
	largest       int
}

// judgeOrder looks for scrambled launches. The rows must stand in file order.
func (s *scrambled) judgeOrder(ctx context.Context, c *columns, queues int) {
	for _, rows := range c.disordered(queues) {
		if ctx.Err() != nil {
			return
		}
		s.judgeLaunch(c, rows)
	}
}

// disordered returns the rows of each launch that does not stand in the order of
// time, in file order, the launch that comes first in the file first.
func (c *columns) disordered(queues int) [][]int32 {
	at := func(i int) launchGroup { return launchGroup{c.queue[i], c.scope.at(i), c.corr.at(i)} }
	last := make([]int32, queues) // row + 1 of each queue
	index := map[launchGroup]int{}
	for i := range c.start {
		p := &last[c.queue[i]]
		if j := int(*p) - 1; j >= 0 && c.start[i] < c.start[j] && c.corr.at(i) != NoCorrelation && at(i) == at(j) {
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
	for i := range c.start {
		if g, ok := index[at(i)]; ok {
			out[g] = append(out[g], int32(i))
		}
	}
	return out
}

// judgeLaunch judges the rows of one launch, and repairs them where asked to.
func (s *scrambled) judgeLaunch(c *columns, rows []int32) {
	if len(rows) < minReplay {
		return
	}
	byTime := slices.Clone(rows)
	slices.SortStableFunc(byTime, func(a, b int32) int { return int(min(1, max(-1, c.start[a]-c.start[b]))) })
	before, after := c.spread(rows, rows), c.spread(rows, byTime)
	if before < minSpread || after > maxRepaired*before {
		return
	}
	s.launches++
	s.of += int64(len(rows))
	for k := range rows {
		if rows[k] != byTime[k] {
			s.rows++
		}
	}
	if len(rows) > s.largest {
		s.largest, s.before, s.after = len(rows), before, after
	}
	if s.repair {
		c.timesInOrder(rows, byTime)
	}
}

// timesInOrder gives row rows[k] the time of row times[k].
func (c *columns) timesInOrder(rows, times []int32) {
	start, dur := make([]Time, len(rows)), make([]int64, len(rows))
	for k, i := range times {
		start[k], dur[k] = c.start[i], c.dur[i]
	}
	for k, i := range rows {
		c.start[i], c.dur[i] = start[k], dur[k]
	}
}

// spread is how much ln(duration) varies under one name, where the k-th name is
// that of names[k] and the k-th duration that of times[k]: the root of the mean
// square, over names that occur more than once.
func (c *columns) spread(names, times []int32) float64 {
	type sums struct {
		n       int
		x, both float64
	}
	by := map[NameID]*sums{}
	order := []*sums{} // so that the sum does not depend on the map
	for k, i := range names {
		s := by[c.name[i]]
		if s == nil {
			s = &sums{}
			by[c.name[i]] = s
			order = append(order, s)
		}
		x := math.Log(float64(max(1, c.dur[times[k]])))
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

// finding is what the health report says, nil where nothing is scrambled.
func (s *scrambled) finding() *Finding {
	if s.launches == 0 {
		return nil
	}
	f := &Finding{Code: CodeScrambled, Severity: HealthDegraded, Count: s.rows, Affects: []string{"gpu-time", "layers", "attribution"}}
	what := fmt.Sprintf("%d of the %d kernels of %s carry the times of other kernels: durations spread by %.2f (ln) under one name, with names in the order of the file by %.2f",
		s.rows, s.of, counted(s.launches, "graph launch", "graph launches"), s.before, s.after)
	if s.repair {
		f.Code = "order-repaired"
		f.Message = "REPAIRED, not as recorded: " + what + "; names are taken in the order of the file and times in theirs, as asked for"
		return f
	}
	f.Message = what + "; no time of a kernel, layer or operator in them is to be trusted (--repair-order joins the names in file order with the times in theirs)"
	return f
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
