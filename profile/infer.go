package profile

import "slices"

// Infer picks the profile for a config in the order of pipeline.md §1: non-empty
// compress_ratios is dsv4_csa_hca, a positive kv_lora_rank is dsv3_mla, anything
// else, a nil config included, is generic. The reason names the field that
// decided.
func Infer(c *Config) (p *ModelProfile, reason string) {
	switch {
	case c == nil:
		return builtin(generic), "no config"
	case len(c.CompressRatios) > 0:
		return builtin(DSV4), "config has compress_ratios"
	case c.KVLoraRank > 0:
		return builtin(dsv3), "config has kv_lora_rank"
	}
	return builtin(generic), "config has neither compress_ratios nor kv_lora_rank"
}

// suggest names a built-in profile that is made for the config's model_type but
// that [Infer] does not choose, so that a program can hint at it. Such profiles
// have no anchor, so they cut layers as generic does and only categorise better.
func suggest(c *Config) (name string, ok bool) {
	if c == nil {
		return "", false
	}
	chosen, _ := Infer(c)
	if chosen.Name != generic {
		return "", false
	}
	for _, p := range builtins {
		if p.Anchor == "" && (slices.Contains(p.ModelTypes, c.ModelType) || slices.Contains(p.ModelTypes, c.TextModelType)) {
			return p.Name, true
		}
	}
	return "", false
}
