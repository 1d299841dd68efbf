package ladder

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/layer/internal/segment"
)

// modelModules: an outermost module with so many modules in one of its calls is a model. A model without frames of
// layers (the decoder of an image model) has hundreds, a logits processor or a sampler less than ten in the traces
// seen.
const modelModules = 32

// modelClasses says which classes of outermost modules are models: those that hold frames of layers, that call many
// modules, or whose kernels are a stack of layers, as those of a compiled model are that replays graphs. Kernels of
// all others (logits processor, sampler) belong to the pass before them.
func (w *Work) modelClasses(f *Frames, calls []moduleCall) map[string]bool {
	is := map[string]bool{}
	largest := map[string][]int32{} // the kernels of a call
	for _, c := range calls {
		is[c.class] = is[c.class] || f.hasLayers[c.class] || c.inner >= modelModules
		if len(c.kernels) > len(largest[c.class]) {
			largest[c.class] = c.kernels
		}
	}
	for class, kernels := range largest {
		if !is[class] {
			is[class] = segment.Number(w.sequenceOf(kernels)) >= segment.StackLayers
		}
	}
	return is
}

// assignByModel finds the layers of the passes of each model by themselves: each has its own number of layers. What
// flags or config say is of the one that takes most GPU time. It returns what is known of that one. Where there are
// several, their layers are judged, too.
func (w *Work) assignByModel(results []*Result, f *Frames, m *Model) *Model {
	groups := map[ModelKey][]*Result{}
	var names []ModelKey
	for _, r := range results {
		if groups[r.Key()] == nil {
			names = append(names, r.Key())
		}
		groups[r.Key()] = append(groups[r.Key()], r)
	}
	w.Models = map[ModelKey]*Model{{}: m}
	if len(names) < 2 {
		w.assignLayers(results, f, m)
		for _, name := range names {
			w.Models[name] = m
		}
		return m
	}
	busy := map[ModelKey]time.Duration{}
	for _, r := range results {
		busy[r.Key()] += w.busy(r.Kernels)
	}
	main := slices.MaxFunc(names, func(x, y ModelKey) int {
		return cmp.Or(cmp.Compare(busy[x], busy[y]), strings.Compare(y.Class, x.Class),
			cmp.Compare(y.Instance, x.Instance))
	})
	main = likelier(groups, names, main, m.Layers)
	for _, name := range names {
		facts := *m
		if name != main {
			facts.Layers, facts.Source = 0, ""
		}
		w.assignLayers(groups[name], f, &facts)
		w.judge(groups[name], &facts)
		w.Models[name] = &facts
	}
	for _, name := range names {
		if w.Models[name].Layers == 0 {
			w.byModel(groups[name], w.Models[name], groups[main])
		}
	}
	return w.Models[main]
}

// byModel finds layers in the passes of a model in which nothing repeats, by the layers of another one: a draft has
// one or two of its target's.
func (w *Work) byModel(results []*Result, m *Model, of []*Result) {
	own, follow := clean(results)
	complete := wholePasses(of) // once: there may be as many passes as kernels
	for _, r := range own {
		whole := nearestPasses(complete, r.Seq)
		if r.Count > 0 || len(whole) == 0 || kin(r.Seq, whole[0].Seq) < draftKernels {
			continue
		}
		if c, ok := segment.ByKinds(r.Seq, whole[0].Seq, whole[0].st); ok {
			w.byStructure(r, c, RungRepeat, segment.ConfidenceReference)
			m.Layers, m.Source = max(m.Layers, r.Count), FromRepeats
		}
	}
	for _, r := range follow {
		w.byVariant(r)
	}
}

// busy adds up the durations of kernels.
func (w *Work) busy(kernels []int32) (sum time.Duration) {
	for _, i := range kernels {
		sum += w.Act(i).Duration()
	}
	return sum
}

// ofModel returns the passes of the model that m is about.
func (w *Work) ofModel(results []*Result, m *Model) []*Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *Result) bool { return w.Models[r.Key()] != m })
}
