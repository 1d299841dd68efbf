package ladder

import (
	"strings"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/profile"
)

// Model are what is known about the model before its layers are sought.
type Model struct {
	Profile    *profile.ModelProfile // how its layers look
	Anchor     string                // a substring of a kernel name, "" none
	Position   string                // where in its block the anchor is
	Blocks     int                   // anchors of a layer
	Layers     int                   // N, 0 when the trace must show it
	Source     Source                // where layers comes from
	UseAnchors bool                  // anchors mark layer ends or starts in this mode
	IsAnchor   []bool                // by fine id
}

// anchorPositions returns the positions of anchor kernels among kernels.
func (w *Work) anchorPositions(kernels []int32, m *Model) []int {
	var pos []int
	for k, i := range kernels {
		if m.IsAnchor[w.ID[i]] {
			pos = append(pos, k)
		}
	}
	return pos
}

// FindAnchors marks the names that contain the anchor and counts their kernels.
func (w *Work) FindAnchors(anchor string) (is []bool, count int) {
	is = make([]bool, len(w.Names))
	if anchor == "" {
		return is, 0
	}
	for id, name := range w.Names {
		is[id] = strings.Contains(name, anchor)
	}
	for _, f := range w.ID {
		if is[f] {
			count++
		}
	}
	return is, count
}

// byAnchors cuts a pass at the profile's anchors. An anchor that closes its block puts every boundary right after
// it, one that opens it right before it; the far end of layer 0 or of the last layer is found by comparing with the
// other layers, so that embedding and logits stay outside.
func (w *Work) byAnchors(r *Result, m *Model) bool {
	pos := w.anchorPositions(r.line, m)
	per := m.Blocks
	if len(pos) < 2*per || len(pos)%per != 0 && r.Cut == Uncut {
		return false
	}
	n := len(pos) / per
	if m.Layers > 0 && n != m.Layers && r.Cut == Uncut {
		return false
	}
	all := pos
	// One anchor per layer: its last where anchors close blocks, its first where they open them.
	off := per - 1
	if m.Position == profile.AnchorOpens {
		off = 0
	}
	if r.Cut == CutAtStart { // which cuts blocks off the first layer
		pos = pos[len(pos)%per:]
	}
	comb := make([]int, n)
	for k := range comb {
		comb[k] = pos[k*per+off]
	}
	c := segment.CutAt(r.Seq, segment.Comb{Pos: comb, Symbol: r.Seq.ID[comb[0]], Stride: per, Skip: off,
		Rest: per - 1 - off}, nil)
	at := c.At
	switch m.Position {
	case profile.AnchorCloses:
		at = 1
	case profile.AnchorOpens:
		at = c.Period()
	}
	if at != c.At {
		c = segment.CutAt(r.Seq, c.Comb, c.ReferenceAt(at))
	}
	w.byFitted(r, segment.Window(r.Seq, c, m.Layers, r.Cut.ends()), RungAnchor, segment.ConfidenceAnchor)
	w.assignHalves(r, all, m)
	return true
}

// assignHalves numbers the blocks within each layer by the anchors that close or open them. Those of a first layer
// that the window cuts count from its last one.
func (w *Work) assignHalves(r *Result, pos []int, m *Model) {
	if m.Blocks < 2 {
		return
	}
	layers, isAnchor := r.layersOfLine(), make([]bool, len(r.line))
	for _, k := range pos {
		isAnchor[k] = true
	}
	opens := m.Position == profile.AnchorOpens
	to := 0
	for run := range runs(layers, func(a, b *int32) bool { return *a == *b }) {
		from := to
		if to += len(run); run[0] == None {
			continue
		}
		present := 0 // blocks, or parts of them
		for k := from; k < to; k++ {
			if isAnchor[k] || opens && k == from {
				present++
			}
		}
		block := 0
		if r.CutFirst && layers[from] == int32(r.First) {
			block = max(0, m.Blocks-present)
		}
		for k := from; k < to; k++ {
			if opens && isAnchor[k] && k > from {
				block++
			}
			w.Half[r.line[k]] = int8(min(block, m.Blocks-1))
			if !opens && isAnchor[k] {
				block++
			}
		}
	}
}
