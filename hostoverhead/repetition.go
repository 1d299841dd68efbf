package hostoverhead

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Pattern is the repeating unit of the run, a decoder layer, with the idle time
// inside it.
type Pattern struct {
	Repetitions int           `json:"repetitions"` // layers of this kernel sequence in the steady pass
	Source      string        `json:"source"`      // what the layers rest on, see package layer
	Kernels     []PatternPart `json:"kernels"`     // in order of one repetition
	Groups      []PatternPart `json:"groups"`      // by gap
}

// PatternPart is a kernel of the unit, averaged over the repetitions, or all of one functional category.
type PatternPart struct {
	Name    string  `json:"name,omitempty"` // of a kernel
	Group   string  `json:"group"`          // functional category
	Kernels int     `json:"kernels"`        // in one repetition
	BusyUS  float64 `json:"busy_us"`        // time that they run, in one repetition
	GapUS   float64 `json:"gap_us"`         // idle time of the device before them, in one repetition
}

// pattern averages the most frequent kind of layer of the steady pass. It returns nil where no layers are found.
func (w *workload) pattern(d *deviceWork) *Pattern {
	layers := commonLayers(d.layers)
	if len(layers) == 0 {
		return nil
	}
	p := &Pattern{Repetitions: len(layers), Source: string(d.layers.LayerSource)}
	for _, k := range layers[0].Kernels {
		k := d.layers.Kernel(int(k))
		p.Kernels = append(p.Kernels, PatternPart{Name: k.Event().Name(), Group: d.layers.CategoryLabel(k.Category()),
			Kernels: 1})
	}
	for _, l := range layers {
		for i, k := range l.Kernels {
			e := d.layers.Kernel(int(k)).Event()
			p.Kernels[i].BusyUS += us(int64(e.Duration())) / float64(len(layers))
			p.Kernels[i].GapUS += us(w.idleBefore(d, e)) / float64(len(layers))
		}
	}
	p.group()
	return p
}

// commonLayers are the layers of the steady pass with the most frequent kernel
// sequence and the same number of kernels.
func commonLayers(a *layer.Device) []layer.Layer {
	if len(a.Passes) == 0 {
		return nil
	}
	pass := &a.Passes[len(a.Passes)-1]
	if i := a.Steady.Pass; i >= 0 && i < len(a.Passes) {
		pass = &a.Passes[i]
	}
	byKind := map[int][]layer.Layer{}
	best := none
	for _, l := range pass.Layers() {
		if !l.Partial {
			byKind[l.Kind] = append(byKind[l.Kind], l)
		}
	}
	for kind, ls := range byKind {
		if best == none || cmp.Or(cmp.Compare(len(ls), len(byKind[best])), cmp.Compare(best, kind)) > 0 {
			best = kind
		}
	}
	ls := byKind[best]
	return slices.DeleteFunc(ls, func(l layer.Layer) bool { return len(l.Kernels) != len(ls[0].Kernels) })
}

// idleBefore is the device idle time right before an activity.
func (w *workload) idleBefore(d *deviceWork, e trace.Event) int64 {
	start := int64(e.Start())
	i, found := slices.BinarySearchFunc(d.busy, start,
		func(s interval.Span, t int64) int { return cmp.Compare(s.Start, t) })
	if !found || i == 0 {
		return 0 // inside busy time, or the very first
	}
	return start - d.busy[i-1].End
}

func (p *Pattern) group() {
	for _, k := range p.Kernels {
		i := slices.IndexFunc(p.Groups, func(g PatternPart) bool { return g.Group == k.Group })
		if i < 0 {
			i = len(p.Groups)
			p.Groups = append(p.Groups, PatternPart{Group: k.Group})
		}
		g := &p.Groups[i]
		g.Kernels, g.BusyUS, g.GapUS = g.Kernels+1, g.BusyUS+k.BusyUS, g.GapUS+k.GapUS
	}
	slices.SortFunc(p.Groups, func(a, b PatternPart) int {
		return cmp.Or(cmp.Compare(b.GapUS, a.GapUS), cmp.Compare(b.BusyUS, a.BusyUS), cmp.Compare(a.Group, b.Group))
	})
}

// us converts nanoseconds to µs.
func us(ns int64) float64 { return float64(ns) / 1e3 }
