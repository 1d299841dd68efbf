package layer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/trace"
)

// Model is one of the models that a GPU runs: a language model and its draft, an encoder, a denoiser, the decoder of
// images.
type Model struct {
	// Name is the class of its outermost module frames, "" where nothing names it.
	Name string `json:"name"`
	// Draft says that it drafts tokens for another model.
	Draft bool `json:"draft,omitempty"`
	// Role is what it is to the run.
	Role Role `json:"role"`
	// NumLayers is the number of layers of a complete pass, 0 when none were found; LayerSource says where it comes
	// from, see [Device.LayerSource].
	NumLayers   int    `json:"num_layers"`
	LayerSource Source `json:"layer_source"`
	// Passes counts its passes.
	Passes int `json:"passes"`
	// Time adds up the durations of their activities, Share is its part of those of the GPU, 0…1.
	Time  time.Duration `json:"time_ns"`
	Share float64       `json:"gpu_share"`
}

// Title is what texts call the model.
func (m Model) Title() string {
	switch {
	case m.Draft:
		return RoleDraft.Title()
	case m.Name == "":
		return m.Role.Title()
	}
	return m.Name
}

// ModelOf is the title of the model of a pass where a GPU runs several, drafts aside: their passes have a stage of
// their own. It is "" if only one model runs; of models of one title it has the layers, too: "encoder of 24 layers".
func (a *Device) ModelOf(pass int) string {
	if !a.SeveralModels() {
		return ""
	}
	of := a.Passes[pass].Model
	m := &a.Models[of]
	title, named, alike, place := m.Title(), 0, 0, 0
	for i := range a.Models {
		o := &a.Models[i]
		if o.Title() != title {
			continue
		}
		if named++; o.NumLayers == m.NumLayers {
			if alike++; i == of {
				place = alike
			}
		}
	}
	switch {
	case named == 1:
		return title
	case alike > 1:
		title += " " + strconv.Itoa(place)
	}
	return title + " of " + table.Counted(m.NumLayers, "layer", "layers")
}

// SeveralModels says whether more than one model runs that is no draft: drafts are last.
func (a *Device) SeveralModels() bool { return len(a.Models) > 1 && !a.Models[1].Draft }

// SameModel reports whether nothing shows that two GPUs spend most time in different models: other names, or other
// roles where one has no name. Stages of a pipeline have other layers.
func (a *Device) SameModel(b *Device) bool {
	if len(a.Models) == 0 || len(b.Models) == 0 {
		return true
	}
	x, y := &a.Models[0], &b.Models[0]
	if x.Name != "" && y.Name != "" {
		return x.Name == y.Name
	}
	return x.Role == y.Role || x.Role == RoleUnknown || y.Role == RoleUnknown
}

// listModels lists the models, the one with most GPU time first, drafts last, and notes the model of each pass.
func (a *Device) listModels(w *work, results []ladder.Result) {
	type key struct {
		ladder.ModelKey
		draft bool
	}
	var keys []key
	of := make([]int, len(results))
	var signs []roleSigns
	for p := range results {
		k := key{results[p].Key(), a.Passes[p].Stage == StageDraft}
		at := slices.Index(keys, k)
		if at < 0 {
			at = len(keys)
			m := Model{Name: k.Class, Draft: k.draft}
			if facts := w.Models[k.ModelKey]; facts != nil && !k.draft {
				m.NumLayers, m.LayerSource = facts.Layers, facts.Source
			}
			keys, a.Models, signs = append(keys, k), append(a.Models, m), append(signs, roleSigns{})
		}
		of[p] = at
		m := &a.Models[at]
		m.Passes++
		m.Time += w.times[p].all
		signs[at].add(a, w, &results[p])
		signs[at].causal = signs[at].causal || w.attention[p].prompts()
		signs[at].both = signs[at].both || w.attention[p].both()
		if k.draft {
			m.NumLayers = max(m.NumLayers, results[p].Count)
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
	decodes, denoises := false, false // a model makes images, and one what these are made of
	for k := range a.Models {
		m := &a.Models[k]
		if m.Role = signs[k].role(m.NumLayers); m.Draft {
			m.Role = RoleDraft
		}
		decodes, denoises = decodes || m.Role == RoleDecoder, denoises || m.Role == RoleDenoiser
	}
	for at, k := range order {
		m := a.Models[k]
		if m.Role == RoleUnknown && decodes && !denoises && m.NumLayers > 0 && signs[k].mixers > 0 && !signs[k].embeds {
			m.Role, denoises = RoleDenoiser, true // what no token enters and takes most time, of a run that ends in an image
		}
		m.Share = float64(m.Time) / float64(max(1, a.Time))
		models[at], place[k] = m, at
		if !m.Draft {
			parts = append(parts, fmt.Sprintf("%s %.1f%% (passes: %d, layers: %d)", m.Title(), 100*m.Share, m.Passes,
				m.NumLayers))
		}
	}
	a.Models = models
	for p := range of {
		a.Passes[p].Model = place[of[p]]
	}
	if a.SeveralModels() {
		a.Notes = append(a.Notes, "several models run; of the GPU time: "+strings.Join(parts, ", "))
		for _, m := range a.Models {
			if given := map[Source]string{SourceFlag: "--num-layers",
				SourceConfig: "the config"}[m.LayerSource]; given != "" {
				a.Notes = append(a.Notes, fmt.Sprintf("the number of layers of %s, %d, is that of the %s, %.1f%% of the GPU time",
					given, m.NumLayers, m.Title(), 100*m.Share))
			}
		}
	}
}

// cover adds up the GPU time in passes and in layers.
func (a *Device) cover() {
	c := &a.columns
	for i, p := range c.pass {
		if p == trace.None {
			continue
		}
		d := a.event(int32(i)).Duration()
		if a.InPasses += d; c.layer[i] != trace.None {
			a.InLayers += d
		}
	}
}
