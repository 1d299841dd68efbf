package hostoverhead_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// TestIdleTimeIsOfTheStepItDelays: the CPU launches a step while the GPU runs the
// one before, and steps that keep the GPU busy take turns with steps that do not.
// Who books GPU time on what the CPU does at that moment swaps them.
func TestIdleTimeIsOfTheStepItDelays(t *testing.T) {
	for _, c := range gen.Cases() {
		if !c.Ahead() {
			continue
		}
		var file bytes.Buffer
		rows, err := c.Write(&file)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Read(t.Context(), &file, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := judged(t, tr)
		if got := decider(v).Steps; got != len(c.Passes) {
			t.Errorf("%s: %d steps, want %d", c.Name, got, len(c.Passes))
		}
		for _, s := range []layer.Stage{layer.StagePrefill, layer.StageDecode} {
			want := idleOf(rows, string(s))
			p := stage(v, s)
			if p == nil {
				t.Errorf("%s: no %s steps", c.Name, s)
				continue
			}
			if got := float64(p.Headroom.IdleNS) / float64(p.Headroom.WallNS); math.Abs(got-want) > 0.02 {
				t.Errorf("%s: %s steps idle %.3f of their time, want %.3f", c.Name, s, got, want)
			}
		}
	}
}

// idleOf is the share of a stage's time, from the end of the row before, in which
// nothing ran.
func idleOf(rows []gen.Truth, stage string) float64 {
	var busy, idle int64
	for i, r := range rows {
		if r.Stage != stage {
			continue
		}
		busy += r.Duration
		if i > 0 {
			idle += max(0, r.Start-rows[i-1].Start-rows[i-1].Duration)
		}
	}
	return float64(idle) / float64(busy+idle)
}
