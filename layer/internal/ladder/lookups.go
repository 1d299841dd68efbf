package ladder

import (
	"math"

	"github.com/llmstrata/strata/layer/internal/segment"
)

// layerLookups takes the role of an embedding from the lookups of layers, as a layer has that gathers tokens by their
// expert. Between two lookups at one place of a pass lies a stack of layers, or sampling as drafts do it after a
// layer or two; between two at one place of a layer lies a layer. A layer that looks up what positions add to attention
// does so after its products, and nothing has mixed since the lookup of the embedding.
func layerLookups(s *Sequence) {
	type place struct{ before, of, after int32 }
	type seen struct{ mixers, samples int } // before a lookup
	last, near := map[place]seen{}, map[place]int{}
	of := map[int]place{}
	var now seen
	for i, r := range s.Role {
		switch r {
		case RoleMixer:
			now.mixers++
		case roleSample:
			now.samples++
		case roleEmbed:
			p := place{None, s.Base[i], None}
			if i > 0 {
				p.before = s.Base[i-1]
			}
			if i+1 < s.Len() {
				p.after = s.Base[i+1]
			}
			l, again := last[p]
			switch {
			case !again || now.mixers == l.mixers:
			case now.samples == l.samples && now.mixers-l.mixers < segment.StackLayers:
				near[p]++
			default:
				near[p]--
			}
			last[p], of[i] = now, p
		}
	}
	for i, p := range of {
		if near[p] > 0 {
			s.Role[i] = RoleOther
		}
	}
	// one product after the lookup of the last tokens makes logits; a pass that mixes nothing has those of its layers
	const several, queriesKeysValues = 2, 3
	products := math.MinInt // since a lookup, if nothing mixed or sampled since
	for i, r := range s.Role {
		switch r {
		case RoleMixer, roleSample:
			products = math.MinInt
		case RoleGemm:
			products++
		case roleEmbed:
			if several <= products && products <= queriesKeysValues {
				s.Role[i] = RoleOther
			}
			products = 0
		}
	}
}
