package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/llmstrata/strata/layer"
)

// clusters groups layers by type, in order of first appearance, and returns which group each one is in. Every type
// that is present gets a row.
func clusters(layers []LayerRow) (rows []ClusterRow, of []int) {
	rows = []ClusterRow{}
	index, seen := map[string]int{}, map[string]int{}
	var sums []map[string]float64
	var keys []string
	for i := range layers {
		l := &layers[i]
		k := slot(index, &rows, VariantName(l.Type, l.Variant), ClusterRow{Type: l.Type, Variant: l.Variant})
		if k == len(sums) {
			sums = append(sums, map[string]float64{})
		}
		of = append(of, k)
		c := &rows[k]
		c.Count++
		c.AvgWallMS += l.WallMS
		c.AvgSumMS += l.SumMS
		for _, s := range l.Categories {
			sums[k][s.Key] += s.Value
			slot(seen, &keys, s.Key, s.Key)
		}
	}
	for k := range rows {
		c := &rows[k]
		c.Share = Shares{}
		for _, key := range keys {
			if v, ok := sums[k][key]; ok && c.AvgSumMS > 0 {
				c.Share = append(c.Share, Share{key, 100 * v / c.AvgSumMS}) // still the sum of the layers
			}
		}
		c.AvgWallMS /= float64(c.Count)
		c.AvgSumMS /= float64(c.Count)
	}
	return rows, of
}

// slot returns the place of a key in a list, to which it adds what a new one begins with.
func slot[K comparable, V any](index map[K]int, list *[]V, key K, first V) int {
	k, ok := index[key]
	if !ok {
		k = len(*list)
		index[key] = k
		*list = append(*list, first)
	}
	return k
}

// A column of the per-layer and cluster tables adds up the categories of the keys, or those with the prefix.
type column struct {
	title  string
	keys   []string
	prefix string
}

func (c *column) match(key string) bool {
	return slices.Contains(c.keys, key) || c.prefix != "" && strings.HasPrefix(key, c.prefix)
}

// referenceColumns are the columns of the published tables.
var referenceColumns = []column{
	{title: "MLA", keys: []string{"mla"}},
	{title: "MoE", keys: []string{"moe"}},
	{title: "GEMM", keys: []string{"gemm_fp8", "gemm_bf16", "gemm_f32"}},
	{title: "NCCL", keys: []string{"allreduce"}},
	{title: "MHC", prefix: "mhc_"},
	{title: "Hadam", keys: []string{"hadamard"}},
}

// maxColumns is how many category columns a table gets: as many as the published ones, so that a line fits 120
// characters.
const maxColumns = 6

// columnsFor returns the published columns where the profile's categories are the published ones, else the categories
// that take most time in these layers.
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
	keys := slices.SortedFunc(maps.Keys(sums), func(x, y string) int {
		return cmp.Or(-cmp.Compare(sums[x], sums[y]), cmp.Compare(x, y))
	})
	var out []column
	for _, key := range keys[:min(maxColumns, len(keys))] {
		out = append(out, column{title: key, keys: []string{key}})
	}
	return out
}
