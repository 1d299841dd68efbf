package ladder

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/trace"
)

// modelModules: an outermost module with so many modules in one of its calls is a model. A model without frames of layers (the
// decoder of an image model) has hundreds, a logits processor or a sampler less than ten in the traces seen.
const modelModules = 32

// modelClasses says which classes of outermost modules are models: those that hold frames of layers, that call many modules, or
// whose kernels are a stack of layers, as those of a compiled model are that replays graphs. Kernels of all others (logits
// processor, sampler) belong to the pass before them.
func (w *Work) modelClasses(f *Frames, byRoot map[rootKey][]int32) map[string]bool {
	is := map[string]bool{}
	largest := map[string]rootKey{}
	for key, kernels := range byRoot {
		root := &f.roots[key.thread][key.root]
		is[root.class] = is[root.class] || f.hasLayers[root.class] || root.inner >= modelModules
		k, seen := largest[root.class]
		if n := len(byRoot[k]); !seen || len(kernels) > n || len(kernels) == n && (key.thread < k.thread || key.thread == k.thread && key.root < k.root) {
			largest[root.class] = key
		}
	}
	for class, key := range largest {
		if !is[class] {
			is[class] = w.isStack(w.sequenceOf(byRoot[key]), &Model{})
		}
	}
	return is
}

// rootKey names a call of an outermost module.
type rootKey struct {
	thread trace.ThreadIndex
	root   int
}

// assignByModel finds the layers of the passes of each model by themselves: each has its own number of layers. What flags or
// config say is of the one that takes most GPU time. It returns what is known of that one. Where there are
// several, their layers are judged, too.
func (w *Work) assignByModel(results []Result, f *Frames, m *Model) *Model {
	groups := map[string][]int{}
	var names []string
	for p := range results {
		name := results[p].Model
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], p)
	}
	w.Models = map[string]*Model{"": m}
	if len(names) < 2 {
		w.assignLayers(results, f, m)
		for _, name := range names {
			w.Models[name] = m
		}
		return m
	}
	busy := map[string]time.Duration{}
	for p := range results {
		busy[results[p].Model] += w.busy(results[p].Kernels)
	}
	main := slices.MaxFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(busy[x], busy[y]), strings.Compare(y, x)) })
	for _, name := range names {
		facts := *m
		if name != main {
			facts.Layers, facts.Source = 0, ""
		}
		group := make([]Result, len(groups[name]))
		for k, p := range groups[name] {
			group[k] = results[p]
		}
		w.assignLayers(group, f, &facts)
		w.judge(group, &facts)
		for k, p := range groups[name] {
			results[p] = group[k]
		}
		w.Models[name] = &facts
	}
	return w.Models[main]
}

// busy adds up the durations of kernels.
func (w *Work) busy(kernels []int32) (sum time.Duration) {
	for _, i := range kernels {
		sum += w.Act(i).Duration()
	}
	return sum
}

// ofModel returns the passes of the model that m is about.
func (w *Work) ofModel(results []Result, m *Model) []Result {
	return slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return w.Models[r.Model] != m })
}
