package operator

import (
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// Kernel is one GPU activity of a pass.
type Kernel struct {
	// Name is the traced name, Facts what it shows; nil: what the default rules say.
	Name  string
	Facts *classify.Facts
	// Modules are the module frames around its launch, outermost first, with their
	// instance numbers: "Qwen3DecoderLayer_4", "RMSNorm_9". nil: none recorded.
	Modules []string
	// K and N are the weight's sizes of the product op that launched it; 0 unknown.
	K, N   int
	Stream int32
	// Layer is the segmentation's label; −1 outside layers. Framed: module frames give it.
	Layer  int32
	Framed bool
}

// Pass is what is aligned at once: the kernels of one forward pass in launch
// order, and which layers of the model it has.
type Pass struct {
	// Kernels in launch order.
	Kernels []Kernel
	// First is the index of the first layer that is present, Layers how many are.
	First, Layers int
	// CutStart and CutEnd say that the window cuts the pass there.
	CutStart, CutEnd bool
}

// Step is one operator that a model runs, in order.
type Step struct {
	// Op is a name of package opname. Optional: it may be fused or absent.
	Op       string
	Optional bool
	// K and N are the sizes of a product of the whole model; 0 when it is none or
	// they are not known.
	K, N int
	// Product: a way into the space of experts or out of it is a product, elsewhere it
	// is none.
	Product bool
	// Or are the separate steps that some servers run instead.
	Or []Step
}

// Layout is what a model runs.
type Layout struct {
	// Before and After surround the layers.
	Before, After []Step
	// Kinds are the kinds of layers, LayerKinds the index into them of each layer.
	Kinds      [][]Step
	LayerKinds []int
	// Given: read off a config. Else the layout is a guess from the kernels.
	Given bool
}

// Part says how a kernel serves its operator.
type Part uint8

// The parts.
const (
	Main    Part = iota
	Quant        // makes the operator's low-precision input
	Reduce       // finishes a split product or a split attention
	Copy         // moves, casts or clears what the operator reads or writes
	Scores       // of an attention written op by op: the product of queries and keys, its scale and mask
	Softmax      // its softmax
	Values       // its product with the values
)

// Evidence is what an operator rests on.
type Evidence uint8

// The kinds of evidence, none first, then worst to best.
const (
	None   Evidence = iota
	Order           // kernels alone
	Plan            // the config's plan
	ByDims          // the shape of the op after the launch
	Module          // module frames
)

// Found is the answer for one kernel.
type Found struct {
	// Operator is a name of package opname, several joined by + for a kernel that
	// fuses neighbours, by | if it is unclear which.
	Operator   string
	Part       Part
	Evidence   Evidence
	Confidence float32
	// Layer is the layer the operator belongs to; −1 outside layers.
	Layer int32
}

// Finder finds operators, pass by pass, of one model. It remembers what names
// say. Not safe for concurrent use.
type Finder struct {
	p        Params
	layout   *Layout // nil: made for each pass
	readings map[string]reading
}

// NewFinder returns a finder for a model; layout nil: no config is known.
func NewFinder(layout *Layout, p Params) *Finder {
	return &Finder{p: p, layout: layout, readings: map[string]reading{}}
}

// Find returns the operator of each kernel of the pass.
func (f *Finder) Find(pass Pass) []Found {
	if pass.Layers <= 0 || len(pass.Kernels) == 0 {
		return unknownOperators(&pass)
	}
	layout := f.layout
	found := unknownOperators(&pass)
	reads := make([]reading, len(pass.Kernels))
	for i := range pass.Kernels {
		reads[i] = f.read(&pass.Kernels[i])
	}
	eagerAttention(&pass, reads)
	loopedExperts(&pass, reads)
	if slices.ContainsFunc(reads, func(r reading) bool { return r.channels }) { // of images: no scan follows
		for i := range reads {
			if reads[i].acts[0] == classify.RoleConv {
				reads[i].acts = []classify.Role{classify.RoleOther}
			}
		}
	}
	writtenScans(&pass, reads)
	w := &work{p: &f.p, pass: &pass, reads: reads, layout: layout, found: found,
		hints: moduleHints(&pass, reads, normsAfter(&pass, reads)), placed: make([]bool, len(found)), gates: true}
	if layout == nil {
		var latent bool
		w.unclear, latent = unclearProducts(&pass, reads)
		w.plain, w.gates = plainFeed(&pass, reads)
		w.images = !pass.CutStart && !language(reads)
		w.layout = w.guess(latent)
	}
	if d := w.denoiserOf(); d != nil && !w.layout.Given {
		d.read()
		w.written()
		w.serve()
		return found
	}
	w.survey()
	w.alignAll()
	if w.strays() {
		copy(found, unknownOperators(&pass))
		clear(w.placed)
		w.alignAll()
	}
	w.written()
	w.embedded()
	w.afterAttention()
	w.fill()
	w.serve()
	return found
}

// alignAll aligns the lanes, one after the other.
func (w *work) alignAll() {
	for _, stream := range w.lanes() {
		w.alignLane(stream)
	}
	w.vote()
}

// unknownOperators are the answers where nothing is known.
func unknownOperators(pass *Pass) []Found {
	found := make([]Found, len(pass.Kernels))
	for i := range found {
		found[i] = Found{Operator: opname.Other, Layer: pass.Kernels[i].Layer}
	}
	return found
}

func (f *Finder) read(k *Kernel) reading {
	r, ok := f.readings[k.Name]
	if !ok {
		facts := k.Facts
		if facts == nil {
			own := classify.Default().Facts(k.Name)
			facts = &own
		}
		r = read(facts)
		f.readings[k.Name] = r
	}
	return r
}

// work is one pass being worked on.
type work struct {
	p      *Params
	pass   *Pass
	reads  []reading
	layout *Layout
	found  []Found
	hints  []hint
	placed []bool // kernels that have a step, by index
	// unclear are products that their order assigns to no operator, by index.
	unclear map[int]bool
	// gates: something shows whether feed-forward parts have one. plain: it shows that they have none. images: nothing
	// shows a model of language, and what would is not cut off.
	gates, plain, images bool
	// experts: some kernel is a product of experts by its name. absorbed and
	// expanded: attention runs on the compressed cache of latent attention, or on
	// whole keys and values.
	experts, absorbed, expanded bool
	taken                       map[stepID]bool
	cells                       []cell // room for an alignment
}

// survey notes what kinds of kernels the pass has at all.
func (w *work) survey() {
	for _, r := range w.reads {
		switch r.acts[0] {
		case classify.RoleExperts:
			w.experts = true
		case classify.RoleAttention:
			if r.latent {
				w.absorbed = true
			} else {
				w.expanded = true
			}
		}
	}
}

// stepID names a step of a pass whichever lane uses it.
type stepID struct {
	layer int32
	op    string
}
