package ladder

import "github.com/llmstrata/strata/layer/internal/segment"

// A model of images or of sound runs its tower of layers and then the language model in one call, where a prompt is
// read; all other calls are of the language model alone, and show how many layers that has.

// divideTowers makes passes of one that runs another stack of layers before those of its model: the passes that recur
// have fewer, or other kernels lie between stacks. What annotations or frames say of a pass stays.
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
	var apart segment.Memo[[]segment.Stack]
	for _, r := range results {
		if w.Ended() != nil {
			return results
		}
		var between [][2]int // where the kernels between two stacks begin and end
		switch t := towers[r.variant]; {
		case r.Step != nil || r.Model != "":
		case t.N > 0 && r.read == nil:
			between = [][2]int{{t.To, t.next}}
		default:
			stacks := apart.Get(r.Seq.Base, func() []segment.Stack { return segment.Apart(r.Seq) })
			for k := 1; k < len(stacks); k++ {
				between = append(between, [2]int{stacks[k-1].To, stacks[k].From})
			}
		}
		if len(between) == 0 {
			out = append(out, r)
			continue
		}
		gap, _ := w.stretchOf(r.Seq, r.line, w.Act(r.line[0]).Start())
		passes := []segment.Pass{{Profile: segment.Outside}}
		for _, x := range between {
			passes = append(passes, segment.Pass{Profile: segment.Outside, From: gap.Rest(x[0], x[1])})
		}
		parts := w.divide(r, passes)
		for _, part := range parts[:len(parts)-1] {
			part.Tower = true
		}
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
