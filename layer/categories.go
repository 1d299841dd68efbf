package layer

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// rowsPerName is how many rows of a plain loop the classification of a name costs.
const rowsPerName = 256

// classify gives every distinct kernel name a category: the user's rules, then the profile's.
func (a *Analysis) classify(w *work) {
	a.categoryOf = make([]string, len(w.names))
	a.facts = make(map[trace.NameID]*classify.Facts, len(w.names))
	for id := range w.facts {
		a.facts[w.nameOf[id]] = &w.facts[id]
	}
	a.labels = map[string]string{}
	seen := map[string]bool{}
	take := func(id int, key, label string) {
		a.categoryOf[id] = key
		if !seen[key] {
			seen[key] = true
			a.labels[key] = label
			a.keys = append(a.keys, key)
		}
	}
	rules := a.Profile.Ruleset().With(a.opts.Rules...)
	for id, name := range w.names {
		w.watch.Rows(rowsPerName)
		r := rules.Classify(name)
		take(id, string(r.Category), r.Label)
	}
}

// label gives every layer what the config knows about it.
func (a *Analysis) label() {
	n := a.NumLayers
	if n == 0 {
		return
	}
	place := a.opts.HashLayers
	types := profile.LayerTypes(n, nil, 0, place)
	if a.Config != nil {
		types = a.Config.LayerTypesN(n, place)
	}
	for p := range a.Passes {
		for l := range a.Passes[p].Layers {
			a.labelLayer(&a.Passes[p].Layers[l], types, n, place)
		}
	}
}

func (a *Analysis) labelLayer(lay *Layer, types []profile.LayerType, n int, place profile.HashPlacement) {
	lay.CompressRatio = -1
	if lay.Index < len(types) {
		lay.Type = string(types[lay.Index])
	}
	if a.Config == nil {
		return
	}
	if r, ok := a.Config.Ratio(lay.Index); ok {
		lay.CompressRatio = r
	}
	lay.Hash = place.IsHash(lay.Index, n, a.Config.NumHashLayers)
}
