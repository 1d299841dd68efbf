package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
)

// Host is what else the steps of a run spend time on, besides the rows of its passes: operations of the host. They
// may overlap one another and the GPU's work, so they add up to nothing.
type Host struct {
	// Passes is the pass of each step, by its index, −1 for none; Walls are the times up to the next step.
	Passes     []int           `json:"passes"`
	Walls      []time.Duration `json:"wall_ns"`
	Operations []Operation     `json:"operations"`
}

// Operation is one thing that steps spend time on.
type Operation struct {
	// Kind is the family in which operations are judged together, such as "range", "api", "kernel".
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Class is how its time behaves: "host", or the class of a row (see [Part]).
	Class Class `json:"class"`
	// Place is what surrounds it: the operation inside which it runs, "" for none. With Count, which is how often it
	// occurs in a step, it separates a renamed operation from a new one.
	Place string  `json:"place"`
	Count float64 `json:"count"`
	// Steps are its times by step, 0 where it did not occur.
	Steps []time.Duration `json:"step_ns"`
}

// FigureKind is the family of operations that are figures of complete steps, which are judged as operations are.
// [CompareHost] concludes from three.
const FigureKind = "figure"

// The figures that a conclusion rests on.
const (
	FigureWall = "wall time per step"
	FigureStep = "step duration"
	FigureGap  = "inter-step gap (p50)"
)

// HostReport is what differs in what the host does.
type HostReport struct {
	StepsA int `json:"steps_a"` // steps of side A
	StepsB int `json:"steps_b"` // steps of side B
	// Wall is the mean time of a step.
	Wall Interval `json:"wall"`
	// Figures are those of complete steps; Conclusion is what they and the operations come to, "" without figures.
	Figures    []HostRow      `json:"figures,omitempty"`
	Conclusion HostConclusion `json:"conclusion,omitempty"`
	// Rows are the operations, the largest difference first.
	Rows []HostRow `json:"rows"`
	// StepsNeeded is how many steps a side needs before its operations are judged.
	StepsNeeded int `json:"steps_needed"`
	// Least is the smallest difference that is a finding, Floor the relative standard deviation of an operation
	// between two equal runs.
	Least     time.Duration `json:"least_ns"`
	Floor     float64       `json:"floor"`
	FloorFrom string        `json:"floor_from"`
}

// HostRow is one operation on both sides, as means per step.
type HostRow struct {
	Kind string `json:"kind"` // range, frame or API call
	Name string `json:"name"` // name of the operation
	// Class is that of the operation (see [Operation]).
	Class Class `json:"class"`
	Interval
	// Significant says that the difference is a finding.
	Significant bool `json:"significant"`
	// Status is "new", "removed", "renamed" or "". Was is the name on side A of a renamed one.
	Status Change `json:"status"`
	Was    string `json:"was,omitempty"`
	// Judged is false where nothing may be said: too few steps, or an operation of less than half of them.
	Judged bool          `json:"judged"`
	Seen   time.Duration `json:"seen_ns"`
	CountA float64       `json:"count_a"`
	CountB float64       `json:"count_b"`
}

// CompareHost judges the operations of runs, B against A, each kind as a family of its own. Operations that could not
// be a finding, as neither side spends enough on them, are not judged: they would cost the others power.
func CompareHost(a, b []*Host, o Options) *HostReport {
	h := &hostComparison{ruler: rulerOf(0, len(a) > 1 && len(b) > 1), floor: hostFloor, sides: [2][]*Host{a, b}}
	return h.report(&o)
}

// hostComparison is the work of one CompareHost.
type hostComparison struct {
	ruler
	floor float64 // of operations of the host
	sides [2][]*Host
	keys  []opKey
	ops   map[opKey]*hostOp
}

type opKey struct{ kind, name string }

// hostOp is one operation on both sides.
type hostOp struct {
	series series
	count  [2]float64
	place  [2]string
	judged judged
}

func (h *hostComparison) report(o *Options) *HostReport {
	r := &HostReport{Rows: []HostRow{}, StepsNeeded: hostSteps, Floor: hostFloor,
		FloorFrom: "assumed: no repeated runs were measured"}
	if o.Noise != nil && o.Noise.Host > 0 {
		r.Floor, r.FloorFrom = o.Noise.Host, o.Noise.from()
		h.floor = r.Floor
	}
	wall := series{class: OfHost, a: h.walls(h.sides[0]), b: h.walls(h.sides[1])}
	h.pass = stat.Mean(wall.a)
	r.StepsA, r.StepsB = steps(h.sides[0]), steps(h.sides[1])
	r.Wall = interval(wall, h.judge(wall, o))
	r.Least = time.Duration(minShare * h.pass)
	h.collect()
	h.effective = min(h.effective, h.independent())
	if n := h.between(); n > 0 && (o.Noise == nil || o.Noise.Host <= 0) && !h.runs {
		r.Floor, r.FloorFrom = h.floor, fmt.Sprintf("from how much %d operations of this pair differ", n)
	}
	for _, kind := range h.kinds() {
		h.judgeKind(kind, o)
	}
	for _, k := range h.keys {
		if k.kind == FigureKind {
			r.Figures = append(r.Figures, h.row(k))
			continue
		}
		r.Rows = append(r.Rows, h.row(k))
	}
	h.renames(r, o)
	r.Conclusion = r.conclude(time.Duration(cmp.Or(o.HostChange, hostChange) * h.pass))
	slices.SortStableFunc(r.Rows, func(x, y HostRow) int {
		return cmp.Or(cmp.Compare(abs(y.Delta), abs(x.Delta)),
			cmp.Compare(y.A, x.A))
	})
	return r
}

func steps(hosts []*Host) int {
	n := 0
	for _, h := range hosts {
		n += len(h.Walls)
	}
	return n
}

// walls are the times of the steps of some runs.
func (h *hostComparison) walls(of []*Host) []float64 {
	var out []float64
	for _, x := range of {
		out = append(out, h.unit(x.Walls)...)
	}
	return out
}

// unit are the values of a run that count: those of its steps, or its median where runs are compared.
func (h *hostComparison) unit(x []time.Duration) []float64 {
	out := make([]float64, len(x))
	for i, d := range x {
		out[i] = float64(d)
	}
	if h.runs && len(out) > 0 {
		return []float64{median(out)}
	}
	return out
}

// collect makes one series of each operation that either side has, in the order in which they first appear.
func (h *hostComparison) collect() {
	h.ops = map[opKey]*hostOp{}
	for side, hosts := range h.sides {
		for run, x := range hosts {
			for i := range x.Operations {
				h.add(side, run, &x.Operations[i])
			}
		}
	}
	for _, k := range h.keys { // where a run lacks it, it took no time
		op := h.ops[k]
		op.series.single = true // of one step, nothing shows how it varies
		op.series.a = h.fill(op.series.a, h.sides[0])
		op.series.b = h.fill(op.series.b, h.sides[1])
	}
}

func (h *hostComparison) add(side, run int, x *Operation) {
	k := opKey{x.Kind, x.Name}
	op := h.ops[k]
	if op == nil {
		op = &hostOp{series: series{class: x.Class}}
		h.ops[k] = op
		h.keys = append(h.keys, k)
	}
	values := &op.series.a
	if side == 1 {
		values = &op.series.b
	}
	*values = append(h.fill(*values, h.sides[side][:run]), h.unit(x.Steps)...)
	op.count[side] += x.Count / float64(len(h.sides[side]))
	op.place[side] = x.Place
}

// fill adds zeros for steps of runs that lack an operation.
func (h *hostComparison) fill(values []float64, runs []*Host) []float64 {
	n := 0
	for _, r := range runs {
		if h.runs {
			n += min(len(r.Walls), 1)
		} else {
			n += len(r.Walls)
		}
	}
	for len(values) < n {
		values = append(values, 0)
	}
	return values
}

// independent is how many independent steps one step counts for, by the autocorrelation that the operations show
// together: one operation of ten steps does not show it, forty operations do.
func (h *hostComparison) independent() float64 {
	var all []float64
	if h.runs {
		return 1
	}
	for _, k := range h.keys {
		for _, x := range [][]float64{h.ops[k].series.a, h.ops[k].series.b} {
			if r, ok := autocorrelation(winsorised(x)); ok {
				all = append(all, r)
			}
		}
	}
	if len(all) == 0 {
		return 1
	}
	r := min(max(median(all), 0), hostCorrelation)
	return (1 - r) / (1 + r)
}

// autocorrelation is how much a value resembles the one before it, corrected for what short series understate.
func autocorrelation(x []float64) (float64, bool) {
	const least = 6 // the correction below needs more than four
	n := float64(len(x))
	if len(x) < least {
		return 0, false
	}
	m := stat.Mean(x)
	var own, next float64
	for i, v := range x {
		own += (v - m) * (v - m)
		if i > 0 {
			next += (v - m) * (x[i-1] - m)
		}
	}
	if own == 0 {
		return 0, false
	}
	return (next/own + 1/n) / (1 - 3/n), true
}

// between estimates by how much runs differ from the operations of this pair, most of which did not change: the
// spread of their log ratios around the typical one, less what steps vary by. It replaces the assumed floor, and returns
// of how many operations, 0 if they are too few.
func (h *hostComparison) between() int {
	var ratios, own []float64
	for _, k := range h.keys {
		s := h.ops[k].series
		if k.kind == FigureKind || s.class != OfHost {
			continue
		}
		r := h.ruler.judge(s, 0, 0)
		la, lb := h.typical(s)
		if !r.judged || la <= 0 || lb <= 0 {
			continue
		}
		v, _ := h.variance(s, 0)
		ratios, own = append(ratios, math.Log(lb/la)), append(own, v)
	}
	if len(ratios) < hostOperations {
		return 0
	}
	typical := median(ratios)
	// What changed counts as far off: squares of a normal variable are cut at far, where their mean is cutMean.
	const far, cutMean = 4, 0.9205
	excess := func(floor float64) float64 {
		var sum float64
		for i, x := range ratios {
			sum += min(far, (x-typical)*(x-typical)/(own[i]+2*floor*floor))
		}
		return sum/float64(len(ratios)) - cutMean
	}
	low, high := 0.0, 2*h.floor
	if excess(low) > 0 {
		for range 40 { // to a billionth
			if mid := (low + high) / 2; excess(mid) > 0 {
				low = mid
			} else {
				high = mid
			}
		}
	} else {
		high = 0
	}
	// A mean of cut squares says 0.885 times as much as the variance.
	const efficiency = 0.885
	h.floor, h.floorDF = max(high, floorLeast), efficiency*float64(len(ratios))
	return len(ratios)
}

func (h *hostComparison) kinds() []string {
	var out []string
	for _, k := range h.keys {
		if !slices.Contains(out, k.kind) {
			out = append(out, k.kind)
		}
	}
	return out
}

// judge tests one series by the floor of its class.
func (h *hostComparison) judge(s series, o *Options) result {
	floor := floorSameGPU
	switch {
	case s.class == OfHost:
		floor = h.floor
	case o.Floor > 0:
		floor = o.Floor
	}
	return h.ruler.judge(s, 0, floor)
}

// judgeKind tests the operations of one kind together.
func (h *hostComparison) judgeKind(kind string, o *Options) {
	least := minShare * h.pass
	var ps []float64
	var at []*hostOp
	for _, k := range h.keys {
		op := h.ops[k]
		if k.kind != kind {
			continue
		}
		j := &op.judged
		j.result = h.judge(op.series, o)
		if change := oneSided(op.series); change != Unchanged && j.enough {
			j.change, j.found = change, math.Abs(j.delta) >= least
			continue
		}
		if j.judged && max(stat.Mean(op.series.a), stat.Mean(op.series.b)) >= least {
			ps, at = append(ps, j.p), append(at, op)
		}
	}
	for i, found := range holm(ps, alpha) {
		j := &at[i].judged
		j.found = found && math.Abs(j.delta) >= least
	}
}

func interval(s series, r result) Interval {
	i := Interval{A: time.Duration(stat.Mean(s.a)), B: time.Duration(stat.Mean(s.b))}
	i.Delta = i.B - i.A
	i.Low, i.High = r.around(i.Delta)
	return i
}

func (h *hostComparison) row(k opKey) HostRow {
	op := h.ops[k]
	j := &op.judged
	r := HostRow{Kind: k.kind, Name: k.name, Class: op.series.class, Interval: interval(op.series, j.result),
		Significant: j.found, Judged: j.known(), Status: j.change,
		Seen: time.Duration(j.seen(len(h.keys))), CountA: op.count[0], CountB: op.count[1]}
	if k == (opKey{FigureKind, FigureGap}) { // a pause of the server is no typical gap
		r.A, r.B = time.Duration(median(op.series.a)), time.Duration(median(op.series.b))
		r.Delta = r.B - r.A
		r.Low, r.High = j.around(r.Delta)
	}
	return r
}

// renames joins an operation that is gone with a new one of the same place that occurs as often and takes as long: it
// has another name, and nothing else changed.
func (h *hostComparison) renames(r *HostReport, o *Options) {
	type place struct{ kind, place string }
	fresh := map[place][]int{}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Status == New {
			p := place{row.Kind, h.ops[opKey{row.Kind, row.Name}].place[1]}
			fresh[p] = append(fresh[p], i)
		}
	}
	gone := map[int]bool{}
	for i := range r.Rows {
		old := &r.Rows[i]
		if old.Status != Removed {
			continue
		}
		was := h.ops[opKey{old.Kind, old.Name}]
		p := place{old.Kind, was.place[0]}
		for at, k := range fresh[p] {
			now := h.ops[opKey{r.Rows[k].Kind, r.Rows[k].Name}]
			if !h.sameAs(was, now, o) {
				continue
			}
			joined := series{class: was.series.class, a: was.series.a, b: now.series.b}
			res := h.judge(joined, o)
			r.Rows[k].Interval, r.Rows[k].Seen, r.Rows[k].CountA = interval(joined, res),
				time.Duration(res.seen(len(h.keys))), old.CountA
			r.Rows[k].Status, r.Rows[k].Was, r.Rows[k].Significant, r.Rows[k].Judged = Renamed, old.Name, false, true
			gone[i] = true
			fresh[p] = slices.Delete(fresh[p], at, at+1)
			break
		}
	}
	kept := r.Rows[:0]
	for i, row := range r.Rows {
		if !gone[i] {
			kept = append(kept, row)
		}
	}
	r.Rows = kept
}

// sameAs reports whether two operations occur as often and take as long, as far as two equal runs do.
func (h *hostComparison) sameAs(a, b *hostOp, o *Options) bool {
	if math.Abs(a.count[0]-b.count[1]) > renameCount*a.count[0] {
		return false
	}
	r := h.judge(series{class: a.series.class, a: a.series.a, b: b.series.b}, o)
	return r.judged && r.p > alpha
}

// sentence says what an operation's difference is.
func (r *HostRow) sentence() string {
	if r.Status == Renamed {
		return fmt.Sprintf("host: %s was %s: same place, as often, as long (%s)", r.Name, r.Was, table.Duration(r.B))
	}
	return sentence("host: "+r.Name, r.Status, r.A, r.B, "step")
}
