package page

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/htmlreport"
	"github.com/llmstrata/strata/internal/severity"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// Triage returns the report of a triage, with the comparison with an older run in front; c is nil where there is none.
func Triage(r *triage.Report, c *triage.Comparison) *htmlreport.Report {
	out := &htmlreport.Report{Title: title(r), Program: "triage", Summary: r.Summary, Health: triageHealth(r), Facts: triageFacts(r), Colors: colors(nil)}
	if c != nil {
		out.Summary = fmt.Sprintf("Compared with the older run: %s. %s", c.Verdict, r.Summary)
		out.Sections = append(out.Sections, compareStages(c)...)
	}
	for i := range r.Stages {
		out.Sections = append(out.Sections, stageSections(r, &r.Stages[i])...)
	}
	if len(r.Stages) == 0 {
		out.Sections = append(out.Sections, htmlreport.Section{Title: "GPU time", Text: "There is no GPU activity in this trace."})
	}
	return out
}

func title(r *triage.Report) string {
	names := make([]string, 0, len(r.Traces))
	for _, t := range r.Traces {
		names = append(names, filepath.Base(t))
	}
	return strings.Join(names, ", ")
}

func triageFacts(r *triage.Report) []htmlreport.Fact {
	out := []htmlreport.Fact{{Name: "Framework", Value: r.Framework}, {Name: "Mode", Value: r.Mode}}
	add := func(name, value string) {
		if value != "" {
			out = append(out, htmlreport.Fact{Name: name, Value: value})
		}
	}
	add("Model", r.Model)
	if r.TPSize > 0 {
		add("Tensor parallel size", strconv.Itoa(r.TPSize))
	}
	add("Mapping framework", r.MappingFramework)
	add("Rows below this share are left out", table.Fixed(r.MinSharePct, 1)+" %")
	for _, t := range r.Traces {
		out = append(out, htmlreport.Fact{Name: "Trace", Value: t, Long: true})
	}
	for _, t := range r.MappingTraces {
		out = append(out, htmlreport.Fact{Name: "Mapping trace", Value: t, Long: true})
	}
	return out
}

// triageHealth joins the health of the traces; the worst counts.
func triageHealth(r *triage.Report) htmlreport.Health {
	worst := trace.HealthOK
	var out htmlreport.Health
	for _, n := range r.Health {
		if severity.Compare(n.Status, worst) > 0 {
			worst = n.Status
		}
		for _, f := range n.Findings {
			msg := f.Message
			if len(r.Health) > 1 {
				msg = filepath.Base(n.Trace) + ": " + msg
			}
			out.Findings = append(out.Findings, htmlreport.Finding{Code: f.Code, Severity: string(f.Severity), Message: msg})
		}
	}
	out.Status = string(worst)
	return out
}

func stageSections(r *triage.Report, s *triage.StageReport) []htmlreport.Section {
	name := "Stage " + s.Stage
	sums := map[string]float64{}
	for _, c := range s.Categories {
		sums[c.Category] += c.GPUTimeUS / 1e3
	}
	series := top(sums)
	text := fmt.Sprintf("GPU time %s ms in %s launches; busy %s ms of %s ms.", table.Fixed(s.GPUTimeUS/1e3, 3), table.Count(int64(s.Launches)),
		table.Fixed(s.BusyUS/1e3, 3), table.Fixed(s.SpanUS/1e3, 3))
	if s.Steps > 0 {
		text += fmt.Sprintf(" %d annotated step(s).", s.Steps)
	}
	if s.Batch > 0 {
		text += fmt.Sprintf(" Batch size %d.", s.Batch)
	}
	return []htmlreport.Section{
		{Title: name + ": kernels", Text: text, Tables: append([]htmlreport.Table{stageKernels(r, s)}, stageOperators(s)...),
			Shares: &htmlreport.Chart{Label: "Share of the stage's GPU time by category", Unit: "ms", Series: series,
				Stacks: []htmlreport.Stack{{Label: s.Stage, Parts: spread(series, sums)}}}},
		{Title: name + ": overlap", Text: s.OverlapNote, Tables: overlap(s)},
		{Title: name + ": fusion", Text: fuseText(s), Tables: fuse(s)},
	}
}

func stageKernels(r *triage.Report, s *triage.StageReport) htmlreport.Table {
	tab := htmlreport.Table{Caption: "Kernels of stage " + s.Stage, Search: true, Hidden: s.HiddenRows, Columns: []htmlreport.Column{
		{Title: "Kernel", Code: true}, {Title: "Category", Filter: true}, {Title: "Operator", Filter: true}, {Title: "GPU time (ms)", Numeric: true},
		{Title: "Share (%)", Numeric: true}, {Title: "Launches", Numeric: true}, {Title: "Each (µs)", Numeric: true}, {Title: "Model line", Code: true}, {Title: "Source", Code: true}, {Title: "CPU op", Code: true}}}
	for _, k := range s.ByOperator() {
		if k.SharePct < r.MinSharePct {
			tab.Hidden++
			continue
		}
		where, models := places(k.Locations), places(k.ModelLines)
		tab.Rows = append(tab.Rows, []htmlreport.Cell{kernelCell(k.Label, k.Kernel), {Text: k.Category, Series: true}, textCell(k.Operator()), numberCell(k.GPUTimeUS/1e3, 3),
			numberCell(k.SharePct, 1), countCell(int64(k.Launches)), numberCell(k.GPUTimeUS/float64(max(1, k.Launches)), 3), {Lines: models}, {Lines: where}, {Lines: distinct(k.CPUOps)}})
	}
	return tab
}

// places are the lines that a row comes from, each with the modules around it and its share of the row.
func places(list []triage.Location) []string {
	var out []string
	for _, l := range list {
		line := l.Location
		if l.Module != "" {
			line = strings.TrimPrefix(line+" in "+l.Module, " ")
		}
		out = append(out, fmt.Sprintf("%s (%s)", line, table.Pct(l.SharePct, 0)))
	}
	return out
}

// stageOperators is the time by operator of the model, nothing where no operator is known.
func stageOperators(s *triage.StageReport) []htmlreport.Table {
	if len(s.Operators) == 0 {
		return nil
	}
	tab := htmlreport.Table{Caption: "Operators of stage " + s.Stage, Columns: []htmlreport.Column{{Title: "Operator"}, {Title: "GPU time (ms)", Numeric: true},
		{Title: "Share (%)", Numeric: true}, {Title: "Launches", Numeric: true}, {Title: "Confidence", Numeric: true}}}
	for _, o := range s.Operators {
		tab.Rows = append(tab.Rows, []htmlreport.Cell{textCell(o.Operator), numberCell(float64(o.GPUTimeNS)/1e6, 3), numberCell(o.SharePct, 1),
			countCell(int64(o.Launches)), numberCell(o.Confidence, 2)})
	}
	return []htmlreport.Table{tab}
}

// kernelCell shows a kernel's label, and its whole name on hover.
func kernelCell(label, name string) htmlreport.Cell {
	if label == "" || label == name {
		return textCell(name)
	}
	return htmlreport.Cell{Text: label, Hover: name}
}

// distinct returns the texts without repetitions, in order.
func distinct(texts []string) []string {
	var out []string
	for _, t := range texts {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

func overlap(s *triage.StageReport) []htmlreport.Table {
	if len(s.Overlap) == 0 {
		return nil
	}
	tab := htmlreport.Table{Caption: "Overlap of stage " + s.Stage, Columns: []htmlreport.Column{
		{Title: "Priority", Filter: true}, {Title: "Kernel", Code: true}, {Title: "Category"}, {Title: "Time (ms)", Numeric: true},
		{Title: "Share (%)", Numeric: true}, {Title: "Alone (%)", Numeric: true}, {Title: "Gain at most (ms)", Numeric: true}, {Title: "of the steps (%)", Numeric: true}, {Title: "Recommendation"}}}
	for _, o := range s.Overlap {
		tab.Rows = append(tab.Rows, []htmlreport.Cell{textCell(o.Priority), kernelCell(o.Label, o.Kernel), {Text: o.Category, Series: true}, numberCell(o.TotalUS/1e3, 3),
			numberCell(o.SharePct, 1), numberCell(100*o.ExclusiveRatio, 0), numberCell(float64(o.BoundNS)/1e6, 3), numberCell(o.BoundPct, 1), textCell(o.Recommendation)})
	}
	return []htmlreport.Table{tab}
}

func fuseText(s *triage.StageReport) string {
	if len(s.Fuse) == 0 {
		return "No known fused path is in use, and no chain of kernels was found for which one is known."
	}
	return ""
}

func fuse(s *triage.StageReport) []htmlreport.Table {
	if len(s.Fuse) == 0 {
		return nil
	}
	tab := htmlreport.Table{Caption: "Fused paths of stage " + s.Stage, Columns: []htmlreport.Column{
		{Title: "Pattern"}, {Title: "State", Filter: true}, {Title: "What to do", Prose: true}, {Title: "Confidence", Filter: true}, {Title: "Time (ms)", Numeric: true},
		{Title: "Share (%)", Numeric: true}, {Title: "Times", Numeric: true}, {Title: "Gain (ms)", Numeric: true}, {Title: "of the step (%)", Numeric: true}, {Title: "Evidence", Code: true}, {Title: "Candidate paths", Code: true}, {Title: "Rationale", Prose: true}}}
	for _, f := range s.Fuse {
		var evidence []string
		for _, e := range f.Evidence {
			evidence = append(evidence, fmt.Sprintf("%d × %s", e.Launches, cmp.Or(e.Label, e.Kernel)))
		}
		gain, share := numberCell(f.EstimatedGainUS/1e3, 3), numberCell(f.GainPct, 1)
		if f.EstimatedGainUS <= 0 {
			gain.Text = table.None
			share.Text = table.None
		}
		tab.Rows = append(tab.Rows, []htmlreport.Cell{{Text: f.Pattern, Strong: f.Kind == "split"}, textCell(cmp.Or(f.State, f.Kind)), textCell(f.Action), textCell(f.Confidence), numberCell(f.RelatedUS/1e3, 3),
			numberCell(f.SharePct, 1), countCell(int64(f.Occurrences)), gain, share, {Lines: evidence},
			{Lines: f.CandidatePaths}, textCell(f.Rationale)})
	}
	return []htmlreport.Table{tab}
}
