package roofline

import (
	"cmp"
	"math"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
)

// opWork is what one operator of one layer has to do on one rank.
type opWork struct {
	// M, N, K are the sizes of a product on this rank; 0 for other operators.
	M, N, K int64
	// FLOP counts multiplications and additions.
	FLOP float64
	// Weights and Cache are bytes that must come from memory: neither fits into a cache from one pass to the next.
	// Activations are bytes that may stay in a cache.
	Weights, Cache, Activations float64
	// Link is bytes that a collective moves at least over the links of one GPU, in one direction, among Ranks ranks.
	Link  float64
	Ranks int
	// DType is the type that bounds the arithmetic: that of the weights, where the GPU computes with it.
	DType string
	// AtMost says that the sums over requests only bound the work from above (sliding windows, selected tokens).
	AtMost bool
	// Expected says that the work is an expectation and no bound: experts chosen evenly. ActiveExperts is how many
	// that are.
	Expected      bool
	ActiveExperts float64
	// LeastExperts and MostExperts bound how many experts are read, OneExpert is the bytes of one. LeastWeights is the
	// bound where Weights is an expectation: the experts of one token.
	LeastExperts, MostExperts, OneExpert, LeastWeights float64
	// several says that it is the sum of products of different sizes.
	several bool
	// Known is false where the plan or the load does not give the sizes.
	Known bool
}

// bytes are all of the work's bytes.
func (w *opWork) bytes() float64 { return w.Weights + w.Cache + w.Activations }

// atLeast leaves of an expectation what must be: the experts of one token.
func (w *opWork) atLeast() {
	if w.Expected {
		w.Weights = w.LeastWeights
	}
}

// floorOfActivations is how long the memory takes for the activations alone.
func (w *opWork) floorOfActivations(g *hardware.GPU) time.Duration {
	if g == nil || !g.Bandwidth.Known() {
		return 0
	}
	return duration(w.Activations / g.Bandwidth.Value)
}

// sizeOf is the bytes of an element, those of otherwise where the type is unknown.
func sizeOf(dtype, otherwise string) float64 {
	if s, ok := typeSizes[dtype]; ok {
		return s
	}
	if s, ok := typeSizes[otherwise]; ok {
		return s
	}
	return typeSizes["bf16"]
}

// A model counts work for one model on one rank.
type model struct {
	config     *profile.Config
	tp, ep     int    // sizes, at least 1
	activation string // type of activations
	cache      string // type of the key-value cache
}

// work counts what op does in a pass. kind is the layer kind that it belongs to, nil outside of layers.
func (m *model) work(op *profile.PlanOp, kind *profile.PlanKind, l *Load) opWork {
	switch op.Operator {
	case opname.Attention:
		return m.attention(op, l)
	case opname.Embed:
		return m.moved(l.Tokens, op.N, op.N, m.activation)
	case opname.AttnAllReduce, opname.MLPAllReduce:
		return m.allReduce(op, l)
	}
	switch {
	case op.Experts > 0 && op.K > 0 && op.N > 0:
		return m.experts(op, l)
	case op.K > 0 && op.N > 0:
		return m.product(op, kind, l)
	case op.Operator == opname.LogitsGather, op.Operator == opname.Sampling:
		width := m.perRank(op.Width, op.Split)
		return m.moved(l.logits(), width, width, m.activation)
	case m.ep > 1 && (op.Operator == opname.ExpertsActivation || op.Operator == opname.ExpertsCombine):
		return opWork{} // how many of the chosen experts are on this rank, the config does not say
	case op.Width > 0:
		read, written := m.perRank(op.Width, op.Split), m.perRank(cmp.Or(op.Out, op.Width), op.Split)
		switch op.Operator {
		case opname.ExpertsActivation:
			read, written = read*op.TopK, written*op.TopK
		case opname.ExpertsCombine:
			read *= max(1, op.TopK)
		}
		if op.Operator == opname.KVWrite {
			return m.moved(l.Tokens, read, written, m.cache)
		}
		return m.moved(l.Tokens, read, written, m.activation)
	}
	return opWork{}
}

// product is a matrix product of all tokens with one weight, or one of each group.
func (m *model) product(op *profile.PlanOp, kind *profile.PlanKind, l *Load) opWork {
	rows := l.Tokens
	if op.Operator == opname.LMHead {
		rows = l.logits()
	}
	k, n, groups := m.divided(op, kind)
	if rows <= 0 || k <= 0 || n <= 0 {
		return opWork{}
	}
	M, K, N, G := float64(rows), float64(k), float64(n), float64(groups)
	a := sizeOf(m.activation, "")
	size := sizeOf(op.WeightDType, m.activation)
	w := opWork{M: rows, N: int64(n), K: int64(k), FLOP: 2 * M * N * K * G, Weights: N * K * G * size,
		Activations: M * (K + N) * G * a,
		DType:       dtypeOf(op.WeightDType, m.activation), Known: true}
	if op.Bias {
		w.FLOP += M * N * G
		w.Weights += N * G * size
	}
	return w
}

// divided returns the sizes of a product on one rank.
func (m *model) divided(op *profile.PlanOp, kind *profile.PlanKind) (k, n, groups int) {
	tp := m.tp
	k, n, groups = op.K, op.N, max(op.Groups, 1)
	switch op.Split {
	case profile.SplitColumns, profile.SplitVocab:
		n = ceil(n, tp)
	case profile.SplitRows:
		k = ceil(k, tp)
	case profile.SplitHeads:
		switch {
		case op.Groups > 0:
			groups = ceil(op.Groups, tp)
		default:
			n = m.headsOf(op, kind, n)
		}
	}
	return k, n, groups
}

// headsOf divides an output of heads: key and value heads are divided down to one.
func (m *model) headsOf(op *profile.PlanOp, kind *profile.PlanKind, n int) int {
	tp := m.tp
	var core profile.PlanOp
	if kind != nil {
		core, _ = kind.Find(opname.Attention)
	}
	one := max(core.KVHeads/tp, 1) * core.HeadDim
	switch {
	case core.KVHeads == 0 || core.HeadDim == 0 || m.latent():
		return ceil(n, tp)
	case op.Operator == opname.KProj, op.Operator == opname.VProj:
		return one
	case op.Operator == opname.QKVProj:
		return ceil(n-2*core.KVHeads*core.HeadDim, tp) + 2*one
	}
	return ceil(n, tp)
}

// latent says that keys and values share one compressed vector in the cache.
func (m *model) latent() bool { return m.config.KVLoraRank > 0 || len(m.config.CompressRatios) > 0 }

func (m *model) perRank(width int, split profile.Split) int {
	if split == "" {
		return width
	}
	return ceil(width, m.tp)
}

// attention is the core: scores and weighted values, and reading the cache.
func (m *model) attention(op *profile.PlanOp, l *Load) opWork {
	if !l.KnownSeen || op.Heads == 0 || op.HeadDim == 0 {
		return opWork{}
	}
	tp := m.tp
	heads, kv := float64(ceil(op.Heads, tp)), float64(max(op.KVHeads/tp, 1))
	qk, v := float64(op.HeadDim), float64(op.ValueDim)
	pairs, seen := l.pairs(), l.ContextSeen+l.GenerationSeen
	w := opWork{DType: m.activation, Known: true}
	within := 0.0
	if op.Ratio > 0 {
		pairs, seen = pairs/float64(op.Ratio), seen/float64(op.Ratio)
	}
	switch {
	case op.TopTokens > 0:
		within = float64(op.TopTokens + op.Window)
	case op.Ratio > 0:
		pairs, seen = pairs+l.pairsWithin(float64(op.Window)), seen+l.seenWithin(float64(op.Window))
		w.AtMost = true
	case op.Window > 0:
		within = float64(op.Window)
	}
	if within > 0 {
		pairs, seen = min(pairs, l.pairsWithin(within)), min(seen, l.seenWithin(within))
		w.AtMost = true
	}
	element := qk + v
	if m.latent() {
		element = qk // the value is a part of the key
	}
	w.FLOP = 2 * heads * (qk + v) * pairs
	w.Cache = kv * element * sizeOf(m.cache, m.activation) * seen
	w.Activations = float64(l.Tokens) * heads * (qk + v) * sizeOf(m.activation, "")
	return w
}

// experts are the products of the routed experts. Which experts tokens choose is not in a config: even routing is
// expected, and the experts of one token are the least.
func (m *model) experts(op *profile.PlanOp, l *Load) opWork {
	if l.Tokens <= 0 || op.TopK <= 0 {
		return opWork{}
	}
	k, n := op.K, op.N
	local := op.Experts
	tokens := float64(l.Tokens)
	share := 1.0 // of the chosen experts that are on this rank
	if ep := m.ep; ep > 1 {
		local = ceil(op.Experts, ep)
		share = float64(local) / float64(op.Experts)
	} else if op.Operator == opname.ExpertsDown {
		k = ceil(k, m.tp)
	} else {
		n = ceil(n, m.tp)
	}
	chosen := tokens * float64(op.TopK) * share
	active := float64(local) * (1 - math.Pow(1-float64(op.TopK)/float64(op.Experts), tokens))
	one := float64(k) * float64(n) * sizeOf(op.WeightDType, m.activation)
	a := sizeOf(m.activation, "")
	in, out := tokens*float64(k), chosen*float64(n)
	if op.Operator == opname.ExpertsDown {
		in, out = chosen*float64(k), tokens*float64(n)
	}
	least := float64(op.TopK)
	if m.ep > 1 {
		least = 0 // a rank may hold none of the chosen ones
	}
	return opWork{M: l.Tokens, N: int64(n), K: int64(k), FLOP: 2 * chosen * float64(k) * float64(n),
		Weights: active * one, LeastWeights: least * one, OneExpert: one,
		LeastExperts: least, MostExperts: min(float64(local), tokens*float64(op.TopK)),
		Activations: (in + out) * a, DType: dtypeOf(op.WeightDType, m.activation), Expected: true,
		ActiveExperts: active, Known: true}
}

// moved is an operator that reads elements of each token and writes as many as a type, and computes next to nothing.
func (m *model) moved(tokens int64, read, written int, as string) opWork {
	if tokens <= 0 || read+written <= 0 {
		return opWork{}
	}
	each := float64(read)*sizeOf(m.activation, "") + float64(written)*sizeOf(as, m.activation)
	return opWork{Activations: float64(tokens) * each, DType: m.activation, Known: true}
}

// allReduce moves each element of the hidden state over a link once where the switch adds up, and up to twice on
// rings and meshes: once is the bound.
func (m *model) allReduce(op *profile.PlanOp, l *Load) opWork {
	if m.tp < 2 || l.Tokens <= 0 {
		return opWork{}
	}
	bytes := float64(l.Tokens) * float64(op.Width) * sizeOf(m.activation, "")
	return opWork{Link: bytes, Ranks: m.tp, Activations: 2 * bytes, DType: m.activation, Known: true}
}

// dtypeOf is the type whose peak bounds the arithmetic. Weights in a smaller type than activations may be widened
// before they are used; then the kernel is slower, and the peak of the smaller type is still a bound.
func dtypeOf(weights, activations string) string {
	switch weights {
	case "":
		return activations
	case string(classify.DTypeMXFP4), string(classify.DTypeNVFP4):
		return "fp4"
	case string(classify.DTypeINT4):
		return activations // weights only: no framework computes with them
	}
	return weights
}

func ceil(n, by int) int { return (n + by - 1) / by }
