package profile

import (
	"fmt"
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
func (c *Config) ratios(f *fields) error {
	o, name, ok := f.find("compress_ratios")
	if !ok {
		return c.ratiosFromTypes(f)
	}
	v, _, err := o.Ints(name, 0, maxSize)
	if err != nil {
		return err
	}
	if len(v) == 0 {
		return nil
	}
	f.known = true
	if c.NumLayers == 0 {
		if len(v) > maxLayers {
			return o.Fail(name, "%w: %d entries, at most %d", errLimit, len(v), maxLayers)
		}
		c.CompressRatios = v
		return nil
	}
	switch len(v) {
	case c.NumLayers:
		c.CompressRatios = v
	case c.NumLayers + c.NumNextN:
		c.CompressRatios, c.NextNRatios = v[:c.NumLayers:c.NumLayers], v[c.NumLayers:]
	default:
		return o.Fail(name, "%d entries for %d layers; only %d + %d next-token-prediction layers would also fit",
			len(v), c.NumLayers, c.NumLayers, c.NumNextN)
	}
	return nil
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
func (c *Config) ratiosFromTypes(f *fields) error {
	o, name, ok := f.find("layer_types")
	if !ok {
		return nil
	}
	types, _, err := o.Strings(name)
	if err != nil {
		return err
	}
	csa, hca := ratioCSA, ratioHCA
	compressed := false
	for _, t := range types {
		compressed = compressed || t == typeCSA || t == typeHCA
	}
	if !compressed {
		return nil
	}
	if ro, rname, ok := f.find("compress_rates"); ok {
		rates, _, err := ro.Child(rname)
		if err != nil {
			return err
		}
		for _, x := range []struct {
			dst  *int
			name string
		}{{&csa, typeCSA}, {&hca, typeHCA}} {
			if v, ok, err := rates.Integer(x.name, 0, maxSize); err != nil {
				return err
			} else if ok {
				*x.dst = v
			}
		}
	}
	if err := c.fits(o, name, len(types)); err != nil {
		return err
	}
	v := make([]int, len(types))
	for i, t := range types {
		switch t {
		case typeCSA:
			v[i] = csa
		case typeHCA:
			v[i] = hca
		case "sliding_attention":
		default:
			return o.Fail(fmt.Sprintf("%s[%d]", name, i), "%q among compressed attention layers", t)
		}
	}
	n := len(v)
	if c.NumLayers > 0 {
		n = c.NumLayers
	}
	c.CompressRatios, c.NextNRatios = v[:n:n], v[n:]
	if len(c.NextNRatios) == 0 {
		c.NextNRatios = nil
	}
	return nil
}

// fits checks that a per-layer list has an entry for each layer, or for each
// layer and each next-token-prediction layer.
func (c *Config) fits(o document.Object, name string, n int) error {
	switch {
	case c.NumLayers == 0 && n <= maxLayers, n == c.NumLayers, n == c.NumLayers+c.NumNextN:
		return nil
	case c.NumLayers == 0:
		return o.Fail(name, "%w: %d entries, at most %d", errLimit, n, maxLayers)
	}
	return o.Fail(name, "%d entries for %d layers; only %d + %d next-token-prediction layers would also fit",
		n, c.NumLayers, c.NumLayers, c.NumNextN)
}
