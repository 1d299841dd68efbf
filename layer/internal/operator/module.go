package operator

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// hint is what the module frames around a launch say.
type hint struct {
	// ops are the operators that it may belong to, nil: any.
	ops []string
	// outside: to none of a layer, inside: to none around the layers but the sum after the last one. loose: the
	// frames exclude operators, but name none.
	outside, inside, loose bool
}

// allows reports an operator that the frames do not exclude.
func (h hint) allows(op string, layer int32) bool {
	return !(h.outside && layer >= 0 || h.inside && layer < 0 && op != opname.ResidualAdd) &&
		(h.ops == nil || slices.Contains(h.ops, op))
}

// names reports whether the frames name the operator, or allow only a few.
func (h hint) names(op string) bool { return !h.loose && slices.Contains(h.ops, op) }

// few reports that the frames leave so few operators that a name need not say which.
func (h hint) few() bool { return len(h.ops) <= fewOps }

// fewOps is how many kinds of activations and of what heads run there are.
const fewOps = 3

// products is how many of the operators that the frames leave are products.
func (h hint) products() int {
	n := 0
	for _, op := range h.ops {
		if isProduct(op) || gradesOf[op+latentSuffix] != nil {
			n++
		}
	}
	return n
}

// attentionWords are of modules that run attention.
var attentionWords = []string{"Attention", "Attn"}

var (
	attentionOps = []string{opname.QKVProj, opname.QProj, opname.KProj, opname.VProj, opname.QKVAProj, opname.QAProj,
		opname.KVAProj, opname.QANorm, opname.KVANorm, opname.QBProj, opname.KVBProj,
		opname.KAbsorb, opname.VAbsorb, opname.QKNorm, opname.Rope, opname.KVWrite, opname.Indexer, opname.IndexerTopK,
		opname.Attention, opname.OProj, opname.AttnAllReduce,
		opname.InProj, opname.Conv1D, opname.LinearAttention, opname.GateNorm, opname.OutProj,
		opname.ResidualAdd, opname.PostNorm} // BERT's attention ends with them
	denseOps = []string{opname.GateUpProj, opname.GateProj, opname.UpProj, opname.Activation, opname.DownProj,
		opname.MLPAllReduce}
	sharedParts = []string{opname.SharedGateUp, opname.SharedActivation, opname.SharedDown}
	moeOps      = append([]string{opname.Router, opname.Routing, opname.Dispatch, opname.ExpertsGateUp,
		opname.ExpertsActivation, opname.ExpertsDown, opname.ExpertsCombine,
		opname.ResidualAdd, opname.MLPAllReduce}, sharedParts...)
	blockOps = []string{opname.ResidualAdd, opname.InputNorm, opname.PostNorm, opname.AttnAllReduce,
		opname.MLPAllReduce, opname.HCPre, opname.HCPost}
)

// moduleHints reads the module frames of all kernels; nil when there are none.
func moduleHints(pass *Pass, reads []reading, after bool) []hint {
	if !slices.ContainsFunc(pass.Kernels, func(k Kernel) bool { return k.Framed || len(k.Modules) > 0 }) {
		return nil
	}
	s := siblings{nth: map[[3]string]int{}, count: map[[2]string]int{}, after: after}
	for i := range pass.Kernels {
		s.add(pass.Kernels[i].Modules)
	}
	out := make([]hint, len(pass.Kernels))
	for i := range out {
		if k := &pass.Kernels[i]; k.Framed && k.Layer < 0 {
			out[i] = outsideLayers(k.Modules)
		} else {
			out[i] = hint{ops: s.ops(k.Modules, reads[i].acts[0]), inside: k.Framed}
		}
	}
	return out
}

// siblings are the instances of a class below one parent instance, in order of
// their first launch.
type siblings struct {
	nth   map[[3]string]int // by parent, class and instance
	count map[[2]string]int // by parent and class
	// after: norms follow the parts of layers.
	after bool
}

func classOf(module string) string {
	if i := strings.LastIndexByte(module, '_'); i > 0 {
		return module[:i]
	}
	return module
}

func (s siblings) key(m []string) [2]string {
	parent := ""
	if len(m) > 1 {
		parent = m[len(m)-2]
	}
	return [2]string{parent, classOf(m[len(m)-1])}
}

func (s siblings) add(m []string) {
	if len(m) == 0 {
		return
	}
	k := s.key(m)
	id := [3]string{k[0], k[1], m[len(m)-1]}
	if _, ok := s.nth[id]; !ok {
		s.nth[id] = s.count[k]
		s.count[k]++
	}
}

// ops says which operators a kernel in these modules may belong to.
func (s siblings) ops(m []string, a classify.Role) []string {
	if len(m) == 0 {
		return nil
	}
	leaf := classOf(m[len(m)-1])
	has := func(words ...string) bool {
		return slices.ContainsFunc(m, func(c string) bool { return hasAny(c, words) && !isModel(classOf(c)) })
	}
	attention := has(attentionWords...) || has("Mixer", "DeltaNet", "Mamba", "MLAModule")
	moe := has("MoE", "Moe", "Experts", "SparseMoe") && has("MoE", "SparseMoeBlock", "SparseMoE", "Experts")
	k := s.key(m)
	nth, count := s.nth[[3]string{k[0], k[1], m[len(m)-1]}], s.count[k]
	switch {
	case a == classify.RoleCollective && attention:
		return []string{opname.AttnAllReduce}
	case strings.Contains(leaf, "QKVParallel"):
		return []string{opname.QKVProj}
	case strings.Contains(leaf, "Rotary"):
		return []string{opname.Rope}
	case strings.Contains(leaf, "Norm"):
		return s.norms(m, attention, nth)
	case hasAny(leaf, []string{"SiLU", "Silu", "Gelu", "GELU"}):
		return []string{opname.Activation, opname.SharedActivation, opname.ExpertsActivation}
	case has(headWords...):
		return headOps
	case hasAny(leaf, samplerWords):
		return samplerOps
	case hasAny(leaf, embedderWords):
		return []string{opname.Embed}
	case leaf == "Linear" && attention && count == 4:
		return []string{[]string{opname.QProj, opname.KProj, opname.VProj, opname.OProj}[nth]}
	case leaf == "Linear" && !moe && has("MLP") && count == 3:
		return []string{[]string{opname.GateProj, opname.UpProj, opname.DownProj}[nth]}
	case strings.Contains(leaf, "RowParallel") && attention:
		return []string{opname.OProj, opname.OutProj, opname.AttnAllReduce}
	case strings.Contains(leaf, "RowParallel") && moe:
		return []string{opname.SharedDown, opname.MLPAllReduce}
	case strings.Contains(leaf, "RowParallel") && has("MLP", "FeedForward"):
		return []string{opname.DownProj, opname.SharedDown, opname.MLPAllReduce}
	case attention:
		return attentionOps
	case moe:
		return moeOps
	case has("MLP", "FeedForward"):
		return slices.Concat(denseOps, moeOps)
	case hasAny(leaf, []string{"DecoderLayer", "TransformerBlock"}):
		return slices.Concat(blockOps, denseOps)
	}
	return nil
}

// norms are those a norm module may be: of queries and keys inside attention, of
// the layer by their order, else the last one.
func (s siblings) norms(m []string, attention bool, nth int) []string {
	if attention {
		return []string{opname.QKNorm, opname.QANorm, opname.KVANorm, opname.GateNorm, opname.Indexer, opname.InputNorm,
			opname.PostNorm, opname.ResidualAdd}
	}
	if len(m) > 1 && hasAny(classOf(m[len(m)-2]), []string{"DecoderLayer", "TransformerBlock"}) {
		if nth == 0 && !s.after {
			return []string{opname.InputNorm, opname.ResidualAdd}
		}
		return []string{opname.PostNorm, opname.ResidualAdd}
	}
	return []string{opname.FinalNorm, opname.PostNorm, opname.ResidualAdd, opname.InputNorm}
}

func hasAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
