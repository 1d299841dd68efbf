package hostoverhead

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
)

// DeltaStatus is how an operation changed, in the published words; "" where it did not.
type DeltaStatus string

// The statuses.
const (
	statusNew        DeltaStatus = "NEW"        // absent in the baseline
	statusRemoved    DeltaStatus = "REMOVED"    // absent in the target
	statusRenamed    DeltaStatus = "RENAMED"    // it has another name: same place, as often, as long
	statusRegression DeltaStatus = "REGRESSION" // clearly slower
	statusImproved   DeltaStatus = "IMPROVED"   // clearly faster
	// much slower or faster, but that may be noise, or the steps are too few to judge
	statusInconclusive DeltaStatus = "inconclusive"
)

// From here on a change is called large. They are the published bounds of the words regression and improved.
const (
	regressionBound = 0.50
	improvedBound   = -0.30
)

// Delta is one figure of two runs.
type Delta struct {
	Op         string                `json:"op"`             // name of the operation or figure
	Kind       compare.OperationKind `json:"kind,omitempty"` // empty for figures of the step
	BaselineUS float64               `json:"baseline_us"`    // per step; counts have no unit
	TargetUS   float64               `json:"target_us"`      // per step; counts have no unit
	DeltaUS    float64               `json:"delta_us"`       // target minus baseline
	DeltaPct   *float64              `json:"delta_pct"`      // null when the baseline is 0
	Status     DeltaStatus           `json:"status"`         // what became of it
	// of DeltaUS, with what equal runs differ by; null where the steps are too few
	CI95US *[2]float64 `json:"ci95_us"`
	Was    string      `json:"was,omitempty"`   // the baseline's name of a renamed operation
	Inner  string      `json:"inner,omitempty"` // the operation inside it that has most of the difference
	Large  bool        `json:"large,omitempty"` // clearly slower by more than 50%, or faster by more than 30%

	unknown [2]bool // the baseline's and the target's value: text has "?" for it
}

// Comparison sets two runs against each other.
type Comparison struct {
	Baseline *Run    `json:"baseline"` // the older run
	Target   *Run    `json:"target"`   // the newer run
	Figures  []Delta `json:"figures"`  // wall, step, gap, GPU, kernels, launches, API per step
	Deltas   []Delta `json:"deltas"`   // operations, by |Δ|

	Conclusion compare.HostConclusion `json:"conclusion"` // where the difference is, in a word or two
	Reason     string                 `json:"reason"`     // its figures
	Patterns   []string               `json:"patterns"`   // known shapes of a regression that were seen
	Warnings   []string               `json:"warnings"`   // why the runs may not be comparable
}

// Compare says which operation became slower from baseline to target, and
// whether the time is lost between the steps or in them. It returns
// a [layer.ErrNoKernels] if either trace has no kernels, and ctx's error when cancelled.
func Compare(ctx context.Context, baseline, target *layer.Analysis, o BreakdownOptions) (*Comparison, error) {
	var runs [2]*Run
	for side, a := range []*layer.Analysis{baseline, target} {
		var err error
		if runs[side], err = o.breakdown(ctx, a, side); err != nil {
			return nil, fmt.Errorf("%s: %w", o.label(side), err)
		}
	}
	c := compareRuns(runs[0], runs[1])
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

func compareRuns(a, b *Run) *Comparison {
	c := &Comparison{Baseline: a, Target: b, Figures: []Delta{}, Deltas: []Delta{}, Patterns: []string{}}
	r := compare.CompareHost([]*compare.Host{a.host()}, []*compare.Host{b.host()}, compare.Options{})
	for i := range r.Rows {
		c.Deltas = append(c.Deltas, deltaOf(&r.Rows[i], r.Least))
	}
	figure := func(name string, x, y float64) float64 {
		d := newDelta(name, "", x, y)
		at := slices.IndexFunc(r.Figures, func(row compare.HostRow) bool { return row.Name == name && row.Judged })
		if at >= 0 {
			row := &r.Figures[at]
			half := float64(row.High-row.Low) / 2e3
			d.CI95US = &[2]float64{round3(y - x - half), round3(y - x + half)}
		}
		c.Figures = append(c.Figures, d)
		return d.DeltaUS
	}
	wall := figure(compare.FigureWall, a.WallUSPerStep, b.WallUSPerStep)
	step := figure(compare.FigureStep, a.StepUS, b.StepUS)
	gap := figure(compare.FigureGap, a.GapUS, b.GapUS)
	figure(figureGPU, a.GPUUSPerStep, b.GPUUSPerStep)
	figure(figureAPI, a.APIUSPerStep, b.APIUSPerStep)
	figure("kernels per step (count)", a.KernelsPerStep, b.KernelsPerStep)
	figure("launch calls per step (count)", a.LaunchesPerStep, b.LaunchesPerStep)
	c.Conclusion = r.Conclusion
	c.Reason = fmt.Sprintf("wall time per step %+.1f µs, step duration %+.1f µs, inter-step gap ", wall, step)
	if unknown := [2]bool{len(a.gap) == 0, len(b.gap) == 0}; unknown != [2]bool{} {
		at := slices.IndexFunc(c.Figures, func(d Delta) bool { return d.Op == compare.FigureGap })
		c.Figures[at].unknown = unknown
		c.Reason += "unknown"
	} else {
		c.Reason += fmt.Sprintf("%+.1f µs (p50)", gap)
	}
	if c.Conclusion == compare.HostInconclusive || c.Conclusion == "" {
		c.Conclusion = compare.HostInconclusive
		c.Reason = fmt.Sprintf("one of the runs has only %d of %d needed steady steps; %s",
			min(a.SteadySteps, b.SteadySteps), r.StepsNeeded, c.Reason)
	}
	c.name()
	c.warn(r.OneSided())
	return c
}

// The further figures that are judged.
const (
	figureGPU = "GPU time per step"
	figureAPI = "API time per step"
)

// host is the run as a comparison takes it: operations, kernels, API calls and the figures of complete steps.
func (r *Run) host() *compare.Host {
	h := &compare.Host{Walls: nanoseconds(r.wall), Passes: make([]int, len(r.wall))}
	for _, list := range [][]Operation{r.Operations, r.Kernels, r.APICalls} {
		h.Operations = append(h.Operations, seriesOf(list)...)
	}
	for _, f := range []struct {
		name   string
		class  compare.Class
		values []float64
	}{{compare.FigureWall, compare.OfHost, r.wall}, {compare.FigureStep, compare.OfHost, r.step},
		{compare.FigureGap, compare.OfHost, r.gap}, {figureGPU, compare.Memory, r.gpu},
		{figureAPI, compare.OfHost, r.api}} {
		if len(f.values) == len(r.wall) { // a gap is missing where nothing follows
			h.Operations = append(h.Operations, compare.Operation{Kind: compare.FigureKind, Name: f.name,
				Class: f.class, Steps: nanoseconds(f.values)})
		}
	}
	return h
}

// deltaOf is a judged operation as the document has it; a difference below least is none.
func deltaOf(row *compare.HostRow, least time.Duration) Delta {
	d := newDelta(row.Name, row.Kind, float64(row.A)/1e3, float64(row.B)/1e3)
	d.Inner = row.Inner
	if row.Judged {
		d.CI95US = &[2]float64{float64(row.Low) / 1e3, float64(row.High) / 1e3}
	}
	large := d.DeltaPct != nil && (*d.DeltaPct > 100*regressionBound || *d.DeltaPct < 100*improvedBound)
	switch {
	case row.Status == compare.Renamed:
		d.Status, d.Was = statusRenamed, row.Was
	case !row.Significant:
		if large && row.Status == compare.Unchanged && max(row.Delta, -row.Delta) >= least {
			d.Status = statusInconclusive
		}
	case row.Status == compare.New:
		d.Status = statusNew
	case row.Status == compare.Removed:
		d.Status = statusRemoved
	case row.Delta > 0:
		d.Status = statusRegression
	default:
		d.Status = statusImproved
	}
	d.Large = large && d.Status != "" && d.Status != statusInconclusive
	return d
}

func newDelta(op string, kind compare.OperationKind, a, b float64) Delta {
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

// WriteText writes the comparison: figures, operations by |Δ|, conclusion.
func (c *Comparison) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	was, now := cmp.Or(c.Baseline, &Run{}), cmp.Or(c.Target, &Run{})
	b.Heading(1, "Conclusion: %s", c.Conclusion)
	b.Say("%s", c.Reason)
	for _, p := range c.Patterns {
		b.Item("%s", p)
	}
	for _, s := range c.Warnings {
		b.Item("warning: %s", s)
	}
	b.Say("Iterations used: %s; %s.", was.basis(), now.basis())
	deltaTable(b, c.Figures, len(c.Figures), fmt.Sprintf("Per step (µs), %s (%s) and %s (%s)",
		was.Label, was.steady(), now.Label, now.steady()), "figure")
	outer := func(d Delta) bool { return d.Inner != "" }
	regs := slices.DeleteFunc(c.Regressions(0), outer)
	if len(regs) > 0 && c.Conclusion != compare.HostInconclusive {
		b.Heading(2, "Top regressions")
		for i, d := range regs[:min(len(regs), 5)] {
			b.Numbered(i+1, "%s %s %+.1f µs/step",
				table.Cut(table.Clean(names.Short(d.Op, nameWidth)), nameWidth), d.Status, d.DeltaUS)
		}
	}
	deltaTable(b, slices.DeleteFunc(slices.Clone(c.Deltas), outer), listedOperations,
		"Operations (µs/step) by change", "operation")
	return b.Flush()
}

func deltaTable(b *table.Writer, deltas []Delta, limit int, title, of string) {
	table.List(b, title, deltas, limit, func(d Delta) []string {
		pct, ci := table.None, table.None
		if d.DeltaPct != nil {
			pct = fmt.Sprintf("%+.1f", *d.DeltaPct)
		}
		if d.CI95US != nil {
			ci = fmt.Sprintf("%+.1f … %+.1f", d.CI95US[0], d.CI95US[1])
		}
		from, to, change := table.Fixed(d.BaselineUS, 1), table.Fixed(d.TargetUS, 1), fmt.Sprintf("%+.1f", d.DeltaUS)
		if d.unknown != [2]bool{} {
			change, pct = "?", table.None
		}
		if d.unknown[0] {
			from = "?"
		}
		if d.unknown[1] {
			to = "?"
		}
		return []string{names.Short(d.Op, nameWidth), string(d.Kind), from, to, change, pct, ci, string(d.Status)}
	}, table.Code(of).Limit(nameWidth), table.Text("kind"), table.Number("baseline"), table.Number("target"),
		table.Number("Δ"), table.Number("Δ%"), table.Number("95% interval of Δ"), table.Text("status"))
}

// basis says of how many iterations the figures are.
func (r *Run) basis() string {
	return fmt.Sprintf("%s %d of %d", r.Label, r.BenchIters, r.Iterations)
}

// steady counts the steady steps.
func (r *Run) steady() string { return table.Counted(r.SteadySteps, "steady step", "steady steps") }
