package roofline

import (
	"fmt"
	"iter"
	"sort"
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
	groups
)

// A walk goes through the passes of one device.
type walk struct {
	model    *model
	plan     *profile.Plan
	device   *layer.Device
	gpu      *hardware.GPU
	shortest time.Duration

	given  []given         // by pass
	booked []time.Duration // by kernel: the instants that are its own
	costs  costs           // by kernel; nil where nobody asks
	met    *rendezvous     // with other ranks

	dims                  map[string][][]int64 // input shapes of ops, read
	collectives           []Collective
	marked, unknownTokens int // passes, for notes
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
	sum         passFloor     // of all instances
	over        time.Duration // raw time of instances that are faster than possible
	longest     layer.Kernel  // that took most time, for people
	notes       []string
}

// measured is one pass.
type measured struct {
	walk    *walk
	load    *Load
	pass    Pass
	cells   map[key]*cell
	order   []key
	booked  [groups]time.Duration
	counts  [groups]int          // launches
	longest [groups]layer.Kernel // that took most time, for people
	given   given
	stage   layer.Stage
	told    told
}

// instance is one operator of one layer.
type instance struct {
	layer    int
	operator string
}

// spent is what an instance took, and the longest of its kernels, which its work is shown at.
type spent struct {
	instance
	raw, booked time.Duration
	main        layer.Kernel
}

// tally collects instances in the order in which they first ran.
type tally struct {
	index map[instance]int
	all   []spent
}

func (t *tally) add(in instance, k layer.Kernel, raw, booked time.Duration) {
	i, ok := t.index[in]
	if !ok {
		i = len(t.all)
		t.index[in] = i
		t.all = append(t.all, spent{instance: in})
	}
	s := &t.all[i]
	s.raw += raw
	s.booked += booked
	s.main = longer(s.main, k)
}

// longer is the one of two kernels that took longer, the first of equals.
func longer(a, b layer.Kernel) layer.Kernel {
	if !a.Valid() || b.Event().Duration() > a.Event().Duration() {
		return b
	}
	return a
}

// pass measures one pass.
func (w *walk) pass(p int, o *Options) *measured {
	fp := &w.device.Passes[p]
	r := &measured{walk: w, cells: map[key]*cell{}, stage: fp.Stage, given: w.given[p]}
	load, from := w.loadOf(p, o)
	r.load = load
	if r.stage == layer.StageUnknown && load != nil {
		r.stage = stageOf(load)
	}
	r.pass = Pass{Index: p, Stage: r.stage, Tokens: fp.Tokens, TokensFrom: from, Batch: int64(fp.Batch), Rows: -1, Waterfall: []Share{}}
	if load == nil {
		w.unknownTokens++
	} else {
		r.pass.Tokens = load.Tokens
		if r.pass.Batch < 0 && load.Requests > 0 {
			r.pass.Batch = load.Requests
		}
	}
	r.pass.Wall = w.device.StepEnd(p).Sub(fp.Start)
	r.pass.partial, r.pass.generating = fp.Partial != layer.Whole, -1
	if fp.Annotation != nil {
		r.pass.generating = int64(fp.Annotation.GenerationRequests)
	}
	if r.pass.Tokens > 0 {
		r.pass.PerToken = r.pass.Wall / time.Duration(r.pass.Tokens)
	}
	if r.pass.Batch > 0 {
		r.pass.PerRequest = r.pass.Wall / time.Duration(r.pass.Batch)
	}
	r.judge(r.kernels(p))
	if fp.Rows >= r.pass.Tokens {
		r.pass.Rows = fp.Rows
	}
	r.pass.Waterfall = r.waterfall()
	return r
}

// given is the time of a pass that no kernel of its own takes.
type given struct{ inside, after, others time.Duration }

// divide gives each instant of each pass to a kernel, or to idle time, as the device's timeline has it.
func (w *walk) divide() {
	d := w.device
	w.given = make([]given, len(d.Passes))
	w.booked = make([]time.Duration, d.NumKernels())
	for p, s := range d.Steps() {
		g, took := &w.given[p], s.End.Sub(s.Start)
		switch {
		case s.Kernel == layer.None:
			inside := max(0, min(s.End, d.Passes[p].End).Sub(s.Start))
			g.inside += inside
			g.after += took - inside
		case s.Pass == p:
			w.booked[s.Kernel] += took
		default:
			g.others += took
		}
	}
}

// kernels books the pass's kernels, and returns what each instance of an operator took.
func (r *measured) kernels(p int) []spent {
	took := &tally{index: map[instance]int{}}
	for k := range r.walk.kernelsOf(p) {
		r.kernel(k, k.Event(), k.Place().Layer, r.walk.booked[k.Index()], took)
	}
	return took.all
}

// kernelsOf iterates over the kernels of a pass, by start.
func (w *walk) kernelsOf(p int) iter.Seq[layer.Kernel] {
	return func(yield func(layer.Kernel) bool) {
		d := w.device
		fp := &d.Passes[p]
		first := sort.Search(d.NumKernels(), func(i int) bool { return d.Kernel(i).Event().Start() >= fp.Start })
		for i := first; i < d.NumKernels(); i++ {
			k := d.Kernel(i)
			if k.Event().Start() > fp.End {
				return
			}
			if k.Place().Pass == p && !yield(k) {
				return
			}
		}
	}
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
	r.counts[g]++
	r.longest[g] = longer(r.longest[g], k)
	if g == communication {
		r.collective(k, e, string(operator), booked)
	}
	c := r.cell(key{r.walk.kindIndex(l), string(operator)}, g)
	if part != layer.PartCopy {
		c.launches++
		c.raw += e.Duration()
		c.longest = longer(c.longest, k)
		took.add(instance{l, string(operator)}, k, e.Duration(), booked)
	}
	if g <= attentionCore {
		c.booked += booked // the floor divides it
		return
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
	for i := range took {
		s := &took[i]
		k := key{r.walk.kindIndex(s.layer), s.operator}
		c := r.cells[k]
		c.instances++
		if r.load == nil {
			continue
		}
		w := r.walk.workOf(k, s.layer, r.load, r.stage)
		f := floorOf(&w, r.walk.gpu)
		c.work, c.bound = w, f.bound
		r.walk.costs.add(s, &w, &f)
		if !f.known {
			continue
		}
		floor := duration(max(f.seconds(), f.link))
		if c.group == communication {
			r.linked(s.operator, duration(f.link))
		}
		c.floor += floor
		c.capped += min(floor, s.booked)
		c.sum.add(profile.Operator(s.operator), &w, &f, 1)
		if r.walk.impossible(&w, &f, s.raw) {
			c.over += s.raw
		}
	}
	for _, k := range r.order {
		r.cells[k].expect()
	}
	r.withhold()
}

// expect takes back the floor of experts that are expected to take longer than they did: fewer of them were chosen than an even choice gives.
func (c *cell) expect() {
	if !c.work.Expected || c.floor == 0 {
		return
	}
	if c.floor <= c.raw {
		c.notes = append(c.notes, fmt.Sprintf("%.0f experts active if chosen evenly", c.work.ActiveExperts))
		return
	}
	c.notes = append(c.notes, fmt.Sprintf("at most %.0f experts active", c.work.ActiveExperts*float64(c.raw)/float64(c.floor)))
	c.floor, c.capped, c.sum = 0, 0, passFloor{}
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
	if k.Expected && k.LeastWeights == 0 { // this rank's experts may have no token
		return false
	}
	memory := f.memory * w.gpu.Bandwidth.Value / w.gpu.MostBandwidth()
	if k.Expected {
		memory *= k.LeastWeights / k.Weights
	}
	return max(f.compute/w.gpu.Most(), memory) > above*took.Seconds()
}

// withhold gives the pass its floor, unless too much of that cannot be true.
func (r *measured) withhold() {
	var over, all time.Duration
	var sum passFloor
	for _, k := range r.order {
		c := r.cells[k]
		over += c.over
		all += c.raw
		sum.join(&c.sum)
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
	r.pass.Floor, r.pass.Overlapped = duration(sum.serial), duration(max(sum.compute, sum.memory))
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
