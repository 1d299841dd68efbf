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
	Position   string                // where in its block the anchor stands
	Blocks     int                   // anchors of a layer
	Layers     int                   // N, 0 when the trace must tell
	Source     string                // where layers comes from
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

// byAnchors cuts a pass at the profile's anchors. An anchor that closes its block puts every boundary right behind it, one
// that opens it right before it; the far end of layer 0 or of the last layer is found by comparing with the other layers,
// so that embedding and logits stay outside.
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
	if rest := len(pos) % per; rest > 0 {
		if r.Cut == CutAtStart {
			pos = pos[rest:]
		}
		pos = pos[:n*per]
	}
	comb := make([]int, n)
	for k := range comb {
		comb[k] = pos[k*per+off]
	}
	c := params.CutAt(r.Seq, segment.Comb{Pos: comb, Stride: 1}, nil)
	at := c.At
	switch m.Position {
	case profile.AnchorCloses:
		at = 1
	case profile.AnchorOpens:
		at = c.Period()
	}
	if at != c.At {
		c = params.CutAt(r.Seq, c.Comb, c.ReferenceAt(at))
	}
	if r.Cut == Uncut || m.Layers == 0 {
		w.byStructure(r, c, "anchor", params.ConfidenceAnchor)
	} else {
		w.byFitted(r, params.Window(r.Seq, c, m.Layers, r.Cut.ends()), "anchor", params.ConfidenceAnchor)
	}
	w.assignHalves(r, all, m)
	return true
}

// assignHalves numbers the blocks within each layer by the anchors that close or open them.
func (w *Work) assignHalves(r *Result, pos []int, m *Model) {
	if m.Blocks < 2 {
		return
	}
	halves := make(map[int32]int8, len(r.line))
	layerOf := make(map[int32]int32, len(r.Kernels))
	for k, i := range r.Kernels {
		layerOf[i] = r.Layer[k]
	}
	half, layer := int8(0), int32(None)
	next := 0
	missing := int8(0) // halves of the first layer that the window cuts off
	if r.CutFirst {
		in := 0
		for _, k := range pos {
			if layerOf[r.line[k]] == int32(r.First) {
				in++
			}
		}
		missing = int8(max(0, m.Blocks-in))
	}
	for k, i := range r.line {
		if layerOf[i] != layer {
			layer, half = layerOf[i], 0
			if layer == int32(r.First) {
				half = missing
			}
		}
		isAnchor := next < len(pos) && pos[next] == k
		if isAnchor {
			next++
			if m.Position == profile.AnchorOpens && k > 0 && layerOf[r.line[k-1]] == layer && half < int8(m.Blocks-1) {
				half++
			}
		}
		halves[i] = half
		if isAnchor && m.Position != profile.AnchorOpens && half < int8(m.Blocks-1) {
			half++
		}
	}
	for _, i := range r.line {
		if layerOf[i] != None {
			w.Half[i] = halves[i]
		}
	}
	for _, i := range r.Side { // the half of the last kernel of the main line that started before
		if layerOf[i] == None {
			continue
		}
		w.Half[i] = 0
		for k := len(r.line) - 1; k >= 0; k-- {
			if w.Act(r.line[k]).Start() <= w.Act(i).Start() && layerOf[r.line[k]] == layerOf[i] {
				w.Half[i] = halves[r.line[k]]
				break
			}
		}
	}
}
