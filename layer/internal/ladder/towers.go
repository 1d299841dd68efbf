package ladder

import "github.com/llmstrata/strata/layer/internal/segment"

// A model of images or of sound runs its tower of layers and then the language model in one call, where a prompt is
// read; all other calls are of the language model alone, and show how many layers that has.

// divideTowers makes two passes of one that runs another stack of layers before those of its model: the passes
// that recur have fewer. What annotations or frames say of a pass stays.
func (w *Work) divideTowers(results []*Result) (out []*Result) {
	type before struct {
		segment.Stack
		next int // the first kernel of the layers after it
	}
	towers := map[*variant]before{}
	for _, v := range w.variants {
		if w.Ended() != nil {
			return results
		}
		if n := w.layersBeside(v); n > 0 {
			t, next := segment.Before(v.lead.Seq, n)
			towers[v] = before{t, next}
		}
	}
	for _, r := range results {
		t := towers[r.variant]
		if t.N == 0 || r.read != nil || r.Step != nil || r.Model != "" {
			out = append(out, r)
			continue
		}
		gap, _ := w.stretchOf(r.Seq, r.line, w.Act(r.line[0]).Start())
		parts := w.divide(r, []segment.Pass{{Profile: segment.Outside},
			{Profile: segment.Outside, From: gap.Rest(t.To, t.next)}})
		parts[0].Tower = true
		out = append(out, parts...)
	}
	return out
}

// layersBeside is how many layers the model of a variant has by another variant that recurs, 0 where none shows it.
func (w *Work) layersBeside(v *variant) (n int) {
	most := 0
	for _, o := range w.variants {
		if o != v && o.Members > max(1, most) && kin(v.lead.Seq, o.lead.Seq) >= akin {
			if k := segment.Number(o.lead.Seq); k >= segment.StackLayers {
				n, most = k, o.Members
			}
		}
	}
	return n
}
