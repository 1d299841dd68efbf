package profile

import (
	"strings"

	"github.com/llmstrata/strata/profile/internal/document"
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
func (c *Config) details(f *fields) error {
	for _, x := range []struct {
		dst   *string
		names []string
	}{
		{&c.DType, []string{"torch_dtype", "dtype"}},
		{&c.ExpertDType, []string{"expert_dtype"}},
		{&c.Activation, []string{"hidden_act", "mlp_hidden_act", "hidden_activation", "activation_function"}},
	} {
		if o, name, ok := f.find(x.names...); ok && document.KindOf(o.Fields[name]) == "string" {
			s, err := o.Text(name)
			if err != nil {
				return err
			}
			*x.dst = s
		}
	}
	c.DType, c.ExpertDType = shortDType(c.DType), shortDType(c.ExpertDType)
	for _, x := range []struct {
		dst   *bool
		names []string
	}{
		{&c.TiedEmbeddings, []string{"tie_word_embeddings"}},
		{&c.AttentionBias, []string{"attention_bias", "qkv_bias", "add_qkv_bias"}},
		{&c.GatedAttention, []string{"attn_output_gate"}},
	} {
		if err := f.truth(x.dst, x.names...); err != nil {
			return err
		}
	}
	if _, _, ok := f.find("attn_output_gate"); !ok && strings.HasPrefix(c.ModelType, "qwen3_next") {
		c.GatedAttention = true // in its code, not in its config
	}
	if _, _, ok := f.find("use_qk_norm", "qk_layernorm"); ok {
		c.QKNorm = new(bool)
		if err := f.truth(c.QKNorm, "use_qk_norm", "qk_layernorm"); err != nil {
			return err
		}
	}
	if err := c.recurrent(f); err != nil {
		return err
	}
	return c.quantization(f)
}

// truth reads a flag under one of its names.
func (f *fields) truth(dst *bool, names ...string) error {
	o, name, ok := f.find(names...)
	if !ok || document.KindOf(o.Fields[name]) != "bool" {
		return nil // some models give a list or a string where others have a flag
	}
	v, _, err := o.Flag(name)
	*dst = v
	return err
}

// shortDType is a type's name without its decoration: torch.bfloat16 → bf16.
func shortDType(s string) string {
	s = strings.TrimPrefix(strings.ToLower(s), "torch.")
	switch {
	case s == "bfloat16":
		return "bf16"
	case s == "float16" || s == "half":
		return "fp16"
	case s == "float32" || s == "float":
		return "fp32"
	case strings.HasPrefix(s, "float8"):
		return "fp8"
	}
	return s
}

// recurrent reads the sizes of linear attention (Qwen3-Next, Kimi-Linear) and of
// state spaces (Nemotron-H, Bamba, Granite, Jamba).
func (c *Config) recurrent(f *fields) error {
	r := Recurrent{}
	for _, x := range []struct {
		dst   *int
		names []string
	}{
		{&r.KeyHeads, []string{"linear_num_key_heads", "n_groups", "mamba_n_groups"}},
		{&r.KeyDim, []string{"linear_key_head_dim", "ssm_state_size", "mamba_d_state", "state_size"}},
		{&r.ValueHeads, []string{"linear_num_value_heads", "mamba_num_heads", "mamba_n_heads"}},
		{&r.ValueDim, []string{"linear_value_head_dim", "mamba_head_dim", "mamba_d_head"}},
		{&r.Conv, []string{"linear_conv_kernel_dim", "conv_kernel", "mamba_d_conv", "conv_L_cache"}},
	} {
		o, name, ok := f.find(x.names...)
		if !ok || document.KindOf(o.Fields[name]) != "number" {
			continue // "auto" in Bamba
		}
		v, _, err := o.Integer(name, 0, maxSize)
		if err != nil {
			return err
		}
		*x.dst = v
	}
	if o, name, ok := f.find("linear_attn_config"); ok && document.KindOf(o.Fields[name]) == "object" {
		lin, _, err := o.Child(name)
		if err != nil {
			return err
		}
		for _, x := range []struct {
			dst  []*int
			name string
		}{
			{[]*int{&r.KeyHeads, &r.ValueHeads}, "num_heads"},
			{[]*int{&r.KeyDim, &r.ValueDim}, "head_dim"},
			{[]*int{&r.Conv}, "short_conv_kernel_size"},
		} {
			v, ok, err := lin.Integer(x.name, 0, maxSize)
			if err != nil {
				return err
			}
			for _, d := range x.dst {
				if ok {
					*d = v
				}
			}
		}
		if lin.Has("kda_layers") {
			r.GateRank = r.KeyDim // not in the config: the gates' rank is a head's size in the model's code
		}
	}
	if err := c.selective(f, &r); err != nil {
		return err
	}
	if r.ValueHeads > 0 {
		c.Recurrent = &r
	}
	return nil
}

// selective reads the sizes of Mamba-1 layers (Jamba, Mamba, Falcon-Mamba), which have no heads: "auto" is a
// sixteenth of the hidden size.
func (c *Config) selective(f *fields, r *Recurrent) error {
	o, name, ok := f.find("mamba_dt_rank", "time_step_rank")
	if !ok || r.ValueHeads > 0 {
		return nil
	}
	r.StepRank = (c.HiddenSize + autoRank - 1) / autoRank
	if document.KindOf(o.Fields[name]) == "number" {
		v, _, err := o.Integer(name, 1, maxSize)
		if err != nil {
			return err
		}
		r.StepRank = v
	}
	expand := 2
	if err := f.number(&expand, maxExpand, "mamba_expand", "expand"); err != nil {
		return err
	}
	r.KeyHeads, r.ValueHeads, r.ValueDim = 1, expand*c.HiddenSize, 1
	return nil
}

// autoRank is what the hidden size is divided by for the rank of the time step where a config says "auto", maxExpand
// bounds how much wider than the hidden size a mixer is: 2 in every model known.
const autoRank, maxExpand = 16, 64

// quantization reads quantization_config. Its form is each method's own, so a
// field of an unexpected type is no error: the type stays unknown.
func (c *Config) quantization(f *fields) error {
	o, name, ok := f.find("quantization_config", "compression_config")
	if !ok || document.KindOf(o.Fields[name]) != "object" {
		return nil
	}
	q, _, err := o.Child(name)
	if err != nil {
		return err
	}
	method, _ := q.Text("quant_method")
	c.Quantization = &Quantization{Method: method}
	c.Quantization.DType = weightType(q, method)
	if b, ok, err := q.Ints("weight_block_size", 1, maxSize); err == nil && ok {
		c.Quantization.Block = b
	}
	for _, list := range []string{"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules"} {
		if v, ok, err := q.Strings(list); err == nil && ok {
			c.Quantization.Skipped = append(c.Quantization.Skipped, v...)
		}
	}
	return nil
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
