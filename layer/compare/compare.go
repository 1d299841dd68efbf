package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// Compare says what differs between two sides, B against A. Where they do not run the same work its verdict is
// [NotComparable], and Text says why. The error wraps [ErrNoMatch] where a side has no runs or not the pass that was
// asked for, and is ctx's where it is cancelled.
func Compare(ctx context.Context, a, b *Side, o Options) (*Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, s := range []*Side{a, b} {
		if s == nil || len(s.Runs) == 0 {
			return nil, fmt.Errorf("%w: side %c has no runs", ErrNoMatch, "AB"[i])
		}
	}
	r := compareSlowest(a, b, o)
	if err := r.compareRanks(ctx, a, b, &o); err != nil {
		return nil, err
	}
	return r, ctx.Err()
}

// compareSlowest compares two sides by the rank that represents each run.
func compareSlowest(a, b *Side, o Options) *Report {
	sides := [2]*Side{a, b}
	m := match(sides, &o)
	if m.why != "" {
		return notComparable(sides, m, &o)
	}
	r := compareGroups(sides, m, &m.pairs[0], &o)
	for i := range m.pairs[1:] {
		if i == mostOthers {
			break
		}
		r.Others = append(r.Others, otherOf(compareGroups(sides, &matching{cut: m.cut}, &m.pairs[i+1],
			&Options{Floor: o.Floor, Allow: o.Allow})))
	}
	if r.Verdict == NotComparable {
		return r
	}
	for _, g := range o.Gates {
		r.Gates = append(r.Gates, r.judge(g))
	}
	if min(r.A.Runs, r.B.Runs) == 1 {
		r.Text += r.caveat()
	}
	return r
}

// mostOthers bounds how many further kinds of passes are compared.
const mostOthers = 8

// compareGroups compares the passes of one pair of groups.
func compareGroups(sides [2]*Side, m *matching, of *pair, o *Options) *Report {
	c := &comparison{ruler: rulerOf(0, o.runs || min(len(sides[0].Runs), len(sides[1].Runs)) > 1),
		ch: [2]*chosen{of.a.of(sides, 0), of.b.of(sides, 1)}, equal: of.a == of.b, sizes: of.sizes, scale: 1}
	c.trim(m.cut)
	if o.PerToken && c.ch[0].id.hasTokens() && c.ch[1].id.hasTokens() {
		c.scale = float64(c.ch[0].id.tokens) / float64(c.ch[1].id.tokens)
	}
	r := newReport(sides)
	r.A, r.B, r.Left = c.summary(0), c.summary(1), append([]string{}, m.left...)
	r.Likeness, r.MatchedA, r.MatchedB = of.likeness, m.share(0), m.share(1)
	c.floor(r, o)
	c.collect()
	c.fill(r)
	r.uniform, r.shiftP = c.kinds.uniform, c.kinds.p
	c.waterfall(r)
	if why := c.strays(r); why != "" {
		m.why = why
		return notComparable(sides, m, o)
	}
	c.findings(r)
	r.Least = c.least()
	c.hostFindings(r, o)
	c.doubts(r, of, o)
	c.conclude(r)
	r.First = c.worst(r)
	return r
}

// strays says where the steps of one side hold much more work of no pass than those of the other: their passes were
// not found alike.
func (c *comparison) strays(r *Report) string {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Operator != rowOthers {
			continue
		}
		a, b := shareOf(row.A, r.Work.A), shareOf(row.B, r.Work.B)
		if math.Abs(a-b) > strayWork {
			return fmt.Sprintf("%s of the GPU work in A's steps and %s in B's is in no forward pass that was found",
				percent(a), percent(b))
		}
	}
	return ""
}

// trim leaves out passes with missing records, first passes of a stage and those that nothing follows, where others
// remain. Where one side has none that is followed, passes end with their last kernel on both.
func (c *comparison) trim(cut []place) {
	var own [2]chosen
	all := true
	for side, ch := range c.ch {
		ch.drop(1, func(p *Pass) bool { return p.Lost > 0 })
		ch.drop(2, func(p *Pass) bool { return p.First })
		own[side] = *ch
		all = own[side].followed(func(run, pass int) bool {
			return slices.Contains(cut, place{side, run, pass})
		}) && all
	}
	for side := range c.ch {
		if all {
			c.ch[side] = &own[side]
		} else {
			c.ch[side].withoutTails()
		}
	}
}

// newReport has no rows and no verdict.
func newReport(sides [2]*Side) *Report {
	return &Report{Schema: schema, Left: []string{}, Rows: []Row{}, Waterfall: []Row{},
		Doubts: []finding.Finding{}, Allowed: []DoubtCode{}, Findings: []finding.Finding{}, Notes: []string{},
		Gates: []Gate{}, Others: []Other{}}
}

// incomparable begins the text of such a report.
const incomparable = "not comparable: "

// Why says why the sides are [NotComparable].
func (r *Report) Why() string { return strings.TrimPrefix(r.Text, incomparable) }

// notComparable is the report on sides that do not run the same work.
func notComparable(sides [2]*Side, m *matching, o *Options) *Report {
	r := newReport(sides)
	r.Verdict, r.Text, r.Left = NotComparable, incomparable+m.why, append([]string{}, m.left...)
	r.A, r.B = sideSummary(sides[0]), sideSummary(sides[1])
	r.MatchedA, r.MatchedB = m.share(0), m.share(1)
	r.First = finding.Finding{Text: "nothing is compared"}
	for _, g := range o.Gates {
		r.Gates = append(r.Gates, Gate{What: g.What, Gate: g.form(), Limit: g.Limit, Outcome: GateUndecided,
			Text: g.form() + ": " + r.Text})
	}
	return r
}

// otherOf is a pair of groups besides the main one, in short.
func otherOf(r *Report) Other {
	return Other{A: r.A, B: r.B, Delta: r.Delta, Verdict: r.Verdict, Text: r.Text}
}

// comparison is the work of one Compare.
type comparison struct {
	ruler
	ch    [2]*chosen
	equal bool    // both sides run the same kernels
	sizes bool    // the passes are of different sizes
	scale float64 // of side B's times
	noise floors  // between runs

	sameGPU    bool
	categories bool // rows are categories
	rows       *rowSet
	renamed    map[string]string // of side B: what a kernel was called before
	unsure     map[string]bool   // categories that have operators' kernels on one side
	parts      [2][]rowTimes
	filled     int // launches

	series []series
	kinds  judgement
	work   result // of all rows but waiting
	wall   result // of all rows
	sums   [2]float64
}

func sideSummary(s *Side) Summary {
	first := &s.Runs[0]
	return Summary{Label: s.Label, Trace: first.Trace, Framework: first.Framework, GPU: first.GPU, Commit: s.Commit,
		Date: s.Date, Runs: len(s.Runs), Rank: first.Rank, Batch: -1, Tokens: -1, Stage: layer.StageUnknown}
}

func (c *comparison) summary(side int) Summary {
	ch := c.ch[side]
	out := sideSummary(ch.side)
	out.Passes, out.Stage, out.Batch, out.Tokens = ch.count(), ch.id.stage, ch.id.batch, ch.id.tokens
	for run, pass := range ch.all() {
		out.Start, out.Trace = pass.Start, cmp.Or(pass.Trace, run.Trace)
		break
	}
	out.Graph, out.Compiled = ch.paths()
	for _, pass := range ch.all() {
		out.Wall += pass.Wall
	}
	out.Wall /= time.Duration(out.Passes)
	return out
}

// floor chooses the standard deviation between runs.
func (c *comparison) floor(r *Report, o *Options) {
	ga, gb := r.A.GPU, r.B.GPU
	c.sameGPU = ga == gb
	switch {
	case o.Floor > 0:
		r.Floor, r.FloorFrom = o.Floor, floorGiven
	case c.runs:
		r.Floor, r.FloorFrom = floorSameGPU, fmt.Sprintf("assumed, and corrected by %d and %d runs",
			len(c.ch[0].side.Runs), len(c.ch[1].side.Runs))
	case ga != "" && ga == gb:
		r.Floor, r.FloorFrom = floorSameGPU, "assumed for two runs on GPUs of one kind"
	case ga == "" && gb == "" && r.Likeness == 1:
		r.Floor, r.FloorFrom = floorSameGPU, "assumed: the GPUs are not recorded, and run the same kernels"
	default:
		r.Floor, r.FloorFrom = floorElsewhere, "assumed: the GPUs differ or are not known"
	}
	if o.Floor == 0 && !c.runs { // within a replay no host decides
		r.WaitFloor = waitFloor * (1 - min(1, r.A.Graph, r.B.Graph)) // shares are sums: 1, and a little more
	}
	c.noise = floors{common: r.Floor, waits: r.WaitFloor}
}

// collect makes one series of each row that either side has, and judges them. Rows are judged on the time of their
// kernels; what adds up to the pass is the time that they have of it.
func (c *comparison) collect() {
	c.divide()
	c.measure()
	total, waits := series{class: Memory}, series{class: Waiting}
	lost := make([]bool, len(c.rows.names))
	for i := range c.rows.names {
		a, b := &c.parts[0][i], &c.parts[1][i]
		mostA, mostB := slices.Max(a.counts), slices.Max(b.counts)
		if d := mostA - mostB; min(len(a.time), len(b.time)) == 1 && !c.runs && c.equal && d*d == 1 {
			lost[i] = true // one pass with one launch less may have lost its record
		}
		s := series{class: c.rows.class[i], a: a.time, b: b.time, single: mostA <= 1 && mostB <= 1}
		if len(s.a) == 1 || len(s.b) == 1 {
			s.layers = c.layers(i)
		}
		s.other = mostA != mostB || a.leading() != b.leading()
		c.series = append(c.series, s)
		switch {
		case s.class == Waiting || lost[i]:
			waits.a, waits.b = add(waits.a, a.exclusive), add(waits.b, b.exclusive)
		default:
			total.a, total.b = add(total.a, a.full), add(total.b, b.full)
			waits.a, waits.b = add(waits.a, less(a.exclusive, a.full)), add(waits.b, less(b.exclusive, b.full))
		}
		c.pass += (stat.Mean(a.exclusive) + stat.Mean(b.exclusive)) / 2
	}
	c.kinds = c.judgeAll(c.series, c.noise, c.sameGPU && !c.sizes)
	for i := range c.kinds.rows {
		if c.scrambled() && c.series[i].class != Waiting || lost[i] || c.unsure[c.rows.names[i]] {
			r := &c.kinds.rows[i]
			r.judged, r.found, r.change = false, false, Unchanged
		}
	}
	c.work = c.judge(total, 0, c.noise.common)
	c.wall = c.judgeWall(total, waits, c.noise.of(&waits, c.pass))
	c.sums = [2]float64{stat.Mean(total.a), stat.Mean(total.b)}
}

// scrambled reports that times of rows are useless on one of the sides.
func (c *comparison) scrambled() bool {
	of := func(r Run) bool { return r.Scrambled }
	return slices.ContainsFunc(c.ch[0].side.Runs, of) || slices.ContainsFunc(c.ch[1].side.Runs, of)
}

// less is the difference of values.
func less(x, y []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] - y[i]
	}
	return out
}

func add(sum, x []float64) []float64 {
	if sum == nil {
		return slices.Clone(x)
	}
	for i := range sum {
		sum[i] += x[i]
	}
	return sum
}

// fill writes the rows, by the size of their difference.
func (c *comparison) fill(r *Report) {
	r.A.Wall = 0 // rows add up to it
	var names []string
	for _, side := range c.parts {
		for i := range side {
			for _, k := range side[i].kernels {
				names = append(names, k.name)
			}
		}
	}
	brief := briefsOf(names)
	for i, name := range c.rows.names {
		j := &c.kinds.rows[i]
		row := Row{Operator: name, Class: c.rows.class[i], Significant: j.found, Judged: j.known(), Status: j.change,
			Seen: time.Duration(j.seen(len(c.rows.names))), briefs: brief, p: j.p}
		a, b := &c.parts[0][i], &c.parts[1][i]
		row.TimesA, row.TimesB = durations(a.time), durations(b.time)
		row.A, row.B = mean(a.exclusive), mean(b.exclusive)
		row.Delta = row.B - row.A
		row.KernelA, row.KernelB = mean(a.time), mean(b.time)
		row.Low, row.High = j.around(row.kernelDelta())
		if j.change != Unchanged {
			row.p = 0
		}
		row.LaunchesA, row.LaunchesB = a.launches, b.launches
		row.Kernels = c.kernelsOf(a.kernels, b.kernels)
		row.WorkA, row.WorkB = a.work, b.work
		row.Because = c.because(&row, i)
		row.Found, row.Text = found(row.Judged, row.Significant, row.Status, row.kernelDelta(), c.least()),
			row.sentence()
		r.Rows = append(r.Rows, row)
		r.A.Wall, r.Delta = r.A.Wall+row.A, r.Delta+row.Delta
	}
	slices.SortStableFunc(r.Rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(abs(y.Delta), abs(x.Delta)), cmp.Compare(max(y.A, y.B), max(x.A, x.B)),
			cmp.Compare(x.Operator, y.Operator))
	})
	c.judgeKernels(r)
	w := Interval{A: time.Duration(c.sums[0]), B: time.Duration(c.sums[1])}
	w.Delta = w.B - w.A
	w.Low, w.High = c.work.around(w.Delta)
	r.Work = w
	r.Wall = Interval{A: r.A.Wall, B: r.A.Wall + r.Delta, Delta: r.Delta}
	half := time.Duration(c.wall.half())
	if !c.wall.judged { // what waits may have taken anything
		half = time.Duration(c.work.half()) + abs(r.Delta-r.Work.Delta)
	}
	r.Wall.Low, r.Wall.High = r.Delta-half, r.Delta+half
	r.WallJudged = c.wall.judged
}

// mean is the mean of nanoseconds.
func mean(x []float64) time.Duration { return time.Duration(math.Round(stat.Mean(x))) }

// kernelsOf are the kernels of a row on both sides, most time first; one that was renamed is one.
func (c *comparison) kernelsOf(a, b []kernelUse) []KernelDelta {
	out := []KernelDelta{}
	at := map[string]int{}
	for _, k := range a {
		at[k.name] = len(out)
		out = append(out, KernelDelta{Name: k.name, Category: k.category, LaunchesA: k.launches, A: k.time,
			WaitA: k.wait, WorkA: k.work, times: [2][]float64{k.times, nil}})
	}
	for _, k := range b {
		i, ok := at[k.name]
		if was, renamed := c.renamed[k.name]; !ok && renamed {
			if i, ok = at[was]; ok {
				out[i].Name, out[i].Was, out[i].Status = k.name, was, Renamed
			}
		}
		if !ok {
			i = len(out)
			out = append(out, KernelDelta{Name: k.name, Category: k.category})
		}
		out[i].LaunchesB, out[i].B, out[i].WaitB = out[i].LaunchesB+k.launches, out[i].B+k.time, out[i].WaitB+k.wait
		out[i].WorkB.join(&k.work)
		out[i].times[1] = add(out[i].times[1], k.times)
	}
	slices.SortStableFunc(out, func(x, y KernelDelta) int {
		return cmp.Or(cmp.Compare(max(y.A, y.B), max(x.A, x.B)), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// judgeKernels tests the kernels of all rows as one family.
func (c *comparison) judgeKernels(r *Report) {
	var all []*KernelDelta
	var list []series
	for i := range r.Rows {
		for k := range r.Rows[i].Kernels {
			d := &r.Rows[i].Kernels[k]
			for side := range d.times {
				if d.times[side] == nil {
					d.times[side] = make([]float64, len(c.parts[side][0].time))
				}
			}
			all = append(all, d)
			list = append(list, series{class: r.Rows[i].Class, a: d.times[0], b: d.times[1], single: true})
		}
	}
	for i, j := range c.judgeAll(list, c.noise, c.sameGPU && !c.sizes).rows {
		d := all[i]
		d.Low, d.High = j.around(d.B - d.A)
		d.Judged, d.Significant = j.known() && !c.scrambled(), j.found && !c.scrambled()
		if j.change != Unchanged {
			d.Status = j.change
		}
	}
}

func durations(x []float64) []time.Duration {
	out := make([]time.Duration, len(x))
	for i, v := range x {
		out[i] = time.Duration(math.Round(v))
	}
	return out
}
