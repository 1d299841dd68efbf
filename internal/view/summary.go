package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

const (
	// slower is from how many times the time of the usual layer on another kind is named as the slowest one: less is
	// jitter.
	slower = 1.05
	// emptyLayer is the share of a layer's time without a kernel that is named: more than launch latency between
	// graph nodes ever cost in the traces seen.
	emptyLayer = 0.25
)

// summarise is the one-line summary: which layer type takes most time, by measurement, and what dominates it.
func summarise(a *layer.Device, t *Timeline) string {
	if len(t.Clusters) == 0 {
		s := fmt.Sprintf("No layers were found in pass %d.", t.FwdPass)
		if t.FwdPass < 0 {
			s = "No forward pass was found."
		}
		if len(t.KernelCategories) > 0 {
			c := t.KernelCategories[0]
			s += fmt.Sprintf(" The largest kernel category of the trace is %s: %.0f%% of GPU time.", t.labels(c.Key), c.SharePct)
		}
		return s
	}
	total, wall := 0.0, func(c ClusterRow) float64 { return c.AvgWallMS * float64(c.Count) }
	for _, c := range t.Clusters {
		total += wall(c)
	}
	c := slices.MaxFunc(t.Clusters, func(x, y ClusterRow) int { return cmp.Compare(wall(x), wall(y)) })
	var b strings.Builder
	if title := a.ModelOf(t.FwdPass); title != "" && a.Time > 0 {
		m := &a.Models[a.Passes[t.FwdPass].Model]
		fmt.Fprintf(&b, "%s takes %.0f%% of GPU time in %s. In pass %d: ", title, 100*float64(m.Time)/float64(a.Time),
			table.Counted(m.Passes, "pass", "passes"), t.FwdPass)
	}
	layers := table.Counted(len(t.Layers), "layer", "layers")
	fmt.Fprintf(&b, "%d of %s are of type %s and take %.0f%% of layer time, %.3f ms each", c.Count, layers,
		VariantName(c.Type, c.Variant), 100*wall(c)/max(total, math.SmallestNonzeroFloat64), c.AvgWallMS)
	if top, share := topGroup(t.columns, c.Share, t.labels); top != "" {
		fmt.Fprintf(&b, ", led by %s (%.0f%% of their kernel time)", top, share)
	}
	b.WriteByte('.')
	s := slices.MaxFunc(t.Clusters, func(x, y ClusterRow) int { return cmp.Compare(x.AvgWallMS, y.AvgWallMS) })
	if s.AvgWallMS > slower*c.AvgWallMS {
		fmt.Fprintf(&b, " The slowest type is %s, %.3f ms.", VariantName(s.Type, s.Variant), s.AvgWallMS)
	}
	if idle := c.AvgWallMS - c.AvgSumMS; idle > emptyLayer*c.AvgWallMS && c.AvgWallMS > 0 {
		fmt.Fprintf(&b, " No kernel runs in %.0f%% of a layer's wall time.", 100*idle/c.AvgWallMS)
	}
	return b.String()
}

// other is the category of what no rule knows, and its title.
const other = string(classify.CategoryOther)

// topGroup is the column, or the category that no column shows, with the largest share.
func topGroup(columns []column, shares Shares, label func(string) string) (name string, share float64) {
	inColumn := func(key string) bool {
		return slices.ContainsFunc(columns, func(c column) bool { return c.match(key) })
	}
	for _, c := range columns {
		if v := shares.of(c.match); v > share && c.title != other {
			name, share = c.title, v
		}
	}
	for _, s := range shares {
		if s.Value > share && s.Key != other && !inColumn(s.Key) {
			name, share = label(s.Key), s.Value
		}
	}
	return name, share
}
