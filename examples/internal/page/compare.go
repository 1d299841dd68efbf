package page

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/htmlreport"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/triage"
)

// The colours of a waterfall.
const (
	seriesPass   = "whole pass"
	seriesSlower = "B is slower"
	seriesFaster = "B is faster"
)

// waterfallRows is how many rows have a column of their own; the others are added up.
const waterfallRows = 14

// Compare returns the page of a comparison.
func Compare(r *compare.Report) *htmlreport.Report {
	out := &htmlreport.Report{Title: comparedName(&r.A) + " and " + comparedName(&r.B), Program: "compare", Summary: r.Text,
		Health: htmlreport.Health{Status: compareStatus(r)}, Notes: append(append([]string{}, r.Notes...), r.Left...),
		Inputs: []string{r.A.Trace, r.B.Trace}}
	for _, d := range r.Doubts {
		out.Health.Findings = append(out.Health.Findings, htmlreport.Finding{Code: d.Code.String(), Severity: "doubt", Message: d.Text})
	}
	for _, s := range []struct {
		name string
		s    *compare.Summary
	}{{"A", &r.A}, {"B", &r.B}} {
		out.Facts = append(out.Facts, htmlreport.Fact{Name: s.name, Value: sideFact(s.s), Long: true})
	}
	out.Facts = append(out.Facts, htmlreport.Fact{Name: "Verdict", Value: r.Verdict.String()},
		htmlreport.Fact{Name: "Between-run floor", Value: fmt.Sprintf("%.2f %% (%s)", 100*r.Floor, r.FloorFrom)})
	out.Sections = CompareSections(r)
	return out
}

// CompareSections are the parts of the page of a comparison, for pages that hold one besides other things.
func CompareSections(r *compare.Report) []htmlreport.Section {
	out := []htmlreport.Section{{Title: "Difference", Text: r.Text, Columns: waterfall(r),
		Tables: []htmlreport.Table{compareRows(r)}}}
	if len(r.Findings) > 0 {
		out = append(out, htmlreport.Section{Title: "Findings", Tables: []htmlreport.Table{compareFindings(r)}})
	}
	if len(r.Gates) > 0 {
		out = append(out, htmlreport.Section{Title: "Gates", Tables: []htmlreport.Table{compareGates(r)}})
	}
	if len(r.Layers) > 1 {
		out = append(out, htmlreport.Section{Title: "Layers", Columns: compareLayers(r),
			Text: "GPU time of each layer, the mean of the passes: columns are A, lines are B."})
	}
	return out
}

func comparedName(s *compare.Summary) string {
	return cmp.Or(s.Label, filepath.Base(s.Trace), "unnamed")
}

// compareStatus is how far the figures can be trusted.
func compareStatus(r *compare.Report) string {
	if r.Verdict == compare.Inconclusive || r.Verdict == compare.NotComparable {
		return r.Verdict.String()
	}
	return "ok"
}

func sideFact(s *compare.Summary) string {
	parts := []string{comparedName(s), fmt.Sprintf("%d %s passes of %d runs", s.Passes, s.Stage, s.Runs)}
	if s.Batch >= 0 {
		parts = append(parts, fmt.Sprintf("batch %d", s.Batch))
	}
	parts = append(parts, table.Fixed(milliseconds(s.Wall), 3)+" ms each")
	for _, x := range []string{s.GPU, s.Framework} {
		if x != "" {
			parts = append(parts, x)
		}
	}
	return strings.Join(parts, ", ")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// waterfall leads from A's pass to B's, a column for each row of the table below, numbered as there.
func waterfall(r *compare.Report) *htmlreport.Chart {
	ch := &htmlreport.Chart{Label: "From a pass of A to one of B, rows numbered as in the table below", Unit: "ms", Series: []string{seriesPass, seriesSlower, seriesFaster}}
	at := r.A.Wall
	ch.Stacks = append(ch.Stacks, htmlreport.Stack{Label: "A", Detail: comparedName(&r.A), Parts: []float64{milliseconds(at)}})
	step := func(label, detail string, delta time.Duration) {
		if delta == 0 {
			return
		}
		s := htmlreport.Stack{Label: label, Detail: detail, Parts: []float64{0, milliseconds(max(delta, 0)), milliseconds(max(-delta, 0))}, Base: milliseconds(min(at, at+delta))}
		at += delta
		ch.Stacks = append(ch.Stacks, s)
	}
	var rest time.Duration
	for i := range r.Rows {
		if i >= waterfallRows {
			rest += r.Rows[i].Delta
			continue
		}
		step(fmt.Sprint(i+1), r.Rows[i].Operator, r.Rows[i].Delta)
	}
	step("…", "all others", rest)
	ch.Stacks = append(ch.Stacks, htmlreport.Stack{Label: "B", Detail: comparedName(&r.B), Parts: []float64{milliseconds(at)}})
	return ch
}

func compareRows(r *compare.Report) htmlreport.Table {
	t := htmlreport.Table{Caption: "Parts of the pass by difference", Search: true, Columns: []htmlreport.Column{{Title: "No.", Numeric: true}, {Title: "Operator"},
		{Title: "A (µs)", Numeric: true}, {Title: "B (µs)", Numeric: true}, {Title: "B − A (µs)", Numeric: true}, {Title: "%", Numeric: true},
		{Title: "95 % interval", Numeric: true}, {Title: "Found", Filter: true}, {Title: "Launches"},
		{Title: "Kernels A", Code: true}, {Title: "Kernels B", Code: true}}}
	for i := range r.Rows {
		row := &r.Rows[i]
		us := func(d time.Duration) htmlreport.Cell { return numberCell(microseconds(d), 1) }
		percent, interval := htmlreport.Cell{Text: table.None}, htmlreport.Cell{Text: table.None}
		if row.A > 0 {
			percent = numberCell(100*float64(row.Delta)/float64(row.A), 1)
		}
		if row.Judged {
			interval = htmlreport.Cell{Text: us(row.Low).Text + " … " + us(row.High).Text, Sort: microseconds(row.Low)}
		}
		t.Rows = append(t.Rows, []htmlreport.Cell{indexCell(i + 1), textCell(row.Operator), us(row.A), us(row.B), us(row.Delta), percent, interval,
			{Text: row.Found, Strong: row.Significant}, textCell(fmt.Sprintf("%.0f → %.0f", row.LaunchesA, row.LaunchesB)), kernelsCell(row.KernelsA), kernelsCell(row.KernelsB)})
	}
	return t
}

// kernelsCell lists kernels, their names short enough for two columns of them.
func kernelsCell(names []string) htmlreport.Cell {
	const most = 64
	var c htmlreport.Cell
	for _, n := range names {
		c.Lines = append(c.Lines, table.Cut(n, most))
	}
	return c
}

func compareFindings(r *compare.Report) htmlreport.Table {
	t := htmlreport.Table{Caption: "What is beyond noise", Columns: []htmlreport.Column{{Title: "Kind"}, {Title: "Finding", Prose: true}, {Title: "B − A (µs)", Numeric: true},
		{Title: "In A from (ms)", Numeric: true}, {Title: "In B from (ms)", Numeric: true}}}
	for i := range r.Findings {
		f := &r.Findings[i]
		t.Rows = append(t.Rows, []htmlreport.Cell{textCell(f.Kind), textCell(f.Text), numberCell(microseconds(f.Delta), 1),
			numberCell(milliseconds(time.Duration(f.StartA)), 3), numberCell(milliseconds(time.Duration(f.StartB)), 3)})
	}
	return t
}

func compareGates(r *compare.Report) htmlreport.Table {
	t := htmlreport.Table{Caption: "Gates", Columns: []htmlreport.Column{{Title: "Gate"}, {Title: "Outcome"}, {Title: "What was found", Prose: true}}}
	for i := range r.Gates {
		g := &r.Gates[i]
		t.Rows = append(t.Rows, []htmlreport.Cell{textCell(g.Gate), {Text: g.Outcome, Strong: g.Outcome != "pass"}, textCell(g.Text)})
	}
	return t
}

func compareLayers(r *compare.Report) *htmlreport.Chart {
	ch := &htmlreport.Chart{Label: "GPU time of each layer", Unit: "µs", Series: []string{"layer of A"}, MarkName: "layer of B"}
	for _, l := range r.Layers {
		ch.Stacks = append(ch.Stacks, htmlreport.Stack{Label: fmt.Sprint(l.Layer), Detail: fmt.Sprintf("A %.1f µs, B %.1f µs", microseconds(l.A), microseconds(l.B)),
			Parts: []float64{microseconds(l.A)}, Mark: microseconds(l.B)})
	}
	return ch
}

// compareStages are the parts of the page of a triage that compare it with an older run.
func compareStages(c *triage.Comparison) []htmlreport.Section {
	var out []htmlreport.Section
	for i := range c.Stages {
		s := &c.Stages[i]
		for _, part := range CompareSections(s.Report) {
			part.Title = fmt.Sprintf("Comparison, %s: %s", s.Stage, strings.ToLower(part.Title))
			out = append(out, part)
		}
		out = append(out, htmlreport.Section{Title: fmt.Sprintf("Comparison, %s: kernels", s.Stage), Tables: []htmlreport.Table{compareKernels(s)}})
	}
	if len(c.Notes) > 0 {
		out = append(out, htmlreport.Section{Title: "Comparison: left out", Text: strings.Join(c.Notes, " ")})
	}
	return out
}

func compareKernels(s *triage.StageComparison) htmlreport.Table {
	t := htmlreport.Table{Caption: "Kernels by change, per pass", Search: true, Folded: true, Columns: []htmlreport.Column{{Title: "Kernel", Code: true}, {Title: "Category", Filter: true},
		{Title: "Status", Filter: true}, {Title: "Old (µs)", Numeric: true}, {Title: "New (µs)", Numeric: true}, {Title: "Δ (µs)", Numeric: true}}}
	for i := range s.Kernels {
		k := &s.Kernels[i]
		name := htmlreport.Cell{Text: k.Name}
		if k.Was != "" {
			name.Lines = []string{"was " + k.Was}
		}
		t.Rows = append(t.Rows, []htmlreport.Cell{name, textCell(k.Category), textCell(k.Status), numberCell(k.OldUS, 1), numberCell(k.NewUS, 1), numberCell(k.DeltaUS, 1)})
	}
	return t
}
