package layer

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// classify gives every distinct kernel name a category: the user's rules, then the profile's.
func (a *Device) classify(w *work) {
	a.categoryOf = make([]uint16, len(w.Names))
	for id := range w.Facts {
		if n := w.NameOf[id]; a.of.facts[n] == nil {
			a.of.facts[n] = &w.Facts[id]
		}
	}
	a.labels = map[classify.Category]string{}
	rules, own := a.of.found.rules, a.of.found.own
	a.byPlace = make([]bool, len(w.Names))
	for id, name := range w.Names {
		f := &w.Facts[id]
		if rules != classify.Default() {
			shown := rules.Facts(name)
			f = &shown
		}
		a.categoryOf[id] = a.key(f.Category, f.Label)
		if a.of.found.work != nil {
			a.of.works[w.NameOf[id]] = a.of.found.work.Facts(name).Category
		}
		a.byPlace[id] = f.Category == classify.CategoryGEMM && (len(a.of.opts.Rules) == 0 || own.Facts(name).Rule == "")
	}
}

// key returns the number of a category.
func (a *Device) key(c classify.Category, label string) uint16 {
	k := slices.Index(a.keys, c)
	if k < 0 {
		k = len(a.keys) // there are few
		a.keys, a.labels[c] = append(a.keys, c), label
	}
	return uint16(k)
}

// nameExperts shows matrix products as work of the experts where their place says so and their name does not: between
// the choice of the experts and other work of theirs, on the same stream, and inside a CPU op of a mixture of
// experts. What a user's rule says of a name stays.
func (w *work) nameExperts(a *Device, results []ladder.Result) {
	inOp := w.expertOps()
	for p := range results {
		if w.Ended() != nil {
			return
		}
		r := &results[p]
		for _, i := range w.expertProducts(a, r.Kernels) {
			a.columns.category[i] = a.key(classify.CategoryMoE, string(classify.CategoryMoE))
		}
		if inOp == nil {
			continue
		}
		for _, i := range r.Kernels {
			if a.byPlace[w.ID[i]] && !w.Replayed(i) && inOp(w.Act(i)) {
				a.columns.category[i] = a.key(classify.CategoryMoE, string(classify.CategoryMoE))
			}
		}
	}
}

// expertProducts returns the products of the experts among the kernels of a pass, which are in launch order. What
// shared experts compute beside the others on a stream of its own is not among them.
func (w *work) expertProducts(a *Device, kernels []int32) (found []int32) {
	stream, products, chosen := trace.StreamID(0), []int32(nil), false // since the choice
	for _, i := range kernels {
		id := w.ID[i]
		switch w.Facts[id].Role {
		case classify.RoleRouter, classify.RolePermute:
			if !chosen {
				chosen, products, stream = true, products[:0], w.Act(i).Stream()
			}
		case classify.RoleMoE, classify.RoleFinalize: // an activation of the experts, or the sum of their outputs
			if chosen && len(products) > 0 {
				found, products = append(found, products...), products[:0]
				chosen = w.Facts[id].Role == classify.RoleMoE
			}
		case classify.RoleNorm, classify.RoleAttention, classify.RoleScan:
			chosen = false
		case classify.RoleExperts:
			if a.byPlace[id] && chosen {
				found = append(found, i)
			}
		case classify.RoleProduct:
			if a.byPlace[id] && chosen && w.Act(i).Stream() == stream {
				products = append(products, i)
			}
		}
	}
	return found
}

// expertOps returns a test whether an activity was launched inside an op of a mixture of experts; nil where the trace
// has none. Ops that also run shared experts say nothing about a single product.
func (w *work) expertOps() func(trace.Event) bool {
	is, found := map[trace.NameID]bool{}, false
	for e := range w.Trace.Events(event.LaneOp) {
		id := e.NameID()
		if _, seen := is[id]; !seen {
			name := strings.ToLower(e.Name())
			is[id] = (strings.Contains(name, "moe") || strings.Contains(name, "experts")) &&
				!strings.Contains(name, "shared")
			found = found || is[id]
		}
	}
	if !found {
		return nil
	}
	return func(e trace.Event) bool {
		for op := range e.Op().Enclosing() {
			if is[op.NameID()] {
				return true
			}
		}
		return false
	}
}

// layerTypes are the types of the layers of a pass by index, as the config gives them, and how many layers its model
// has.
func (p *ForwardPass) layerTypes() (types []profile.LayerType, n int) {
	a := p.of.of
	n = p.of.Models[p.Model].NumLayers
	switch {
	case p.FromEnd: // none is known to be the first, and the last only where the window holds the pass's end
		types = (&profile.Config{}).LayerTypes(p.NumLayers + 2)[1:]
		if p.Partial == CutAtStart {
			types = types[1:]
		}
	case a.Config != nil && n == p.of.NumLayers:
		types = a.Config.LayerTypes(n)
	default:
		types = (&profile.Config{}).LayerTypes(n)
	}
	return types, n
}

// label gives a layer what the config knows about it.
func (a *Analysis) label(lay *Layer, types []profile.LayerType, n int) {
	lay.CompressRatio = -1
	if lay.Index < len(types) {
		lay.Type = types[lay.Index]
	}
	if a.Config == nil {
		return
	}
	if r := a.Config.CompressRatios; lay.Index < len(r) {
		lay.CompressRatio = r[lay.Index]
	}
	lay.Hash = a.Config.IsHash(lay.Index, n)
}
