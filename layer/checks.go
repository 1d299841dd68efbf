package layer

import (
	"fmt"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// check holds what every run has against what was found: complete passes of a model have as many layers each, and
// layers of one stream follow each other, so that their times add up to no more than the pass. What contradicts is a
// note, and lowers the confidence of its passes.
func (a *Device) check(w *work, results []ladder.Result) {
	votes := map[ladder.ModelKey]map[int]int{}
	counted := func(p int) bool {
		return a.Passes[p].NumLayers > 0 && a.Passes[p].Partial == whole && len(results[p].Missing) == 0
	}
	for p := range results {
		if k := results[p].Key(); counted(p) {
			if votes[k] == nil {
				votes[k] = map[int]int{}
			}
			votes[k][a.Passes[p].NumLayers]++
		}
	}
	others, overlapping := 0, 0
	for p := range results {
		r := &results[p]
		other := counted(p) && a.Passes[p].NumLayers != segment.MostVotes(votes[r.Key()])
		overlap := w.OneStream(r.Kernels) && returns(r.Layer)
		if other || overlap {
			r.LayerConf = min(r.LayerConf, segment.Contradicted)
			a.Passes[p].Confidence = min(a.Passes[p].Confidence, r.LayerConf)
		}
		others, overlapping = others+stat.Int(other), overlapping+stat.Int(overlap)
	}
	if others > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%s of %d %s another number of layers than most passes of the model",
			table.Counted(others, "complete pass", "complete passes"), len(results),
			table.Plural(others, "has", "have")))
	}
	if overlapping > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%s of %d %s layers that overlap on one stream: their times add up to more "+
			"than the pass", table.Counted(overlapping, "pass", "passes"), len(results),
			table.Plural(overlapping, "has", "have")))
	}
}

// returns says whether a layer goes on after another one has begun.
func returns(layers []int32) bool {
	last := int32(trace.None)
	for _, l := range layers {
		if l == trace.None {
			continue
		}
		if l < last {
			return true
		}
		last = l
	}
	return false
}
