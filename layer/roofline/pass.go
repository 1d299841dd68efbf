package roofline

import (
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// group is a heading of the waterfall.
type group uint8

const (
	products group = iota
	experts
	attentionCore
	others // element-wise ops, norms and the like
	small
	communication
	copies
	unplaced
	outside
	groups
)

// A walk goes through the passes of one device.
type walk struct {
	model    *model // nil where the config is not known
	plan     *profile.Plan
	device   *layer.Device
	gpu      *hardware.GPU
	shortest time.Duration

	given   []given         // by pass
	booked  []time.Duration // by kernel: the instants that are its own
	costs   costs           // by kernel; nil where nobody asks
	waits   *layer.RankWaits
	ops     *opCounts            // nil where no inputs were recorded
	alike   []profile.KnownModel // public models that it may be, where the config is not known
	bySizes bool                 // they are known by sizes, not by the path

	scrambled      bool              // the records are
	refused        bool              // a config was given that is not of this model
	uncounted      bool              // the plan's sizes on one rank are not known
	contradictions map[string]string // of recorded sizes and kernels' types to the plan's, by operator

	slots                 map[key]*slot // found once for all passes
	collectives           []Collective
	marked, unknownTokens int // passes, for notes
}

// measured is one pass.
type measured struct {
	walk    *walk
	load    *Load
	pass    Pass
	cells   []*cell       // by slot; nil where it has no kernels
	order   []*cell       // in which they first ran
	took    []spent       // by layer and operator, in the order in which they first ran
	raw     time.Duration // of all kernels
	booked  [groups]time.Duration
	hidden  [groups]time.Duration // what kernels run beside those that the time is booked to
	counts  [groups]int           // launches
	longest [groups]layer.Kernel  // that took most time, for people
	copied  struct {              // by kernels: copies that are none are idle time's, which says what they wait for
		booked  time.Duration
		count   int
		longest layer.Kernel
		by      map[string]time.Duration // operator
	}
	apart        Row // copies that are in no operator's row
	apartLongest layer.Kernel
	given        given
	stage        layer.Stage
	role         layer.Role // of the pass's model
	divided      divided

	basis    Basis // what the work of the plan rests on
	withheld bool  // too much of it cannot be
}

// pass measures one pass.
func (w *walk) pass(p int, o *Options) *measured {
	fp := &w.device.Passes[p]
	r := &measured{walk: w, stage: fp.Stage, role: roleOf(w.device, p), given: w.given[p],
		took: make([]spent, 0, fp.Kernels)}
	load, from := w.loadOf(p, o)
	planned := w.plans(fp.Model)
	if load == nil && planned {
		w.unknownTokens++
	}
	r.pass = Pass{Index: p, Stage: r.stage, Tokens: fp.Tokens, TokensFrom: from, Batch: int64(fp.Batch), Rows: -1,
		Waterfall: []Share{}}
	if planned {
		if r.load, r.basis = load, basisOf(from); load == nil {
			r.load, r.basis = &Load{Tokens: 1, Requests: 1, AtLeast: true}, BasisWeights
		}
	}
	if r.stage == layer.StageUnknown && load != nil {
		r.stage = stageOf(load)
	}
	if r.pass.Stage = r.stage; load != nil {
		r.pass.Tokens = load.Tokens
		if r.pass.Batch < 0 && load.Requests > 0 {
			r.pass.Batch = load.Requests
		}
	}
	r.pass.Wall = w.device.StepTime(p)
	r.pass.partial, r.pass.of, r.pass.generating = fp.Partial != "", fp.Basis(), -1
	if fp.Annotation != nil {
		r.pass.generating = int64(fp.Annotation.GenerationRequests)
	}
	if r.pass.Tokens > 0 {
		r.pass.PerToken = r.pass.Wall / time.Duration(r.pass.Tokens)
	}
	if r.pass.Batch > 0 {
		r.pass.PerRequest = r.pass.Wall / time.Duration(r.pass.Batch)
	}
	r.setHeadings(p)
	for k := range w.kernelsOf(p) {
		r.kernel(k, k.Event(), k.Place().Layer, w.booked[k.Index()])
	}
	r.setSmallApart()
	r.judge()
	r.opCosts()
	if fp.Rows >= r.pass.Tokens {
		r.pass.Rows = fp.Rows
	}
	r.pass.Waterfall = r.waterfall()
	return r
}

// plans reports whether the config is of a model of the device: not of a draft, nor of one whose layers are as many as
// the config's only in another model.
func (w *walk) plans(model int) bool {
	if w.model == nil {
		return false
	}
	layers := func(m layer.Model) bool { return !m.Draft && m.NumLayers == w.model.config.NumLayers }
	all := w.device.Models
	return model < 0 || model >= len(all) || !all[model].Draft && (layers(all[model]) || !slices.ContainsFunc(all, layers))
}

// given is the time of a pass that no kernel of its own takes.
type given struct{ inside, after, others, lost time.Duration }

// divide gives each instant of each pass to a kernel, or to idle time, as the device's timeline has it.
func (w *walk) divide() {
	d := w.device
	w.given = make([]given, len(d.Passes))
	w.booked = make([]time.Duration, d.NumKernels())
	for p, s := range d.Steps() {
		g, took := &w.given[p], time.Duration(s.End-s.Start)
		switch {
		case s.Lost:
			g.lost += took
		case s.Kernel == trace.None:
			inside := max(0, time.Duration(min(s.End, d.Passes[p].End)-s.Start))
			g.inside += inside
			g.after += took - inside
		case s.Pass == p:
			w.booked[s.Kernel] += took
		default:
			g.others += took
		}
	}
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

// setHeadings gives each operator of an unknown model one heading: that of the kernels that take most of its time, of
// those that compute where some do.
func (r *measured) setHeadings(p int) {
	if r.walk.model != nil {
		return
	}
	took := map[*slot]*[groups]time.Duration{}
	for k := range r.walk.kernelsOf(p) {
		operator, part, _ := k.Operator()
		l := k.Place().Layer
		at := r.walk.slot(r.walk.kindIndex(l), r.walk.nameOf(k, string(operator)))
		by := took[at]
		if by == nil {
			by = new([groups]time.Duration)
			took[at] = by
			r.cell(at, groups)
		}
		by[r.groupOf(k, part, at, l)] += k.Event().Duration() + 1 // a kernel without a duration counts, too
	}
	serves := func(g group) bool { return g == copies || g == communication }
	for _, c := range r.order {
		by := took[c.slot]
		for g := range groups {
			if by[g] > 0 && (c.group == groups || serves(c.group) && !serves(g) ||
				serves(c.group) == serves(g) && by[g] > by[c.group]) {
				c.group = g
			}
		}
	}
}

// kernel books one kernel of the pass.
func (r *measured) kernel(k layer.Kernel, e trace.Event, l int, booked time.Duration) {
	operator, part, _ := k.Operator()
	at := r.walk.slot(r.walk.kindIndex(l), r.walk.nameOf(k, string(operator)))
	g := r.groupOf(k, part, at, l)
	c := r.cell(at, g)
	if r.walk.model == nil && g != copies && g != communication {
		g = c.group
	}
	r.raw += e.Duration()
	r.counts[g]++
	r.longest[g] = longer(r.longest[g], k)
	if g == copies && e.Kind() == event.Kernel {
		r.copied.booked += booked
		r.copied.count++
		r.copied.longest = longer(r.copied.longest, k)
		if r.copied.by == nil {
			r.copied.by = map[string]time.Duration{}
		}
		r.copied.by[at.operator] += booked
	}
	if g == communication {
		r.collective(k, e, at.operator, booked)
	}
	if part != layer.PartCopy {
		c.launches++
		c.raw += e.Duration()
		c.longest = longer(c.longest, k)
		r.add(c, l, k, e.Duration(), booked)
	} else {
		c.apart += e.Duration()
		r.setApart(k, e.Duration())
	}
	switch {
	case g == copies:
		c.copied += booked
	case g <= others || r.walk.model == nil && g == c.group:
		c.headed++
		c.booked += booked // the floor divides it
		c.hidden += e.Duration() - booked
	}
	if g > others {
		r.booked[g] += booked
		r.hidden[g] += e.Duration() - booked
	}
}

// setApart counts a copy for an operator, whose own row has none.
func (r *measured) setApart(k layer.Kernel, d time.Duration) {
	a := &r.apart
	a.Kernels++
	a.Time += d
	r.apartLongest = longer(r.apartLongest, k)
}

// setSmallApart puts the operators whose launches are about as short as the GPU's shortest kernels under their own
// heading.
func (r *measured) setSmallApart() {
	for _, c := range r.order {
		if c.group == others && c.launches > 0 &&
			float64(c.raw) <= nearShortest*float64(c.launches)*float64(r.walk.shortest) {
			c.group = small
			r.counts[others] -= c.headed
			r.counts[small] += c.headed
			r.longest[small] = longer(r.longest[small], c.longest)
			r.booked[small] += c.booked
			r.hidden[small] += c.hidden
		}
	}
}

// nameOf is what a kernel is listed as: its operator, or where the model is not known the op that launched it with
// its sizes, or what its name says.
func (w *walk) nameOf(k layer.Kernel, operator string) string {
	if w.model != nil || operator != "" && operator != opname.Other {
		return operator
	}
	if g := w.ops.groupOf(k); g != nil && g.known {
		return g.title()
	}
	return shortName(k)
}

// longestName is the maximum length of a kernel's name in a table or a sentence.
const longestName = 64

// shortName is what people call a kernel.
func shortName(k layer.Kernel) string { return table.Name(k.Facts().Short, longestName) }

// groupByName returns a kernel's heading where no plan has it.
func (r *measured) groupByName(k layer.Kernel, part layer.Part, l int) group {
	if copied(k, part) {
		return copies
	}
	if g := r.walk.ops.groupOf(k); g != nil && g.known {
		switch g.work.Kind {
		case OpProduct:
			return products
		case OpExperts:
			return experts
		case OpAttention:
			return attentionCore
		}
		return others
	}
	switch k.Does() {
	case classify.CategoryGEMM:
		return products
	case classify.CategoryAttention:
		return attentionCore
	case classify.CategoryMoE:
		return experts
	}
	if l == trace.None && r.walk.device.Passes[r.pass.Index].NumLayers > 0 {
		return outside
	}
	if k.Event().Duration() <= time.Duration(nearShortest*float64(r.walk.shortest)) {
		return small
	}
	return others
}

// copied says that a kernel copies or fills, and computes nothing.
func copied(k layer.Kernel, part layer.Part) bool {
	return part == layer.PartCopy || k.Event().Kind() != event.Kernel || k.Facts().OfRuntime()
}

// groupOf returns a kernel's heading in the waterfall.
func (r *measured) groupOf(k layer.Kernel, part layer.Part, at *slot, l int) group {
	switch {
	case k.Does() == classify.CategoryCommunication:
		return communication
	case r.walk.model == nil:
		return r.groupByName(k, part, l)
	case l == trace.None && at.group[0] != products: // only what has work of its own before or after the layers
		return outside
	case copied(k, part):
		if l == trace.None {
			return outside
		}
		return copies
	case at.operator == opname.Other || at.operator == "":
		return unplaced
	}
	return at.group[stat.Int(r.stage == layer.StageDecode)]
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
