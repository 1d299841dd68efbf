package published

import (
	"fmt"
	"testing"
)

// TestThresholdsDecide: each metric on either side of its published threshold, in the window and in generation steps.
func TestThresholdsDecide(t *testing.T) {
	for _, c := range []struct {
		key                string
		set                func(*Metrics, Ratio)
		window, generation float64
		below              bool
	}{
		{"gpu_idle_ratio", func(m *Metrics, r Ratio) { m.GPUIdle = r }, 0.30, 0.15, false},
		{"launch_overhead_ratio", func(m *Metrics, r Ratio) { m.LaunchOverhead = r }, 0.10, 0.10, false},
		{"host_prep_exposed_ratio", func(m *Metrics, r Ratio) { m.PrepExposed = r }, 0.50, 0.50, false},
		{"host_prep_perf_impact", func(m *Metrics, r Ratio) { m.PrepImpact = r }, 0.05, 0.05, false},
		{"host_prep_idle_attribution", func(m *Metrics, r Ratio) { m.PrepIdleAttribution = r }, 0.50, 0.50, false},
		{"gpu_utilization", func(m *Metrics, r Ratio) { m.GPUUtilization = r }, 0.60, 0.80, true},
	} {
		for _, where := range []struct {
			limits Thresholds
			at     float64
		}{{HostThresholds(), c.window}, {GenerationThresholds(), c.generation}} {
			const step = 0.001
			for sign, want := range map[float64]bool{-1: c.below, 0: false, 1: !c.below} {
				m := na()
				c.set(&m, Ratio(where.at+sign*step))
				j := judge(&m, where.limits)
				if got, ok := j.CrossedDetails[c.key]; !ok || got != want || j.ApplicableCount != 1 {
					t.Errorf("%s at %.3f: crossed %v of %v, want %v", c.key, where.at+sign*step, got, j.CrossedDetails,
						want)
				}
			}
		}
	}
	for value, want := range map[float64]bool{0.199: false, 0.201: true} {
		if got := Ratio(value).above(HostThresholds().NCCL); got != want {
			t.Errorf("NCCL caveat at %v: %v, want %v", value, got, want)
		}
	}
}

// TestTwoCrossedMakeYes: one is not enough; preparation is confirmed by its share of the window and of the idle time
// together.
func TestTwoCrossedMakeYes(t *testing.T) {
	for _, c := range []struct {
		impact, attribution, exposed float64
		want                         string
	}{{0, 0, 0.6, "NO false"}, {0.06, 0, 0.6, "YES false"}, {0.06, 0.6, 0, "YES true"}, {0, 0.6, 0, "NO false"}} {
		m := na()
		m.PrepImpact, m.PrepIdleAttribution, m.PrepExposed = Ratio(c.impact), Ratio(c.attribution), Ratio(c.exposed)
		j := judge(&m, HostThresholds())
		if got := fmt.Sprint(j.Verdict, " ", j.HostPrepConfirmed); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
