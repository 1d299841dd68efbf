package hostcompare

import (
	"fmt"
	"io"
	"strconv"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/table"
)

// Lengths of the lists in text reports. Totals are summed before they are cut.
const (
	listedOperations = 30
	listedKernels    = 15
	nameWidth        = 56
)

// WriteText writes what a step of the run is made of.
func (r *Run) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	fmt.Fprintf(b, "Run: %s (TP size %s%s)\n", r.Label, sizeWord(r.TPSize), prefixed(", ", r.GPU))
	t := table.New(table.Text("per step"), table.Number("value"))
	t.Row("iterations / of common size / benchmark", fmt.Sprintf("%d / %d / %d", r.Iterations, r.CommonSize, r.BenchIters))
	t.Row("steady steps", fmt.Sprint(r.SteadySteps))
	for _, f := range r.figures() {
		t.Row(f.name, table.Fixed(f.value, 1))
	}
	t.WriteText(b) // b keeps the first error
	if r.SteadySteps > 0 {
		fmt.Fprintf(b, "\nstep µs: %s\ngap µs:  %s\n", r.Steps.words(), r.Gaps.words())
	}
	for _, list := range []struct {
		title string
		ops   []Operation
		max   int
	}{{"Host operations", r.Operations, listedOperations}, {"Kernels", r.Kernels, listedKernels}, {"API calls", r.APICalls, listedKernels}} {
		table.List(b, "\n"+list.title+":\n", list.ops, list.max, func(o Operation) []string {
			return []string{names.Short(o.Name, nameWidth), table.Fixed(o.US, 1), table.Fixed(o.CountPerStep, 1), names.Short(o.Source, nameWidth)}
		}, table.Text("name").Limit(nameWidth), table.Number("µs/step"), table.Number("count/step"), table.Text("source").Limit(nameWidth))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(b, "note: %s\n", n)
	}
	return b.Flush()
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

type namedFigure struct {
	name  string
	value float64
}

func (r *Run) figures() []namedFigure {
	return []namedFigure{
		{"wall time µs", r.WallUSPerStep}, {"step duration µs (avg)", r.StepUS}, {"inter-step gap µs (p50)", r.GapUS},
		{"host operations µs (union)", r.RangeUSPerStep}, {"GPU time µs", r.GPUUSPerStep}, {"kernels", r.KernelsPerStep},
		{"launch calls", r.LaunchesPerStep}, {"API time µs", r.APIUSPerStep},
	}
}

func (s Stats) words() string {
	if s.N == 0 {
		return "unknown"
	}
	return fmt.Sprintf("avg %.1f  min %.1f  p50 %.1f  p90 %.1f  max %.1f", s.Avg, s.Min, s.P50, s.P90, s.Max)
}

// WriteText writes the comparison: figures, operations by |Δ|, conclusion.
func (c *Comparison) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	fmt.Fprintf(b, "CONCLUSION: %s\n  %s\n", c.Conclusion, c.Reason)
	for _, p := range c.Patterns {
		fmt.Fprintf(b, "  %s\n", p)
	}
	for _, s := range c.Warnings {
		fmt.Fprintf(b, "  warning: %s\n", s)
	}
	fmt.Fprintf(b, "\nIterations: %s; %s.\n", c.Baseline.basis(), c.Target.basis())
	deltaTable(b, c.Figures, len(c.Figures), fmt.Sprintf("Per step, %s (%d steady steps) and %s (%d steady steps):\n", c.Baseline.Label, c.Baseline.SteadySteps, c.Target.Label, c.Target.SteadySteps), "figure")
	if regs := c.Regressions(0); len(regs) > 0 && c.Conclusion != conclusionImpossible {
		fmt.Fprintf(b, "\nTop regressions:\n")
		for i, d := range regs[:min(len(regs), 5)] {
			fmt.Fprintf(b, "  %d. %s %s %+.1f µs/step\n", i+1, table.Cut(table.Clean(names.Short(d.Op, nameWidth)), nameWidth), d.Status, d.DeltaUS)
		}
	}
	deltaTable(b, c.Deltas, listedOperations, "\nOperations (µs/step) by change:\n", "operation")
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
		return []string{names.Short(d.Op, nameWidth), d.Kind, table.Fixed(d.BaselineUS, 1), table.Fixed(d.TargetUS, 1), fmt.Sprintf("%+.1f", d.DeltaUS), pct, ci, d.Status}
	}, table.Text(of).Limit(nameWidth), table.Text("kind"), table.Number("baseline"), table.Number("target"), table.Number("Δ"), table.Number("Δ%"), table.Number("95% interval of Δ"), table.Text("status"))
}

// sizeWord is a parallel size, 0 being unknown.
func sizeWord(n int) string {
	if n == 0 {
		return "unknown"
	}
	return strconv.Itoa(n)
}

// basis says of how many iterations the figures are.
func (r *Run) basis() string {
	return fmt.Sprintf("%s %d, %d of them in the benchmark", r.Label, r.Iterations, r.BenchIters)
}
