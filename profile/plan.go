package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer/finding"
)

// Split is how tensor parallelism divides an operator.
type Split string

// The ways to divide an operator.
const (
	SplitNone    Split = ""        // every rank does all of it
	SplitColumns Split = "columns" // N is divided
	SplitRows    Split = "rows"    // K is divided, an all-reduce follows
	SplitHeads   Split = "heads"   // heads, or groups, are divided; KV heads down to one
	SplitVocab   Split = "vocab"   // the vocabulary is divided
	SplitExperts Split = "experts" // experts whole (expert parallel), or each expert's intermediate size
)

// Splits lists them.
func Splits() []Split {
	return []Split{SplitNone, SplitColumns, SplitRows, SplitHeads, SplitVocab, SplitExperts}
}

// String returns the word.
func (s Split) String() string { return string(s) }

// UnmarshalText accepts the word of a split, or none.
func (s *Split) UnmarshalText(text []byte) error {
	return vocabulary.Set(s, "split", text, Splits()...)
}

// PlanOp is one operator of a plan with the sizes its work is counted from, all
// of the full model: nothing is divided by a parallel size yet. A size that
// the operator does not have, or that the config does not give, is 0.
type PlanOp struct {
	Operator Operator `json:"operator"` // part of the model
	// Module is what the operator is in the model's code where the operator's name
	// does not say it: "o_a_proj", "compressor".
	Module string `json:"module,omitempty"`
	// Optional: not every server runs it as a kernel of its own, or the config does
	// not say whether the model has it.
	Optional bool `json:"optional,omitempty"`
	// Stage is decode or prefill where an operator belongs to one way of
	// computing attention (absorbed or expanded latent attention).
	Stage finding.Stage `json:"stage,omitempty"`

	// K and N are the input and output width of a product; with Groups they are
	// those of each of Groups independent products (one per head or group). K of
	// a short convolution is its taps.
	K      int  `json:"k,omitempty"`
	N      int  `json:"n,omitempty"`
	Groups int  `json:"groups,omitempty"`
	Bias   bool `json:"bias,omitempty"`
	// Experts and TopK: the product exists once per expert, a token visits TopK.
	Experts int `json:"experts,omitempty"`
	TopK    int `json:"top_k,omitempty"`

	// Heads, KVHeads, HeadDim and ValueDim are those of an attention core or a
	// recurrence: query heads, heads whose state is kept, size of a query and key
	// head, size of a value head. For latent attention KVHeads is 1, HeadDim
	// rank + rope, ValueDim rank.
	Heads    int `json:"heads,omitempty"`
	KVHeads  int `json:"kv_heads,omitempty"`
	HeadDim  int `json:"head_dim,omitempty"`
	ValueDim int `json:"value_dim,omitempty"`
	// Window is how many tokens back attention looks at most, TopTokens how many
	// entries an indexer selects, Ratio by how much the cache is compressed.
	Window    int `json:"window,omitempty"`
	TopTokens int `json:"top_tokens,omitempty"`
	Ratio     int `json:"ratio,omitempty"`

	// Width is how many elements of a token a norm, rope, activation, copy or
	// collective reads. It writes as many, unless Out says otherwise.
	Width int `json:"width,omitempty"`
	// Out is how many elements it writes; 0 for as many as it reads. A gated activation writes half.
	Out int `json:"out,omitempty"`
	// WeightDType is the type of its weights: "bf16", "fp8", "mxfp4"; "" when the
	// config does not say or there are none.
	WeightDType string `json:"weight_dtype,omitempty"`
	// Split says how tensor parallelism divides it.
	Split Split `json:"split,omitempty"`
	// Or are the separate operators that some servers run instead of this one:
	// q_proj, k_proj, v_proj for qkv_proj.
	Or []PlanOp `json:"or,omitempty"`
}

// PlanKind is the plan of all layers of one kind.
type PlanKind struct {
	// Info is what the layers are made of, Name its String form.
	Info LayerInfo `json:"info"`
	Name string    `json:"name"`
	// Layers counts them.
	Layers int `json:"layers"`
	// Operators in the order in which one layer runs them.
	Operators []PlanOp `json:"operators"`
}

// Find returns the planned operator of that name, or the alternative of one
// (q_proj of qkv_proj). Of several with one name it is the first.
func (k *PlanKind) Find(op Operator) (PlanOp, bool) { return findOp(k.Operators, op) }

func findOp(ops []PlanOp, op Operator) (PlanOp, bool) {
	for _, o := range ops {
		if o.Operator == op {
			return o, true
		}
		if alt, ok := findOp(o.Or, op); ok {
			return alt, true
		}
	}
	return PlanOp{}, false
}

// Plan is what a model computes in one forward pass, read off its config.
type Plan struct {
	Schema string `json:"schema"` // "strata.plan/1"
	// Model is the best name the config has for it.
	Model string `json:"model"`
	// DType is the type of activations and of weights that are not quantised; "" unknown.
	DType string `json:"dtype,omitempty"`
	// Before and After are the operators before the first and after the last layer.
	Before []PlanOp `json:"before"`
	After  []PlanOp `json:"after"`
	// Kinds are the kinds of layers in order of first appearance, LayerKinds the
	// index into Kinds of each layer.
	Kinds      []PlanKind `json:"kinds"`
	LayerKinds []int      `json:"layer_kinds"`
	// Notes say what the plan leaves out.
	Notes []string `json:"notes"`
}

// planSchema is the schema of a [Plan] as JSON.
const planSchema = "strata.plan/1"

// Plan returns what the model computes: operators in order, with their sizes.
// It never fails: what the config does not say is absent and noted.
func (c *Config) Plan() *Plan {
	p := &Plan{Schema: planSchema, Model: c.displayName(), DType: c.DType, Kinds: []PlanKind{},
		LayerKinds: make([]int, 0, len(c.Layers)), Notes: []string{}}
	p.Before = []PlanOp{{Operator: opname.Prepare, Optional: true}, {Operator: opname.Embed, K: c.VocabSize,
		N: c.HiddenSize, Split: SplitVocab, WeightDType: c.DType}}
	p.After = c.planAfter()
	index := map[LayerInfo]int{}
	for _, l := range c.Layers {
		k, ok := index[l]
		if !ok {
			k = len(p.Kinds)
			index[l] = k
			p.Kinds = append(p.Kinds, PlanKind{Info: l, Name: l.String(), Operators: c.planLayer(l)})
		}
		p.Kinds[k].Layers++
		p.LayerKinds = append(p.LayerKinds, k)
	}
	note := func(when bool, format string, args ...any) {
		if when {
			p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
		}
	}
	note(len(c.Layers) == 0, "the config does not give the number of layers: no layer is planned")
	note(slices.ContainsFunc(c.Layers, func(l LayerInfo) bool { return l.Mixer == mixerUnknown }),
		"layers of an unknown kind have no plan for their attention side")
	note(slices.ContainsFunc(c.Layers, func(l LayerInfo) bool { return l.FFN == ffnUnknown }),
		"layers of an unknown kind have no plan for their feed-forward side")
	note(c.NumNextN > 0, "next-token-prediction layers (%d) run only with speculative decoding and are not planned",
		c.NumNextN)
	note(c.DType == "", "the config does not give the type of activations and plain weights")
	return p
}

// Four-bit types of experts' weights, as configs spell them.
const (
	typeFP4   = "fp4"
	typeMXFP4 = "mxfp4"
)

// weightDType is the type of a module's weights: path is its name inside a layer
// ("self_attn.q_proj"), or of the model ("lm_head").
func (c *Config) weightDType(path string) string {
	q := c.Quantization
	expert := strings.HasPrefix(path, "mlp.experts.")
	switch {
	case expert && c.ExpertDType == typeFP4:
		return typeMXFP4 // DeepSeek-V4: e2m1 with a power-of-two scale per 32
	case expert && c.ExpertDType != "":
		return c.ExpertDType
	case q == nil, q.Method == typeMXFP4 && !expert, q.skips(path):
		return c.DType // mxfp4 checkpoints quantise experts only
	}
	return q.DType
}

// product is a planned matrix product.
func (c *Config) product(op, path string, k, n int, split Split) PlanOp {
	return PlanOp{Operator: Operator(op), K: k, N: n, Split: split, WeightDType: c.weightDType(path)}
}

func (c *Config) norm(op string, width int) PlanOp {
	return PlanOp{Operator: Operator(op), Width: width, WeightDType: c.DType}
}

func (c *Config) planAfter() []PlanOp {
	var ops []PlanOp
	if c.HCMult > 0 {
		ops = append(ops, PlanOp{Operator: opname.HCPre, Module: "hc_head", K: c.HCMult * c.HiddenSize, N: c.HCMult,
			WeightDType: "fp32"})
	}
	return append(ops,
		PlanOp{Operator: opname.ResidualAdd, Optional: true, Width: c.HiddenSize},
		c.norm(opname.FinalNorm, c.HiddenSize),
		PlanOp{Operator: opname.LMHead, K: c.HiddenSize, N: c.VocabSize, Split: SplitVocab, WeightDType: c.DType},
		PlanOp{Operator: opname.LogitsGather, Optional: true, Width: c.VocabSize},
		PlanOp{Operator: opname.Sampling, Optional: true, Width: c.VocabSize},
	)
}
