package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Compare says what differs between two sides, B against A. The error wraps [ErrNoMatch] where no passes are alike, and is ctx's where it is
// cancelled.
func Compare(ctx context.Context, a, b *Side, o Options) (*Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, s := range []*Side{a, b} {
		if s == nil || len(s.Runs) == 0 {
			return nil, fmt.Errorf("%w: side %c has no runs", ErrNoMatch, "AB"[i])
		}
	}
	p := DefaultParams()
	if o.Params != nil {
		p = *o.Params
	}
	ca, cb, left, err := match(a, b, &o)
	if err != nil {
		return nil, err
	}
	c := &comparison{p: p, a: a, b: b, ca: ca, cb: cb, runs: len(a.Runs) > 1 && len(b.Runs) > 1, scale: 1}
	if o.PerToken && ca.like.tokens > 0 && cb.like.tokens > 0 {
		c.scale = float64(ca.like.tokens) / float64(cb.like.tokens)
	}
	r := &Report{Schema: Schema, A: summary(a, ca), B: summary(b, cb), Left: append([]string{}, left...), Rows: []Row{}, Findings: []Finding{}, Notes: []string{}, Gates: []GateResult{}}
	c.floor(r, &o)
	c.collect()
	c.fill(r)
	c.findings(r)
	c.conclude(r)
	for _, g := range o.Gates {
		r.Gates = append(r.Gates, r.judge(g))
	}
	return r, nil
}

// comparison is the work of one Compare.
type comparison struct {
	p      Params
	a, b   *Side
	ca, cb *chosen
	runs   bool    // the run is the unit, not the pass
	scale  float64 // of side B's times
	noise  float64 // between runs

	sameGPU bool
	rowOf   map[string]string // the row of a side's row

	names  []string
	series []series
	kinds  judgement
	work   result // of all rows but waiting
	sums   [2]float64
	pass   float64
}

func summary(s *Side, c *chosen) Summary {
	first := &s.Runs[0]
	out := Summary{Label: s.Label, Trace: first.Trace, Framework: first.Framework, GPU: first.GPU, Runs: len(s.Runs), Passes: c.count(),
		Stage: c.like.stage, Batch: c.like.batch, Tokens: c.like.tokens}
	if n := c.count(); n > 0 {
		out.Wall = c.time(s) / time.Duration(n)
	}
	return out
}

// floor chooses the standard deviation between runs.
func (c *comparison) floor(r *Report, o *Options) {
	ga, gb := r.A.GPU, r.B.GPU
	c.sameGPU = ga == gb
	switch {
	case o.Floor > 0:
		r.Floor, r.FloorFrom = o.Floor, "given"
	case c.runs:
		r.Floor, r.FloorFrom = c.p.Floor, fmt.Sprintf("assumed, and corrected by %d and %d runs", len(c.a.Runs), len(c.b.Runs))
	case ga != "" && ga == gb:
		r.Floor, r.FloorFrom = c.p.Floor, "assumed for two runs on GPUs of one kind"
	default:
		r.Floor, r.FloorFrom = c.p.FloorElsewhere, "assumed: the GPUs differ or are not known"
	}
	c.noise = r.Floor
}

// collect makes one series of each row that either side has. Operators that one side runs in one kernel and the other in several are one row.
func (c *comparison) collect() {
	c.rowOf = together(c.a, c.b)
	classes := map[string]class{}
	for _, s := range []*Side{c.a, c.b} {
		for i := range s.Runs {
			for _, n := range s.Runs[i].Rows {
				row := c.rowOf[n.Operator]
				if _, ok := classes[row]; !ok {
					classes[row] = classNamed[n.Class]
					c.names = append(c.names, row)
				}
			}
		}
	}
	for _, name := range c.names {
		s := series{class: classes[name]}
		var la, lb int
		s.a, la = c.values(c.a, c.ca, name, 1)
		s.b, lb = c.values(c.b, c.cb, name, c.scale)
		s.single = la <= 1 && lb <= 1
		if len(s.a) == 1 || len(s.b) == 1 {
			s.layers = c.layers(name)
		}
		c.series = append(c.series, s)
	}
	total := series{class: memory}
	for _, s := range c.series {
		c.pass += mean(s.a)
		if s.class == waiting {
			continue
		}
		total.a, total.b = add(total.a, s.a), add(total.b, s.b)
	}
	c.kinds = c.p.judgeAll(c.series, c.pass, c.noise, c.runs, c.sameGPU)
	c.work = c.p.judge(total, 0, c.pass, c.noise, c.runs)
	c.sums = [2]float64{mean(total.a), mean(total.b)}
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

// values are a row's times on one side: of passes, or of each run its median.
func (c *comparison) values(s *Side, ch *chosen, name string, scale float64) (out []float64, launches int) {
	for r := range s.Runs {
		rows := c.rowsOf(&s.Runs[r], name)
		var own []float64
		for _, p := range ch.passes[r] {
			v, n := 0.0, 0
			for _, at := range rows {
				v += scale * float64(s.Runs[r].Passes[p].Rows[at])
				n += s.Runs[r].Passes[p].Launches[at]
			}
			launches = max(launches, n)
			own = append(own, v)
		}
		if c.runs && len(own) > 0 {
			own = []float64{median(own)}
		}
		out = append(out, own...)
	}
	return out, launches
}

// rowsOf are the numbers of a run's rows that make up a row.
func (c *comparison) rowsOf(r *Run, name string) []int {
	var out []int
	for i, n := range r.Rows {
		if c.rowOf[n.Operator] == name {
			out = append(out, i)
		}
	}
	return out
}

// layers are the log ratios of a row's layers, where a side has one pass and both know their layers.
func (c *comparison) layers(name string) []float64 {
	of := func(s *Side, ch *chosen) []time.Duration {
		for r := range s.Runs {
			rows := c.rowsOf(&s.Runs[r], name)
			for _, p := range ch.passes[r] {
				if l := s.Runs[r].Passes[p].Layers; len(rows) == 1 && len(l) > rows[0] {
					return l[rows[0]]
				}
			}
		}
		return nil
	}
	la, lb := of(c.a, c.ca), of(c.b, c.cb)
	if len(la) != len(lb) {
		return nil
	}
	var out []float64
	for i := range la {
		if la[i] > 0 && lb[i] > 0 {
			out = append(out, math.Log(float64(lb[i])/float64(la[i])))
		}
	}
	return out
}

// fill writes the rows, by the size of their difference.
func (c *comparison) fill(r *Report) {
	means := func(of func(s *series) []float64) []time.Duration {
		x := make([]float64, len(c.series))
		for i := range c.series {
			x[i] = mean(of(&c.series[i]))
		}
		return wholes(x)
	}
	as, bs := means(func(s *series) []float64 { return s.a }), means(func(s *series) []float64 { return s.b })
	for i, name := range c.names {
		j := &c.kinds.rows[i]
		row := Row{Operator: name, Significant: j.found, Judged: j.judged || j.gone || j.fresh, Outliers: j.judged && j.outliers(), Seen: time.Duration(j.seen(c.p, len(c.names)))}
		row.Interval = Interval{A: as[i], B: bs[i], Delta: bs[i] - as[i]}
		row.Low, row.High = row.Delta-time.Duration(j.half()), row.Delta+time.Duration(j.half())
		switch {
		case j.fresh:
			row.Status = "new"
		case j.gone:
			row.Status = "removed"
		}
		row.KernelsA, row.LaunchesA = c.kernels(c.a, c.ca, name)
		row.KernelsB, row.LaunchesB = c.kernels(c.b, c.cb, name)
		r.Rows = append(r.Rows, row)
		r.Delta += row.Delta
	}
	slices.SortStableFunc(r.Rows, func(x, y Row) int { return cmp.Compare(abs(y.Delta), abs(x.Delta)) })
	w := Interval{A: time.Duration(c.sums[0]), B: time.Duration(c.sums[1])}
	w.Delta = w.B - w.A
	w.Low, w.High = w.Delta-time.Duration(c.work.half()), w.Delta+time.Duration(c.work.half())
	r.Work = w
}

// wholes rounds values to nanoseconds so that they add up to the rounded sum: those with the largest remainders are rounded up.
func wholes(x []float64) []time.Duration {
	out := make([]time.Duration, len(x))
	order := make([]int, len(x))
	var sum float64
	var have time.Duration
	for i, v := range x {
		out[i] = time.Duration(math.Floor(v))
		order[i] = i
		sum += v
		have += out[i]
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(x[j]-math.Floor(x[j]), x[i]-math.Floor(x[i]))
	})
	for _, i := range order {
		if have >= time.Duration(math.Round(sum)) {
			break
		}
		out[i]++
		have++
	}
	return out
}

// kernels are a row's kernels and mean launches on one side.
func (c *comparison) kernels(s *Side, ch *chosen, name string) (names []string, launches float64) {
	n := 0
	names = []string{}
	for r := range s.Runs {
		rows := c.rowsOf(&s.Runs[r], name)
		for _, p := range ch.passes[r] {
			n++
			for _, at := range rows {
				launches += float64(s.Runs[r].Passes[p].Launches[at])
			}
		}
		for _, at := range rows {
			if r == 0 {
				names = append(names, s.Runs[r].Rows[at].Kernels...)
			}
		}
	}
	if n > 0 {
		launches /= float64(n)
	}
	return names, launches
}

// findings lists what is beyond noise.
func (c *comparison) findings(r *Report) {
	at := func(s *Side, ch *chosen) int64 {
		for i, p := range ch.passes {
			if len(p) > 0 {
				return s.Runs[i].Passes[p[0]].Start
			}
		}
		return 0
	}
	sa, sb := at(c.a, c.ca), at(c.b, c.cb)
	add := func(kind, operator, text string, delta time.Duration) {
		r.Findings = append(r.Findings, Finding{Kind: kind, Operator: operator, Text: text, Delta: delta, StartA: sa, StartB: sb})
	}
	if c.kinds.uniform {
		add("uniform", "", fmt.Sprintf("all kernels take %+.1f %% (a clock, a power cap, a driver: one run a side does not say which)", 100*(math.Exp(c.kinds.shift)-1)),
			time.Duration(c.sums[0]*(math.Exp(c.kinds.shift)-1)))
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if !row.Significant {
			continue
		}
		kind := "operator"
		switch {
		case row.Status != "":
			kind = row.Status
		case c.classOf(row.Operator) == waiting:
			kind = "waiting"
		}
		add(kind, row.Operator, row.sentence(), row.Delta)
	}
	c.path(r, add)
}

func (c *comparison) classOf(name string) class {
	return c.series[slices.Index(c.names, name)].class
}

// sentence says what a row's difference is.
func (r *Row) sentence() string {
	switch r.Status {
	case "new":
		return fmt.Sprintf("%s is new: %s a pass", r.Operator, micros(r.B))
	case "removed":
		return fmt.Sprintf("%s is gone: %s a pass before", r.Operator, micros(r.A))
	}
	s := fmt.Sprintf("%s %s → %s, %s", r.Operator, micros(r.A), micros(r.B), signed(r.Delta))
	if r.A > 0 {
		s += fmt.Sprintf(" (%+.1f %%)", 100*float64(r.Delta)/float64(r.A))
	}
	if len(r.KernelsA) > 0 && len(r.KernelsB) > 0 && r.KernelsA[0] != r.KernelsB[0] {
		s += fmt.Sprintf("; %s instead of %s", short(r.KernelsB[0]), short(r.KernelsA[0]))
	}
	return s
}

// otherPath is how far the shares of replayed kernels may be apart on the same path.
const otherPath = 0.5

// path says where one side replays graphs and the other launches kernels one by one.
func (c *comparison) path(r *Report, add func(kind, operator, text string, delta time.Duration)) {
	share := func(s *Side, ch *chosen) float64 {
		var sum float64
		for i, passes := range ch.passes {
			for _, p := range passes {
				sum += s.Runs[i].Passes[p].Graph
			}
		}
		return sum / float64(max(ch.count(), 1))
	}
	ga, gb := share(c.a, c.ca), share(c.b, c.cb)
	if math.Abs(ga-gb) > otherPath {
		add("path", "", fmt.Sprintf("A launches %.0f %% of its kernels by graph replays, B %.0f %%: the two do not take the same path", 100*ga, 100*gb), 0)
	}
}

// conclude says what the comparison comes to.
func (c *comparison) conclude(r *Report) {
	var net time.Duration
	found := 0
	for _, f := range r.Findings {
		if f.Kind != "path" {
			net += f.Delta
			found++
		}
	}
	limit := time.Duration(c.p.Equivalent * c.pass)
	least := time.Duration(c.p.MinShare * c.pass)
	percent := 100 * float64(r.Delta) / c.pass
	switch {
	case found > 0 && net >= least:
		r.Verdict = Slower
	case found > 0 && net <= -least:
		r.Verdict = Faster
	case r.Work.Low > 0:
		r.Verdict = Slower
	case r.Work.High < 0:
		r.Verdict = Faster
	case r.Work.Low > -limit && r.Work.High < limit && abs(r.Delta) < limit:
		r.Verdict = NoDifference
	default:
		r.Verdict = Inconclusive
	}
	wall := fmt.Sprintf("a pass takes %s instead of %s (%+.1f %%)", millis(r.Work.B+r.waitB()), millis(r.Work.A+r.waitA()), percent)
	switch r.Verdict {
	case Slower, Faster:
		r.Text = fmt.Sprintf("B is %s: %s", r.Verdict, wall)
	case NoDifference:
		r.Text = fmt.Sprintf("no significant difference: %s, and GPU work differs by less than %.0f %%", wall, 100*c.p.Equivalent)
	default:
		r.Text = fmt.Sprintf("inconclusive: %s; %s", wall, c.why(r, limit))
	}
	c.notes(r)
}

func (r *Report) waitA() time.Duration { return r.A.Wall - r.Work.A }
func (r *Report) waitB() time.Duration { return r.waitA() + r.Delta - r.Work.Delta }

// why says what keeps a comparison from a conclusion.
func (c *comparison) why(r *Report, limit time.Duration) string {
	if abs(r.Delta-r.Work.Delta) >= limit {
		return fmt.Sprintf("most of it is waiting or idle time, which needs %d passes a side to be judged", c.p.WaitPasses)
	}
	return fmt.Sprintf("GPU work changed by %s to %s, which is neither clearly something nor clearly nothing", signed(r.Work.Low), signed(r.Work.High))
}

func (c *comparison) notes(r *Report) {
	note := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	note("noise: %d and %d passes, %d and %d runs; between-run floor %.2f %% (%s)", r.A.Passes, r.B.Passes, r.A.Runs, r.B.Runs, 100*r.Floor, r.FloorFrom)
	if !c.runs {
		note("one run a side: offsets between runs cannot be seen; a change of all GPU work below about %s (%.1f %%) cannot be told from them",
			micros(time.Duration(c.work.seen(c.p, 1))), 100*c.work.seen(c.p, 1)/c.pass)
	}
	for _, s := range []*Side{c.a, c.b} {
		for i := range s.Runs {
			if h := s.Runs[i].Health; h != "" && h != "ok" {
				note("%s: the recording is %s", s.Runs[i].Trace, h)
			}
		}
	}
	if c.scale != 1 {
		note("B is scaled by %.4g to the tokens of A", c.scale)
	}
}

func abs(d time.Duration) time.Duration { return max(d, -d) }

func micros(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/1e3) }
func millis(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d)/1e6) }
func signed(d time.Duration) string { return fmt.Sprintf("%+.1f µs", float64(d)/1e3) }

// short cuts a kernel's name at its arguments and templates.
func short(name string) string {
	name = strings.TrimPrefix(name, "void ")
	if i := strings.IndexAny(name, "<("); i > 0 {
		name = name[:i]
	}
	const most = 60
	if len(name) > most {
		name = name[:most] + "…"
	}
	return name
}
