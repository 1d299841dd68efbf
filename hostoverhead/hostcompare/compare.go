package hostcompare

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
)

// How an operation changed.
const (
	statusNew          string = "NEW"          // absent in the baseline
	statusRemoved      string = "REMOVED"      // absent in the target
	statusRenamed      string = "RENAMED"      // it has another name: same place, as often, as long
	statusRegression   string = "REGRESSION"   // clearly slower
	statusImproved     string = "IMPROVED"     // clearly faster
	statusInconclusive string = "inconclusive" // much slower or faster, but that may be noise, or the steps are too few to tell
)

// From here on a change is called large. They are the published bounds of the words regression and improved.
const (
	regressionBound = 0.50
	improvedBound   = -0.30
)

// Delta is one figure of two runs.
type Delta struct {
	Op         string      `json:"op"`
	Kind       string      `json:"kind,omitempty"` // "range", "kernel" or "api"; empty for figures of the whole step
	BaselineUS float64     `json:"baseline_us"`    // per step; counts have no unit
	TargetUS   float64     `json:"target_us"`
	DeltaUS    float64     `json:"delta_us"`
	DeltaPct   *float64    `json:"delta_pct"`       // null when the baseline is 0
	Status     string      `json:"status"`          // NEW, REMOVED, RENAMED, REGRESSION, IMPROVED, inconclusive, or "" where it did not change
	CI95US     *[2]float64 `json:"ci95_us"`         // of DeltaUS, with what equal runs differ by; null where the steps are too few
	Was        string      `json:"was,omitempty"`   // the baseline's name of a renamed operation
	Large      bool        `json:"large,omitempty"` // clearly slower by more than 50%, or faster by more than 30%
}

// The conclusions of a comparison.
const (
	conclusionGap        = "inter-step host overhead"
	conclusionStep       = "step execution"
	conclusionNone       = "no significant difference"
	conclusionFaster     = "target is faster"
	conclusionMixed      = "mixed" // an operation clearly became slower, and the step did not, or the reverse
	conclusionImpossible = "inconclusive"
)

// Comparison sets two runs against each other.
type Comparison struct {
	Baseline *Run    `json:"baseline"`
	Target   *Run    `json:"target"`
	Figures  []Delta `json:"figures"` // wall, step, gap, GPU, kernels, launches, API per step
	Deltas   []Delta `json:"deltas"`  // operations, by |Δ|

	Conclusion string   `json:"conclusion"` // "inter-step host overhead", "step execution", "target is faster", "mixed", "no significant difference" or "inconclusive"
	Reason     string   `json:"reason"`     // the figures behind it
	Patterns   []string `json:"patterns"`   // known shapes of a regression that were seen
	Warnings   []string `json:"warnings"`   // why the runs may not be comparable
}

// Compare says which operation became slower from baseline to target, and
// whether the time is lost between the steps or in them. It returns
// a [layer.ErrNoKernels] if either trace has no kernels, and ctx's error when cancelled.
func Compare(ctx context.Context, baseline, target *layer.Analysis, o Options) (*Comparison, error) {
	base, tgt := o.sides()
	a, err := breakdown(ctx, baseline, &o, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", base.label, err)
	}
	b, err := breakdown(ctx, target, &o, tgt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tgt.label, err)
	}
	c := compareRuns(a, b, o.change())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

func compareRuns(a, b *Run, change float64) *Comparison {
	c := &Comparison{Baseline: a, Target: b, Figures: []Delta{}, Deltas: []Delta{}, Patterns: []string{}}
	r := compare.CompareHost([]*compare.Host{a.host()}, []*compare.Host{b.host()}, compare.Options{})
	figures := map[string]*compare.HostRow{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Kind == figureKind {
			figures[row.Name] = row
			continue
		}
		c.Deltas = append(c.Deltas, deltaOf(row, r.Least))
	}
	figure := func(name string, x, y float64) Delta {
		d := newDelta(name, "", x, y)
		if row := figures[name]; row != nil && row.Judged {
			half := float64(row.High-row.Low) / 2e3
			d.CI95US = &[2]float64{round3(y - x - half), round3(y - x + half)}
		}
		c.Figures = append(c.Figures, d)
		return d
	}
	wall := figure(figureWall, a.WallUSPerStep, b.WallUSPerStep)
	step := figure(figureStep, a.StepUS, b.StepUS)
	gap := figure(figureGap, a.GapUS, b.GapUS)
	figure(figureGPU, a.GPUUSPerStep, b.GPUUSPerStep)
	figure(figureAPI, a.APIUSPerStep, b.APIUSPerStep)
	figure("kernels per step (count)", a.KernelsPerStep, b.KernelsPerStep)
	figure("launch calls per step (count)", a.LaunchesPerStep, b.LaunchesPerStep)
	c.conclude(wall, step, gap, change, r.StepsNeeded)
	c.name()
	c.warn()
	return c
}

// figureKind is the family of the figures of whole steps, which are judged as operations are.
const figureKind = "figure"

// The figures that are judged.
const (
	figureWall = "wall time per step"
	figureStep = "step duration"
	figureGap  = "inter-step gap (p50)"
	figureGPU  = "GPU time per step"
	figureAPI  = "API time per step"
)

// host is the run as a comparison takes it: operations, kernels, API calls and the figures of whole steps.
func (r *Run) host() *compare.Host {
	h := &compare.Host{Walls: nanoseconds(r.wall), Passes: make([]int, len(r.wall))}
	for _, list := range [][]Operation{r.Operations, r.Kernels, r.APICalls} {
		h.Operations = append(h.Operations, seriesOf(list)...)
	}
	for _, f := range []struct {
		name, class string
		values      []float64
	}{{figureWall, "host", r.wall}, {figureStep, "host", r.step}, {figureGap, "host", r.gap}, {figureGPU, "memory", r.gpu}, {figureAPI, "host", r.api}} {
		if len(f.values) == len(r.wall) { // a gap is missing where nothing follows
			h.Operations = append(h.Operations, compare.Operation{Kind: figureKind, Name: f.name, Class: f.class, Steps: nanoseconds(f.values)})
		}
	}
	return h
}

// deltaOf is a judged operation as the document has it; a difference below least is none.
func deltaOf(row *compare.HostRow, least time.Duration) Delta {
	d := newDelta(row.Name, row.Kind, float64(row.A)/1e3, float64(row.B)/1e3)
	if row.Judged {
		d.CI95US = &[2]float64{float64(row.Low) / 1e3, float64(row.High) / 1e3}
	}
	large := d.DeltaPct != nil && (*d.DeltaPct > 100*regressionBound || *d.DeltaPct < 100*improvedBound)
	switch {
	case row.Status == "renamed":
		d.Status, d.Was = statusRenamed, row.Was
	case !row.Significant:
		if large && row.Status == "" && max(row.Delta, -row.Delta) >= least {
			d.Status = statusInconclusive
		}
	case row.Status == "new":
		d.Status = statusNew
	case row.Status == "removed":
		d.Status = statusRemoved
	case row.Delta > 0:
		d.Status = statusRegression
	default:
		d.Status = statusImproved
	}
	d.Large = large && d.Status != "" && d.Status != statusInconclusive
	return d
}

func newDelta(op string, kind string, a, b float64) Delta {
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

// conclude says where the time went. A difference counts if its interval
// excludes 0 and it is not tiny, or if an operation that large clearly changed:
// whole steps differ between equal runs by more than many an operation takes.
func (c *Comparison) conclude(wall, step, gap Delta, change float64, needed int) {
	c.Reason = fmt.Sprintf("wall time per step %+.1f µs, step duration %+.1f µs, inter-step gap %+.1f µs (p50)", wall.DeltaUS, step.DeltaUS, gap.DeltaUS)
	if wall.CI95US == nil {
		c.Conclusion = conclusionImpossible
		c.Reason = fmt.Sprintf("one of the runs has only %d steady steps, of %d that are needed; %s",
			min(c.Baseline.SteadySteps, c.Target.SteadySteps), needed, c.Reason)
		return
	}
	significant := func(d Delta) bool {
		return d.CI95US != nil && !spansZero(d.CI95US) && math.Abs(d.DeltaUS) > change*c.Baseline.WallUSPerStep
	}
	up, down := c.clear(change * c.Baseline.WallUSPerStep)
	longer := conclusionStep
	if gap.DeltaUS > step.DeltaUS {
		longer = conclusionGap
	}
	largest := step // of the figures that are clear where the step's time is not
	if !significant(step) || significant(gap) && math.Abs(gap.DeltaUS) > math.Abs(step.DeltaUS) {
		largest = gap
	}
	switch {
	case !significant(wall) && !significant(step) && !significant(gap) && !up && !down:
		c.Conclusion = conclusionNone
	case significant(wall) && wall.DeltaUS > 0:
		c.Conclusion = longer
	case significant(wall) && !up:
		c.Conclusion = conclusionFaster
	case up && down || up && wall.DeltaUS < 0 || down && wall.DeltaUS > 0:
		c.Conclusion = conclusionMixed
	case up, !down && largest.DeltaUS > 0 && wall.DeltaUS > 0:
		c.Conclusion = longer
	case down, largest.DeltaUS < 0 && wall.DeltaUS < 0:
		c.Conclusion = conclusionFaster
	default:
		c.Conclusion = conclusionMixed
	}
}

// clear reports whether an operation or kernel clearly became slower, and faster, by more than so many µs per step.
func (c *Comparison) clear(least float64) (up, down bool) {
	for _, d := range c.Deltas {
		if d.Kind == opAPI || math.Abs(d.DeltaUS) <= least {
			continue
		}
		switch d.Status {
		case statusNew, statusRegression:
			up = true
		case statusRemoved, statusImproved:
			down = true
		}
	}
	return up, down
}

// Regressions are the operations that are new or slower, by Δ. Operations
// below share of the baseline's wall time per step are left out.
func (c *Comparison) Regressions(share float64) []Delta {
	var out []Delta
	for _, d := range c.Deltas {
		if (d.Status == statusNew || d.Status == statusRegression) && d.DeltaUS > share*c.Baseline.WallUSPerStep {
			out = append(out, d)
		}
	}
	return out
}
