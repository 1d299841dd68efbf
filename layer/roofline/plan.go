package roofline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
)

// Options say what is known beside the trace. The zero Options take everything from trace and config.
type Options struct {
	// Config is the model's. Nil: the one that the analysis used.
	Config *profile.Config
	// Assume takes the only known model of the recording's sizes for its model, where there is no config and most GPU
	// time has no floor from recorded inputs: see [Report.Assumed].
	Assume bool
	// Device is the name of the GPU to reckon with. "": the trace's.
	Device string
	// GPUs are known besides those of the built-in table, and before them.
	GPUs []hardware.GPU
	// Peaks replace figures of the GPU: operations a second by type ("bf16"), bytes a second of "memory".
	Peaks map[string]float64
	// Load is what each pass processes if no annotation says it; for [Plan] it is the pass. Nil: unknown.
	Load *Load
	// Seen is how many tokens each request's attention sees in passes whose annotation does not say. 0: unknown.
	Seen int64
	// TP is the tensor-parallel size, EP the expert-parallel one. 0: that of the analysis, else 1.
	TP, EP int
	// On is the GPU of the trace that is looked at. Nil: the one with most GPU time.
	On *trace.DeviceID
	// Waits divide the collectives of each GPU into transfer and waiting, as package fleet measures it among ranks. Nil:
	// by what the GPU alone says.
	Waits map[trace.DeviceID]*layer.RankWaits
	// Kernels keeps what each kernel costs, for [Report.Cost].
	Kernels bool
	// Rules say what ops do that the table does not know; they come before it.
	Rules []Rule
	// Counter has counted the ops, of these Options. Nil: they are counted here.
	Counter *Counter
	// CacheDType is the type of the key-value cache: "fp8", "bf16". "": that of the activations.
	CacheDType string
}

// Errors that say what is missing.
var (
	// ErrNoConfig: a plan needs the model's config.
	ErrNoConfig = errors.New("no model config")
	// errNoLoad: a plan needs the tokens of a pass.
	errNoLoad = errors.New("no tokens")
	// errNoGPU: the GPU is not known.
	errNoGPU = errors.New("unknown GPU")
)

// Plan computes the floor of one pass of a model without any trace. The error says what is missing; without a config
// it wraps [ErrNoConfig].
func Plan(ctx context.Context, c *profile.Config, o Options) (*Report, error) {
	if c == nil {
		return nil, fmt.Errorf("speed of light: %w: give the config.json of the model", ErrNoConfig)
	}
	if o.Load == nil || o.Load.Tokens <= 0 {
		return nil, fmt.Errorf("speed of light: %w: say how many tokens a pass has", errNoLoad)
	}
	if err := o.setCache(); err != nil {
		return nil, err
	}
	g, ok := hardware.Named(o.table(), o.Device)
	if !ok {
		return nil, o.noGPU()
	}
	g = o.withPeaks(g)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	plan := c.Plan()
	m := newModel(c, plan, &o)
	r := newReport()
	r.Model, r.GPU, r.GPUWhy, r.TP, r.EP, r.Notes = plan.Model, g, "as asked for", m.tp, m.ep,
		append(r.Notes, plan.Notes...)
	p := Pass{Stage: stageOf(o.Load), Tokens: o.Load.Tokens, TokensFrom: "option", Batch: o.Load.Requests, Rows: -1,
		of: finding.OfStep, Basis: BasisOption}
	var sum passFloor
	outside := func(ops []profile.PlanOp) {
		for i := range ops {
			r.add(m.row(&ops[i], nil, 1, o.Load, g, &sum))
		}
	}
	outside(plan.Before)
	for i := range plan.Kinds {
		k := &plan.Kinds[i]
		for j := range k.Operators {
			if op := &k.Operators[j]; !skipped(op, p.Stage == finding.StageDecode) {
				r.add(m.row(op, k, k.Layers, o.Load, g, &sum))
			}
		}
	}
	outside(plan.After)
	p.Floor, p.Overlapped = duration(sum.serial), duration(max(sum.compute, sum.memory))
	p.Waterfall = sum.waterfall()
	r.Passes = []Pass{p}
	r.Notes = append(r.Notes, m.assumptions(&o, g)...)
	if weights := m.weights(plan); g.Memory > 0 && weights > float64(g.Memory) {
		r.Notes = append(r.Notes, fmt.Sprintf("the weights of one GPU take %.0f GiB and its memory has %.0f: divide the "+
			"model (`--tp`, `--ep`)", weights/(1<<30), float64(g.Memory)/(1<<30)))
	}
	return r, nil
}

// weights are the bytes of all products on one GPU, those of experts that no token chooses included.
func (m *model) weights(plan *profile.Plan) (sum float64) {
	one := Load{Tokens: 1, Requests: 1}
	for _, ops := range [][]profile.PlanOp{plan.Before, plan.After} {
		for i := range ops {
			if ops[i].Operator != opname.Embed || !m.config.TiedEmbeddings {
				sum += m.product(&ops[i], nil, &one).Weights
			}
		}
	}
	for i := range plan.Kinds {
		k := &plan.Kinds[i]
		for j := range k.Operators {
			op := &k.Operators[j]
			w := m.work(op, k, &one)
			if op.Experts > 0 {
				w.Weights = w.OneExpert * float64(ceil(op.Experts, m.ep))
			}
			if !skipped(op, false) {
				sum += w.Weights * float64(k.Layers)
			}
		}
	}
	return sum
}

// skipped are operators that a way of computing attention does not have.
func skipped(op *profile.PlanOp, decode bool) bool {
	return op.Stage != "" && (op.Stage == finding.StageDecode) != decode
}

func (o *Options) table() []hardware.GPU {
	return append(append([]hardware.GPU(nil), o.GPUs...), hardware.Table()...)
}

// withPeaks returns a GPU with the figures that the user gives, which are all that is known of one that the table has
// not: nil where they lack the memory or all types of arithmetic, as what bounds an operator is not known then.
func (o *Options) withPeaks(g *hardware.GPU) *hardware.GPU {
	if len(o.Peaks) == 0 {
		return g
	}
	own, known := hardware.GPU{Part: 1}, map[string]hardware.Figure{}
	if g != nil {
		own = *g
		maps.Copy(known, g.FLOP)
	}
	own.FLOP = known
	for name, n := range o.Peaks {
		f := hardware.Figure{Value: n}
		if name == PeakOfMemory {
			own.Bandwidth, own.BusBandwidth = f, hardware.Figure{}
		} else {
			own.FLOP[name] = f
		}
	}
	if g == nil && (len(own.FLOP) == 0 || !own.Bandwidth.Known()) {
		return nil
	}
	return &own
}

// setCache makes the type of the cache one that has a size; servers call fp8 also fp8_e4m3, and PyTorch float8_e4m3fn.
func (o *Options) setCache() error {
	t := strings.ToLower(o.CacheDType)
	t = cmp.Or(shortType(strings.Replace(t, "fp8_", "float8_", 1)), t)
	if _, ok := typeSizes[t]; !ok && t != "" {
		return fmt.Errorf("speed of light: unknown type %q of the KV cache; known are %s", o.CacheDType,
			strings.Join(slices.Sorted(maps.Keys(typeSizes)), ", "))
	}
	o.CacheDType = t
	return nil
}

// noGPU is the error of a GPU that is not in the table.
func (o *Options) noGPU() error {
	var known []string
	for _, g := range o.table() {
		known = append(known, g.ID)
	}
	return fmt.Errorf("speed of light: %w %q; known are %s", errNoGPU, o.Device, strings.Join(known, ", "))
}

// PeakOfMemory is the memory's name in [Options.Peaks].
const PeakOfMemory = "memory"

func newModel(c *profile.Config, plan *profile.Plan, o *Options) *model {
	m := &model{config: c, tp: max(o.TP, 1), ep: max(o.EP, 1), activation: plan.DType, cache: o.CacheDType}
	m.activation = cmp.Or(m.activation, "bf16")
	m.cache = cmp.Or(m.cache, m.activation)
	return m
}

// assumptions are what the figures rest on that neither config nor trace says.
func (m *model) assumptions(o *Options, g *hardware.GPU) []string {
	var out []string
	if m.tp > 1 && g != nil && g.Latency() > 0 {
		out = append(out, fmt.Sprintf("an all-reduce is taken to need %s beside its bytes, the fastest that was published "+
			"(%s)", table.Duration(g.Latency()), g.LatencySource()))
	}
	if o.CacheDType == "" {
		out = append(out, fmt.Sprintf("the key-value cache is taken to hold %s, the type of the activations", m.cache))
	}
	if m.config.NumExperts > 0 {
		out = append(out, "experts are taken to be chosen evenly: an expectation, no bound")
	}
	if o.Load != nil && !o.Load.KnownSeen {
		out = append(out, "how many tokens attention sees is not known: it has no floor")
	}
	return out
}

// passFloor sums the floors of a pass, in seconds.
type passFloor struct {
	compute, memory, serial      float64
	products, experts, attention float64
}

func (s *passFloor) add(op profile.Operator, w *opWork, f *floor, count int) {
	n := float64(count)
	s.compute += n * f.compute
	s.memory += n * f.memory
	s.serial += n * f.seconds()
	switch {
	case op == opname.Attention:
		s.attention += n * f.seconds()
	case w.Expected:
		s.experts += n * f.seconds()
	default:
		s.products += n * f.seconds()
	}
}

// join adds another sum.
func (s *passFloor) join(o *passFloor) {
	s.compute += o.compute
	s.memory += o.memory
	s.serial += o.serial
	s.products += o.products
	s.experts += o.experts
	s.attention += o.attention
}

// waterfall is what a plan knows of one: its floors.
func (s *passFloor) waterfall() []Share {
	return []Share{
		{Name: heads[products].floor, Kind: Floor, Time: duration(s.products)},
		{Name: heads[experts].floor, Kind: Floor, Time: duration(s.experts)},
		{Name: heads[attentionCore].floor, Kind: Floor, Time: duration(s.attention)},
	}
}

// row counts one operator of count layers.
func (m *model) row(op *profile.PlanOp, kind *profile.PlanKind, count int, l *Load, g *hardware.GPU,
	sum *passFloor) *Row {
	w := m.work(op, kind, l)
	if !w.Known {
		return nil
	}
	f := floorOf(&w, g)
	sum.add(op.Operator, &w, &f, count)
	n := float64(count)
	r := &Row{Operator: string(op.Operator), Stage: stageOf(l), Count: count,
		Cost: costOf(&w, &f, count, duration(n*f.seconds()), 0), Note: op.Module}
	if kind != nil {
		r.LayerType = kind.Name
	}
	note := func(s string) {
		if r.Note != "" {
			r.Note += "; "
		}
		r.Note += s
	}
	if f.link > 0 {
		r.Floor = duration(n * (f.link + f.latency))
	}
	if w.AtMost {
		note("at most")
	}
	if w.Expected {
		note(fmt.Sprintf("%.1f experts active if chosen evenly", w.ActiveExperts))
	}
	return r
}

func (r *Report) add(row *Row) {
	if row != nil {
		r.Operators = append(r.Operators, *row)
	}
}
