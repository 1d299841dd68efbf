package layer

import (
	"strings"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/profile"
)

// modelFacts are what is known about the model before its layers are sought.
type modelFacts struct {
	prof       *profile.ModelProfile
	anchor     string
	position   profile.AnchorPosition
	blocks     int
	layers     int    // N, 0 when the trace must tell
	source     string // where layers comes from
	useAnchors bool   // anchors mark layer ends or starts in this mode
	isAnchor   []bool // by fine id
}

// anchorPositions returns the positions of anchor kernels among kernels.
func (w *Work) anchorPositions(kernels []int32, m *modelFacts) []int {
	var pos []int
	for k, i := range kernels {
		if m.isAnchor[w.seq.ID[i]] {
			pos = append(pos, k)
		}
	}
	return pos
}

// findAnchors marks the names that contain the anchor and counts their kernels.
func (w *Work) findAnchors(anchor string) (is []bool, count int) {
	is = make([]bool, len(w.names))
	if anchor == "" {
		return is, 0
	}
	for id, name := range w.names {
		is[id] = strings.Contains(name, anchor)
	}
	for _, f := range w.seq.ID {
		if is[f] {
			count++
		}
	}
	return is, count
}

// byAnchors cuts a pass at the profile's anchors. An anchor that closes its block puts every boundary right behind it, one
// that opens it right before it; the far end of layer 0 or of the last layer is found by comparing with the other layers,
// so that embedding and logits stay outside.
func (w *Work) byAnchors(r *passResult, m *modelFacts) bool {
	pos := w.anchorPositions(r.line, m)
	per := m.blocks
	if len(pos) < 2*per || len(pos)%per != 0 && r.cut == uncut {
		return false
	}
	n := len(pos) / per
	if m.layers > 0 && n != m.layers && r.cut == uncut {
		return false
	}
	all := pos
	// One anchor per layer: its last where anchors close blocks, its first where they open them.
	off := per - 1
	if m.position == profile.AnchorOpens {
		off = 0
	}
	if rest := len(pos) % per; rest > 0 {
		if r.cut == cutAtStart {
			pos = pos[rest:]
		}
		pos = pos[:n*per]
	}
	comb := make([]int, n)
	for k := range comb {
		comb[k] = pos[k*per+off]
	}
	c := params.CutAt(r.seq, segment.Comb{Pos: comb, Stride: 1}, nil)
	at := c.At
	switch m.position {
	case profile.AnchorCloses:
		at = 1
	case profile.AnchorOpens:
		at = c.Period()
	}
	if at != c.At {
		c = params.CutAt(r.seq, c.Comb, c.ReferenceAt(at))
	}
	if r.cut == uncut || m.layers == 0 {
		w.byStructure(r, c, "anchor", params.ConfidenceAnchor)
	} else {
		w.byFitted(r, params.Window(r.seq, c, m.layers, r.cut.ends()), "anchor", params.ConfidenceAnchor)
	}
	w.assignHalves(r, all, m)
	return true
}

// assignHalves numbers the blocks within each layer by the anchors that close or open them.
func (w *Work) assignHalves(r *passResult, pos []int, m *modelFacts) {
	if m.blocks < 2 {
		return
	}
	halves := make(map[int32]int8, len(r.line))
	layerOf := make(map[int32]int32, len(r.kernels))
	for k, i := range r.kernels {
		layerOf[i] = r.layer[k]
	}
	half, layer := int8(0), int32(none)
	next := 0
	missing := int8(0) // halves of the first layer that the window cuts off
	if r.cutFirst {
		in := 0
		for _, k := range pos {
			if layerOf[r.line[k]] == int32(r.first) {
				in++
			}
		}
		missing = int8(max(0, m.blocks-in))
	}
	for k, i := range r.line {
		if layerOf[i] != layer {
			layer, half = layerOf[i], 0
			if layer == int32(r.first) {
				half = missing
			}
		}
		isAnchor := next < len(pos) && pos[next] == k
		if isAnchor {
			next++
			if m.position == profile.AnchorOpens && k > 0 && layerOf[r.line[k-1]] == layer && half < int8(m.blocks-1) {
				half++
			}
		}
		halves[i] = half
		if isAnchor && m.position != profile.AnchorOpens && half < int8(m.blocks-1) {
			half++
		}
	}
	for _, i := range r.line {
		if layerOf[i] != none {
			w.half[i] = halves[i]
		}
	}
	for _, i := range r.side { // the half of the last kernel of the main line that started before
		if layerOf[i] == none {
			continue
		}
		w.half[i] = 0
		for k := len(r.line) - 1; k >= 0; k-- {
			if w.act(r.line[k]).Start() <= w.act(i).Start() && layerOf[r.line[k]] == layerOf[i] {
				w.half[i] = halves[r.line[k]]
				break
			}
		}
	}
}
