package profile

import (
	"cmp"
	"strings"
)

// Quantization is how a checkpoint stores its weights.
type Quantization struct {
	// Method is quant_method: "fp8", "mxfp4", "awq", "compressed-tensors".
	Method string `json:"method"`
	// DType is the type of the quantised weights: "fp8", "mxfp4", "nvfp4", "int8",
	// "int4"; "" when the method does not say.
	DType string `json:"dtype,omitempty"`
	// Block is the shape that shares one scale, outputs × inputs; nil when not given.
	Block []int `json:"block,omitempty"`
	// Skipped are the modules kept in the model's own type: names, prefixes or
	// patterns with *, as the config lists them.
	Skipped []string `json:"skipped,omitempty"`
}

// Recurrent holds the sizes of linear attention and state-space layers. A
// Mamba-2 layer's groups are its key heads and its state is their size: the
// recurrence is the same.
type Recurrent struct {
	KeyHeads   int `json:"key_heads,omitempty"`
	KeyDim     int `json:"key_dim,omitempty"` // size of one key head
	ValueHeads int `json:"value_heads,omitempty"`
	ValueDim   int `json:"value_dim,omitempty"` // size of one value head
	Conv       int `json:"conv,omitempty"`      // taps of the short convolution
	StepRank   int `json:"step_rank,omitempty"` // Mamba-1: rank of the time step; every channel is a value head
	GateRank   int `json:"gate_rank,omitempty"` // Kimi's delta attention: rank of its gates, 0 where gates have none
}

// details reads what the plan of a model needs beyond its sizes.
func (c *Config) details(f *fields) {
	c.DType = shortDType(f.word("torch_dtype", "dtype"))
	c.ExpertDType = shortDType(f.word("expert_dtype"))
	c.Activation = f.word("hidden_act", "mlp_hidden_act", "hidden_activation", "activation_function")
	c.TiedEmbeddings = f.truth("tie_word_embeddings")
	c.AttentionBias = f.truth("attention_bias", "qkv_bias", "add_qkv_bias")
	c.GatedAttention = f.truth("attn_output_gate")
	if !f.find("attn_output_gate").Given() && strings.HasPrefix(c.ModelType, "qwen3_next") {
		c.GatedAttention = true // in its code, not in its config
	}
	if f.find("use_qk_norm", "qk_layernorm").Given() {
		norm := f.truth("use_qk_norm", "qk_layernorm")
		c.QKNorm = &norm
	}
	c.recurrent(f)
	c.quantization(f)
}

// word reads a string under one of its names.
func (f *fields) word(names ...string) string { return f.of(stringKind, names...).Text() }

// truth reads a flag under one of its names. Some models give a list or a string where others have a flag.
func (f *fields) truth(names ...string) bool { return f.of(boolKind, names...).Flag() }

// shortDType is a type's name without its decoration: torch.bfloat16 → bf16.
func shortDType(s string) string {
	s = strings.TrimPrefix(strings.ToLower(s), "torch.")
	if strings.HasPrefix(s, "float8") {
		return "fp8"
	}
	return cmp.Or(shortDTypes[s], s)
}

var shortDTypes = map[string]string{"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32",
	"float": "fp32"}

// recurrent reads the sizes of linear attention (Qwen3-Next, Kimi-Linear) and of
// state spaces (Nemotron-H, Bamba, Granite, Jamba).
func (c *Config) recurrent(f *fields) {
	size := func(names ...string) int { // "auto" in Bamba
		return f.of(numberKind, names...).Integer(0, maxSize)
	}
	r := Recurrent{
		KeyHeads:   size("linear_num_key_heads", "n_groups", "mamba_n_groups"),
		KeyDim:     size("linear_key_head_dim", "ssm_state_size", "mamba_d_state", "state_size"),
		ValueHeads: size("linear_num_value_heads", "mamba_num_heads", "mamba_n_heads"),
		ValueDim:   size("linear_value_head_dim", "mamba_head_dim", "mamba_d_head"),
		Conv:       size("linear_conv_kernel_dim", "conv_kernel", "mamba_d_conv", "conv_L_cache"),
	}
	if given := f.of(objectKind, "linear_attn_config"); given.Given() {
		lin := given.Object()
		own := &fields{objects: []object{lin}}
		own.number(&r.KeyHeads, maxSize, "num_heads")
		own.number(&r.ValueHeads, maxSize, "num_heads")
		own.number(&r.KeyDim, maxSize, "head_dim")
		own.number(&r.ValueDim, maxSize, "head_dim")
		own.number(&r.Conv, maxSize, "short_conv_kernel_size")
		if lin.Field("kda_layers").Given() {
			r.GateRank = r.KeyDim // not in the config: the gates' rank is a head's size in the model's code
		}
	}
	c.selective(f, &r)
	if r.ValueHeads > 0 {
		c.Recurrent = &r
	}
}

// selective reads the sizes of Mamba-1 layers (Jamba, Mamba, Falcon-Mamba), which have no heads: "auto" is a
// sixteenth of the hidden size.
func (c *Config) selective(f *fields, r *Recurrent) {
	rank := f.find("mamba_dt_rank", "time_step_rank")
	if !rank.Given() || r.ValueHeads > 0 {
		return
	}
	r.StepRank = (c.HiddenSize + autoRank - 1) / autoRank
	if rank.Kind() == numberKind {
		r.StepRank = rank.Integer(1, maxSize)
	}
	expand := 2
	f.number(&expand, maxExpand, "mamba_expand", "expand")
	r.KeyHeads, r.ValueHeads, r.ValueDim = 1, expand*c.HiddenSize, 1
}

// autoRank is what the hidden size is divided by for the rank of the time step where a config says "auto", maxExpand
// bounds how much wider than the hidden size a mixer is: 2 in every model known.
const autoRank, maxExpand = 16, 64

// quantization reads quantization_config. Its form is each method's own, so a
// field of an unexpected type is no error: the type stays unknown.
func (c *Config) quantization(f *fields) {
	given := f.of(objectKind, "quantization_config", "compression_config")
	if !given.Given() {
		return
	}
	q := given.Object()
	method := q.Lenient().Field("quant_method").Text()
	c.Quantization = &Quantization{Method: method, DType: weightType(q, method),
		Block: q.Lenient().Field("weight_block_size").Ints(1, maxSize)}
	for _, list := range []string{"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules"} {
		c.Quantization.Skipped = append(c.Quantization.Skipped, q.Lenient().Field(list).Strings()...)
	}
}

// skips reports that a module keeps the model's own type. An entry is a name, a
// part of a path, or a pattern with * or a re: prefix. Of a pattern the letters
// around the wildcards count.
func (q *Quantization) skips(module string) bool {
	for _, s := range q.Skipped {
		s = strings.Trim(strings.TrimPrefix(s, "re:"), ".*^$")
		if i := strings.LastIndexByte(s, '*'); i >= 0 {
			s = strings.Trim(s[i+1:], ".*")
		}
		if s != "" && (module == s || strings.HasSuffix(module, "."+s) || strings.HasPrefix(module, s+".") ||
			strings.Contains(module, "."+s+".")) {
			return true
		}
	}
	return false
}
