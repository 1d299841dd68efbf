package roofline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
)

// group is a heading of the waterfall.
type group uint8

const (
	products group = iota
	experts
	attentionCore
	small
	communication
	copies
	unplaced
	outside
	others // kernels of another pass, or of none
	groups
)

// A walk goes through the passes of one device.
type walk struct {
	model    *model
	plan     *profile.Plan
	device   *layer.Device
	gpu      *hardware.GPU
	shortest time.Duration

	marked, expectedAbove, unknownTokens int // passes and instances, for notes
}

// key names one operator of one layer kind; kind is −1 outside of layers.
type key struct {
	kind     int
	operator string
}

// cell is what was measured of one operator.
type cell struct {
	raw, booked time.Duration // durations, and the instants that are its own
	launches    int
	instances   int // layers
	group       group
	floor       time.Duration // of all instances
	capped      time.Duration // of floor, what is not above the booked time
	work        Work
	bound       Bound
	over        time.Duration // raw time of instances that are faster than possible
	notes       []string
}

// measured is one pass.
type measured struct {
	walk   *walk
	load   *Load
	pass   Pass
	cells  map[key]*cell
	order  []key
	booked [groups]time.Duration
	inside time.Duration // idle inside the pass
	after  time.Duration // idle behind it
	stage  layer.Stage
	sum    passFloor
}

// instance is one operator of one layer.
type instance struct {
	layer    int
	operator string
}

// spent is what an instance took.
type spent struct {
	instance
	raw, booked time.Duration
}

// tally collects instances in the order in which they first ran.
type tally struct {
	index map[instance]int
	all   []spent
}

func (t *tally) add(in instance, raw, booked time.Duration) {
	i, ok := t.index[in]
	if !ok {
		i = len(t.all)
		t.index[in] = i
		t.all = append(t.all, spent{instance: in})
	}
	t.all[i].raw += raw
	t.all[i].booked += booked
}

// pass measures one pass.
func (w *walk) pass(p int, o *Options) *measured {
	fp := &w.device.Passes[p]
	r := &measured{walk: w, cells: map[key]*cell{}, stage: fp.Stage}
	load, from := loadOf(fp, o)
	r.load = load
	r.pass = Pass{Index: p, Stage: fp.Stage, Tokens: fp.Tokens, TokensFrom: from, Batch: int64(fp.Batch), Waterfall: []Share{}}
	if load == nil {
		w.unknownTokens++
	} else {
		r.pass.Tokens = load.Tokens
	}
	end := w.end(p)
	r.pass.Wall = end.Sub(fp.Start)
	r.judge(r.book(p, fp, end))
	r.pass.Waterfall = r.waterfall()
	return r
}

// end is where a pass's time ends: at the start of the next one, unless the server was idle between them.
func (w *walk) end(p int) trace.Time {
	fp := &w.device.Passes[p]
	if p+1 < len(w.device.Passes) {
		if next := w.device.Passes[p+1].Start; next >= fp.End && float64(next.Sub(fp.End)) <= idleGap*float64(fp.Wall()) {
			return next
		}
	}
	return fp.End
}

// book gives each instant of the pass to the kernel that started first, or to idle time, and returns what each operator instance took.
func (r *measured) book(p int, fp *layer.ForwardPass, end trace.Time) []spent {
	took := &tally{index: map[instance]int{}}
	cursor := fp.Start
	idle := func(until trace.Time) {
		if inside := min(until, fp.End); inside > cursor {
			r.inside += inside.Sub(cursor)
		}
		if from := max(cursor, fp.End); until > from {
			r.after += until.Sub(from)
		}
	}
	for k := range r.walk.device.Kernels() {
		e := k.Event()
		if e.End() <= fp.Start {
			continue
		}
		if e.Start() >= end {
			break
		}
		begin, finish := max(e.Start(), cursor), min(e.End(), end)
		if begin > cursor {
			idle(begin)
		}
		var booked time.Duration
		if finish > begin {
			booked = finish.Sub(begin)
			cursor = finish
		}
		place := k.Place()
		if place.Pass != p {
			r.booked[others] += booked
			continue
		}
		r.kernel(k, e, place.Layer, booked, took)
	}
	if end > cursor {
		idle(end)
	}
	return took.all
}

// kernel books one kernel of the pass.
func (r *measured) kernel(k layer.Kernel, e trace.Event, l int, booked time.Duration, took *tally) {
	operator, part, _ := k.Operator()
	g := small
	switch {
	case k.Category() == classify.CategoryCommunication:
		g = communication
	case part == layer.PartCopy || e.Kind() != trace.KindKernel:
		g = copies
	case operator == opname.Other || operator == "":
		g = unplaced
	}
	if l == layer.None && g != communication && (g != small || !r.walk.countsOutside(string(operator))) {
		g = outside
	}
	if g == small {
		g = groupOf(planned(r.walk.plan, r.walk.kindOf(l), string(operator), r.stage == layer.StageDecode))
		if g == small && l == layer.None {
			g = outside
		}
	}
	c := r.cell(key{r.walk.kindIndex(l), string(operator)}, g)
	c.launches++
	c.booked += booked
	if part != layer.PartCopy {
		c.raw += e.Duration()
		took.add(instance{l, string(operator)}, e.Duration(), booked)
	}
	if g == products || g == experts || g == attentionCore {
		return // the floor divides it
	}
	r.booked[g] += booked
}

// countsOutside says that an operator has work of its own before or behind the layers.
func (w *walk) countsOutside(operator string) bool {
	return groupOf(planned(w.plan, nil, operator, false)) == products
}

func (r *measured) cell(k key, g group) *cell {
	c := r.cells[k]
	if c == nil {
		c = &cell{group: g}
		r.cells[k] = c
		r.order = append(r.order, k)
	}
	if g < small {
		c.group = g
	}
	return c
}

// kindIndex is the plan's kind of a layer, −1 outside.
func (w *walk) kindIndex(l int) int {
	if l < 0 || l >= len(w.plan.LayerKinds) {
		return -1
	}
	return w.plan.LayerKinds[l]
}

func (w *walk) kindOf(l int) *profile.PlanKind {
	if i := w.kindIndex(l); i >= 0 {
		return &w.plan.Kinds[i]
	}
	return nil
}

// judge holds each instance against its floor.
func (r *measured) judge(took []spent) {
	for _, s := range took {
		k := key{r.walk.kindIndex(s.layer), s.operator}
		c := r.cells[k]
		c.instances++
		if r.load == nil {
			continue
		}
		w := r.walk.workOf(k, s.layer, r.load, r.stage)
		f := floorOf(&w, r.walk.gpu)
		c.work, c.bound = w, f.bound
		if !f.known {
			continue
		}
		floor := duration(max(f.seconds(), f.link))
		c.floor += floor
		c.capped += min(floor, s.booked)
		r.sum.add(profile.Operator(s.operator), &w, &f, 1)
		if r.walk.impossible(&w, &f, s.raw) {
			c.over += s.raw
		}
	}
	r.withhold()
}

// workOf adds up what a kernel's operator has to do in one layer.
func (w *walk) workOf(k key, l int, load *Load, stage layer.Stage) Work {
	kind := w.kindOf(l)
	var sum Work
	for _, op := range planned(w.plan, kind, k.operator, stage == layer.StageDecode) {
		one := w.model.work(&op, kind, load)
		if !one.Known {
			continue
		}
		if sum.M == 0 {
			sum.M, sum.N, sum.K, sum.DType, sum.ActiveExperts = one.M, one.N, one.K, one.DType, one.ActiveExperts
		}
		sum.FLOP += one.FLOP
		sum.Weights += one.Weights
		sum.Cache += one.Cache
		sum.Activations += one.Activations
		sum.Link += one.Link
		sum.LeastWeights += one.LeastWeights
		sum.AtMost = sum.AtMost || one.AtMost
		sum.Expected = sum.Expected || one.Expected
		sum.Known = true
	}
	return sum
}

// impossible says that an instance was faster than the GPU at its highest clock. An expectation is no bound, and neither is an upper bound of the
// work.
func (w *walk) impossible(k *Work, f *floor, took time.Duration) bool {
	if w.gpu == nil || k.AtMost || f.bound == BoundLink {
		return false
	}
	memory := f.memory * w.gpu.Bandwidth.Value / w.gpu.MostBandwidth()
	if k.Expected {
		if k.Weights > 0 {
			memory *= k.LeastWeights / k.Weights
		}
	}
	return max(f.compute/w.gpu.Most(), memory) > above*took.Seconds()
}

// withhold takes the floor of a pass back where too much of it cannot be true.
func (r *measured) withhold() {
	var over, all time.Duration
	for _, c := range r.cells {
		over += c.over
		all += c.raw
		if c.over > 0 {
			c.notes = append(c.notes, "faster than the GPU can be: tokens, types, GPU or records are wrong")
		}
	}
	if over > 0 {
		r.walk.marked++
	}
	if float64(over) > withheld*float64(all) || r.load == nil {
		return
	}
	r.pass.Floor, r.pass.Overlapped = duration(r.sum.serial), duration(max(r.sum.compute, r.sum.memory))
}

// waterfall divides the pass's time. It adds up to it exactly: every instant was booked once, and a floor takes no more than was booked.
func (r *measured) waterfall() []Share {
	var floors, above [3]time.Duration
	for _, c := range r.cells {
		if c.group <= attentionCore {
			floors[c.group] += c.capped
			above[c.group] += c.booked - c.capped
		}
	}
	launches := map[group]int{}
	for _, c := range r.cells {
		launches[c.group] += c.launches
	}
	out := []Share{
		{"floor: products (weights)", floors[products], ""},
		{"floor: experts", floors[experts], r.expectation()},
		{"floor: attention (cache)", floors[attentionCore], ""},
		{"products above their floor", above[products], r.sharesOf(products)},
		{"experts above their floor", above[experts], r.sharesOf(experts)},
		{"attention above its floor", above[attentionCore], ""},
		{"small operators", r.booked[small], fmt.Sprintf("%d launches; the GPU's shortest kernels take %s", launches[small], r.walk.shortest)},
		{"communication: transfer and waiting", r.booked[communication], "one rank alone does not tell them apart"},
		{"copies and fills", r.booked[copies], fmt.Sprintf("%d launches", launches[copies])},
		{"not placed", r.booked[unplaced], ""},
		{"outside layers", r.booked[outside], ""},
		{"kernels of no pass", r.booked[others], ""},
		{"GPU idle inside the pass", r.inside, ""},
		{"GPU idle up to the next pass", r.after, ""},
	}
	return out
}

func (r *measured) expectation() string {
	for _, k := range r.order {
		if c := r.cells[k]; c.work.Expected {
			return fmt.Sprintf("expected: %.0f experts active", c.work.ActiveExperts)
		}
	}
	return ""
}

// sharesOf lists what share of the peak the operators of a group reach.
func (r *measured) sharesOf(g group) string {
	var parts []string
	for _, k := range r.order {
		if c := r.cells[k]; c.group == g && c.floor > 0 && c.raw > 0 {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", k.operator, 100*float64(c.floor)/float64(c.raw)))
		}
	}
	const most = 6
	if len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return strings.Join(parts, ", ")
}

// rows are the operators of the pass in the order in which they first ran.
func (r *measured) rows() []Row {
	out := []Row{}
	for _, k := range r.order {
		c := r.cells[k]
		row := Row{LayerType: "outside layers", Operator: k.operator, Stage: r.stage, Count: c.instances, M: c.work.M, N: c.work.N, K: c.work.K,
			GFLOP: float64(c.instances) * c.work.FLOP / 1e9, Bytes: int64(float64(c.instances)*c.work.Bytes() + 0.5), Time: c.raw, Floor: c.floor, Bound: c.bound}
		if k.kind >= 0 {
			row.LayerType = r.walk.plan.Kinds[k.kind].Name
		}
		if c.floor > 0 && c.raw > 0 {
			row.PeakShare = float64(c.floor) / float64(c.raw)
		}
		if c.floor == 0 && c.launches > 0 && float64(c.raw) <= nearShortest*float64(c.launches)*float64(r.walk.shortest) {
			row.Bound = BoundLatency
		}
		if c.work.Expected {
			note := fmt.Sprintf("%.0f experts active if chosen evenly", c.work.ActiveExperts)
			if row.PeakShare > 1 {
				row.PeakShare = 0
				row.Floor = 0
				note = fmt.Sprintf("at most %.0f experts active", c.work.ActiveExperts*float64(c.raw)/float64(c.floor))
			}
			c.notes = append(c.notes, note)
		}
		if c.work.AtMost {
			c.notes = append(c.notes, "at most: sums over requests do not tell more")
		}
		row.Note = strings.Join(c.notes, "; ")
		out = append(out, row)
	}
	return out
}

// recoverable are the largest times above what must be.
func (r *measured) recoverable() []Item {
	var items []Item
	add := func(what string, t time.Duration, why string) {
		if t > 0 && r.pass.Wall > 0 {
			items = append(items, Item{What: what, Time: t, Share: float64(t) / float64(r.pass.Wall), Why: why})
		}
	}
	for _, k := range r.order {
		if c := r.cells[k]; c.group <= attentionCore && c.floor > 0 && c.over == 0 && c.booked > c.capped {
			add(k.operator, c.booked-c.capped, fmt.Sprintf("at %.0f %% of what the GPU can do", 100*float64(c.floor)/float64(max(c.raw, 1))))
		}
	}
	launches := 0
	for _, c := range r.cells {
		if c.group == small {
			launches += c.launches
		}
	}
	add("small operators", r.booked[small], fmt.Sprintf("%d launches; fewer of them, by fusing, is what helps", launches))
	add("copies and fills", r.booked[copies], "kernels that move or clear data for others")
	add("idle inside the pass", r.inside, "no kernel runs")
	add("idle up to the next pass", r.after, "between two steps")
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(b.Time, a.Time) })
	const most = 3
	return items[:min(most, len(items))]
}

// notes are what the walk found doubtful.
func (w *walk) notes() []string {
	var out []string
	if w.unknownTokens > 0 {
		out = append(out, fmt.Sprintf("the tokens of %d passes are not known: they have no floor (give --tokens)", w.unknownTokens))
	}
	if w.marked > 0 {
		out = append(out, fmt.Sprintf("%d passes have operators that are faster than the GPU can be: where that is more than %.0f %% of the time, the floor is withheld", w.marked, 100*withheld))
	}
	return out
}
