package profile

import "strconv"

// LayerType is the label of a layer in tables and clusters (pipeline.md §2). The
// set is open: a compression ratio without a name of its own is "CR<ratio>".
type LayerType string

const (
	// TypeFirst is layer 0, whatever else it is.
	TypeFirst LayerType = "FIRST"
	// TypeHash is a layer whose experts come from a token-id table.
	TypeHash LayerType = "HASH"
	// TypeFinal is the last layer.
	TypeFinal LayerType = "FINAL"
	// typeFullAttn is ratio 0. Users know it by this name; it is sliding-window
	// attention only (deepseek-v4.md).
	typeFullAttn LayerType = "FULL_ATTN"
	// typeC4Light is ratio 4: compressed sparse attention (CSA), the only kind
	// with an indexer. The name is not a statement about its cost.
	typeC4Light LayerType = "C4_LIGHT"
	// typeC128Heavy is ratio 128: heavily compressed attention (HCA).
	typeC128Heavy LayerType = "C128_HEAVY"
	// TypeLayer is a layer of which no ratio is known.
	TypeLayer LayerType = "LAYER"
)

// HashPlacement says which layers are the hash layers.
type HashPlacement uint8

const (
	// HashFirst: the first num_hash_layers layers, as in DeepSeek-V4's model code.
	HashFirst HashPlacement = iota
	// HashLast: the last ones, as the reference labels them.
	HashLast
)

// String returns "first" or "last", the values of --hash-layers.
func (h HashPlacement) String() string {
	if h == HashLast {
		return "last"
	}
	return "first"
}

// ParseHashPlacement reads the String form.
func ParseHashPlacement(s string) (HashPlacement, bool) {
	switch s {
	case "first":
		return HashFirst, true
	case "last":
		return HashLast, true
	}
	return HashFirst, false
}

// IsHash reports whether layer i of n is one of numHash hash layers.
func (h HashPlacement) IsHash(i, n, numHash int) bool {
	if i < 0 || i >= n || numHash <= 0 {
		return false
	}
	if h == HashLast {
		return i >= n-numHash
	}
	return i < numHash
}

// LayerTypes labels n layers. The first that holds wins: layer 0 FIRST, hash
// layer HASH, layer n−1 FINAL, then by ratio; a layer beyond the end of ratios
// is LAYER. n below 1 gives nil.
func LayerTypes(n int, ratios []int, numHash int, place HashPlacement) []LayerType {
	if n < 1 {
		return nil
	}
	types := make([]LayerType, n)
	for i := range types {
		switch {
		case i == 0:
			types[i] = TypeFirst
		case place.IsHash(i, n, numHash):
			types[i] = TypeHash
		case i == n-1:
			types[i] = TypeFinal
		case i >= len(ratios):
			types[i] = TypeLayer
		default:
			types[i] = ratioType(ratios[i])
		}
	}
	return types
}

func ratioType(ratio int) LayerType {
	switch ratio {
	case 0:
		return typeFullAttn
	case ratioCSA:
		return typeC4Light
	case ratioHCA:
		return typeC128Heavy
	}
	return LayerType("CR" + strconv.Itoa(ratio))
}

// LayerTypes labels the config's own layers; nil when it gives no layer count.
func (c *Config) LayerTypes(place HashPlacement) []LayerType {
	return c.LayerTypesN(c.NumLayers, place)
}

// LayerTypesN labels n layers by the config's ratios, for a layer count that was
// given or found elsewhere.
func (c *Config) LayerTypesN(n int, place HashPlacement) []LayerType {
	return LayerTypes(n, c.CompressRatios, c.NumHashLayers, place)
}

// Ratio returns the compression ratio of decoder layer i; ok is false when the
// config gives none.
func (c *Config) Ratio(i int) (ratio int, ok bool) {
	if c == nil || i < 0 || i >= len(c.CompressRatios) {
		return 0, false
	}
	return c.CompressRatios[i], true
}
