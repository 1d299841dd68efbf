package ladder

import (
	"math"

	"github.com/llmstrata/strata/layer/internal/segment"
)

// layerLookups takes the role of an embedding from the lookups of layers, as a layer has that gathers tokens by their
// expert. Between two lookups at one place of a pass lies a stack of layers, or sampling as drafts do it after a
// layer or two; between two at one place of a layer lies a layer, or some that look nothing up. Where no feed-forward
// part follows the last mixer, a lookup is in the layer of that. A layer that looks up what positions add to attention
// does so after its products, and nothing has mixed since the lookup of the embedding.
func layerLookups(s *Sequence) {
	type place struct{ before, of, after int32 }
	type lookup struct {
		i               int
		at              place
		mixers, samples int  // before it
		fed             bool // a feed-forward part is between the last mixer and it
		since           int  // mixers since the one before at its place, 0 where none is
		sampled         bool // and whether one sampled since
	}
	last := map[place]lookup{}
	var all []lookup
	most := 0 // mixers between two at one place
	now := lookup{fed: true}
	for i, r := range s.Role {
		switch r {
		case RoleMixer:
			now.mixers, now.fed = now.mixers+1, false
		case roleMoE, roleActivation:
			now.fed = true
		case roleSample:
			now.samples++
		case roleEmbed:
			l := now
			l.i, l.at = i, place{None, s.Base[i], None}
			if i > 0 {
				l.at.before = s.Base[i-1]
			}
			if i+1 < s.Len() {
				l.at.after = s.Base[i+1]
			}
			if before, again := last[l.at]; again {
				l.since, l.sampled = l.mixers-before.mixers, l.samples != before.samples
			}
			most = max(most, l.since)
			last[l.at], all = l, append(all, l)
		}
	}
	near := map[place]int{}
	for _, l := range all {
		switch {
		case l.since == 0:
		case !l.sampled && (l.since < segment.StackLayers || !l.fed && l.since < most):
			near[l.at]++
		default:
			near[l.at]--
		}
	}
	for _, l := range all {
		if near[l.at] > 0 {
			s.Role[l.i] = RoleOther
		}
	}
	// one product after the lookup of the last tokens makes logits; a pass that mixes nothing has those of its layers
	const several, queriesKeysValuesScores = 2, 4
	products := math.MinInt // since a lookup, if nothing mixed or sampled since
	for i, r := range s.Role {
		switch r {
		case RoleMixer, roleSample:
			products = math.MinInt
		case RoleGemm:
			products++
		case roleEmbed:
			if several <= products && products <= queriesKeysValuesScores {
				s.Role[i] = RoleOther
			}
			products = 0
		}
	}
}
