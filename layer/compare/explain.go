package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
)

// because says what a row's change comes from: launches × work × rate, other kernels, the path, single passes. It
// says nothing where the row did not change by as much as a finding.
func (c *comparison) because(r *Row, row int) string {
	path := ""
	graphA, _ := c.ch[0].paths()
	graphB, _ := c.ch[1].paths()
	switch {
	case graphA > 0.5 && graphB <= 0.5:
		path = "graph → eager"
	case graphA <= 0.5 && graphB > 0.5:
		path = "eager → graph"
	}
	switch {
	case abs(r.kernelDelta()) < c.least() || r.Status != Unchanged:
		return ""
	case r.Operator == rowWaiting:
		return ""
	case r.Class == Waiting:
		return path
	case r.LaunchesA == 0 || r.LaunchesB == 0:
		return ""
	}
	var say []string
	gone, fresh := r.exchanged()
	equal := r.asOften()
	switch {
	case !equal:
		say = append(say, r.launchWords(gone, fresh))
	case len(gone) > 0 && len(fresh) > 0:
		say = append(say, fmt.Sprintf("%s instead of %s", r.briefs.list(fresh), r.briefs.list(gone)))
	}
	if n, of, ok := some(c.parts[0][row].time, c.parts[1][row].time); ok {
		say = append(say, fmt.Sprintf("in %d of %d passes", n, of))
	}
	a, b := c.ch[0].id, c.ch[1].id
	switch {
	case a.hasTokens() && b.hasTokens() && a.tokens != b.tokens && c.scale == 1:
		say = append(say, table.Times(float64(b.tokens)/float64(a.tokens), 2)+" the tokens")
	case r.WorkA.Floor > 0 && r.WorkB.Floor > 0 && (!c.sameGPU || !r.ownFloors()):
		was, is := ofPeak(r.WorkA.Floor, r.KernelA), ofPeak(r.WorkB.Floor, r.KernelB)
		if math.Round(10*max(was, is)) > 0 { // 0.0% on both sides: launches decide, not work
			say = append(say, fmt.Sprintf("%s, %s → %s%% of peak", r.workOf(), shareOfPeak(was), shareOfPeak(is)))
		}
	case equal && len(say) == 0:
		say = append(say, table.Counted(int(math.Round(r.LaunchesA)), "launch", "launches")+r.each())
	}
	if path != "" {
		say = append(say, path)
	}
	return strings.Join(say, "; ")
}

// ofPeak is a floor in percent of the time that kernels take.
func ofPeak(floor, d time.Duration) float64 { return 100 * float64(floor) / float64(max(d, 1)) }

// shareOfPeak writes a percentage with as many decimals as say something.
func shareOfPeak(share float64) string {
	if share < 10 {
		return fmt.Sprintf("%.1f", share)
	}
	return fmt.Sprintf("%.0f", share)
}

// ownFloors reports that equal work has other floors on the two sides: they are the shortest launches of each trace,
// and not what the GPU can do.
func (r *Row) ownFloors() bool {
	far := func(x, y float64) bool { return math.Abs(x-y) > renameCount*max(x, y) }
	return !far(float64(r.WorkA.Bytes), float64(r.WorkB.Bytes)) && !far(r.WorkA.GFLOP, r.WorkB.GFLOP) &&
		far(float64(r.WorkA.Floor), float64(r.WorkB.Floor))
}

// workOf says how the work of a row changed: its bytes, or its operations where arithmetic limits it.
func (r *Row) workOf() string {
	a, b, what := float64(r.WorkA.Bytes), float64(r.WorkB.Bytes), "bytes"
	if r.WorkA.compute && r.WorkB.compute && r.WorkA.GFLOP > 0 && r.WorkB.GFLOP > 0 {
		a, b, what = r.WorkA.GFLOP, r.WorkB.GFLOP, "operations"
	}
	if a <= 0 || b <= 0 || math.Abs(b/a-1) <= renameCount {
		return "same " + what
	}
	return table.Times(b/a, 2) + " the " + what
}

// launchWords says how other launches changed a row: kernels that replace others, that are new or gone, or another
// number of them. Where the number does not explain the direction of the change, the time of each launch does. Copies
// replace nothing.
func (r *Row) launchWords(gone, fresh []string) string {
	was, _ := countText(r.LaunchesA)
	is, launches := countText(r.LaunchesB)
	count := fmt.Sprintf("%s %s instead of %s", is, launches, was)
	more := r.LaunchesB > r.LaunchesA
	switch verb := map[bool]string{true: "split", false: "fused"}[more]; {
	case len(gone) > 0 && len(fresh) > 0 && r.Operator != rowCopies:
		return fmt.Sprintf("%s: %s instead of %s, %s", verb, r.briefs.list(fresh), r.briefs.list(gone), count)
	case more != (r.kernelDelta() > 0):
		return count + r.each()
	case more && len(fresh) > 0:
		return fmt.Sprintf("%s besides, %s", r.briefs.list(fresh), count)
	case !more && len(gone) > 0:
		return fmt.Sprintf("without %s, %s", r.briefs.list(gone), count)
	}
	return count
}

// each is what a launch takes on both sides.
func (r *Row) each() string {
	return fmt.Sprintf(", each %s → %s", table.Duration(time.Duration(float64(r.KernelA)/r.LaunchesA)),
		table.Duration(time.Duration(float64(r.KernelB)/r.LaunchesB)))
}

// exchanged lists the kernels that only A and only B runs; a kernel with another name is in both lists.
func (r *Row) exchanged() (gone, fresh []string) {
	for _, k := range r.Kernels {
		switch {
		case k.Status == Renamed:
			gone, fresh = append(gone, k.Was), append(fresh, k.Name)
		case k.LaunchesB == 0:
			gone = append(gone, k.Name)
		case k.LaunchesA == 0:
			fresh = append(fresh, k.Name)
		}
	}
	return gone, fresh
}

// list names kernels in a sentence, two at most.
func (b briefs) list(names []string) string {
	const most = 2
	var out []string
	for _, n := range names[:min(most, len(names))] {
		out = append(out, b.of(n))
	}
	s := strings.Join(out, " and ")
	if len(names) > most {
		s += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return s
}

// countText prints a mean count of launches without decimals that say nothing, and its noun.
func countText(x float64) (count, launches string) {
	whole := math.Round(x)
	if math.Abs(x-whole) < 0.05 {
		return fmt.Sprintf("%.0f", x), table.Plural(int(whole), "launch", "launches")
	}
	return fmt.Sprintf("%.1f", x), "launches"
}

// some reports whether values are of two kinds on one side alone, and how many of them are like none of the other
// side's: single passes changed, the others did not.
func some(a, b []float64) (n, of int, ok bool) {
	_, _, twoA := apart(a)
	low, high, twoB := apart(b)
	if twoA == twoB {
		return
	}
	x, usual := b, median(a)
	if twoA {
		low, high, _ = apart(a)
		x, usual = a, median(b)
	}
	other := high
	if math.Abs(high-usual) < math.Abs(low-usual) {
		other = low
	}
	for _, v := range x {
		if math.Abs(v-other) < math.Abs(v-usual) {
			n++
		}
	}
	return n, len(x), true
}

// apart is bimodal for passes, which vary more than medians of runs do: the gap is as wide as the sum of both groups'
// widths, too.
func apart(x []float64) (low, high float64, ok bool) {
	return parted(x, bimodalPasses, func(a, b float64) float64 { return a + b })
}

// unsteady says where the passes of a run are of two kinds, "" where they are not. The verdict does not rest on it:
// means and intervals hold what single passes do.
func unsteady(times []float64) string {
	low, high, ok := apart(times)
	if !ok {
		return ""
	}
	n := 0
	for _, v := range times {
		if math.Abs(v-high) < math.Abs(v-low) {
			n++
		}
	}
	return fmt.Sprintf("passes are of two kinds: %d of %d take about %s, the others %s", n, len(times),
		table.Duration(time.Duration(high)), table.Duration(time.Duration(low)))
}

// mixed tests whether single passes of one side changed by so much that the mean did: a median does not see it.
func mixed(s series, pass float64) bool {
	if s.class == Waiting || s.class == Transfer || s.class == OfHost {
		return false
	}
	_, _, ok := some(s.a, s.b)
	return ok && math.Abs(stat.Mean(s.b)-stat.Mean(s.a)) >= minShare*pass
}

// smallKernels is the part of kernels as short as they get.
const smallKernels = "small kernels"

// cascade are the parts of a waterfall, in its order.
var cascade = []struct {
	name  string
	class Class
}{{"kernels", Memory}, {smallKernels, Latency}, {rowCopies, Latency}, {"exposed communication", Transfer},
	{rowWaiting, Waiting}, {"between kernels", Waiting}, {rowBetween, Waiting}, {rowLost, Waiting}}

// partOf is the part of the waterfall that a row belongs to.
func partOf(row string, c Class) string {
	switch {
	case row == rowWaiting || row == rowBetween || row == rowLost || row == rowCopies:
		return row
	case c == Waiting || c == OfHost:
		return "between kernels"
	}
	return map[Class]string{Memory: "kernels", Latency: smallKernels, Transfer: "exposed communication"}[c]
}

// floors are what the large operators take at least on both sides, known if a floor is of most of their time.
func (c *comparison) floors() (a, b time.Duration, known bool) {
	var sum [2]time.Duration
	for side := range sum {
		var have, all float64
		for i := range c.rows.names {
			if c.rows.class[i] != Memory { // small kernels are as short as they get
				continue
			}
			floor, own := c.parts[side][i].work.Floor, stat.Mean(c.parts[side][i].exclusive)
			sum[side] += min(floor, time.Duration(own))
			if all += own; floor > 0 {
				have += own
			}
		}
		if 2*have <= all {
			return
		}
	}
	return sum[0], sum[1], true
}

// tests is how many parts of a waterfall are judged: without records that are missing, their time is none of them.
func (c *comparison) tests() int {
	if slices.Contains(c.rows.names, rowLost) {
		return len(cascade)
	}
	return len(cascade) - 1
}

// waterfall divides the step into a few parts that add up to it, and judges each. Where floors are known on both
// sides, they are a part of their own.
func (c *comparison) waterfall(r *Report) {
	floorA, floorB, known := c.floors()
	at := map[string]int{}
	for i := range r.Rows {
		at[r.Rows[i].Operator] = i
	}
	for _, part := range cascade {
		s := series{class: part.class}
		var rows []int
		row := Row{Operator: part.name, Class: part.class, Kernels: []KernelDelta{}}
		for i, name := range c.rows.names {
			if partOf(name, c.rows.class[i]) != part.name {
				continue
			}
			rows = append(rows, i)
			s.a, s.b = add(s.a, c.parts[0][i].exclusive), add(s.b, c.parts[1][i].exclusive)
			own := r.Rows[at[name]]
			row.A, row.B = row.A+own.A, row.B+own.B
			row.LaunchesA, row.LaunchesB = row.LaunchesA+own.LaunchesA, row.LaunchesB+own.LaunchesB
		}
		if len(rows) == 0 {
			continue
		}
		if len(rows) == 1 && part.class != Memory { // what is one row is judged once
			if own := r.Rows[at[c.rows.names[rows[0]]]]; own.A == own.KernelA && own.B == own.KernelB {
				own.Operator, own.Class, own.Kernels = part.name, part.class, []KernelDelta{}
				own.Text = own.sentence()
				r.Waterfall = append(r.Waterfall, own)
				continue
			}
		}
		j := c.judge(s, 0, c.noise.of(&s, c.pass))
		if part.class == Memory && known {
			d := floorB - floorA
			r.Waterfall = append(r.Waterfall, Row{Operator: "floor of kernels", Class: Memory, Judged: true,
				Kernels: []KernelDelta{}, Interval: Interval{floorA, floorB, d, d, d}, KernelA: floorA, KernelB: floorB})
			row.Operator, row.A, row.B = "kernels above it", row.A-floorA, row.B-floorB
		}
		row.Delta = row.B - row.A
		row.KernelA, row.KernelB = row.A, row.B
		row.Judged = j.judged && (len(rows) > 1 || c.kinds.rows[rows[0]].known())
		row.Seen = time.Duration(j.seen(c.tests()))
		row.Low, row.High = j.around(row.Delta)
		row.Significant = row.Judged && j.p < alpha/float64(c.tests()) &&
			math.Abs(float64(row.Delta)) >= leastShare(part.class)*c.pass
		row.Found = found(row.Judged, row.Significant, Unchanged, row.Delta, c.least())
		row.Text = row.sentence()
		row.TimesA, row.TimesB = durations(s.a), durations(s.b)
		r.Waterfall = append(r.Waterfall, row)
	}
}
