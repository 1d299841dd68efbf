package profile

import (
	"cmp"
	"slices"
	"strings"
)

// NOTE. Configs give the kinds of layers in a dozen ways. Each reader below
// takes one way and answers whether the config uses it; the first that does
// wins, most explicit first: a list with one entry per layer, then a pattern,
// then a rule (first k, every n-th), then what holds for all layers. The rules
// are those of the models' own code in transformers, vLLM or the model's
// repository; the comment at each names the models.

// layers fills c.Layers.
func (c *Config) layers(f *fields) {
	if c.NumLayers == 0 {
		return
	}
	c.Layers = make([]LayerInfo, c.NumLayers)
	defer c.nameUnknown()
	if c.hybridPattern(f) {
		return
	}
	if !c.mixers(f) {
		c.uniformMixer()
	}
	c.ffns(f)
	for i := range c.Layers {
		l := &c.Layers[i]
		if c.IsHash(i, c.NumLayers) {
			l.Hash = true
		}
		l.Indexer = l.Mixer == mixerCSA || l.Mixer == mixerMLA && c.IndexTopK > 0
	}
	c.sharedTopK(f)
}

// nameUnknown says of layers that nothing was found for that they are not known.
func (c *Config) nameUnknown() {
	for i := range c.Layers {
		l := &c.Layers[i]
		l.Mixer, l.FFN = cmp.Or(l.Mixer, mixerUnknown), cmp.Or(l.FFN, ffnUnknown)
	}
}

// sharedIndexer is the type of a layer that uses the tokens of an earlier layer.
const sharedIndexer = "shared"

// sharedTopK finds the layers of sparse latent attention that use the tokens which an earlier layer's indexer
// selected, as GLM-5's later releases do: a list with "full" and "shared", a pattern of F and S, or every n-th layer
// after the first ones.
func (c *Config) sharedTopK(f *fields) {
	shared := func(i int) bool { return false }
	if given := f.of(listKind, "indexer_types"); given.Given() {
		list := given.Strings()
		shared = func(i int) bool { return i < len(list) && list[i] == sharedIndexer }
	} else if given := f.of(stringKind, "index_topk_pattern"); given.Given() {
		pattern := given.Text()
		shared = func(i int) bool { return i < len(pattern) && pattern[i] == 'S' }
	} else if f.find("index_topk_freq").Given() {
		var every int
		first := 2 // the model code's own default
		f.number(&every, MaxLayers, "index_topk_freq")
		f.number(&first, MaxLayers, "index_skip_topk_offset")
		shared = func(i int) bool { return max(i-first+1, 0)%max(every, 1) != 0 }
	}
	for i := range c.Layers {
		if l := &c.Layers[i]; l.Mixer == mixerMLA && l.Indexer && shared(i) {
			l.Indexer, l.SharedTopK = false, true
		}
	}
}

// hybridPattern reads layers that are a mixer or an MLP, never both: Nemotron-H's
// hybrid_override_pattern (M Mamba, * attention, - MLP, E experts) or its
// layers_block_type list with "moe" and "mlp" entries.
func (c *Config) hybridPattern(f *fields) bool {
	if given := f.of(stringKind, "hybrid_override_pattern", "hybrid_layer_pattern"); given.Given() {
		// Megatron separates pipeline stages by | and appends /-separated
		// patterns of next-token-prediction layers.
		s, _, _ := strings.Cut(strings.ReplaceAll(given.Text(), "|", ""), "/")
		if len(s) != c.NumLayers {
			given.Fail("%d letters for %d layers", len(s), c.NumLayers)
			return true
		}
		for i := range len(s) {
			l, ok := patternLayers[s[i]]
			if !ok {
				given.FailAt(i, "%q is none of M, *, -, E", s[i])
			}
			c.Layers[i] = l
		}
		return true
	}
	given := f.find("layers_block_type")
	types := given.Strings()
	if !slices.Contains(types, "moe") && !slices.Contains(types, "mlp") {
		return false // Jamba, Bamba, Zamba2: every layer has an MLP too; mixers reads it
	}
	if !c.fits(given, len(types)) {
		return true
	}
	letters := map[string]byte{"mamba": 'M', "attention": '*', "mlp": '-', "moe": 'E'}
	for i := range c.Layers {
		l, ok := patternLayers[letters[types[i]]]
		if !ok {
			given.FailAt(i, "unknown block type %q", types[i])
		}
		c.Layers[i] = l
	}
	return true
}

var patternLayers = map[byte]LayerInfo{
	'M': {Mixer: mixerMamba, FFN: ffnNone},
	'*': {Mixer: mixerFull, FFN: ffnNone},
	'-': {Mixer: mixerNone, FFN: ffnDense},
	'E': {Mixer: mixerNone, FFN: ffnMoE},
}

// mixerTypes are the entries of layer_types and layers_block_type.
var mixerTypes = map[string]string{
	"full_attention":    mixerFull,
	"global_attention":  mixerFull,
	"attention":         mixerFull,
	"sliding_attention": mixerSliding,
	"local_attention":   mixerSliding,
	"chunked_attention": mixerChunked,
	"linear_attention":  mixerLinear,
	"mamba":             mixerMamba,
	"mamba2":            mixerMamba,
	"conv":              mixerConv,
	"hybrid":            mixerHybrid, // Zamba2
	typeCSA:             mixerCSA,
	typeHCA:             mixerHCA,
}

// mixers reads per-layer mixers; false when the config has one kind only.
func (c *Config) mixers(f *fields) bool {
	if len(c.CompressRatios) > 0 {
		for i, r := range c.CompressRatios {
			c.Layers[i].Mixer = ratioMixer(r)
		}
		return true
	}
	given := f.find("layer_types", "layers_block_type")
	if types := given.Strings(); len(types) > 0 {
		if !c.fits(given, len(types)) {
			return true
		}
		for i := range c.Layers {
			m := mixerTypes[types[i]] // a type of a model yet to come stays unknown
			if m == mixerFull {
				m = c.fullMixer()
			}
			c.Layers[i].Mixer = m
		}
		return true
	}
	for _, read := range []func(*fields) bool{c.mixersByType, c.mixersByIndex, c.mixersByInterval, c.mixersByPeriod,
		c.mixersByWindow} {
		if read(f) {
			return true
		}
	}
	return c.mixersByModel()
}

func ratioMixer(ratio int) string {
	switch ratio {
	case 0:
		return mixerSliding
	case ratioCSA:
		return mixerCSA
	case ratioHCA:
		return mixerHCA
	}
	return mixerCompressed
}

// fullMixer is what "full attention" means in this model.
func (c *Config) fullMixer() string {
	if c.KVLoraRank > 0 {
		return mixerMLA
	}
	return mixerFull
}

// uniformMixer is for models whose layers all attend alike.
func (c *Config) uniformMixer() {
	m := c.fullMixer()
	if m == mixerFull && c.SlidingWindow > 0 {
		m = mixerSliding // Mistral-7B
	}
	for i := range c.Layers {
		c.Layers[i].Mixer = m
	}
}

// mixersByType reads lists of codes, one per layer: MiniMax-01's attn_type_list
// (0 linear, i.e. lightning attention, 1 full) and MiMo-V2's
// hybrid_layer_pattern (0 full, 1 sliding).
func (c *Config) mixersByType(f *fields) bool {
	codes := func(given value, others string, full int) bool {
		if !given.Given() || given.Kind() == stringKind {
			return false // hybridPattern's form
		}
		if v := given.Ints(0, 1); c.fits(given, len(v)) {
			c.setMixers(others, func(i int) bool { return v[i] == full })
		}
		return true
	}
	return codes(f.find("attn_type_list"), mixerLinear, 1) || codes(f.find("hybrid_layer_pattern"), mixerSliding, 0)
}

// mixersByIndex reads lists of the layers that attend: Bamba's
// attn_layer_indices (from 0), Kimi-Linear's linear_attn_config.full_attn_layers
// (from 1), Llama-4's no_rope_layers (1: has RoPE, which is chunked).
func (c *Config) mixersByIndex(f *fields) bool {
	if given := f.find("attn_layer_indices"); given.Given() {
		c.attendAt(given, 0, mixerMamba)
		return true
	}
	if given := f.of(objectKind, "linear_attn_config").Object().Field("full_attn_layers"); given.Given() {
		c.attendAt(given, 1, mixerLinear)
		return true
	}
	if given := f.find("no_rope_layers"); given.Given() && c.ChunkSize > 0 {
		v := given.Ints(0, 1)
		if len(v) == 0 || !c.fits(given, len(v)) {
			return false
		}
		for i := range c.Layers {
			c.Layers[i].Mixer = mixerFull
			if v[i] == 1 {
				c.Layers[i].Mixer = mixerChunked
			}
		}
		return true
	}
	return false
}

// attendAt marks the listed layers, counted from base, as attention and all
// others as other.
func (c *Config) attendAt(list value, base int, other string) {
	full := memberOf(list.Ints(int64(base), int64(c.NumLayers-1+base)))
	c.setMixers(other, func(i int) bool { return full(i + base) })
}

// mixersByInterval reads rules of the form "every n-th layer attends in full".
func (c *Config) mixersByInterval(f *fields) bool {
	every := func(field, others string) bool {
		given := f.of(numberKind, field)
		if given.Given() {
			n := max(given.Integer(1, MaxLayers), 1)
			c.setMixers(others, func(i int) bool { return (i+1)%n == 0 })
		}
		return given.Given()
	}
	return every("full_attention_interval", mixerLinear) || // Qwen3-Next
		c.SlidingWindow > 0 && every("sliding_window_pattern", mixerSliding) || // Gemma-3, Cohere2
		c.ChunkSize > 0 && every("no_rope_layer_interval", mixerChunked) // Llama-4
}

// setMixers makes the layers that full says full attention, the others other.
func (c *Config) setMixers(other string, full func(i int) bool) {
	for i := range c.Layers {
		c.Layers[i].Mixer = other
		if full(i) {
			c.Layers[i].Mixer = c.fullMixer()
		}
	}
}

// mixersByPeriod reads Jamba's rule: attention where i % period == offset, Mamba
// elsewhere.
func (c *Config) mixersByPeriod(f *fields) bool {
	given := f.find("attn_layer_period")
	if !given.Given() {
		return false
	}
	period, offset := max(given.Integer(1, MaxLayers), 1), 0
	f.number(&offset, MaxLayers, "attn_layer_offset")
	c.setMixers(mixerMamba, func(i int) bool { return i%period == offset })
	return true
}

// mixersByWindow reads Qwen2's and Qwen3's rule: with use_sliding_window, layers
// from max_window_layers on slide.
func (c *Config) mixersByWindow(f *fields) bool {
	given := f.find("max_window_layers")
	if !given.Given() || !f.find("use_sliding_window").Given() || c.SlidingWindow == 0 {
		return false
	}
	n := given.Integer(0, MaxLayers)
	c.setMixers(mixerSliding, func(i int) bool { return i < n })
	return true
}

// mixersByModel is for models whose config class has a rule that the file need
// not spell out.
// Values of model_type whose layers alternate between sliding and full attention, and say so nowhere.
const (
	typeGPTOSS = "gpt_oss"
	typeGemma2 = "gemma2"
)

func (c *Config) mixersByModel() bool {
	switch {
	case c.ChunkSize > 0 && strings.HasPrefix(c.ModelType, "llama4"):
		c.setMixers(mixerChunked, func(i int) bool { return (i+1)%4 == 0 }) // no_rope_layer_interval is 4 there
	case c.SlidingWindow > 0 && (c.ModelType == typeGPTOSS || c.ModelType == typeGemma2):
		c.setMixers(mixerSliding, func(i int) bool { return i%2 == 1 })
	default:
		return false
	}
	return true
}
