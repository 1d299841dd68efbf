package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/stat"
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
	p := o.params()
	ca, cb, left, err := match(a, b, &o)
	if err != nil {
		return nil, err
	}
	c := &comparison{p: p, a: a, b: b, ca: ca, cb: cb, runs: len(a.Runs) > 1 && len(b.Runs) > 1, scale: 1}
	if o.PerToken && ca.like.tokens > 0 && cb.like.tokens > 0 {
		c.scale = float64(ca.like.tokens) / float64(cb.like.tokens)
	}
	r := &Report{Schema: schema, A: summary(a, ca), B: summary(b, cb), Left: append([]string{}, left...), Rows: []Row{}, Layers: []LayerTimes{}, Doubts: []Doubt{}, Findings: []Finding{}, Notes: []string{}, Gates: []Gate{}}
	c.floor(r, &o)
	c.collect()
	c.fill(r)
	c.perLayer(r)
	c.findings(r)
	r.Least = c.least()
	c.hostFindings(r, &o)
	c.doubts(r, &o)
	c.conclude(r)
	r.First = r.worst()
	for _, g := range o.Gates {
		r.Gates = append(r.Gates, r.judge(g))
	}
	return r, nil
}

// comparison is the work of one Compare.
type comparison struct {
	p      params
	a, b   *Side
	ca, cb *chosen
	runs   bool    // the run is the unit, not the pass
	scale  float64 // of side B's times
	noise  floors  // between runs

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
	for i, p := range c.passes {
		if len(p) > 0 {
			out.Start = s.Runs[i].Passes[p[0]].Start
			break
		}
	}
	out.Graph, out.Compiled = paths(s, c)
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
	case o.Noise != nil:
		r.Floor, r.FloorFrom = o.Noise.Common, o.Noise.from()
		c.noise = o.Noise.floors(c.p)
		return
	case o.Floor > 0:
		r.Floor, r.FloorFrom = o.Floor, "given"
	case c.runs:
		r.Floor, r.FloorFrom = c.p.Floor, fmt.Sprintf("assumed, and corrected by %d and %d runs", len(c.a.Runs), len(c.b.Runs))
	case ga != "" && ga == gb:
		r.Floor, r.FloorFrom = c.p.Floor, "assumed for two runs on GPUs of one kind"
	default:
		r.Floor, r.FloorFrom = c.p.FloorElsewhere, "assumed: the GPUs differ or are not known"
	}
	c.noise = evenly(r.Floor)
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
		ka, kb := c.kernels(c.a, name), c.kernels(c.b, name)
		s.other = len(ka) > 0 && len(kb) > 0 && ka[0] != kb[0]
		c.series = append(c.series, s)
	}
	total := series{class: memory}
	for _, s := range c.series {
		c.pass += stat.Mean(s.a)
		if s.class == waiting {
			continue
		}
		total.a, total.b = add(total.a, s.a), add(total.b, s.b)
	}
	c.kinds = c.p.judgeAll(c.series, c.pass, c.noise, c.runs, c.sameGPU)
	for i := range c.kinds.rows {
		if c.scrambled() && c.series[i].class != waiting {
			c.kinds.rows[i].judged, c.kinds.rows[i].found, c.kinds.rows[i].gone, c.kinds.rows[i].fresh = false, false, false, false
		}
	}
	c.work = c.p.judge(total, 0, c.pass, c.noise.common, c.runs)
	c.sums = [2]float64{stat.Mean(total.a), stat.Mean(total.b)}
}

// scrambled says that times of rows tell nothing on one of the sides.
func (c *comparison) scrambled() bool {
	of := func(r Run) bool { return r.Scrambled }
	return slices.ContainsFunc(c.a.Runs, of) || slices.ContainsFunc(c.b.Runs, of)
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
			x[i] = stat.Mean(of(&c.series[i]))
		}
		return wholes(x)
	}
	as, bs := means(func(s *series) []float64 { return s.a }), means(func(s *series) []float64 { return s.b })
	for i, name := range c.names {
		j := &c.kinds.rows[i]
		row := Row{Operator: name, Significant: j.found, Judged: j.judged || j.gone || j.fresh, Outliers: j.judged && j.outliers(), Seen: time.Duration(j.seen(c.p, len(c.names)))}
		row.TimesA, row.TimesB = durations(c.series[i].a), durations(c.series[i].b)
		row.Interval = Interval{A: as[i], B: bs[i], Delta: bs[i] - as[i]}
		row.Low, row.High = row.Delta-time.Duration(j.half()), row.Delta+time.Duration(j.half())
		switch {
		case j.fresh:
			row.Status = "new"
		case j.gone:
			row.Status = "removed"
		}
		row.KernelsA, row.LaunchesA = c.kernels(c.a, name), c.launches(c.a, c.ca, name)
		row.KernelsB, row.LaunchesB = c.kernels(c.b, name), c.launches(c.b, c.cb, name)
		row.Found, row.Text = found(row.Judged, row.Significant, row.Status, row.Delta, c.least()), row.sentence()
		r.Rows = append(r.Rows, row)
		r.Delta += row.Delta
	}
	slices.SortStableFunc(r.Rows, func(x, y Row) int { return cmp.Or(cmp.Compare(abs(y.Delta), abs(x.Delta)), cmp.Compare(y.A, x.A)) })
	w := Interval{A: time.Duration(c.sums[0]), B: time.Duration(c.sums[1])}
	w.Delta = w.B - w.A
	w.Low, w.High = w.Delta-time.Duration(c.work.half()), w.Delta+time.Duration(c.work.half())
	r.Work = w
}

func durations(x []float64) []time.Duration {
	out := make([]time.Duration, len(x))
	for i, v := range x {
		out[i] = time.Duration(math.Round(v))
	}
	return out
}

// perLayer writes the mean times of the layers.
func (c *comparison) perLayer(r *Report) {
	a, b := layerMeans(c.a, c.ca), layerMeans(c.b, c.cb)
	for l := range max(len(a), len(b)) {
		t := LayerTimes{Layer: l}
		if l < len(a) {
			t.A = time.Duration(a[l])
		}
		if l < len(b) {
			t.B = time.Duration(c.scale * b[l])
		}
		r.Layers = append(r.Layers, t)
	}
}

func layerMeans(s *Side, ch *chosen) []float64 {
	var out []float64
	n := float64(max(ch.count(), 1))
	for r, passes := range ch.passes {
		for _, p := range passes {
			for l, d := range s.Runs[r].Passes[p].PerLayer {
				if l == len(out) {
					out = append(out, 0)
				}
				out[l] += float64(d) / n
			}
		}
	}
	return out
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

// kernels are those of a row on one side, in its first run.
func (c *comparison) kernels(s *Side, name string) []string {
	names := []string{}
	for _, at := range c.rowsOf(&s.Runs[0], name) {
		names = append(names, s.Runs[0].Rows[at].Kernels...)
	}
	return names
}

// launches are how many a row has in a pass on one side, in the mean.
func (c *comparison) launches(s *Side, ch *chosen, name string) float64 {
	sum, n := 0, 0
	for r := range s.Runs {
		rows := c.rowsOf(&s.Runs[r], name)
		for _, p := range ch.passes[r] {
			n++
			for _, at := range rows {
				sum += s.Runs[r].Passes[p].Launches[at]
			}
		}
	}
	return float64(sum) / float64(max(n, 1))
}
