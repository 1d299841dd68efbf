package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/internal/vocabulary"
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
	Kind OperationKind `json:"kind"` // the family in which it is judged
	Name string        `json:"name"` // numbers generalised to N
	// Class is how its time behaves: "host", or the class of a row (see [Part]).
	Class Class `json:"class"`
	// Place is what surrounds it: the operation inside which it runs, "" for none. With Count, which is how often it
	// occurs in a step, it separates a renamed operation from a new one.
	Place string  `json:"place"`
	Count float64 `json:"count"`
	// Longest is what surrounds its longest occurrence, "" for none, or where only Place is known.
	Longest string `json:"longest_in,omitempty"`
	// Steps are its times by step, 0 where it did not occur. Waits are the parts in which it waits for the GPU, nil where
	// that is not known.
	Steps []time.Duration `json:"step_ns"`
	Waits []time.Duration `json:"wait_ns,omitempty"`
}

// own are its times by step without those in which it waits for the GPU.
func (o *Operation) own() []time.Duration {
	out := slices.Clone(o.Steps)
	for i, wait := range o.Waits {
		out[i] -= wait
	}
	return out
}

// OperationKind is the family in which operations are judged together.
type OperationKind string

// The families.
const (
	RangeKind  OperationKind = "range"  // NVTX range, annotation, or, without any, Python frame
	KernelKind OperationKind = "kernel" // GPU kernel
	APIKind    OperationKind = "api"    // CUDA or HIP API call, inside of what calls it
	// FigureKind are figures of complete steps, which are judged as operations are. [CompareHost] concludes from three.
	FigureKind OperationKind = "figure"
)

// OperationKinds lists all families of operations.
func OperationKinds() []OperationKind {
	return []OperationKind{RangeKind, KernelKind, APIKind, FigureKind}
}

// UnmarshalText refuses words that are no family.
func (k *OperationKind) UnmarshalText(text []byte) error {
	return vocabulary.Set(k, "family of operations", text, OperationKinds()...)
}

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
	// Rows are the operations, the largest difference first, without those of a kind that one side has none of: it did
	// not record them. Unmatched are these kinds.
	Rows      []HostRow       `json:"rows"`
	Unmatched []OperationKind `json:"unmatched,omitempty"`
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
	Kind OperationKind `json:"kind"` // the family in which it is judged
	Name string        `json:"name"` // name of the operation
	// Class is that of the operation (see [Operation]).
	Class Class `json:"class"`
	Interval
	// Significant says that the difference is a finding.
	Significant bool `json:"significant"`
	// Status is "new", "removed", "renamed" or "". Was is the name on side A of a renamed one.
	Status Change `json:"status"`
	Was    string `json:"was,omitempty"`
	// Inner is the operation inside this one that has most of a difference of at least Least, "" where none has. It is
	// what is listed and found then.
	Inner string `json:"inner,omitempty"`
	// Judged is false where nothing may be said: too few steps, or an operation of less than half of them.
	Judged bool          `json:"judged"`
	Seen   time.Duration `json:"seen_ns"`
	CountA float64       `json:"count_a"`
	CountB float64       `json:"count_b"`
}

// CompareHost judges the operations of runs, B against A, each kind as a family of its own.
func CompareHost(a, b []*Host, o Options) *HostReport {
	h := &hostComparison{ruler: rulerOf(0, len(a) > 1 && len(b) > 1), sides: [2][]*Host{a, b},
		noise: floors{common: cmp.Or(o.Floor, floorSameGPU), host: hostFloor}}
	return h.report(&o)
}

// hostComparison is the work of one CompareHost.
type hostComparison struct {
	ruler
	noise   floors // between runs
	sides   [2][]*Host
	keys    []opKey
	ops     map[opKey]*hostOp
	inertia inertia // of the operations together
}

type opKey struct {
	kind OperationKind
	name string
}

// hostOp is one operation on both sides.
type hostOp struct {
	runs   [2]map[int]*Operation // of the runs that have it
	series series
	count  [2]float64
	place  [2]string
	around [2]string // what surrounds its longest occurrence
	judged judged
}

func (h *hostComparison) report(o *Options) *HostReport {
	r := &HostReport{Rows: []HostRow{}, StepsNeeded: hostSteps, Floor: hostFloor,
		FloorFrom: "assumed: no repeated runs were measured"}
	r.Unmatched = h.collect()
	h.correlate()
	wall := series{class: OfHost, inertia: h.inertia}
	for side, steps := range []*int{&r.StepsA, &r.StepsB} {
		for _, x := range h.sides[side] {
			*steps += len(x.Walls)
			wall.put(side, h.unit(x.Walls))
		}
	}
	h.pass = stat.Mean(wall.a)
	r.Wall = interval(wall, h.judge(wall, 0, hostFloor))
	r.Least = time.Duration(minShare * h.pass)
	if n := h.between(); n > 0 && !h.runs {
		r.Floor, r.FloorFrom = h.noise.host, fmt.Sprintf("from how much %d operations of this pair differ", n)
	}
	kinds := map[OperationKind][]*hostOp{}
	for _, k := range h.keys {
		kinds[k.kind] = append(kinds[k.kind], h.ops[k])
	}
	for _, ops := range kinds {
		var rows []series
		for _, op := range ops {
			rows = append(rows, op.series)
		}
		for i, j := range h.judgeAll(rows, h.noise, false).rows {
			ops[i].judged = j
		}
	}
	for _, k := range h.keys {
		if k.kind == FigureKind {
			r.Figures = append(r.Figures, h.row(k))
			continue
		}
		r.Rows = append(r.Rows, h.row(k))
	}
	h.renames(r)
	r.Conclusion = r.conclude(time.Duration(cmp.Or(o.HostChange, hostChange) * h.pass))
	slices.SortStableFunc(r.Rows, func(x, y HostRow) int {
		return cmp.Or(cmp.Compare(abs(y.Delta), abs(x.Delta)), cmp.Compare(y.A, x.A))
	})
	h.nest(r)
	return r
}

// nest says of each row with a difference which operation inside it has most of that, on the side where it takes more.
func (h *hostComparison) nest(r *HostReport) {
	inside := map[opKey][]*HostRow{} // by the operation around them
	rows := map[opKey]*HostRow{}
	for i := range r.Rows {
		row := &r.Rows[i]
		k := opKey{row.Kind, row.Name}
		rows[k] = row
		around := opKey{row.Kind, h.ops[k].around[stat.Int(row.Delta > 0)]}
		inside[around] = append(inside[around], row)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if abs(row.Delta) < max(r.Least, 1) {
			continue
		}
		for _, in := range inside[opKey{row.Kind, row.Name}] { // the largest difference first
			last := in
			for last != row && last.Inner != "" {
				last = rows[opKey{row.Kind, last.Inner}]
			}
			if last != row && float64(in.Delta)/float64(row.Delta) >= innerShare {
				row.Inner = in.Name
				break
			}
		}
	}
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

// OneSided says that operations are not compared, as one side did not record any of their kind; "" if none are.
func (r *HostReport) OneSided() string {
	if len(r.Unmatched) == 0 {
		return ""
	}
	kinds := make([]string, len(r.Unmatched))
	for i, k := range r.Unmatched {
		kinds[i] = string(k)
	}
	return fmt.Sprintf("only one side recorded operations of the kind %s, so that they are not compared",
		strings.Join(kinds, ", "))
}

// both reports whether a kind of operations is recorded on both sides.
func (h *hostComparison) both(kind OperationKind) bool {
	for _, hosts := range h.sides {
		if !slices.ContainsFunc(hosts, func(x *Host) bool {
			return slices.ContainsFunc(x.Operations, func(o Operation) bool { return o.Kind == kind })
		}) {
			return false
		}
	}
	return true
}

// collect makes one series of each operation that either side has, in the order in which they first appear. Where a
// run lacks it, it took no time. It returns the kinds that one side lacks.
func (h *hostComparison) collect() (unmatched []OperationKind) {
	h.ops = map[opKey]*hostOp{}
	both := map[OperationKind]bool{}
	for side, hosts := range h.sides {
		for run, x := range hosts {
			for i := range x.Operations {
				of := &x.Operations[i]
				if _, ok := both[of.Kind]; !ok {
					if both[of.Kind] = h.both(of.Kind); !both[of.Kind] {
						unmatched = append(unmatched, of.Kind)
					}
				}
				if !both[of.Kind] {
					continue
				}
				k := opKey{of.Kind, of.Name}
				op := h.ops[k]
				if op == nil { // of one step, nothing shows how it varies
					op = &hostOp{series: series{class: of.Class, single: true},
						runs: [2]map[int]*Operation{{}, {}}}
					h.ops[k] = op
					h.keys = append(h.keys, k)
				}
				op.runs[side][run], op.place[side] = of, of.Place
				op.around[side] = cmp.Or(of.Longest, of.Place)
				op.count[side] += of.Count / float64(len(hosts))
			}
		}
	}
	for _, op := range h.ops {
		own := op.waitsAreKnown()
		for side, hosts := range h.sides {
			for run, x := range hosts {
				steps := make([]time.Duration, len(x.Walls))
				if of := op.runs[side][run]; of != nil && own {
					steps = of.own()
				} else if of != nil {
					steps = of.Steps
				}
				op.series.put(side, h.unit(steps))
			}
		}
	}
	return unmatched
}

// waitsAreKnown reports whether both sides have the operation, and all runs say for how long it waits for the GPU:
// who is done earlier waits longer, which is no change of the host. What is new counts with all its time.
func (o *hostOp) waitsAreKnown() bool {
	for _, runs := range o.runs {
		for _, of := range runs {
			if of.Waits == nil {
				return false
			}
		}
	}
	return len(o.runs[0]) > 0 && len(o.runs[1]) > 0
}

// between estimates by how much runs differ from the operations of this pair, most of them unchanged: the spread of
// their log ratios around the typical one, less what steps vary by. It replaces the assumed floor, and returns of how
// many operations, 0 if they are too few.
func (h *hostComparison) between() int {
	var ratios, own []float64
	var ops []*hostOp
	for _, k := range h.keys {
		op := h.ops[k]
		if k.kind == FigureKind || op.series.class != OfHost {
			continue
		}
		r := h.judge(op.series, 0, 0)
		la, lb := h.typical(op.series)
		if !r.judged || la <= 0 || lb <= 0 {
			continue
		}
		v, _ := h.variance(op.series, 0)
		ratios, own, ops = append(ratios, math.Log(lb/la)), append(own, v), append(ops, op)
	}
	if len(ratios) < hostOperations {
		return 0
	}
	typical := median(ratios)
	// What changed counts as far off: squares of a normal variable are cut at far, where their mean is cutMean. Cut
	// squares say efficiency times as much as the variance, and their logarithm moves by slope of what it does.
	const far, cutMean, efficiency, slope = 4, 0.9205, 0.885, 0.7385
	excess := func(i int, floor float64) float64 { // operations that vary much say little of the runs
		v, x := own[i]+2*floor*floor, ratios[i]-typical
		return (min(far, x*x/v) - cutMean) / v
	}
	all := func(floor float64) (sum float64) {
		for i := range ratios {
			sum += excess(i, floor)
		}
		return sum
	}
	low, high := 0.0, 2*h.noise.host
	if all(low) <= 0 {
		high = low
	}
	for range 40 { // to a billionth
		if mid := (low + high) / 2; all(mid) > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	floor := max(high, floorLeast)
	var information float64
	for _, v := range own {
		v += 2 * floor * floor
		information += 1 / (v * v)
	}
	known := func(floor float64) float64 { return efficiency * 4 * math.Pow(floor, 4) * information }
	h.noise.host, h.floorDF = floor, known(floor)
	for i, op := range ops { // its own change must not hide itself: without it, by one step of Newton's method
		square := floor*floor - max(0, excess(i, floor))/(2*slope*information)
		op.series.floor = math.Sqrt(max(square, floorLeast*floorLeast))
		op.series.floorDF = known(op.series.floor)
	}
	return len(ratios)
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
		j.mean = 0 // nor does it make the typical one less certain
		r.Low, r.High = j.around(r.Delta)
	}
	return r
}

// renames joins an operation that is gone with a new one of the same place that occurs as often and takes as long: it
// has another name, and nothing else changed.
func (h *hostComparison) renames(r *HostReport) {
	type place struct {
		kind  OperationKind
		place string
	}
	of := func(i int) *hostOp { return h.ops[opKey{r.Rows[i].Kind, r.Rows[i].Name}] }
	gone, fresh := map[place][]int{}, map[place][]int{}
	for i := range r.Rows {
		switch row := &r.Rows[i]; row.Status {
		case Removed:
			p := place{row.Kind, of(i).place[0]}
			gone[p] = append(gone[p], i)
		case New:
			p := place{row.Kind, of(i).place[1]}
			fresh[p] = append(fresh[p], i)
		}
	}
	byTime := func(x, y int) int {
		a, b := &r.Rows[x], &r.Rows[y]
		return cmp.Or(cmp.Compare(max(a.A, a.B), max(b.A, b.B)), cmp.Compare(a.Name, b.Name))
	}
	joined := func(x, y int) (series, result) {
		s := series{class: of(x).series.class, a: of(x).series.a, b: of(y).series.b, inertia: h.inertia}
		return s, h.judge(s, 0, h.noise.of(&s, h.pass))
	}
	same := func(x, y int) bool {
		a, b := of(x).count[0], of(y).count[1]
		_, j := joined(x, y)
		return math.Abs(a-b) <= renameCount*a && j.judged && j.p > alpha
	}
	old := map[int]bool{}
	for p := range gone {
		for _, pair := range pairUp(gone[p], fresh[p], byTime, same) {
			was, now := &r.Rows[pair[0]], &r.Rows[pair[1]]
			s, j := joined(pair[0], pair[1])
			now.Interval, now.Seen, now.CountA = interval(s, j), time.Duration(j.seen(len(h.keys))), was.CountA
			now.Status, now.Was, now.Significant, now.Judged = Renamed, was.Name, false, true
			old[pair[0]] = true
		}
	}
	kept := r.Rows[:0]
	for i, row := range r.Rows {
		if !old[i] {
			kept = append(kept, row)
		}
	}
	r.Rows = kept
}

// pairUp pairs what is the same of two lists, in their order: each thing is compared with the one of the other list
// that is next to it, so that long lists take no longer than to sort them.
func pairUp[T any](a, b []T, order func(x, y T) int, same func(x, y T) bool) (pairs [][2]T) {
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case same(a[i], b[j]):
			pairs = append(pairs, [2]T{a[i], b[j]})
			i, j = i+1, j+1
		case order(a[i], b[j]) < 0:
			i++
		default:
			j++
		}
	}
	return pairs
}

// sentence says what an operation's difference is.
func (r *HostRow) sentence() string {
	if r.Status == Renamed {
		return fmt.Sprintf("host: %s was %s: same place, as often, as long (%s)", r.Name, r.Was, table.Duration(r.B))
	}
	return sentence("host: "+r.Name, r.Status, r.A, r.B, "step")
}
