package roofline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Analyze holds the passes of the GPU with most work against their floors. What operators have to do comes from the
// model's config and the tokens of each pass, where the config is known, else from the recorded inputs of ops. A GPU
// that is not known gives work without floors.
func Analyze(ctx context.Context, a *layer.Analysis, o Options) (*Report, error) {
	r, err := analyze(ctx, a, o)
	if err != nil || !o.Assume {
		return r, err
	}
	return r.assume(ctx, a, o)
}

func analyze(ctx context.Context, a *layer.Analysis, o Options) (*Report, error) {
	if err := o.setCache(); err != nil {
		return nil, err
	}
	c := cmp.Or(o.Config, a.Config)
	r := newReport()
	r.Steady = trace.None
	w := &walk{plan: &profile.Plan{}, slots: map[key]*slot{}}
	if c != nil {
		w.plan = c.Plan()
		sizes, divided := o.divide(a)
		w.model = newModel(c, w.plan, &o)
		r.Model, r.TP, r.EP = w.plan.Model, w.model.tp, w.model.ep
		r.Notes = append(append(r.Notes, w.plan.Notes...), sizes...)
		w.uncounted = !divided
	}
	if len(a.Devices) == 0 {
		r.GPUWhy = "the trace has no GPU work"
		return r, nil
	}
	d, err := a.Device(o.On)
	if err != nil {
		return nil, fmt.Errorf("speed of light: %w", err)
	}
	if r.GPU, r.GPUWhy, err = gpuOf(d, &o); err != nil {
		return nil, err
	}
	w.device, w.gpu, w.shortest, w.scrambled = d, r.GPU, shortestKernel(d), scrambledRecords(a.Trace())
	if o.Counter == nil {
		o.Counter = &Counter{Options: o}
	}
	ops, err := o.Counter.Ops(ctx, d)
	if err != nil {
		return nil, err
	}
	w.ops = ops.counts
	if w.model == nil {
		w.refused = errors.Is(a.Refused, layer.ErrContradiction) && o.Config == nil
		w.planLayers()
		w.lookAlike(a)
		r.Likely, r.Notes = w.names(), append(r.Notes, w.likely()...)
		if w.bySizes && len(w.alike) == 1 {
			r.alone = &w.alike[0]
		}
	} else if w.plan.DType == "" && w.model.config.Quantization == nil && !w.typeFromOps() {
		w.uncounted = true
		r.Notes = append(r.Notes, "no floor from the config: nothing says of what type its weights are")
	}
	if w.waits = o.Waits[d.ID]; w.waits == nil {
		w.waits = d.RankWaits()
	}
	if o.Kernels {
		w.costs = costs{}
		r.costs = w.costs
	}
	w.divide()
	best := steadyPass(d)
	for p := range d.Passes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		res := w.pass(p, &o)
		r.Passes = append(r.Passes, res.pass)
		if p == best {
			r.Operators, r.role = res.rows(), res.role
			r.Recoverable, r.Findings = res.recoverable(), res.findings()
		}
	}
	w.restOfCosts()
	if best >= 0 && w.model == nil && w.gpu != nil && r.Passes[best].Covered < fewCovered {
		r.Notes = append(r.Notes, fmt.Sprintf("only %.1f%% of the GPU time of pass %d has a floor; to cover more, %s",
			100*r.Passes[best].Covered, best, r.Wanted()))
	}
	r.Steady, r.Economy = best, economy(r.Passes)
	if w.model != nil {
		r.Notes = append(r.Notes, w.model.assumptions(&o, r.GPU)...)
	}
	if o.Load != nil && o.Load.Tokens > 0 && len(r.Passes) > 0 &&
		!slices.ContainsFunc(r.Passes, func(p Pass) bool { return p.TokensFrom == fromOption }) {
		why := "the trace says how many its passes have, or they are of another stage"
		if w.model == nil {
			why = "no config says what they cost"
		}
		r.Notes = append(r.Notes, "the tokens that were given are not used: "+why)
	}
	r.against = w.against()
	r.Notes = append(r.Notes, w.notes()...)
	if w.waits.Strangers > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("waiting is not measured on %s: no collective there ends when one of this "+
			"GPU does", table.Counted(w.waits.Strangers, "other GPU", "other GPUs")))
	}
	r.Notes = append(r.Notes, memoryNotes(a.Trace(), d)...)
	r.Collectives, r.WaitingBy = append(r.Collectives, w.collectives...), w.waits.By
	r.Ranks = append(r.Ranks, w.waits.Ranks...)
	return r, nil
}

// fewCovered is the share of GPU time below which most of a pass has no floor.
const fewCovered = 0.5

// HasFloor reports whether operators with most of the pass's GPU time have a floor. Of less, the pass's own says
// little.
func (p *Pass) HasFloor() bool { return p.Floor > 0 && p.Wall > 0 && p.Covered >= fewCovered }

// scrambledRecords reports whether names and times of a trace do not belong together: no floor can be held against
// them.
func scrambledRecords(t *trace.Trace) bool {
	return slices.ContainsFunc(t.Health().Findings, func(f trace.Remark) bool { return f.Code == trace.CodeScrambled })
}

// planLayers replaces the plan of an unknown model: layers of one kind.
func (w *walk) planLayers() {
	n := 0
	for p := range w.device.Passes {
		fp := &w.device.Passes[p]
		n = max(n, fp.FirstLayer+fp.NumLayers)
	}
	w.plan.Kinds = []profile.PlanKind{{Name: "all layers", Layers: n}}
	w.plan.LayerKinds = make([]int, n)
}

// typeFromOps takes the type of activations and weights from the products of the recording.
func (w *walk) typeFromOps() bool {
	if w.ops == nil {
		return false
	}
	for i := range w.ops.groups {
		if g := &w.ops.groups[i]; g.known && g.work.Kind == OpProduct && g.work.Matrix != "" {
			w.model.activation = g.work.Matrix
			return true
		}
	}
	return false
}

// divide fills in over how many GPUs the model is divided, and says what of it is only taken to be so; false where
// that is not known: then nothing can be counted from the config. A model whose layers exchange nothing between GPUs
// is not divided, however many ranks the job has.
func (o *Options) divide(a *layer.Analysis) ([]string, bool) {
	if o.TP > 0 || !exchanges(a) {
		return nil, true
	}
	meta := a.Trace().Meta()
	found, err := profile.InferParallelism(profile.ParallelHints{TracePath: meta.Path, Distributed: meta.Distributed,
		WorldSize: meta.WorldSize, Divided: a.Divided()})
	if err != nil || found.TP.N == 0 {
		return []string{"no floor from the config: layers exchange data between GPUs, and the trace does not say between " +
			"how many (pass --tp)"}, false
	}
	o.TP = found.TP.N
	return []string{fmt.Sprintf("the model is taken to be divided over %d GPUs: %s", o.TP, found.TP.Source)}, true
}

// exchanges says that a layer of the trace has a collective.
func exchanges(a *layer.Analysis) bool {
	for i := range a.Devices {
		for k := range a.Devices[i].Kernels() {
			if k.Place().Layer != trace.None && k.Facts().Collective != classify.NotCollective {
				return true
			}
		}
	}
	return false
}

// steadyPass is the pass whose operators represent all: the steady one, else the longest full one with layers, else
// the longest.
func steadyPass(d *layer.Device) int {
	if d.Steady.Pass >= 0 && d.Steady.Pass < len(d.Passes) {
		return d.Steady.Pass
	}
	longest := func(of func(*layer.ForwardPass) bool) int {
		best := trace.None
		for p := range d.Passes {
			if fp := &d.Passes[p]; of(fp) && (best == trace.None || fp.Wall() > d.Passes[best].Wall()) {
				best = p
			}
		}
		return best
	}
	full := longest(func(fp *layer.ForwardPass) bool { return fp.Partial == "" && fp.NumLayers > 0 })
	if full == trace.None {
		return longest(func(*layer.ForwardPass) bool { return true })
	}
	return full
}

// GPUOf is the row of the table of GPUs that a device is, by its name and properties in the trace; nil where none is.
func GPUOf(d *layer.Device) *hardware.GPU {
	g, _, _ := gpuOf(d, &Options{}) // its error is of a name that was asked for
	return g
}

// gpuOf finds the GPU that a device is, or the one that was asked for.
func gpuOf(d *layer.Device, o *Options) (*hardware.GPU, string, error) {
	table := o.table()
	if o.Device != "" {
		g, ok := hardware.Named(table, o.Device)
		if !ok {
			return nil, "", o.noGPU()
		}
		return o.withPeaks(g), "as asked for", nil
	}
	t := d.Analysis().Trace()
	of, clock := deviceOf(t.Meta().Devices, d), clockOf(t, d)
	of.Clock = clock.Median
	g, why, _ := hardware.Find(table, of)
	if g != nil && g.Clock.Known() && g.Clock.Value == clock.Median {
		why += fmt.Sprintf(" (median of %d samples between %.0f and %.0f)", clock.Samples, clock.Min, clock.Max)
	}
	own := o.withPeaks(g)
	switch {
	case len(o.Peaks) == 0:
	case own == nil:
		why += "; the peaks asked for lack the memory's or those of arithmetic"
	default:
		why += ", with the peaks asked for"
	}
	return own, why, nil
}

// clockOf is what the trace's samples say of a GPU's clock; none where it holds no samples. The median is for all
// passes: samples are milliseconds apart.
func clockOf(t *trace.Trace, d *layer.Device) trace.Counter {
	for _, c := range t.Counters() {
		if c.Device == d.ID && c.Quantity == trace.QuantitySMClock {
			return c
		}
	}
	return trace.Counter{}
}

// memoryNotes say what the memory's own counters measured, beside the floors that rest on the data sheet.
func memoryNotes(t *trace.Trace, d *layer.Device) []string {
	var out []string
	for _, c := range t.Counters() {
		if c.Device == d.ID && c.Quantity == trace.QuantityDRAM {
			out = append(out, fmt.Sprintf("%s: the memory ran at %.0f%% of its peak while the GPU worked (median of %d samples)",
				c.Name, c.Median, c.Samples))
		}
	}
	return out
}

// deviceOf is what the trace says about a GPU: under its own number, or, where the file lists other numbers only,
// what all that it lists have in common.
func deviceOf(listed []trace.GPU, d *layer.Device) hardware.Device {
	of := func(g *trace.GPU) hardware.Device {
		return hardware.Device{Name: g.Name, Memory: g.MemoryBytes, Units: g.SMs, Major: g.ComputeMajor,
			Minor:     g.ComputeMinor,
			Bandwidth: float64(g.Bandwidth), MaxClock: g.MaxClockMHz}
	}
	same := len(listed) > 0
	for i := range listed {
		if listed[i].ID == d.ID {
			return of(&listed[i])
		}
		same = same && of(&listed[i]) == of(&listed[0])
	}
	if same {
		return of(&listed[0])
	}
	return hardware.Device{Name: d.GPU}
}

// sampled is how many kernels of a device are searched for the shortest.
const sampled = 1024

// shortestKernel is how long a tenth of the device's kernels take at most.
func shortestKernel(d *layer.Device) time.Duration {
	var some []time.Duration
	n := d.NumKernels()
	for i := range min(n, sampled) {
		if e := d.Kernel(i * n / min(n, sampled)).Event(); e.Kind() == event.Kernel {
			some = append(some, e.Duration())
		}
	}
	if len(some) == 0 {
		return 0
	}
	slices.Sort(some)
	return min(some[int(shortest*float64(len(some)-1))], mostShortest)
}

// planned are the operators of a plan that a kernel's operator means: its first alternative, all of its fused parts.
func planned(plan *profile.Plan, kind *profile.PlanKind, operator string, decode bool) []profile.PlanOp {
	first, fused := firstOf(operator)
	var out []profile.PlanOp
	for name := range strings.SplitSeq(first, "+") {
		var parts []profile.PlanOp
		if kind == nil {
			parts = append(named(plan.Before, name, decode), named(plan.After, name, decode)...)
		} else {
			parts = named(kind.Operators, name, decode)
		}
		if fused && len(parts) > 1 && parts[0].K == 0 { // a kernel fuses one of the additions of a layer
			parts = parts[:1]
		}
		out = append(out, parts...)
	}
	return out
}

// firstOf is the first alternative of an operator, and whether a kernel fuses several in it.
func firstOf(operator string) (first string, fused bool) {
	first, _, _ = strings.Cut(operator, "|")
	return first, strings.Contains(first, "+")
}

// named are the operators of a list with a name; alternatives count where no operator itself has it.
func named(ops []profile.PlanOp, name string, decode bool) []profile.PlanOp {
	var out []profile.PlanOp
	for i := range ops {
		if string(ops[i].Operator) == name && !skipped(&ops[i], decode) {
			out = append(out, ops[i])
		}
	}
	if len(out) > 0 {
		return out
	}
	for i := range ops {
		if out = append(out, named(ops[i].Or, name, decode)...); len(out) > 0 {
			return out
		}
	}
	return nil
}

// group returns an operator's heading in the waterfall.
func groupOf(ops []profile.PlanOp) group {
	for i := range ops {
		switch op := &ops[i]; {
		case op.Operator == opname.Attention:
			return attentionCore
		case op.Experts > 0 && op.K > 0:
			return experts
		case op.K > 0 && op.N > 0 && op.Operator != opname.Embed:
			return products
		}
	}
	return others
}
