package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/layer"
)

// clusters groups layers by type, in order of first appearance. Every type that is present gets a row.
func clusters(layers []LayerRow) []ClusterRow {
	out := []ClusterRow{}
	index := map[string]int{}
	sums := []map[string]float64{}
	var keys []string
	seen := map[string]bool{}
	for i := range layers {
		l := &layers[i]
		name := variantName(l.Type, l.Variant)
		k, ok := index[name]
		if !ok {
			k = len(out)
			index[name] = k
			out = append(out, ClusterRow{Type: l.Type, Variant: l.Variant})
			sums = append(sums, map[string]float64{})
		}
		c := &out[k]
		c.Count++
		c.AvgWallMS += l.WallMS
		c.AvgSumMS += l.SumMS
		for _, s := range l.Categories {
			sums[k][s.Key] += s.Value
			if !seen[s.Key] {
				seen[s.Key] = true
				keys = append(keys, s.Key)
			}
		}
	}
	for k := range out {
		c := &out[k]
		c.Share = Shares{}
		for _, key := range keys {
			if v, ok := sums[k][key]; ok && c.AvgSumMS > 0 {
				c.Share = append(c.Share, Share{key, 100 * v / c.AvgSumMS}) // still the sum of the layers
			}
		}
		c.AvgWallMS /= float64(c.Count)
		c.AvgSumMS /= float64(c.Count)
	}
	return out
}

// nameVariants tells kinds of layers apart where their type is the one that says nothing. The config's kinds come first, as
// sliding and full attention may run the same kernels; else layers whose kernels have the same base names are one variant.
// Where there are many, they are tile variants and not worth a name.
func nameVariants(a *layer.Device, layers []LayerRow) {
	const most = 4 // dense, experts, and two kinds of attention
	plain := func(l *LayerRow) bool {
		return l.Type == string("LAYER")
	}
	if kinds := configKinds(a); kinds != nil {
		for i := range layers {
			if l := &layers[i]; plain(l) && l.Index >= 0 && l.Index < len(kinds) {
				l.Variant = kinds[l.Index]
			}
		}
		return
	}
	variants := map[string]int{}
	of := make([]int, len(layers))
	for i := range layers {
		of[i] = -1
		if !plain(&layers[i]) || layers[i].Partial {
			continue
		}
		key := layers[i].shape
		if _, ok := variants[key]; !ok {
			variants[key] = len(variants)
		}
		of[i] = variants[key]
	}
	if len(variants) < 2 || len(variants) > most {
		return
	}
	for i := range layers {
		if of[i] >= 0 {
			layers[i].Variant = string(rune('A' + of[i]))
		}
	}
}

// configKinds names the kind of every layer by what the config says of it, as short as tells them apart: "sliding" and "full",
// "dense" and "moe", "linear+moe" where both parts differ. It is nil where the config knows one kind only, or is of another
// number of layers than were found.
func configKinds(a *layer.Device) []string {
	if a.Analysis().Config == nil || len(a.Analysis().Config.Layers) != a.NumLayers {
		return nil
	}
	mixers, ffns := map[string]bool{}, map[string]bool{}
	for _, l := range a.Analysis().Config.Layers {
		mixers[l.Mixer], ffns[l.FFN] = true, true
	}
	if len(mixers) < 2 && len(ffns) < 2 {
		return nil
	}
	names := make([]string, len(a.Analysis().Config.Layers))
	for i, l := range a.Analysis().Config.Layers {
		l.Hash = false // has a column of its own
		switch {
		case len(ffns) < 2:
			names[i] = l.Mixer
		case len(mixers) < 2:
			names[i] = l.FFN
		default:
			names[i] = l.String()
		}
	}
	return names
}

// A column of the per-layer and cluster tables adds up one or several categories.
type column struct {
	title string
	match func(key string) bool
}

// referenceColumns are the columns of the published tables.
var referenceColumns = []column{
	{"MLA", func(k string) bool { return k == "mla" }},
	{"MoE", func(k string) bool { return k == "moe" }},
	{"GEMM", func(k string) bool { return k == "gemm_fp8" || k == "gemm_bf16" || k == "gemm_f32" }},
	{"NCCL", func(k string) bool { return k == "allreduce" }},
	{"MHC", func(k string) bool { return strings.HasPrefix(k, "mhc_") }},
	{"Hadam", func(k string) bool { return k == "hadamard" }},
}

// maxColumns is how many category columns a table gets: as many as the published ones, so that a line fits 120 characters.
const maxColumns = 6

// columnsFor returns the published columns where the profile's categories are the published ones, else the categories that
// take most time in these layers.
func columnsFor(a *layer.Device, layers []LayerRow) []column {
	if a.Anchor != "" && len(a.Analysis().Profile.Rules) > 0 {
		return referenceColumns
	}
	sums := map[string]float64{}
	for i := range layers {
		for _, s := range layers[i].Categories {
			sums[s.Key] += s.Value
		}
	}
	keys := make([]string, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y string) int { return cmp.Or(-cmp.Compare(sums[x], sums[y]), cmp.Compare(x, y)) })
	var out []column
	for _, key := range keys[:min(maxColumns, len(keys))] {
		out = append(out, column{key, func(k string) bool { return k == key }})
	}
	return out
}
