package profile

import (
	"cmp"
	"strconv"
	"strings"
)

// ffns fills the feed-forward part of each layer.
func (c *Config) ffns(f *fields) {
	if c.ffnsByType(f) {
		return
	}
	if c.NumExperts == 0 {
		// A config without an MLP width says nothing either.
		if c.IntermediateSize > 0 {
			c.setFFN(func(int) bool { return false })
		}
		return
	}
	for _, read := range []func(*fields) func(int) bool{c.moeByList, c.moeByRule} {
		if moe := read(f); moe != nil {
			c.setFFN(moe)
			return
		}
	}
	c.setFFN(func(int) bool { return true })
}

func (c *Config) setFFN(moe func(int) bool) {
	for i := range c.Layers {
		c.Layers[i].FFN = ffnDense
		if moe(i) {
			c.Layers[i].FFN = ffnMoE
		}
	}
}

// hashMoE is the type of layers that choose their experts by a hash of the token.
const hashMoE = "hash_moe"

var ffnTypes = map[string]string{"dense": ffnDense, "sparse": ffnMoE, "moe": ffnMoE, hashMoE: ffnMoE}

// ffnsByType reads transformers' mlp_layer_types.
func (c *Config) ffnsByType(f *fields) bool {
	given := f.find("mlp_layer_types")
	types := given.Strings()
	if len(types) == 0 || !c.fits(given, len(types)) {
		return false
	}
	hash := 0
	for i := range c.Layers {
		l := &c.Layers[i]
		if ffn, ok := ffnTypes[types[i]]; ok {
			l.FFN = ffn
		} else {
			given.FailAt(i, "unknown MLP type %q", types[i])
		}
		if types[i] == hashMoE {
			l.Hash = true
			hash++
		}
	}
	c.NumHashLayers = cmp.Or(c.NumHashLayers, hash)
	return true
}

// moeByList reads lists of layers: Llama-4's moe_layers (indices), Step-3's
// moe_layers_enum ("4,5,6"), a moe_layer_freq list (one 0 or 1 per layer).
func (c *Config) moeByList(f *fields) func(int) bool {
	if list := f.of(listKind, "moe_layers"); list.Given() {
		return memberOf(list.Ints(0, int64(c.NumLayers-1)))
	}
	if enum := f.of(stringKind, "moe_layers_enum"); enum.Given() {
		var v []int
		for i, part := range strings.Split(enum.Text(), ",") {
			n, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil || n < 0 || n >= c.NumLayers {
				enum.FailAt(i, "want a layer below %d, got %s", c.NumLayers, excerpt([]byte(part)))
			}
			v = append(v, n)
		}
		return memberOf(v)
	}
	if list := f.of(listKind, "moe_layer_freq"); list.Given() {
		if v := list.Ints(0, 1); c.fits(list, len(v)) {
			return func(i int) bool { return v[i] == 1 }
		}
	}
	return nil
}

func memberOf(v []int) func(int) bool {
	set := make(map[int]bool, len(v))
	for _, i := range v {
		set[i] = true
	}
	return func(i int) bool { return set[i] }
}

// moeByRule reads rules; nil when the config has none. Counting "every n-th"
// starts at 0 for DeepSeek and Jamba, at 1 for the others, as in their code.
func (c *Config) moeByRule(f *fields) func(int) bool {
	get := func(def, lo int, names ...string) (int, bool) {
		v := f.find(names...)
		if !v.Given() || v.Kind() == listKind {
			return def, false
		}
		return max(v.Integer(int64(lo), MaxLayers), lo), true
	}

	// DeepSeek-V2/V3, Kimi-K2, GLM: from layer k on, every freq-th. DeepSeek's own
	// inference config calls k n_dense_layers, Hunyuan moe_layer_num_skipped.
	k, hasK := get(0, 0, "first_k_dense_replace", "n_dense_layers", "moe_layer_num_skipped")
	freq, hasFreq := get(1, 1, "moe_layer_freq")
	if hasK || hasFreq {
		return func(i int) bool { return i >= k && i%freq == 0 }
	}

	// Qwen2-MoE, Qwen3-MoE, Qwen3-Next, Qwen3.5.
	step, hasStep := get(1, 1, "decoder_sparse_step")
	if dense := f.find("mlp_only_layers"); dense.Given() || hasStep {
		only := memberOf(dense.Ints(0, MaxLayers))
		return func(i int) bool { return !only(i) && (i+1)%step == 0 }
	}

	// Llama-4.
	if step, ok := get(1, 1, "interleave_moe_layer_step"); ok {
		return func(i int) bool { return (i+1)%step == 0 }
	}
	// Jamba.
	if period, ok := get(1, 1, "expert_layer_period"); ok {
		offset, _ := get(0, 0, "expert_layer_offset")
		return func(i int) bool { return i%period == offset }
	}
	// Ernie-4.5: every interval-th of the layers start…end.
	start, hasStart := get(0, 0, "moe_layer_start_index")
	interval, hasInterval := get(1, 1, "moe_layer_interval")
	if hasStart || hasInterval {
		end, _ := get(c.NumLayers-1, 0, "moe_layer_end_index")
		return func(i int) bool { return i >= start && i <= end && (i+1)%interval == 0 }
	}
	return nil
}
