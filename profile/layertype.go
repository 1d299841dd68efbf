package profile

import (
	"cmp"
	"slices"
	"strconv"
)

// LayerType labels a layer in tables and clusters. The set is open: a compression ratio without a name of its own is
// "CR<ratio>".
type LayerType string

// The types that have names.
const (
	FirstLayer LayerType = "FIRST" // layer 0, whatever else it is
	HashLayer  LayerType = "HASH"  // its experts come from a token-id table
	FinalLayer LayerType = "FINAL" // the last layer
	// FullAttention is ratio 0. Users know it by this name; it is sliding-window attention only (deepseek-v4.md).
	FullAttention LayerType = "FULL_ATTN"
	// LightC4 is ratio 4: compressed sparse attention (CSA), the only kind with an indexer. The name is not a statement
	// about its cost.
	LightC4 LayerType = "C4_LIGHT"
	// HeavyC128 is ratio 128: heavily compressed attention (HCA).
	HeavyC128  LayerType = "C128_HEAVY"
	PlainLayer LayerType = "LAYER" // no ratio is known
)

// IsPlace reports whether the type says at most where the layer is, and nothing of what it runs.
func (t LayerType) IsPlace() bool {
	return t == "" || t == FirstLayer || t == FinalLayer || t == PlainLayer
}

// IsHash reports whether layer i of n, counted from 0, is a hash layer: one of the
// first [Config.NumHashLayers], of the last where [Config.HashLast] says so.
func (c *Config) IsHash(i, n int) bool {
	if i < 0 || i >= n || c.NumHashLayers <= 0 {
		return false
	}
	if c.HashLast {
		return i >= n-c.NumHashLayers
	}
	return i < c.NumHashLayers
}

func ratioType(ratio int) LayerType {
	switch ratio {
	case 0:
		return FullAttention
	case ratioCSA:
		return LightC4
	case ratioHCA:
		return HeavyC128
	}
	return LayerType("CR" + strconv.Itoa(ratio))
}

// LayerTypes labels n layers by the config's ratios: [Config.NumLayers] of them, or
// as many as were given or found elsewhere. The first that holds wins: layer 0
// FIRST, hash layer HASH, layer n−1 FINAL, then by ratio; a layer beyond the end of
// the ratios is LAYER. n below 1 gives nil.
func (c *Config) LayerTypes(n int) []LayerType {
	if n < 1 {
		return nil
	}
	types := make([]LayerType, n)
	for i := range types {
		switch {
		case i == 0:
			types[i] = FirstLayer
		case c.IsHash(i, n):
			types[i] = HashLayer
		case i == n-1:
			types[i] = FinalLayer
		case i >= len(c.CompressRatios):
			types[i] = PlainLayer
		default:
			types[i] = ratioType(c.CompressRatios[i])
		}
	}
	return types
}

// ratios reads compress_ratios, or derives them from transformers' layer_types
// and compress_rates, and drops the next-token-prediction tail.
func (c *Config) ratios(f *fields) {
	given := f.find("compress_ratios")
	if !given.Given() {
		c.ratiosFromTypes(f)
		return
	}
	v := given.Ints(0, maxSize)
	if len(v) == 0 {
		return
	}
	f.known = true
	if c.fits(given, len(v)) {
		c.setRatios(v)
	}
}

// setRatios divides ratios between layers and next-token-prediction layers.
func (c *Config) setRatios(v []int) {
	n := cmp.Or(c.NumLayers, len(v))
	if c.CompressRatios = v[:n:n]; len(v) > n {
		c.NextNRatios = v[n:]
	}
}

// The layer types by which transformers names DeepSeek-V4's attention kinds, and
// the ratios they have when compress_rates does not say (deepseek-v4.md).
const (
	typeCSA  = "compressed_sparse_attention"
	typeHCA  = "heavily_compressed_attention"
	ratioCSA = 4
	ratioHCA = 128
)

// ratiosFromTypes derives compress ratios from layer_types when they name
// DeepSeek-V4's kinds.
func (c *Config) ratiosFromTypes(f *fields) {
	given := f.find("layer_types")
	types := given.Strings()
	if !slices.Contains(types, typeCSA) && !slices.Contains(types, typeHCA) {
		return
	}
	ratioOf := map[string]int{typeCSA: ratioCSA, typeHCA: ratioHCA, "sliding_attention": 0}
	rates := f.find("compress_rates").Object()
	for _, name := range []string{typeCSA, typeHCA} {
		if rate := rates.Field(name); rate.Given() {
			ratioOf[name] = rate.Integer(0, maxSize)
		}
	}
	if !c.fits(given, len(types)) {
		return
	}
	v := make([]int, len(types))
	for i, t := range types {
		ratio, ok := ratioOf[t]
		if !ok {
			given.FailAt(i, "%q among compressed attention layers", t)
		}
		v[i] = ratio
	}
	c.setRatios(v)
}

// fits checks that a per-layer list has an entry for each layer, or for each
// layer and each next-token-prediction layer.
func (c *Config) fits(list value, n int) bool {
	switch {
	case c.NumLayers == 0 && n <= MaxLayers, c.NumLayers > 0 && (n == c.NumLayers || n == c.NumLayers+c.NumNextN):
		return true
	case c.NumLayers == 0:
		list.Fail("%w: %d entries, at most %d", errLimit, n, MaxLayers)
	default:
		list.Fail("%d entries for %d layers; only %d + %d next-token-prediction layers would also fit",
			n, c.NumLayers, c.NumLayers, c.NumNextN)
	}
	return false
}
