package layer

import (
	"fmt"
	"strconv"

	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// NOTE. This file reproduces the anchor-block rule of the published scripts (pipeline.md §4), kept because people compare
// with its numbers. Blocks are made of rows of category kernel only, sorted by start; block k is anchor k and what follows
// up to anchor k+1; what follows the last anchor belongs to nothing, and blocks that do not fill a pass belong to no pass,
// although a single layer of them can be asked for.

// anchorOpens fills the analysis by the rule.
func (w *work) anchorOpens(a *Analysis, m *modelFacts) error {
	if a.NumAnchors == 0 {
		return noAnchors(m, w)
	}
	var rows []int32 // kernel indices, by start
	for i, e := range w.acts {
		w.watch.Row()
		if e.Kind() == trace.KindKernel {
			rows = append(rows, int32(i))
		}
	}
	pos := w.anchorPositions(rows, m)
	if len(pos) == 0 {
		return noAnchors(m, w)
	}
	blocks := len(pos) - 1
	if m.layers == 0 {
		m.layers, m.source = w.layersByPeriod(rows, pos, m.blocks), "period"
		if m.layers == 0 {
			m.layers, m.source = m.prof.DefaultLayers, "default"
		}
	}
	per := m.layers * m.blocks
	a.NumLayers, a.LayerSource, a.NumAnchors = m.layers, m.source, len(pos)
	passes := blocks / per
	for p := 0; p*per < blocks; p++ {
		fp := ForwardPass{Index: p, Stage: StageUnknown, Batch: -1, Tokens: -1, PassEvidence: "anchor", LayerEvidence: "anchor", Confidence: 0.5}
		for l := 0; l < m.layers; l++ {
			b := p*per + l*m.blocks
			if b+m.blocks > blocks {
				break
			}
			fp.Layers = append(fp.Layers, w.openLayer(rows, pos, b, l, m, p < passes))
		}
		if len(fp.Layers) == 0 {
			break
		}
		first, last := &fp.Layers[0], &fp.Layers[len(fp.Layers)-1]
		fp.Start, fp.End = first.Start, last.End
		for l := range fp.Layers {
			fp.Kernels += len(fp.Layers[l].Kernels)
		}
		if p >= passes {
			fp.Partial = CutAtEnd
			a.tail = &fp
			break
		}
		for l := range fp.Layers {
			for _, i := range fp.Layers[l].Kernels {
				w.pass[i], w.layer[i], w.conf[i] = int32(p), int32(l), 0.5
			}
		}
		a.Passes = append(a.Passes, fp)
	}
	w.fillKernels(a)
	a.label()
	if a.tail != nil {
		types := profile.LayerTypes(m.layers, nil, 0, a.opts.HashLayers)
		if a.Config != nil {
			types = a.Config.LayerTypesN(m.layers, a.opts.HashLayers)
		}
		for l := range a.tail.Layers {
			a.labelLayer(&a.tail.Layers[l], types, m.layers, a.opts.HashLayers)
		}
		a.Notes = append(a.Notes, fmt.Sprintf("anchor-opens leaves %d of %d blocks in no pass: a pass is %d blocks and the kernels after the last anchor belong to nothing",
			blocks-passes*per, blocks, per))
	}
	if a.Anchor == "mhc_post_tilelang" {
		a.Notes = append(a.Notes, "anchor-opens shifts half labels and halves of layers: this model's anchor closes a half; --boundaries auto or anchor-closes do not")
	}
	a.Evidence = []Evidence{
		{For: "passes", Kind: "anchor", Passes: passes, Confidence: 0.5, Detail: fmt.Sprintf("%d blocks opened by %q, %d a pass", blocks, a.Anchor, per)},
		{For: "layers", Kind: "anchor", Passes: passes, Confidence: 0.5, Detail: fmt.Sprintf("%d blocks a layer, the anchor opens the block", m.blocks)},
	}
	a.referenceNotes()
	a.chooseSteady(w.watch)
	return nil
}

// openLayer makes the layer of blocks b…b+blocks−1. Its end is that of the kernel that starts last.
func (w *work) openLayer(rows []int32, pos []int, b, l int, m *modelFacts, inPass bool) Layer {
	lay := Layer{Index: l, CompressRatio: -1}
	w.watch.Rows(pos[b+m.blocks] - pos[b])
	for h := range m.blocks {
		for k := pos[b+h]; k < pos[b+h+1]; k++ {
			i := rows[k]
			lay.Kernels = append(lay.Kernels, i)
			lay.Sum += w.acts[i].Duration()
			w.half[i] = int8(h)
		}
	}
	first, last := w.acts[lay.Kernels[0]], w.acts[lay.Kernels[len(lay.Kernels)-1]]
	lay.Start, lay.End = first.Start(), last.End()
	lay.Wall = lay.End.Sub(lay.Start)
	return lay
}

// layersByPeriod is the reference's guess of N: the period of block durations.
func (w *work) layersByPeriod(rows []int32, pos []int, blocks int) int {
	n := min(200, len(pos)-1)
	if n < 4 {
		return 0
	}
	d := make([]float64, n)
	for k := range d {
		first, last := w.acts[rows[pos[k]]], w.acts[rows[pos[k+1]-1]]
		d[k] = float64(last.End()-first.Start()) / 1000
	}
	best, bestScore := 0, 0.0
	for p := blocks; p < min(120, n) && 2*p <= n; p++ {
		score := 0.0
		for i := 0; i < min(p, n-p); i++ {
			if hi := max(d[i], d[i+p]); hi > 0 {
				score += min(d[i], d[i+p]) / hi
			}
		}
		if score > bestScore {
			best, bestScore = p, score
		}
	}
	if best == 0 || bestScore <= 0.7*float64(best) {
		return 0
	}
	return best / blocks
}

// referenceNotes are the remarks of the published timeline.
func (a *Analysis) referenceNotes() {
	first := func(p int) float64 { return a.refWallUS(&a.Passes[p].Layers[0]) }
	for p := range a.Passes {
		fp := &a.Passes[p]
		if p == 0 {
			fp.Note = "cold-start"
			continue
		}
		prev, cur := first(p-1), first(p)
		switch {
		case prev <= 0:
		case p >= 3 && abs64(cur-prev)/prev < 0.05:
			fp.Note = "steady-state"
		case cur > 1.5*prev:
			fp.Note = fmt.Sprintf("growing %.1fx", cur/prev)
		}
	}
}

func abs64(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}

// rawUS is an event's timestamp in microseconds as the reference's language reads it: the double nearest to the decimal.
func (a *Analysis) rawUS(e trace.Event) float64 {
	ns := a.trace.Raw(e.Start())
	if ns > -1<<53 && ns < 1<<53 {
		return float64(ns) / 1000 // both exact, so the quotient is the nearest double
	}
	v, _ := strconv.ParseFloat(string(decimal.AppendMicros(nil, ns)), 64)
	return v
}

// durUS is an event's duration in microseconds.
func durUS(e trace.Event) float64 { return float64(e.Duration()) / 1000 }

// refWallUS is a layer's wall time in the reference's arithmetic: double microseconds since the profiler's zero, which loses
// up to half a microsecond of a large timestamp.
func (a *Analysis) refWallUS(l *Layer) float64 {
	if len(l.Kernels) == 0 {
		return 0
	}
	first, last := a.Event(int(l.Kernels[0])), a.Event(int(l.Kernels[len(l.Kernels)-1]))
	return a.rawUS(last) + durUS(last) - a.rawUS(first)
}
