package triage

import (
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// WriteJSON writes the report as one indented JSON document.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// WriteMarkdown writes the report as Markdown: the head, the three tables by
// stage, the foot.
func (r *Report) WriteMarkdown(w io.Writer) error {
	m := &markdown{w: w}
	m.head(r)
	m.section(r, "Kernel Table", m.kernels)
	m.section(r, "Exposure", m.exposure)
	m.section(r, "Overlap Opportunity Table", m.overlap)
	m.section(r, "Fuse Opportunity Table", m.fuse)
	m.foot(r)
	return m.err
}

// markdown writes text until the first error.
type markdown struct {
	w   io.Writer
	err error
}

func (m *markdown) printf(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format, args...)
	}
}

func (m *markdown) table(t *table.Table) {
	if m.err == nil {
		m.err = t.WriteMarkdown(m.w)
	}
}

func (m *markdown) head(r *Report) {
	m.printf("# Triage View\n\n")
	m.printf("Mode: %s\n", r.Mode)
	if r.MappingFramework != "" && r.MappingFramework != r.Framework {
		m.printf("Framework: %s (mapping), %s (formal)\n", r.MappingFramework, r.Framework)
	} else {
		m.printf("Framework: %s\n", r.Framework)
	}
	if len(r.MappingTraces) > 0 {
		m.printf("Mapping traces: %s\n", strings.Join(r.MappingTraces, ", "))
		m.printf("Formal traces: %s\n", strings.Join(r.Traces, ", "))
	} else {
		m.printf("Input traces: %s\n", table.Clean(strings.Join(r.Traces, ", ")))
	}
	if r.Model != "" {
		m.printf("Model: %s\n", r.Model)
	}
	if r.TPSize > 0 {
		m.printf("TP size: %d\n", r.TPSize)
	}
}

// section writes one table of all stages, with a heading per stage where there
// is more to say than "all".
func (m *markdown) section(r *Report, title string, write func(*Report, *StageReport)) {
	m.printf("\n## %s\n", title)
	if len(r.Stages) == 0 {
		m.printf("\nNo GPU activity.\n")
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		if len(r.Stages) > 1 || s.Stage != StageAll {
			m.printf("\n##### %s\n", stageTitle(s.Stage))
		}
		m.printf("\n")
		write(r, s)
	}
}

// stageTitle is how tables head a stage.
func stageTitle(stage string) string {
	if stage == StageExtend {
		return "extend/prefill"
	}
	return stage
}

func ms(us float64) string  { return table.Fixed(us/1e3, 2) + " ms" }
func pct(v float64) string  { return table.Fixed(v, 1) + "%" }
func part(v float64) string { return table.Fixed(100*v, 1) + "%" }

// lines joins cells of several lines.
func lines(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, "<br>")
}

func (m *markdown) kernels(r *Report, s *StageReport) {
	m.printf("GPU time %s, busy %s of %s, %d launches", ms(s.GPUTimeUS), ms(s.BusyUS), ms(s.SpanUS), s.Launches)
	if s.Devices > 1 {
		m.printf(" on %d GPUs (times are sums over them)", s.Devices)
	}
	if s.Steps > 0 {
		m.printf(", %s", count(s.Steps, "step"))
		if s.Batch > 0 {
			m.printf(" of %s", count(s.Batch, "request"))
		}
	}
	m.printf(".\n\n")
	if s.Outside > 0 && s.Steps > 0 {
		m.printf("Outside of any step: %s, %s, the first is %s.\n\n", count(s.Outside, "launch"), nanos(s.OutsideNS), table.Cut(s.Stray, 60))
	}
	t := table.New(table.Text("Kernel"), table.Text("Category"), table.Number("GPU time"), table.Number("Share"),
		table.Number("Launches"), table.Text("Python location (site share)"), table.Text("CPU op"))
	for _, k := range s.Kernels {
		t.Row(k.Kernel, k.Category, ms(k.GPUTimeUS), pct(k.SharePct), fmt.Sprint(k.Launches), locations(k), lines(ops(k)))
	}
	m.cells(t)
	if s.HiddenRows > 0 {
		m.printf("\n%s below %s of GPU time or beyond the limit.\n", count(s.HiddenRows, "more kernel"), pct(r.MinSharePct))
	}
}

// count is "1 step" or "2 steps".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// cells writes a table whose cells hold line breaks.
func (m *markdown) cells(t *table.Table) {
	var b strings.Builder
	if m.err == nil {
		m.err = t.WriteMarkdown(&b)
	}
	m.printf("%s", strings.ReplaceAll(b.String(), "&lt;br>", "<br>"))
}

// locations shows a row's sites, with shares where one does not say it all.
func locations(k KernelRow) string {
	var out []string
	for _, l := range k.Locations {
		s := l.Location
		if l.SharePct < 99.5 {
			s += " (site share " + table.Fixed(l.SharePct, 0) + "%)"
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return Unresolved
	}
	return lines(out)
}

// ops shows the ops of a row's sites, each once.
func ops(k KernelRow) []string {
	var out []string
	for _, o := range k.CPUOps {
		if o == "" {
			continue
		}
		known := false
		for _, x := range out {
			known = known || x == o
		}
		if !known {
			out = append(out, o)
		}
	}
	return out
}

// exposure writes what runs alone and what beside other work.
func (m *markdown) exposure(_ *Report, s *StageReport) {
	x := s.Exposure
	if x == nil || x.WallNS == 0 {
		m.printf("No steps were found, so nothing is said about exposure.\n")
		return
	}
	t := table.New(table.Text("Category"), table.Number("Total"), table.Number("Exposed"), table.Number("of the steps"), table.Number("Hidden"),
		table.Number("Streams"), table.Number("Could hide at most"), table.Text("Longest stretch alone"))
	for _, r := range x.Rows {
		bound, worst := "-", "-"
		if r.BoundNS > 0 {
			bound = nanos(r.BoundNS)
		}
		if len(r.Worst) > 0 {
			w := r.Worst[0]
			worst = fmt.Sprintf("%s at %s: %s", nanos(int64(w.EndNS-w.StartNS)), nanos(int64(w.StartNS)), table.Cut(w.Kernel, 40))
		}
		t.Row(r.Category, nanos(r.TotalNS), nanos(r.ExposedNS), pct(r.ExposedPct), nanos(r.HiddenNS), fmt.Sprint(r.Streams), bound, worst)
	}
	m.table(t)
	m.printf("\nThe steps take %s: exposed work above, %s shared by several categories, %s idle.\n", nanos(x.WallNS), nanos(x.SharedNS), nanos(x.IdleNS))
}

// nanos shows a time in the unit in which it has digits.
func nanos(ns int64) string {
	const milli = 1e6 // below 0.1 ms a time is shown in µs
	if ns < milli/10 {
		return table.Fixed(float64(ns)/1e3, 1) + " us"
	}
	return table.Fixed(float64(ns)/milli, 2) + " ms"
}

// actionable are the rows of the overlap table that somebody could act on.
func actionable(rows []OverlapRow) (out []OverlapRow) {
	for _, o := range rows {
		if o.Recommendation == recommendOverlap {
			out = append(out, o)
		}
	}
	return out
}

func (m *markdown) overlap(_ *Report, s *StageReport) {
	rows := actionable(s.Overlap)
	if len(rows) > 0 {
		t := table.New(table.Text("Priority"), table.Text("Verdict"), table.Text("Kernel"), table.Text("Python scope"),
			table.Text("Formal signal"), table.Text("Dep risk"), table.Text("Recommendation"))
		for _, o := range rows {
			signal := fmt.Sprintf("%s us, share %s, excl %s / hid %s", table.Fixed(o.TotalUS, 1), pct(o.SharePct), part(o.ExclusiveRatio), part(o.HiddenRatio))
			if o.HiddenUnder != "" && o.HiddenRatio >= hiddenRatioBar {
				signal += ", beside " + table.Cut(o.HiddenUnder, 60)
			}
			t.Row(o.Priority, o.Verdict, o.Kernel, o.PythonScope, signal, o.DepRisk+" ("+o.DepSignal+")", o.Recommendation)
		}
		m.cells(t)
		m.printf("\n")
	}
	if left := len(s.Overlap) - len(rows); left > 0 {
		m.printf("%s about which nothing can be done from here: see the JSON document.\n", count(left, "more row"))
	}
	m.printf("%s\n", s.OverlapNote)
}

func (m *markdown) fuse(_ *Report, s *StageReport) {
	if len(s.Fuse) == 0 {
		m.printf("No known fused path is active, and no chain of a known fusion was found.\n")
		return
	}
	t := table.New(table.Text("Pattern"), table.Text("State"), table.Text("What to do"), table.Text("Confidence"), table.Number("Related GPU time"), table.Number("Share"),
		table.Number("Occurrences"), table.Number("Estimated gain"), table.Text("First"), table.Text("Evidence kernels"), table.Text("Current kernel Python location"),
		table.Text("Candidate fused path"), table.Text("Rationale"))
	for _, f := range s.Fuse {
		var ev []string
		for _, e := range f.Evidence {
			ev = append(ev, fmt.Sprintf("%s (%s)", e.Kernel, pct(e.SharePct)))
		}
		if len(f.ExampleKernels) > 0 {
			ev = append(ev, "e.g. GPU activities "+strings.Trim(fmt.Sprint(f.ExampleKernels), "[]"))
		}
		gain := "-"
		if f.Kind == FuseSplit && f.EstimatedGainUS > 0 {
			gain = fmt.Sprintf("%s (%s of the step)", ms(f.EstimatedGainUS), pct(f.GainPct))
		}
		t.Row(f.Pattern, f.State, f.Action, f.Confidence, ms(f.RelatedUS), pct(f.SharePct), fmt.Sprint(f.Occurrences), gain, first(f.First),
			lines(ev), lines(f.CurrentLocations), lines(f.CandidatePaths), f.Rationale)
	}
	m.cells(t)
}

// first says where a chain occurs first.
func first(p *FirstPlace) string {
	switch {
	case p == nil:
		return "-"
	case p.Pass == layer.None:
		return "at " + ms(float64(p.StartNS)/1e3)
	case p.Layer == layer.None:
		return fmt.Sprintf("pass %d, at %s", p.Pass, ms(float64(p.StartNS)/1e3))
	}
	return fmt.Sprintf("pass %d layer %d, at %s", p.Pass, p.Layer, ms(float64(p.StartNS)/1e3))
}

func (m *markdown) foot(r *Report) {
	m.printf("\n## Summary\n\n%s\n", r.Summary)
	for _, h := range r.Health {
		for _, f := range h.Findings {
			m.printf("\nTrace health (%s, %s): %s\n", f.Severity, h.Trace, f.Message)
		}
	}
}
