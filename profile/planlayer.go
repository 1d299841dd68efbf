package profile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer/finding"
)

// NOTE. The orders and sizes below are those of the models' own code (vLLM,
// SGLang, transformers); docs/operators.md names the file read for each. Where
// servers differ in order, the plan has one of the orders: who aligns kernels
// with it lets neighbours change places.

// planLayer is one layer: the part that mixes tokens, then the feed-forward part,
// each between its norm and its all-reduce.
func (c *Config) planLayer(l LayerInfo) []PlanOp {
	var ops []PlanOp
	half := func(norm string, body []PlanOp, reduce string) {
		if len(body) == 0 {
			return
		}
		ops = append(ops, c.enter()...)
		ops = append(ops, c.norm(norm, c.HiddenSize))
		ops = append(ops, body...)
		// the collective after a row-parallel product: only with more than one rank
		ops = append(ops, PlanOp{Operator: Operator(reduce), Optional: true, Width: c.HiddenSize})
		if c.HCMult > 0 {
			ops = append(ops, PlanOp{Operator: opname.HCPost, Width: (c.HCMult + 1) * c.HiddenSize})
		}
	}
	half(opname.InputNorm, c.planMixer(l), opname.AttnAllReduce)
	norm := opname.PostNorm
	if l.Mixer == mixerNone {
		norm = opname.InputNorm // the only norm of the layer
	}
	half(norm, c.planFFN(l), opname.MLPAllReduce)
	return ops
}

// enter is what joins the residual stream before a half: an addition, or
// the mixing of hyper-connections' streams.
func (c *Config) enter() []PlanOp {
	if c.HCMult > 0 {
		return []PlanOp{{Operator: opname.HCPre, K: c.HCMult * c.HiddenSize, N: (2 + c.HCMult) * c.HCMult,
			WeightDType: "fp32"}}
	}
	return []PlanOp{{Operator: opname.ResidualAdd, Optional: true, Width: c.HiddenSize}}
}

func (c *Config) planMixer(l LayerInfo) []PlanOp {
	switch l.Mixer {
	case mixerNone, mixerUnknown:
		return nil
	case mixerMLA:
		return c.planMLA(l)
	case mixerCSA, mixerHCA, mixerCompressed:
		return c.planCompressed(l)
	case mixerLinear, mixerMamba:
		return c.planRecurrent(l.Mixer)
	case mixerConv:
		return []PlanOp{
			c.product(opname.InProj, "conv.in_proj", c.HiddenSize, 3*c.HiddenSize, SplitColumns),
			{Operator: opname.Conv1D, Width: 3 * c.HiddenSize},
			c.product(opname.OutProj, "conv.out_proj", c.HiddenSize, c.HiddenSize, SplitRows),
		}
	case mixerHybrid:
		return append(c.planRecurrent(mixerMamba), c.planAttention(l)...)
	}
	if len(c.CompressRatios) > 0 {
		return c.planCompressed(l) // a layer of such a model whose cache is a window only
	}
	return c.planAttention(l)
}

// kvHeads is the number of key/value heads; a config that gives none has one per
// query head.
func (c *Config) kvHeads() int {
	if c.NumKVHeads > 0 {
		return c.NumKVHeads
	}
	return c.NumHeads
}

// window is the number of tokens that attention of this kind looks back at most.
func (c *Config) windowOf(m string) int {
	switch {
	case m == mixerSliding || len(c.CompressRatios) > 0:
		return c.SlidingWindow
	case m == mixerChunked:
		return c.ChunkSize
	}
	return 0
}

// planAttention is multi-head, grouped-query or multi-query attention.
func (c *Config) planAttention(l LayerInfo) []PlanOp {
	h, kv, d := c.NumHeads, c.kvHeads(), c.HeadDim
	q := h * d
	if c.GatedAttention {
		q *= 2 // each query head comes with a gate of its size
	}
	separate := func(op, name string, n int) PlanOp {
		p := c.product(op, "self_attn."+name, c.HiddenSize, n, SplitHeads)
		p.Bias = c.AttentionBias
		return p
	}
	qkv := separate(opname.QKVProj, "q_proj", q+2*kv*d)
	qkv.Or = []PlanOp{separate(opname.QProj, "q_proj", q), separate(opname.KProj, "k_proj", kv*d),
		separate(opname.VProj, "v_proj", kv*d)}
	ops := []PlanOp{qkv}
	// Llama-4's full layers have none, and no norm of queries and keys
	positions := !(l.Mixer == mixerFull && c.ChunkSize > 0)
	if c.QKNorm == nil || *c.QKNorm && positions {
		n := c.norm(opname.QKNorm, (h+kv)*d)
		n.Optional, n.Split = c.QKNorm == nil, SplitHeads
		ops = append(ops, n)
	}
	if positions {
		ops = append(ops, PlanOp{Operator: opname.Rope, Optional: true, Width: (h + kv) * d, Split: SplitHeads})
	}
	o := c.product(opname.OProj, "self_attn.o_proj", h*d, c.HiddenSize, SplitRows)
	o.Bias = c.AttentionBias
	return append(ops,
		PlanOp{Operator: opname.KVWrite, Optional: true, Width: 2 * kv * d, KVHeads: kv, HeadDim: d, ValueDim: d,
			Split: SplitHeads},
		PlanOp{Operator: opname.Attention, Heads: h, KVHeads: kv, HeadDim: d, ValueDim: d, Window: c.windowOf(l.Mixer),
			Split: SplitHeads},
		o,
	)
}

// planMLA is multi-head latent attention: absorbed in decode (keys and values
// stay compressed), expanded in prefill.
func (c *Config) planMLA(l LayerInfo) []PlanOp {
	h, rank, rope := c.NumHeads, c.KVLoraRank, c.QKRopeDim
	qk := h * (c.QKNopeDim + rope)
	var ops []PlanOp
	if c.QLoraRank > 0 {
		a := c.product(opname.QKVAProj, "self_attn.q_a_proj", c.HiddenSize, c.QLoraRank+rank+rope, SplitNone)
		a.Or = []PlanOp{
			c.product(opname.QAProj, "self_attn.q_a_proj", c.HiddenSize, c.QLoraRank, SplitNone),
			c.product(opname.KVAProj, "self_attn.kv_a_proj_with_mqa", c.HiddenSize, rank+rope, SplitNone),
		}
		ops = append(ops, a, c.norm(opname.QANorm, c.QLoraRank), c.norm(opname.KVANorm, rank),
			c.product(opname.QBProj, "self_attn.q_b_proj", c.QLoraRank, qk, SplitHeads))
	} else {
		ops = append(ops, c.product(opname.QProj, "self_attn.q_proj", c.HiddenSize, qk, SplitHeads),
			c.product(opname.KVAProj, "self_attn.kv_a_proj_with_mqa", c.HiddenSize, rank+rope, SplitNone),
			c.norm(opname.KVANorm, rank))
	}
	expand := c.product(opname.KVBProj, "self_attn.kv_b_proj", rank, h*(c.QKNopeDim+c.VHeadDim), SplitHeads)
	expand.Optional, expand.Stage = true, finding.StagePrefill
	absorb := func(op string, k, n int) PlanOp {
		return PlanOp{Operator: Operator(op), K: k, N: n, Groups: h, Split: SplitHeads, WeightDType: c.DType,
			Optional: true, Stage: finding.StageDecode}
	}
	core := PlanOp{Operator: opname.Attention, Heads: h, KVHeads: 1, HeadDim: rank + rope, ValueDim: rank,
		Split: SplitHeads}
	if l.Indexer || l.SharedTopK {
		core.TopTokens = c.IndexTopK
	}
	ops = append(ops, PlanOp{Operator: opname.Rope, Optional: true, Width: (h + 1) * rope, Split: SplitHeads})
	if l.Indexer {
		ops = append(ops, c.planIndexer(c.HiddenSize, c.IndexHeadDim)...)
	}
	return append(ops,
		absorb(opname.KAbsorb, c.QKNopeDim, rank),
		PlanOp{Operator: opname.KVWrite, Optional: true, Width: rank + rope, KVHeads: 1, HeadDim: rank + rope},
		expand,
		core,
		absorb(opname.VAbsorb, rank, c.VHeadDim),
		c.product(opname.OProj, "self_attn.o_proj", h*c.VHeadDim, c.HiddenSize, SplitRows),
	)
}

// planIndexer selects the tokens that sparse attention looks at: queries from the
// low rank of the attention's, one key of width key per token from the hidden
// state, a weight per head, scores, top-k.
func (c *Config) planIndexer(hidden, key int) []PlanOp {
	part := func(module string, p PlanOp) PlanOp {
		p.Operator, p.Module = opname.Indexer, module
		return p
	}
	score := PlanOp{Operator: opname.Indexer, Module: "scores", Heads: c.IndexHeads, KVHeads: 1,
		HeadDim: c.IndexHeadDim}
	return []PlanOp{
		part("wq_b", c.product("", "self_attn.indexer.wq_b", c.QLoraRank, c.IndexHeads*c.IndexHeadDim, SplitNone)),
		part("wk", c.product("", "self_attn.indexer.wk", hidden, key, SplitNone)),
		part("weights_proj", PlanOp{K: hidden, N: c.IndexHeads, WeightDType: c.DType}),
		score,
		{Operator: opname.IndexerTopK, TopTokens: c.IndexTopK},
	}
}

// planCompressed is DeepSeek-V4's attention: one key/value head, a window, and a
// cache compressed by a ratio. An indexer may select entries of the cache.
func (c *Config) planCompressed(l LayerInfo) []PlanOp {
	h, d := c.NumHeads, c.HeadDim
	ratio := c.ratioOf(l)
	a := c.product(opname.QKVAProj, "self_attn.wq_a", c.HiddenSize, c.QLoraRank+d, SplitNone)
	a.Or = []PlanOp{c.product(opname.QAProj, "self_attn.wq_a", c.HiddenSize, c.QLoraRank, SplitNone),
		c.product(opname.KVAProj, "self_attn.wkv", c.HiddenSize, d, SplitNone)}
	ops := []PlanOp{a, c.norm(opname.QANorm, c.QLoraRank), c.norm(opname.KVANorm, d),
		c.product(opname.QBProj, "self_attn.wq_b", c.QLoraRank, h*d, SplitHeads)}
	ops[2].Optional = true // fused with rope and the cache write where it can be
	overlap := 1           // a ratio-4 compressor keeps two overlapping windows
	if ratio == ratioCSA {
		overlap = 2
	}
	if ratio > 0 {
		ops = append(ops, PlanOp{Operator: opname.KVAProj, Module: "compressor", K: c.HiddenSize, N: 2 * overlap * d,
			WeightDType: c.DType, Ratio: ratio, Optional: true})
	}
	norm := c.norm(opname.QKNorm, h*d)
	norm.Optional, norm.Split = true, SplitHeads
	ops = append(ops, norm, PlanOp{Operator: opname.Rope, Optional: true, Width: (h + 1) * c.QKRopeDim,
		Split: SplitHeads},
		PlanOp{Operator: opname.KVWrite, Optional: true, Width: d, KVHeads: 1, HeadDim: d})
	if l.Indexer {
		ops = append(ops, c.planIndexer(c.HiddenSize, 2*overlap*c.IndexHeadDim)...)
	}
	if ratio > 0 {
		ops = append(ops, PlanOp{Operator: opname.KVWrite, Module: "compressor", Optional: true, Width: 2 * overlap * d,
			KVHeads: 1, HeadDim: d, Ratio: ratio})
	}
	core := PlanOp{Operator: opname.Attention, Heads: h, KVHeads: 1, HeadDim: d, ValueDim: d, Window: c.SlidingWindow,
		Ratio: ratio, Split: SplitHeads}
	if l.Indexer {
		core.TopTokens = c.IndexTopK
	}
	ops = append(ops, core)
	if c.OGroups > 0 {
		first := c.product(opname.OProj, "self_attn.wo_a", h*d/c.OGroups, c.OLoraRank, SplitHeads)
		first.Module, first.Groups = "wo_a", c.OGroups
		second := c.product(opname.OProj, "self_attn.wo_b", c.OGroups*c.OLoraRank, c.HiddenSize, SplitRows)
		second.Module = "wo_b"
		return append(ops, first, second)
	}
	return append(ops, c.product(opname.OProj, "self_attn.o_proj", h*d, c.HiddenSize, SplitRows))
}

// ratioOf is the compression ratio of the first layer of this kind.
func (c *Config) ratioOf(l LayerInfo) int {
	for i, info := range c.Layers {
		if info == l && i < len(c.CompressRatios) {
			return c.CompressRatios[i]
		}
	}
	return 0
}

// planRecurrent is linear attention (gated delta rule, Kimi's delta attention, lightning attention) or a state space.
// Without sizes of their own the heads are those of attention.
func (c *Config) planRecurrent(m string) []PlanOp {
	r := Recurrent{KeyHeads: c.NumHeads, KeyDim: c.HeadDim, ValueHeads: c.NumHeads, ValueDim: c.HeadDim}
	if c.Recurrent != nil {
		r = *c.Recurrent
	}
	k, v := r.KeyHeads*r.KeyDim, r.ValueHeads*r.ValueDim
	conv := PlanOp{Operator: opname.Conv1D, Width: 2*k + v, K: r.Conv, Split: SplitHeads}
	core := PlanOp{Operator: opname.LinearAttention, Heads: r.ValueHeads, KVHeads: r.KeyHeads, HeadDim: r.KeyDim,
		ValueDim: r.ValueDim, Split: SplitHeads}
	gate := c.norm(opname.GateNorm, v)
	gate.Optional, gate.Split = true, SplitHeads
	out := c.product(opname.OutProj, "linear_attn.out_proj", v, c.HiddenSize, SplitRows)
	if m == mixerMamba && r.StepRank > 0 {
		return c.planSelective(r, conv, core, out)
	}
	ops := c.recurrentInputs(m, r, k, v)
	if r.Conv > 0 {
		ops = append(ops, conv)
	}
	return append(ops, core, gate, out)
}

// recurrentInputs are the products before the convolution.
func (c *Config) recurrentInputs(m string, r Recurrent, k, v int) []PlanOp {
	part := func(module string, in, n int, split Split) PlanOp {
		p := c.product(opname.InProj, "linear_attn.in_proj", in, n, split)
		p.Module = module
		return p
	}
	maybe := func(p PlanOp) PlanOp { // some servers fuse it with the first
		p.Optional = true
		return p
	}
	in := c.product(opname.InProj, "linear_attn.in_proj", c.HiddenSize, 2*k+2*v, SplitHeads)
	switch {
	case m == mixerMamba:
		in.N += r.ValueHeads // the time step of each head
	case r.GateRank > 0: // decay and output gates go through a low rank
		in.N -= v
		in.Or = []PlanOp{part("q_proj", c.HiddenSize, k, SplitHeads), part("k_proj", c.HiddenSize, k, SplitHeads),
			part("v_proj", c.HiddenSize, v, SplitHeads)}
		return []PlanOp{in, maybe(part("b_proj", c.HiddenSize, r.ValueHeads, SplitHeads)),
			maybe(part("f_a_proj", c.HiddenSize, r.GateRank, SplitNone)),
			maybe(part("f_b_proj", r.GateRank, k, SplitHeads)),
			maybe(part("g_a_proj", c.HiddenSize, r.GateRank, SplitNone)),
			maybe(part("g_b_proj", r.GateRank, v, SplitHeads))}
	case c.Recurrent != nil:
		small := maybe(part("in_proj_ba", c.HiddenSize, 2*r.ValueHeads, SplitHeads))
		small.Or = []PlanOp{maybe(part("in_proj_b", c.HiddenSize, r.ValueHeads, SplitHeads)),
			maybe(part("in_proj_a", c.HiddenSize, r.ValueHeads, SplitHeads))}
		small.WeightDType, small.Or[0].WeightDType, small.Or[1].WeightDType = c.DType, c.DType, c.DType
		in.Or = []PlanOp{part("in_proj_qkv", c.HiddenSize, 2*k+v, SplitHeads),
			part("in_proj_z", c.HiddenSize, v, SplitHeads)}
		return []PlanOp{in, small}
	}
	return []PlanOp{in}
}

// planSelective is the mixer of Mamba-1: what the recurrence takes from each token is computed from the convolution's
// output, normalised in Jamba and not in Mamba and Falcon-Mamba. Every channel is a head.
func (c *Config) planSelective(r Recurrent, conv, core, out PlanOp) []PlanOp {
	inner := r.ValueHeads * r.ValueDim
	conv.Width = inner
	x := c.product(opname.InProj, "mamba.x_proj", inner, r.StepRank+2*r.KeyDim, SplitRows)
	x.Module = "x_proj"
	dt := c.product(opname.InProj, "mamba.dt_proj", r.StepRank, inner, SplitColumns)
	dt.Module = "dt_proj"
	norm := c.norm(opname.GateNorm, r.StepRank+2*r.KeyDim)
	norm.Module, norm.Optional = "dt, b, c", true
	return []PlanOp{c.product(opname.InProj, "mamba.in_proj", c.HiddenSize, 2*inner, SplitColumns), conv, x, norm, dt,
		core, out}
}

// gated reports that a feed-forward part multiplies its activation with a second
// product. Configs name the function only; the plain ones are those of GPT-2,
// BERT, Falcon, Phi-2, OPT and Nemotron.
func (c *Config) gated() bool {
	return !slices.Contains(plainActivations, strings.ToLower(c.Activation))
}

var plainActivations = []string{"relu", "relu2", "squared_relu", "gelu", "gelu_new", "gelu_fast", "gelu_python",
	"quick_gelu"}

// feed is a feed-forward part: the names of its first product, of that product
// split, and of activation and second product.
type feed struct {
	joint, gate, up, act, down string
	path                       string
	width                      int
	columns, rows              Split
}

func (c *Config) planFeed(f feed) []PlanOp {
	first := c.product(f.joint, f.path+"gate_up_proj", c.HiddenSize, 2*f.width, f.columns)
	switch {
	case c.gated() && f.gate != "":
		first.Or = []PlanOp{
			c.product(f.gate, f.path+"gate_proj", c.HiddenSize, f.width, f.columns),
			c.product(f.up, f.path+"up_proj", c.HiddenSize, f.width, f.columns),
		}
	case !c.gated():
		first.N = f.width
		if f.up != "" {
			first.Operator = Operator(f.up)
		}
	}
	act := PlanOp{Operator: Operator(f.act), Width: first.N, Out: f.width, Split: f.columns, Optional: true}
	return []PlanOp{first, act, c.product(f.down, f.path+"down_proj", f.width, c.HiddenSize, f.rows)}
}

func (c *Config) planFFN(l LayerInfo) []PlanOp {
	switch l.FFN {
	case ffnDense:
		width := c.IntermediateSize
		if width == 0 {
			width = c.MoEIntermediateSize // Jamba's dense layers are as wide as its experts
		}
		return c.planFeed(feed{opname.GateUpProj, opname.GateProj, opname.UpProj, opname.Activation, opname.DownProj,
			"mlp.", width, SplitColumns, SplitRows})
	case ffnMoE:
		return c.planMoE()
	}
	return nil
}

// planMoE is a mixture of experts, with the shared experts after the routed
// ones; servers run them before, after or beside.
func (c *Config) planMoE() []PlanOp {
	router := PlanOp{Operator: opname.Router, K: c.HiddenSize, N: c.NumExperts, WeightDType: c.DType}
	ops := []PlanOp{router,
		{Operator: opname.Routing, Width: c.NumExperts, Experts: c.NumExperts, TopK: c.ExpertsPerToken, Optional: true},
		{Operator: opname.Dispatch, Width: c.HiddenSize, TopK: c.ExpertsPerToken, Optional: true},
	}
	experts := c.planFeed(feed{opname.ExpertsGateUp, "", "", opname.ExpertsActivation, opname.ExpertsDown,
		"mlp.experts.", c.MoEIntermediateSize, SplitExperts, SplitExperts})
	for i := range experts {
		experts[i].Experts, experts[i].TopK = c.NumExperts, c.ExpertsPerToken
	}
	combine := PlanOp{Operator: opname.ExpertsCombine, Width: c.HiddenSize, TopK: c.ExpertsPerToken, Optional: true}
	if z := c.MoELatentSize; z > 0 {
		into, out := c.product(opname.Dispatch, "mlp.fc1_latent_proj", c.HiddenSize, z, SplitNone),
			c.product(opname.ExpertsCombine, "mlp.fc2_latent_proj", z, c.HiddenSize, SplitNone)
		into.Module, out.Module = "fc1_latent_proj", "fc2_latent_proj"
		experts[0].K, experts[len(experts)-1].N, combine.Width = z, z, z
		ops = append(append(append(ops, into), experts...), combine, out)
	} else {
		ops = append(append(ops, experts...), combine)
	}
	shared := c.SharedExperts
	if strings.HasPrefix(c.ModelType, "llama4") {
		shared = max(shared, 1) // in its code, not in its config
	}
	if shared == 0 {
		return ops
	}
	width := cmp.Or(c.SharedIntermediateSize, c.MoEIntermediateSize)
	ops = append(ops, c.planFeed(feed{opname.SharedGateUp, "", "", opname.SharedActivation, opname.SharedDown,
		"mlp.shared_experts.", shared * width, SplitColumns, SplitRows})...)
	if c.SharedIntermediateSize > 0 && c.gated() { // Qwen2-MoE, Qwen3-Next, Qwen3.5
		ops = append(ops, PlanOp{Operator: opname.SharedGateUp, Module: "shared_expert_gate", K: c.HiddenSize, N: 1,
			WeightDType: c.DType, Optional: true})
	}
	return append(ops, PlanOp{Operator: opname.ResidualAdd, Module: "shared + routed", Optional: true,
		Width: c.HiddenSize})
}
