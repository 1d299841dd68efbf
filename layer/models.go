package layer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/trace"
)

// Model is one of the models that a GPU runs: a language model and its draft, an encoder, a denoiser, the decoder of images.
type Model struct {
	// Name is the class of its outermost module frames, "" where nothing names it.
	Name string `json:"name"`
	// Draft says that it drafts tokens for another model.
	Draft bool `json:"draft,omitempty"`
	// NumLayers is the number of layers of a whole pass, 0 when none were found; LayerSource says where it comes from, see
	// [Device.LayerSource].
	NumLayers   int    `json:"num_layers"`
	LayerSource string `json:"layer_source"`
	// Passes counts its passes.
	Passes int `json:"passes"`
	// Time adds up the durations of their activities.
	Time time.Duration `json:"time_ns"`
}

// Title is what texts call the model.
func (m Model) Title() string {
	switch {
	case m.Draft:
		return "draft"
	case m.Name == "":
		return "unnamed model"
	}
	return m.Name
}

// modelModules: an outermost module with so many modules in one of its calls is a model. A model without frames of layers (the
// decoder of an image model) has hundreds, a logits processor or a sampler less than ten in the traces seen.
const modelModules = 32

// modelClasses says which classes of outermost modules are models: those that hold frames of layers, that call many modules, or
// whose kernels are a stack of layers, as those of a compiled model are that replays graphs. Kernels of all others (logits
// processor, sampler) belong to the pass before them.
func (w *work) modelClasses(f *frames, byRoot map[rootKey][]int32) map[string]bool {
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
			is[class] = w.isStack(w.sequenceOf(byRoot[key]), &modelFacts{})
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
func (w *work) assignByModel(results []passResult, f *frames, m *modelFacts) *modelFacts {
	groups := map[string][]int{}
	busy := map[string]time.Duration{}
	var names []string
	for p := range results {
		name := results[p].model
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], p)
		busy[name] += w.busy(results[p].kernels)
	}
	w.models = map[string]*modelFacts{"": m}
	if len(names) < 2 {
		w.assignLayers(results, f, m)
		for _, name := range names {
			w.models[name] = m
		}
		return m
	}
	main := slices.MaxFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(busy[x], busy[y]), strings.Compare(y, x)) })
	for _, name := range names {
		facts := *m
		if name != main {
			facts.layers, facts.source = 0, ""
		}
		group := make([]passResult, len(groups[name]))
		for k, p := range groups[name] {
			group[k] = results[p]
		}
		w.assignLayers(group, f, &facts)
		w.judge(group, &facts)
		for k, p := range groups[name] {
			results[p] = group[k]
		}
		w.models[name] = &facts
	}
	return w.models[main]
}

// busy adds up the durations of kernels.
func (w *work) busy(kernels []int32) (sum time.Duration) {
	for _, i := range kernels {
		sum += w.act(i).Duration()
	}
	return sum
}

// ofModel returns the passes of the model that m is about.
func (w *work) ofModel(results []passResult, m *modelFacts) []passResult {
	return slices.DeleteFunc(slices.Clone(results), func(r passResult) bool { return w.models[r.model] != m })
}

// listModels makes the list of models and says which pass is of which: the one with most GPU time first, drafts last.
func (a *Device) listModels(w *work, results []passResult) {
	type key struct {
		name  string
		draft bool
	}
	var keys []key
	of := make([]int, len(results))
	for p := range results {
		k := key{results[p].model, a.Passes[p].Stage == StageDraft}
		at := slices.Index(keys, k)
		if at < 0 {
			at = len(keys)
			m := Model{Name: k.name, Draft: k.draft}
			if facts := w.models[k.name]; facts != nil && !k.draft {
				m.NumLayers, m.LayerSource = facts.layers, facts.source
			}
			keys, a.Models = append(keys, k), append(a.Models, m)
		}
		of[p] = at
		m := &a.Models[at]
		m.Passes++
		m.Time += w.busy(results[p].kernels)
		if k.draft {
			m.NumLayers = max(m.NumLayers, results[p].count)
		}
	}
	order := make([]int, len(a.Models))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(x, y int) int {
		mx, my := &a.Models[x], &a.Models[y]
		if mx.Draft != my.Draft {
			return map[bool]int{true: 1, false: -1}[mx.Draft]
		}
		return cmp.Compare(my.Time, mx.Time)
	})
	models, place := make([]Model, len(order)), make([]int, len(order))
	var parts []string
	for at, k := range order {
		m := a.Models[k]
		models[at], place[k] = m, at
		if !m.Draft {
			parts = append(parts, fmt.Sprintf("%s %.1f %% (passes: %d, layers: %d)", m.Title(), 100*float64(m.Time)/float64(max(1, a.Time)), m.Passes, m.NumLayers))
		}
	}
	a.Models = models
	for p := range of {
		a.Passes[p].Model = place[of[p]]
	}
	if len(parts) > 1 {
		a.Notes = append(a.Notes, "several models run; of the GPU time: "+strings.Join(parts, ", "))
	}
}

// cover adds up the GPU time in passes and in layers.
func (a *Device) cover() {
	for k := range a.Kernels() {
		at := k.Place()
		if at.Pass != None {
			a.InPasses += k.Event().Duration()
		}
		if at.Layer != None {
			a.InLayers += k.Event().Duration()
		}
	}
}
