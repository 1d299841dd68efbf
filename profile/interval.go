package profile

import "strings"

// mixersByInterval reads rules of the form "every n-th layer attends in full".
func (c *Config) mixersByInterval(f *fields) (bool, error) {
	for _, rule := range []struct {
		field  string
		others Mixer
		when   bool
	}{
		{"full_attention_interval", mixerLinear, true},                // Qwen3-Next
		{"sliding_window_pattern", mixerSliding, c.SlidingWindow > 0}, // Gemma-3, Cohere2
		{"no_rope_layer_interval", mixerChunked, c.ChunkSize > 0},     // Llama-4
	} {
		o, name, ok := f.find(rule.field)
		if !ok || !rule.when || kindOf(o.fields[name]) != "number" {
			continue
		}
		n, _, err := o.integer(name, 1, maxLayers)
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
func (c *Config) setMixers(other Mixer, full func(i int) bool) {
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
	period, _, err := o.integer(name, 1, maxLayers)
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
	n, _, err := o.integer(name, 0, maxLayers)
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
