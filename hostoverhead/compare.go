package hostoverhead

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/layer"
)

// Status says how an operation changed.
type Status string

// The statuses. An operation that changed little has none.
const (
	StatusNew          Status = "NEW"          // absent in the baseline
	StatusRemoved      Status = "REMOVED"      // absent in the target
	StatusRegression   Status = "REGRESSION"   // more than 50 % slower
	StatusImproved     Status = "IMPROVED"     // more than 30 % faster
	StatusInconclusive Status = "inconclusive" // beyond those bounds, but the confidence interval spans 0
)

// Bounds of the statuses (hostoverhead.md §3.5).
const (
	regressionBound = 0.50
	improvedBound   = -0.30
)

// Delta is one figure of two runs.
type Delta struct {
	Op         string      `json:"op"`
	Kind       OpKind      `json:"kind,omitempty"` // empty for figures of the whole step
	BaselineUS float64     `json:"baseline_us"`    // per step; counts have no unit
	TargetUS   float64     `json:"target_us"`
	DeltaUS    float64     `json:"delta_us"`
	DeltaPct   *float64    `json:"delta_pct"` // null when the baseline is 0
	Status     Status      `json:"status"`
	CI95US     *Interval95 `json:"ci95_us"` // of DeltaUS; null where there are no samples
}

// The conclusions of a comparison.
const (
	ConclusionGap        = "inter-step host overhead"
	ConclusionStep       = "step execution"
	ConclusionNone       = "no significant difference"
	ConclusionFaster     = "target is faster"
	ConclusionImpossible = "inconclusive"
)

// Comparison sets two runs against each other.
type Comparison struct {
	Baseline *Run    `json:"baseline"`
	Target   *Run    `json:"target"`
	Figures  []Delta `json:"figures"` // wall, step, gap, GPU, kernels, launches, API per step
	Deltas   []Delta `json:"deltas"`  // operations, by |Δ|

	Conclusion string   `json:"conclusion"` // one of the Conclusion constants
	Reason     string   `json:"reason"`     // the figures behind it
	Patterns   []string `json:"patterns"`   // known shapes of a regression that were seen
	Warnings   []string `json:"warnings"`   // why the runs may not be comparable
}

// Compare says which operation became slower from baseline to target, and
// whether the time is lost between the steps or in them. It returns
// [ErrNoKernels] if either trace has no kernels, and ctx's error when cancelled.
func Compare(ctx context.Context, baseline, target *layer.Analysis, opts ...Option) (*Comparison, error) {
	cfg := newConfig(opts)
	watch := stop.New(ctx)
	a, err := breakdown(watch, baseline, &cfg, cfg.labelA, cfg.sizeA)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.labelA, err)
	}
	b, err := breakdown(watch, target, &cfg, cfg.labelB, cfg.sizeB)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.labelB, err)
	}
	c := compareRuns(watch, a, b, &cfg)
	if err := watch.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

func compareRuns(watch *stop.Watch, a, b *Run, cfg *config) *Comparison {
	c := &Comparison{Baseline: a, Target: b, Patterns: []string{}}
	figure := func(name string, x, y float64, xs, ys []float64, stat func([]float64) float64) Delta {
		d := newDelta(name, "", x, y)
		if len(xs) > 0 && len(ys) > 0 {
			d.CI95US = bootstrap(watch, xs, ys, stat, cfg.seed)
		}
		c.Figures = append(c.Figures, d)
		return d
	}
	wall := figure("wall time per step", a.WallUSPerStep, b.WallUSPerStep, a.wall, b.wall, mean)
	step := figure("step duration", a.StepUS, b.StepUS, a.step, b.step, mean)
	gap := figure("inter-step gap (p50)", a.GapUS, b.GapUS, a.gap, b.gap, median)
	figure("GPU time per step", a.GPUUSPerStep, b.GPUUSPerStep, a.gpu, b.gpu, mean)
	figure("API time per step", a.APIUSPerStep, b.APIUSPerStep, a.api, b.api, mean)
	figure("kernels per step (count)", a.KernelsPerStep, b.KernelsPerStep, nil, nil, nil)
	figure("launch calls per step (count)", a.LaunchesPerStep, b.LaunchesPerStep, a.launches, b.launches, mean)

	for _, lists := range [][2][]Operation{{a.Operations, b.Operations}, {a.Kernels, b.Kernels}, {a.APICalls, b.APICalls}} {
		c.Deltas = append(c.Deltas, compareOperations(watch, lists[0], lists[1], cfg.seed)...)
	}
	slices.SortStableFunc(c.Deltas, func(x, y Delta) int {
		return cmp.Or(cmp.Compare(math.Abs(y.DeltaUS), math.Abs(x.DeltaUS)), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Op, y.Op))
	})
	c.conclude(wall, step, gap, cfg)
	c.name()
	c.warn()
	return c
}

func newDelta(op string, kind OpKind, a, b float64) Delta {
	d := Delta{Op: op, Kind: kind, BaselineUS: round3(a), TargetUS: round3(b), DeltaUS: round3(b - a)}
	if a > 0 {
		p := round3(100 * (b - a) / a)
		d.DeltaPct = &p
	}
	return d
}

// round3 keeps nanoseconds of a value in µs; more decimals are noise of
// averaging.
func round3(x float64) float64 { return math.Round(x*1e3) / 1e3 }

// compareOperations pairs operations of one kind by name.
func compareOperations(watch *stop.Watch, as, bs []Operation, seed uint64) []Delta {
	byName := map[string][2]*Operation{}
	for i := range as {
		byName[as[i].Name] = [2]*Operation{&as[i], nil}
	}
	for i := range bs {
		p := byName[bs[i].Name]
		p[1] = &bs[i]
		byName[bs[i].Name] = p
	}
	out := make([]Delta, 0, len(byName))
	for name, p := range byName {
		if watch.Over() {
			break
		}
		d := operationDelta(watch, name, p[0], p[1], seed)
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y Delta) int { return cmp.Compare(x.Op, y.Op) })
	return out
}

func operationDelta(watch *stop.Watch, name string, a, b *Operation, seed uint64) Delta {
	switch {
	case a == nil:
		d := newDelta(name, b.Kind, 0, b.US)
		d.Status = StatusNew
		d.CI95US = bootstrap(watch, make([]float64, len(b.perStep)), b.perStep, mean, seed)
		return d
	case b == nil:
		d := newDelta(name, a.Kind, a.US, 0)
		d.Status = StatusRemoved
		d.CI95US = bootstrap(watch, a.perStep, make([]float64, len(a.perStep)), mean, seed)
		return d
	}
	d := newDelta(name, a.Kind, a.US, b.US)
	d.CI95US = bootstrap(watch, a.perStep, b.perStep, mean, seed)
	if a.US <= 0 {
		return d
	}
	switch change := (b.US - a.US) / a.US; {
	case change > regressionBound:
		d.Status = StatusRegression
	case change < improvedBound:
		d.Status = StatusImproved
	default:
		return d
	}
	if d.CI95US == nil || d.CI95US.spansZero() {
		d.Status = StatusInconclusive
	}
	return d
}

// conclude says where the time went. A difference counts if its interval
// excludes 0 and it is not tiny: with enough steps any two runs of the same
// server differ significantly.
func (c *Comparison) conclude(wall, step, gap Delta, cfg *config) {
	c.Reason = fmt.Sprintf("wall time per step %+.1f µs, step duration %+.1f µs, inter-step gap %+.1f µs (p50)", wall.DeltaUS, step.DeltaUS, gap.DeltaUS)
	if n := min(c.Baseline.SteadySteps, c.Target.SteadySteps); n < minPhase {
		c.Conclusion = ConclusionImpossible
		c.Reason = fmt.Sprintf("one of the runs has only %d steady steps; %s", n, c.Reason)
		return
	}
	significant := func(d Delta) bool {
		return d.CI95US != nil && !d.CI95US.spansZero() && math.Abs(d.DeltaUS) > cfg.change*c.Baseline.WallUSPerStep
	}
	switch {
	case !significant(wall) && !significant(step) && !significant(gap):
		c.Conclusion = ConclusionNone
	case wall.DeltaUS < 0:
		c.Conclusion = ConclusionFaster
	case gap.DeltaUS > step.DeltaUS:
		c.Conclusion = ConclusionGap
	default:
		c.Conclusion = ConclusionStep
	}
}

// Regressions are the operations that are new or slower, by Δ. Operations
// below share of the baseline's wall time per step are left out.
func (c *Comparison) Regressions(share float64) []Delta {
	var out []Delta
	for _, d := range c.Deltas {
		if (d.Status == StatusNew || d.Status == StatusRegression) && d.DeltaUS > share*c.Baseline.WallUSPerStep {
			out = append(out, d)
		}
	}
	return out
}
