package profile

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/llmstrata/strata/profile/internal/document"
)

// The labels of layers in tables and clusters. The
// set is open: a compression ratio without a name of its own is "CR<ratio>".
// "FIRST", "HASH", "FINAL", "FULL_ATTN", "C4_LIGHT", "C128_HEAVY" and "LAYER"
// (no ratio is known) are the others.
const (
	// typeFirst is layer 0, whatever else it is.
	typeFirst string = "FIRST"
	// typeHash is a layer whose experts come from a token-id table.
	typeHash string = "HASH"
	// typeFinal is the last layer.
	typeFinal string = "FINAL"
	// typeFullAttn is ratio 0. Users know it by this name; it is sliding-window
	// attention only (deepseek-v4.md).
	typeFullAttn string = "FULL_ATTN"
	// typeC4Light is ratio 4: compressed sparse attention (CSA), the only kind
	// with an indexer. The name is not a statement about its cost.
	typeC4Light string = "C4_LIGHT"
	// typeC128Heavy is ratio 128: heavily compressed attention (HCA).
	typeC128Heavy string = "C128_HEAVY"
	// typeLayer is a layer whose ratio is unknown.
	typeLayer string = "LAYER"
)

// IsHash reports whether layer i of n, counted from 0, is a hash layer: one of the
// first [Config.NumHashLayers], of the last where [Config.HashLast] says so.
func (c *Config) IsHash(i, n int) bool { return isHash(i, n, c.NumHashLayers, c.HashLast) }

func isHash(i, n, numHash int, last bool) bool {
	if i < 0 || i >= n || numHash <= 0 {
		return false
	}
	if last {
		return i >= n-numHash
	}
	return i < numHash
}

func layerTypes(n int, ratios []int, numHash int, hashLast bool) []string {
	if n < 1 {
		return nil
	}
	types := make([]string, n)
	for i := range types {
		switch {
		case i == 0:
			types[i] = typeFirst
		case isHash(i, n, numHash, hashLast):
			types[i] = typeHash
		case i == n-1:
			types[i] = typeFinal
		case i >= len(ratios):
			types[i] = typeLayer
		default:
			types[i] = ratioType(ratios[i])
		}
	}
	return types
}

func ratioType(ratio int) string {
	switch ratio {
	case 0:
		return typeFullAttn
	case ratioCSA:
		return typeC4Light
	case ratioHCA:
		return typeC128Heavy
	}
	return "CR" + strconv.Itoa(ratio)
}

// LayerTypes labels n layers by the config's ratios: [Config.NumLayers] of them, or
// as many as were given or found elsewhere. The first that holds wins: layer 0
// FIRST, hash layer HASH, layer n−1 FINAL, then by ratio; a layer beyond the end of
// the ratios is LAYER. n below 1 gives nil.
func (c *Config) LayerTypes(n int) []string {
	return layerTypes(n, c.CompressRatios, c.NumHashLayers, c.HashLast)
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
func (c *Config) fits(list document.Value, n int) bool {
	switch {
	case c.NumLayers == 0 && n <= maxLayers, c.NumLayers > 0 && (n == c.NumLayers || n == c.NumLayers+c.NumNextN):
		return true
	case c.NumLayers == 0:
		list.Fail("%w: %d entries, at most %d", errLimit, n, maxLayers)
	default:
		list.Fail("%d entries for %d layers; only %d + %d next-token-prediction layers would also fit",
			n, c.NumLayers, c.NumLayers, c.NumNextN)
	}
	return false
}
