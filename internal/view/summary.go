package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
		s := fmt.Sprintf("no layers were found in pass %d", t.FwdPass)
		if len(t.KernelCategories) > 0 {
			c := t.KernelCategories[0]
			s += fmt.Sprintf("; most GPU time of the trace: %s, %.0f%%", t.labels(c.Key), c.SharePct)
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
		fmt.Fprintf(&b, "%s, %.0f%% of the GPU time; in one of its %d passes: ", title,
			100*float64(m.Time)/float64(a.Time), m.Passes)
	}
	fmt.Fprintf(&b, "bottleneck: %s layers, %d of %d", variantName(c.Type, c.Variant), c.Count, len(t.Layers))
	if total > 0 {
		fmt.Fprintf(&b, ", %.0f%% of the layers' wall time (%.3f ms each)", 100*wall(c)/total, c.AvgWallMS)
	}
	if s := slices.MaxFunc(t.Clusters, func(x, y ClusterRow) int {
		return cmp.Compare(x.AvgWallMS,
			y.AvgWallMS)
	}); s.AvgWallMS > slower*c.AvgWallMS {
		fmt.Fprintf(&b, "; slowest one by one: %s with %.3f ms", variantName(s.Type, s.Variant), s.AvgWallMS)
	}
	if top, share := topGroup(t.columns, c.Share, t.labels); top != "" {
		fmt.Fprintf(&b, "; likely next target: %s, %.0f%% of their kernel time", top, share)
	}
	if idle := c.AvgWallMS - c.AvgSumMS; idle > emptyLayer*c.AvgWallMS && c.AvgWallMS > 0 {
		fmt.Fprintf(&b, "; %.0f%% of a layer's wall time has no kernel running", 100*idle/c.AvgWallMS)
	}
	return b.String()
}

// topGroup is the column, or the category that no column shows, with the largest share.
func topGroup(columns []column, shares Shares, label func(string) string) (name string, share float64) {
	inColumn := func(key string) bool {
		return slices.ContainsFunc(columns, func(c column) bool { return c.match(key) })
	}
	for _, c := range columns {
		if v := shares.of(c.match); v > share && c.title != "other" {
			name, share = c.title, v
		}
	}
	for _, s := range shares {
		if s.Value > share && s.Key != "other" && !inColumn(s.Key) {
			name, share = label(s.Key), s.Value
		}
	}
	return name, share
}
