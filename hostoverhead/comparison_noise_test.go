package hostoverhead_test

import (
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer/compare"
)

// Slower, new and renamed operations are found by their size in the step and the difference of equal runs, not
// by a per cent of itself; the first target is a clear change or none.
func TestWhatCountsAsAChange(t *testing.T) {
	const op = "prepare_batch"
	base := nsysgen.Default(1).With(nsysgen.Op{Name: op, Mean: 680 * time.Microsecond})
	for _, c := range []struct {
		name   string
		target nsysgen.Config
		status map[string]hostoverhead.DeltaStatus
		first  string
	}{
		{"all of the loss is +40% of one operation, 272 µs a step", base.Slow(op, 1.4),
			map[string]hostoverhead.DeltaStatus{op: hostoverhead.StatusRegression}, op},
		{"a range of 2 µs is new", base.With(nsysgen.Op{Name: "note", Mean: 2 * time.Microsecond}), nil, "none"},
		{"a range of 30 µs is new", base.With(nsysgen.Op{Name: "note", Mean: 30 * time.Microsecond}),
			map[string]hostoverhead.DeltaStatus{"note": hostoverhead.StatusNew}, "note"},
		{"a range has another name", nsysgen.Default(1).With(nsysgen.Op{Name: "prepare_inputs_v2",
			Mean: 680 * time.Microsecond}),
			map[string]hostoverhead.DeltaStatus{"prepare_inputs_v2": hostoverhead.StatusRenamed}, "none"},
		{"another name and half as long again", nsysgen.Default(1).With(nsysgen.Op{Name: "prepare_inputs_v2",
			Mean: 1020 * time.Microsecond}),
			map[string]hostoverhead.DeltaStatus{"prepare_inputs_v2": hostoverhead.StatusNew,
				op: hostoverhead.StatusRemoved}, "prepare_inputs_v2"},
		{"nothing changed", base, nil, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.target.Seed = 9
			target := hosttest.Generate(t, c.target)
			got := comparedHosts(t, hosttest.Generate(t, base), target)
			s := statuses(got)
			for name, want := range c.status {
				if s[name] != want {
					t.Errorf("%s: %q, want %s", name, s[name], want)
				}
			}
			if len(s) != len(c.status) {
				t.Errorf("statuses %v, want %v", s, c.status)
			}
			if h := got.Handoff(judged(t, target)); !strings.HasPrefix(h.RecommendedFirstTarget, c.first) {
				t.Errorf("first target %q, want %q", h.RecommendedFirstTarget, c.first)
			}
		})
	}
}

// With fewer than twelve steps, operations are not judged, and the report says so.
func TestFewStepsAreInconclusive(t *testing.T) {
	for steps, want := range map[int]compare.HostConclusion{9: compare.HostInconclusive, 16: compare.HostBetween} {
		cfg := nsysgen.Default(1)
		cfg.Steps, cfg.Layers = steps, 2
		slow := cfg.With(nsysgen.Op{Name: "broadcast_requests", Mean: 400 * time.Microsecond})
		slow.Seed = 9
		if c := comparedHosts(t, hosttest.Generate(t, cfg), hosttest.Generate(t, slow)); c.Conclusion != want {
			t.Errorf("%d steps: %q (%s), want %q", steps, c.Conclusion, c.Reason, want)
		}
	}
}
