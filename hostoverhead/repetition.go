package hostoverhead

import (
	"cmp"
	"errors"
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

// pattern asks package layer for the layers of the steady pass and averages
// the most frequent kind. It returns nil where no layers are found.
func (w *workload) pattern(d *deviceWork) (*Pattern, error) {
	a, err := w.layers.Device(&d.id)
	if errors.Is(err, layer.ErrNoKernels) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	layers, labels := commonLayers(a)
	if len(layers) == 0 {
		return nil, nil
	}
	p := &Pattern{Repetitions: len(layers), Source: a.LayerSource}
	first := layers[0].Kernels
	p.Kernels = make([]PatternPart, len(first))
	for _, l := range layers {
		for i, k := range l.Kernels {
			e := a.Kernel(int(k)).Event()
			pk := &p.Kernels[i]
			pk.Kernels, pk.Name, pk.Group = 1, a.Kernel(int(first[i])).Event().Name(), labels(int(first[i]))
			pk.BusyUS += us(int64(e.Duration())) / float64(len(layers))
			pk.GapUS += us(w.idleBefore(d, e)) / float64(len(layers))
		}
	}
	p.group()
	return p, nil
}

// commonLayers are the layers of the steady pass with the most frequent kernel
// sequence and the same number of kernels.
func commonLayers(a *layer.Device) ([]layer.Layer, func(int) string) {
	labels := func(k int) string { return a.CategoryLabel(a.Kernel(k).Category()) }
	if len(a.Passes) == 0 {
		return nil, labels
	}
	pass := &a.Passes[len(a.Passes)-1]
	if i := a.Steady.Pass; i >= 0 && i < len(a.Passes) {
		pass = &a.Passes[i]
	}
	byKind := map[int][]layer.Layer{}
	best := none
	for _, l := range pass.Layers() {
		if l.Partial {
			continue
		}
		byKind[l.Kind] = append(byKind[l.Kind], l)
	}
	for kind, ls := range byKind {
		if best == none || len(ls) > len(byKind[best]) || len(ls) == len(byKind[best]) && kind < best {
			best = kind
		}
	}
	ls := byKind[best]
	return slices.DeleteFunc(ls, func(l layer.Layer) bool { return len(l.Kernels) != len(ls[0].Kernels) }), labels
}

// idleBefore is the device idle time right before an activity.
func (w *workload) idleBefore(d *deviceWork, e trace.Event) int64 {
	start := int64(e.Start())
	i, found := slices.BinarySearchFunc(d.busy, start, func(s interval.Span, t int64) int { return cmp.Compare(s.Start, t) })
	if !found || i == 0 {
		return 0 // inside busy time, or the very first
	}
	return start - d.busy[i-1].End
}

func (p *Pattern) group() {
	byName := map[string]*PatternPart{}
	for _, k := range p.Kernels {
		g := byName[k.Group]
		if g == nil {
			g = &PatternPart{Group: k.Group}
			byName[k.Group] = g
		}
		g.Kernels++
		g.BusyUS += k.BusyUS
		g.GapUS += k.GapUS
	}
	for _, g := range byName {
		p.Groups = append(p.Groups, *g)
	}
	slices.SortFunc(p.Groups, func(a, b PatternPart) int {
		return cmp.Or(cmp.Compare(b.GapUS, a.GapUS), cmp.Compare(b.BusyUS, a.BusyUS), cmp.Compare(a.Group, b.Group))
	})
}

// us converts nanoseconds to µs.
func us(ns int64) float64 { return float64(ns) / 1e3 }
