package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/profile/internal/document"
)

// NOTE. Configs give the kinds of layers in a dozen ways. Each reader below
// takes one way and answers whether the config uses it; the first that does
// wins, most explicit first: a list with one entry per layer, then a pattern,
// then a rule (first k, every n-th), then what holds for all layers. The rules
// are those of the models' own code in transformers, vLLM or the model's
// repository; the comment at each names the models.

// layers fills c.Layers.
func (c *Config) layers(f *fields) error {
	if c.NumLayers == 0 {
		return nil
	}
	c.Layers = make([]LayerInfo, c.NumLayers)
	defer c.nameUnknown()
	whole, err := c.hybridPattern(f)
	if err != nil || whole {
		return err
	}
	mixed, err := c.mixers(f)
	if err != nil {
		return err
	}
	if !mixed {
		c.uniformMixer()
	}
	if err := c.ffns(f); err != nil {
		return err
	}
	for i := range c.Layers {
		l := &c.Layers[i]
		if c.IsHash(i, c.NumLayers) {
			l.Hash = true
		}
		l.Indexer = l.Mixer == mixerCSA || l.Mixer == mixerMLA && c.IndexTopK > 0
	}
	return c.sharedTopK(f)
}

// nameUnknown says of layers that nothing was found for that they are not known.
func (c *Config) nameUnknown() {
	for i := range c.Layers {
		l := &c.Layers[i]
		l.Mixer, l.FFN = cmp.Or(l.Mixer, mixerUnknown), cmp.Or(l.FFN, ffnUnknown)
	}
}

// sharedTopK finds the layers of sparse latent attention that use the tokens which an earlier layer's indexer
// selected, as GLM-5's later releases do: a list with "full" and "shared", a pattern of F and S, or every n-th layer
// after the first ones.
func (c *Config) sharedTopK(f *fields) error {
	shared := func(i int) bool { return false }
	if o, name, ok := f.find("indexer_types"); ok && document.KindOf(o.Fields[name]) == "list" {
		list, _, err := o.Strings(name)
		if err != nil {
			return err
		}
		shared = func(i int) bool { return i < len(list) && list[i] == "shared" }
	} else if o, name, ok := f.find("index_topk_pattern"); ok && document.KindOf(o.Fields[name]) == "string" {
		pattern, err := o.Text(name)
		if err != nil {
			return err
		}
		shared = func(i int) bool { return i < len(pattern) && pattern[i] == 'S' }
	} else if _, _, ok := f.find("index_topk_freq"); ok {
		var every int
		first := 2 // the model code's own default
		if err := f.number(&every, maxLayers, "index_topk_freq"); err != nil {
			return err
		}
		if err := f.number(&first, maxLayers, "index_skip_topk_offset"); err != nil {
			return err
		}
		shared = func(i int) bool { return max(i-first+1, 0)%max(every, 1) != 0 }
	}
	for i := range c.Layers {
		if l := &c.Layers[i]; l.Mixer == mixerMLA && l.Indexer && shared(i) {
			l.Indexer, l.SharedTopK = false, true
		}
	}
	return nil
}

// hybridPattern reads layers that are a mixer or an MLP, never both: Nemotron-H's
// hybrid_override_pattern (M Mamba, * attention, - MLP, E experts) or its
// layers_block_type list with "moe" and "mlp" entries.
func (c *Config) hybridPattern(f *fields) (bool, error) {
	if o, name, ok := f.find("hybrid_override_pattern", "hybrid_layer_pattern"); ok &&
		document.KindOf(o.Fields[name]) == "string" {
		s, err := o.Text(name)
		if err != nil {
			return false, err
		}
		// Megatron separates pipeline stages by | and appends /-separated
		// patterns of next-token-prediction layers.
		s, _, _ = strings.Cut(strings.ReplaceAll(s, "|", ""), "/")
		if len(s) != c.NumLayers {
			return false, o.Fail(name, "%d letters for %d layers", len(s), c.NumLayers)
		}
		for i := range len(s) {
			l, ok := patternLayers[s[i]]
			if !ok {
				return false, o.Fail(fmt.Sprintf("%s[%d]", name, i), "%q is none of M, *, -, E", s[i])
			}
			c.Layers[i] = l
		}
		return true, nil
	}
	o, name, ok := f.find("layers_block_type")
	if !ok {
		return false, nil
	}
	types, _, err := o.Strings(name)
	if err != nil {
		return false, err
	}
	if !slices.Contains(types, "moe") && !slices.Contains(types, "mlp") {
		return false, nil // Jamba, Bamba, Zamba2: every layer has an MLP too; mixers reads it
	}
	if err := c.fits(o, name, len(types)); err != nil {
		return false, err
	}
	for i := range c.Layers {
		switch t := types[i]; t {
		case "mamba":
			c.Layers[i] = patternLayers['M']
		case "attention":
			c.Layers[i] = patternLayers['*']
		case "mlp":
			c.Layers[i] = patternLayers['-']
		case "moe":
			c.Layers[i] = patternLayers['E']
		default:
			return false, o.Fail(fmt.Sprintf("%s[%d]", name, i), "unknown block type %q", t)
		}
	}
	return true, nil
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

// mixers reads per-layer mixers; ok is false when the config has one kind only.
func (c *Config) mixers(f *fields) (ok bool, err error) {
	if len(c.CompressRatios) > 0 {
		for i, r := range c.CompressRatios {
			c.Layers[i].Mixer = ratioMixer(r)
		}
		return true, nil
	}
	if o, name, ok := f.find("layer_types", "layers_block_type"); ok {
		types, _, err := o.Strings(name)
		if err != nil {
			return false, err
		}
		if len(types) > 0 {
			if err := c.fits(o, name, len(types)); err != nil {
				return false, err
			}
			for i := range c.Layers {
				m := mixerTypes[types[i]] // a type of a model yet to come stays unknown
				if m == mixerFull {
					m = c.fullMixer()
				}
				c.Layers[i].Mixer = m
			}
			return true, nil
		}
	}
	for _, read := range []func(*fields) (bool, error){c.mixersByType, c.mixersByIndex, c.mixersByInterval} {
		if ok, err := read(f); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
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
func (c *Config) mixersByType(f *fields) (bool, error) {
	for _, list := range []struct {
		field  string
		others string
		full   int
	}{
		{"attn_type_list", mixerLinear, 1},
		{"hybrid_layer_pattern", mixerSliding, 0},
	} {
		o, name, ok := f.find(list.field)
		if !ok || document.KindOf(o.Fields[name]) == "string" {
			continue // hybridPattern's form
		}
		v, _, err := o.Ints(name, 0, 1)
		if err != nil {
			return false, err
		}
		if err := c.fits(o, name, len(v)); err != nil {
			return false, err
		}
		c.setMixers(list.others, func(i int) bool { return v[i] == list.full })
		return true, nil
	}
	return false, nil
}

// mixersByIndex reads lists of the layers that attend: Bamba's
// attn_layer_indices (from 0), Kimi-Linear's linear_attn_config.full_attn_layers
// (from 1), Llama-4's no_rope_layers (1: has RoPE, which is chunked).
func (c *Config) mixersByIndex(f *fields) (bool, error) {
	if o, name, ok := f.find("attn_layer_indices"); ok {
		return true, c.attendAt(o, name, 0, mixerMamba)
	}
	if o, name, ok := f.find("linear_attn_config"); ok && document.KindOf(o.Fields[name]) == "object" {
		lin, _, err := o.Child(name)
		if err != nil {
			return false, err
		}
		if lin.Has("full_attn_layers") {
			return true, c.attendAt(lin, "full_attn_layers", 1, mixerLinear)
		}
	}
	if o, name, ok := f.find("no_rope_layers"); ok && c.ChunkSize > 0 {
		v, _, err := o.Ints(name, 0, 1)
		if err != nil {
			return false, err
		}
		if len(v) == 0 {
			return false, nil
		}
		if err := c.fits(o, name, len(v)); err != nil {
			return false, err
		}
		for i := range c.Layers {
			c.Layers[i].Mixer = mixerFull
			if v[i] == 1 {
				c.Layers[i].Mixer = mixerChunked
			}
		}
		return true, nil
	}
	return false, nil
}

// attendAt marks the listed layers, counted from base, as attention and all
// others as other.
func (c *Config) attendAt(o document.Object, name string, base int, other string) error {
	v, _, err := o.Ints(name, int64(base), int64(c.NumLayers-1+base))
	if err != nil {
		return err
	}
	for i := range c.Layers {
		c.Layers[i].Mixer = other
	}
	for _, i := range v {
		c.Layers[i-base].Mixer = c.fullMixer()
	}
	return nil
}

// mixersByInterval reads rules of the form "every n-th layer attends in full".
func (c *Config) mixersByInterval(f *fields) (bool, error) {
	for _, rule := range []struct {
		field  string
		others string
		when   bool
	}{
		{"full_attention_interval", mixerLinear, true},                // Qwen3-Next
		{"sliding_window_pattern", mixerSliding, c.SlidingWindow > 0}, // Gemma-3, Cohere2
		{"no_rope_layer_interval", mixerChunked, c.ChunkSize > 0},     // Llama-4
	} {
		o, name, ok := f.find(rule.field)
		if !ok || !rule.when || document.KindOf(o.Fields[name]) != "number" {
			continue
		}
		n, _, err := o.Integer(name, 1, maxLayers)
		if err != nil {
			return false, err
		}
		c.setMixers(rule.others, func(i int) bool { return (i+1)%n == 0 })
		return true, nil
	}
	for _, read := range []func(*fields) (bool, error){c.mixersByPeriod, c.mixersByWindow} {
		if ok, err := read(f); ok || err != nil {
			return ok, err
		}
	}
	return c.mixersByModel(), nil
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
func (c *Config) mixersByPeriod(f *fields) (bool, error) {
	o, name, ok := f.find("attn_layer_period")
	if !ok {
		return false, nil
	}
	period, _, err := o.Integer(name, 1, maxLayers)
	if err != nil {
		return false, err
	}
	offset := 0
	if err := f.number(&offset, maxLayers, "attn_layer_offset"); err != nil {
		return false, err
	}
	c.setMixers(mixerMamba, func(i int) bool { return i%period == offset })
	return true, nil
}

// mixersByWindow reads Qwen2's and Qwen3's rule: with use_sliding_window, layers
// from max_window_layers on slide.
func (c *Config) mixersByWindow(f *fields) (bool, error) {
	o, name, ok := f.find("max_window_layers")
	if _, _, uses := f.find("use_sliding_window"); !ok || !uses || c.SlidingWindow == 0 {
		return false, nil
	}
	n, _, err := o.Integer(name, 0, maxLayers)
	if err != nil {
		return false, err
	}
	c.setMixers(mixerSliding, func(i int) bool { return i < n })
	return true, nil
}

// mixersByModel is for models whose config class has a rule that the file need
// not spell out.
func (c *Config) mixersByModel() bool {
	switch {
	case c.ChunkSize > 0 && strings.HasPrefix(c.ModelType, "llama4"):
		c.setMixers(mixerChunked, func(i int) bool { return (i+1)%4 == 0 }) // no_rope_layer_interval is 4 there
	case c.SlidingWindow > 0 && (c.ModelType == "gpt_oss" || c.ModelType == "gemma2"):
		c.setMixers(mixerSliding, func(i int) bool { return i%2 == 1 })
	default:
		return false
	}
	return true
}
