package layer

import (
	"fmt"
	"strings"
)

// summarise is the one-line summary: which layer type takes most time, by measurement, and what dominates it.
func (a *Analysis) summarise(t *Timeline) string {
	if len(t.Clusters) == 0 {
		return fmt.Sprintf("pass %d: no layers were found", t.FwdPass)
	}
	total := 0.0
	best := 0
	for i, c := range t.Clusters {
		total += c.AvgWallMS * float64(c.Count)
		if c.AvgWallMS*float64(c.Count) > t.Clusters[best].AvgWallMS*float64(t.Clusters[best].Count) {
			best = i
		}
	}
	slow := 0
	for i, c := range t.Clusters {
		if c.AvgWallMS > t.Clusters[slow].AvgWallMS {
			slow = i
		}
	}
	c := t.Clusters[best]
	var b strings.Builder
	fmt.Fprintf(&b, "bottleneck: %s layers, %d of %d", c.Type, c.Count, len(t.Layers))
	if total > 0 {
		fmt.Fprintf(&b, ", %.0f %% of the layers' wall time (%.3f ms each)", 100*c.AvgWallMS*float64(c.Count)/total, c.AvgWallMS)
	}
	if slow != best {
		s := t.Clusters[slow]
		fmt.Fprintf(&b, "; slowest one by one: %s with %.3f ms", s.Type, s.AvgWallMS)
	}
	var top Share
	for _, s := range c.Share {
		if s.Key != "other" && s.Value > top.Value {
			top = s
		}
	}
	if top.Key != "" {
		fmt.Fprintf(&b, "; likely next target: %s, %.0f %% of their kernel time", a.CategoryLabel(top.Key), top.Value)
	}
	if idle := c.AvgWallMS - c.AvgSumMS; idle > 0.25*c.AvgWallMS && c.AvgWallMS > 0 {
		// A quarter of a layer without a kernel is more than launch latency between graph nodes ever cost in the traces seen.
		fmt.Fprintf(&b, "; %.0f %% of a layer's wall time has no kernel running", 100*idle/c.AvgWallMS)
	}
	return b.String()
}
