package main

import (
	"fmt"

	"github.com/llmstrata/strata/trace"
)

// Limits say how much worse than the previous one a run may be.
type Limits struct {
	// SlowerPct is by how many percent the median pass of a stage and batch
	// size, or the mean layer of a type, may take longer.
	SlowerPct float64
	// IdlePoints is by how many percentage points of the window the GPU may be
	// idle longer.
	IdlePoints float64
}

// Check compares a record with a previous one of the same benchmark and
// returns a sentence for each figure that got worse than the limits allow.
// Figures that only one of them has are not compared: the traced window may
// have caught other batch sizes.
func Check(previous, current *Record, limits Limits) []string {
	var bad []string
	add := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	for i := range current.Traces {
		now := &current.Traces[i]
		if i >= len(previous.Traces) {
			break
		}
		old := &previous.Traces[i]
		switch {
		case now.Health == trace.HealthUnusable:
			add("%s: the trace is unusable (%v), nothing of it was compared", now.Name, now.Findings)
			continue
		case old.Health == trace.HealthUnusable:
			continue // nothing to compare with
		case now.NumLayers != old.NumLayers:
			add("%s: %d layers, previously %d: not the same model or not the same evidence", now.Name, now.NumLayers,
				old.NumLayers)
			continue
		}
		slower := func(what string, was, is float64) {
			if was > 0 && is > was*(1+limits.SlowerPct/100) {
				add("%s: %s took %.1f µs, previously %.1f µs (%+.1f%%, limit %+.1f%%)", now.Name, what, is, was,
					100*(is/was-1), limits.SlowerPct)
			}
		}
		for _, g := range now.Passes {
			for _, was := range old.Passes {
				if was.Stage == g.Stage && was.Batch == g.Batch {
					slower(g.title(), was.MedianUS, g.MedianUS)
				}
			}
		}
		for _, l := range now.LayerTypes {
			for _, was := range old.LayerTypes {
				if was.Type == l.Type && was.Count == l.Count {
					slower("the mean "+l.Type+" layer", was.WallUS, l.WallUS)
				}
			}
		}
		checkHost(now, old, limits, add)
	}
	return bad
}

// title names a group of passes in a sentence.
func (g *PassGroup) title() string {
	if g.Batch < 0 {
		return fmt.Sprintf("the median %s pass", g.Stage)
	}
	return fmt.Sprintf("the median %s pass of batch %d", g.Stage, g.Batch)
}

// checkHost compares the host verdicts of two runs.
func checkHost(now, old *TraceRecord, limits Limits, add func(string, ...any)) {
	if now.Host == nil || old.Host == nil {
		return
	}
	if now.Host.Bottleneck == "YES" && old.Host.Bottleneck != "YES" {
		add("%s: the host is the bottleneck now (confidence %s)", now.Name, now.Host.Confidence)
	}
	is, was := now.Host.GPUIdle, old.Host.GPUIdle
	if is != nil && was != nil && 100*(*is-*was) > limits.IdlePoints {
		add("%s: the GPU is idle %.1f%% of the time, previously %.1f%% (limit %+.1f points)", now.Name, 100*(*is),
			100*(*was), limits.IdlePoints)
	}
}
