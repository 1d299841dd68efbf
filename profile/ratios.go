package profile

import "fmt"

// ratios reads compress_ratios, or derives them from transformers' layer_types
// and compress_rates, and drops the next-token-prediction tail.
func (c *Config) ratios(f *fields) error {
	o, name, ok := f.find("compress_ratios")
	if !ok {
		return c.ratiosFromTypes(f)
	}
	v, _, err := o.ints(name, 0, maxSize)
	if err != nil {
		return err
	}
	if len(v) == 0 {
		return nil
	}
	f.known = true
	if c.NumLayers == 0 {
		if len(v) > maxLayers {
			return o.fail(name, "%w: %d entries, at most %d", ErrLimit, len(v), maxLayers)
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
		return o.fail(name, "%d entries for %d layers; only %d + %d next-token-prediction layers would also fit",
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
	types, _, err := o.strings(name)
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
		rates, _, err := ro.child(rname)
		if err != nil {
			return err
		}
		for _, x := range []struct {
			dst  *int
			name string
		}{{&csa, typeCSA}, {&hca, typeHCA}} {
			if v, ok, err := rates.integer(x.name, 0, maxSize); err != nil {
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
			return o.fail(fmt.Sprintf("%s[%d]", name, i), "%q among compressed attention layers", t)
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
func (c *Config) fits(o object, name string, n int) error {
	switch {
	case c.NumLayers == 0 && n <= maxLayers, n == c.NumLayers, n == c.NumLayers+c.NumNextN:
		return nil
	case c.NumLayers == 0:
		return o.fail(name, "%w: %d entries, at most %d", ErrLimit, n, maxLayers)
	}
	return o.fail(name, "%d entries for %d layers; only %d + %d next-token-prediction layers would also fit",
		n, c.NumLayers, c.NumLayers, c.NumNextN)
}
