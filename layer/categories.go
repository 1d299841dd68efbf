package layer

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/profile"
)

// rowsPerName is how many rows of a plain loop the classification of a name costs.
const rowsPerName = 256

// classify gives every distinct kernel name a category: the user's rules, then the profile's.
func (a *Device) classify(w *work) {
	a.categoryOf = make([]uint16, len(w.names))
	for id := range w.facts {
		if n := w.nameOf[id]; a.of.facts[n] == nil {
			a.of.facts[n] = &w.facts[id]
		}
	}
	a.labels = map[classify.Category]string{}
	index := map[classify.Category]uint16{}
	rules := a.of.Profile.Ruleset().With(a.of.opts.Rules...)
	for id, name := range w.names {
		w.watch.Rows(rowsPerName)
		r := rules.Classify(name)
		k, ok := index[r.Category]
		if !ok {
			k = uint16(len(a.keys)) // there are few rules
			index[r.Category], a.labels[r.Category] = k, r.Label
			a.keys = append(a.keys, r.Category)
		}
		a.categoryOf[id] = k
	}
}

// label gives every layer what the config knows about it.
func (a *Device) labelLayers() {
	n := a.NumLayers
	if n == 0 {
		return
	}
	place := a.of.opts.HashLayers
	types := profile.LayerTypes(n, nil, 0, place)
	if a.of.Config != nil {
		types = a.of.Config.LayerTypesN(n, place)
	}
	for p := range a.Passes {
		for l := range a.Passes[p].Layers {
			a.labelLayer(&a.Passes[p].Layers[l], types, n, place)
		}
	}
}

func (a *Device) labelLayer(lay *Layer, types []profile.LayerType, n int, place profile.HashPlacement) {
	lay.CompressRatio = -1
	if lay.Index < len(types) {
		lay.Type = string(types[lay.Index])
	}
	if a.of.Config == nil {
		return
	}
	if r, ok := a.of.Config.Ratio(lay.Index); ok {
		lay.CompressRatio = r
	}
	lay.Hash = place.IsHash(lay.Index, n, a.of.Config.NumHashLayers)
}
