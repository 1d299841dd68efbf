package hostoverhead

import (
	"cmp"
	"fmt"
	"math"

	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace/event"
)

// Bounds of the patterns and warnings, as in the published analysis.
const (
	slowHandling   = 5.0  // times slower: request handling
	moreLaunches   = 2.5  // times as many launches
	sameGPUTime    = 0.15 // relative difference up to which GPU time is the same
	mixDifference  = 0.10 // difference of the share of context steps
	kernelsDiffer  = 0.05 // relative difference of kernels per step
	notableDeltaUS = 1.0  // µs per step below which an operation is not named in a pattern
)

// name recognises known shapes of a regression.
func (c *Comparison) name() {
	if c.Conclusion == compare.HostSame || c.Conclusion == compare.HostInconclusive {
		return
	}
	say := func(format string, args ...any) { c.Patterns = append(c.Patterns, fmt.Sprintf(format, args...)) }
	var slow, collective, added *Delta
	for i := range c.Deltas {
		d := &c.Deltas[i]
		if d.Kind != compare.RangeKind || d.DeltaUS < notableDeltaUS {
			continue
		}
		switch {
		case d.Status == statusNew && waits.Exchanges(event.Range, d.Op):
			collective = cmp.Or(collective, d)
		case d.Status == statusNew:
			added = cmp.Or(added, d)
		case d.BaselineUS > 0 && d.TargetUS >= slowHandling*d.BaselineUS:
			slow = cmp.Or(slow, d)
		}
	}
	switch {
	case slow != nil && collective != nil:
		say("request handling: %s is %.1f times slower and %s is new: requests are now distributed between ranks in every "+
			"step", slow.Op, slow.TargetUS/slow.BaselineUS, collective.Op)
	case slow != nil:
		say("%s is %.1f times slower", slow.Op, slow.TargetUS/slow.BaselineUS)
	case collective != nil:
		say("a new operation between ranks on the CPU: %s", collective.Op)
	}
	if added != nil {
		say("new bookkeeping: %s, %.1f µs per step", added.Op, added.DeltaUS)
	}
	a, b := c.Baseline, c.Target
	if a.LaunchesPerStep > 0 && b.LaunchesPerStep >= moreLaunches*a.LaunchesPerStep &&
		relative(a.GPUUSPerStep, b.GPUUSPerStep) <= sameGPUTime {
		say("%.1f times as many launches per step at the same GPU time: a fusion or graph capture was lost",
			b.LaunchesPerStep/a.LaunchesPerStep)
	}
}

// relative is |b−a| / a, infinite for a = 0 ≠ b.
func relative(a, b float64) float64 {
	if a == b {
		return 0
	}
	if a == 0 {
		return math.Inf(1)
	}
	return math.Abs(b-a) / math.Abs(a)
}

// warn says why the two runs may not be comparable.
func (c *Comparison) warn(oneSided string) {
	a, b := c.Baseline, c.Target
	c.Warnings = []string{}
	say := func(holds bool, format string, args ...any) {
		if holds {
			c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
		}
	}
	// NaN without steps
	x, y := float64(a.ContextSteps)/float64(a.AllSteps), float64(b.ContextSteps)/float64(b.AllSteps)
	say(a.MaxGeneration != b.MaxGeneration, "workloads differ: %d and %d generation requests in the steady steps",
		a.MaxGeneration, b.MaxGeneration)
	say(math.Abs(x-y) > mixDifference, "workloads differ: %.0f%% and %.0f%% of the steps have context requests", 100*x,
		100*y)
	say(relative(a.KernelsPerStep, b.KernelsPerStep) > kernelsDiffer,
		"%.1f and %.1f kernels per step: another model, another configuration, or lost fusion", a.KernelsPerStep,
		b.KernelsPerStep)
	say(a.GPU != b.GPU, "GPUs differ: %q and %q", a.GPU, b.GPU)
	say(a.TPSize > 0 && b.TPSize > 0 && a.TPSize != b.TPSize, "tensor-parallel sizes differ: %d and %d", a.TPSize,
		b.TPSize)
	say(oneSided != "", "%s", oneSided)
	for _, r := range []*Run{a, b} {
		for _, n := range r.Notes {
			say(true, "%s: %s", r.Label, n)
		}
	}
}
