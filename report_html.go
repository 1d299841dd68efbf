package strata

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/htmlreport"
	"github.com/llmstrata/strata/internal/lightpage"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// WriteHTML writes the report as one page that needs nothing else: findings, the
// strip of passes, and from each pass down to layers, operators, kernels and
// source lines. It works without JavaScript, which adds sorting and searching.
func (r *Report) WriteHTML(w io.Writer) error {
	h := &htmlBuilder{r: r, kernels: map[string]*kernelSum{}}
	return h.page().Write(w)
}

// htmlBuilder makes the page of a report.
type htmlBuilder struct {
	r       *Report
	kernels map[string]*kernelSum // by category label and name
	order   []*kernelSum
}

// page puts the sections in order.
func (h *htmlBuilder) page() *htmlreport.Report {
	r := h.r
	p := &htmlreport.Report{Title: filepath.Base(r.Name), Program: "report", Summary: r.Verdict, Notes: r.Notes, Colors: h.colors(), Facts: h.facts(), Inputs: r.inputs}
	p.Health.Status = string(r.Health)
	for _, t := range r.HealthNotes {
		for _, f := range t.Findings {
			p.Health.Findings = append(p.Health.Findings, htmlreport.Finding{Code: f.Code, Severity: string(f.Severity), Message: f.Message})
		}
	}
	tree, flame := h.drill() // fills in the kernels
	p.Sections = append(p.Sections, h.findings(), h.passes())
	if len(tree) > 0 {
		p.Sections = append(p.Sections,
			htmlreport.Section{ID: "drill", Title: "From pass to source line", Text: "A pass of each stage, opened level by level: layers of one type, operators, kernels, and the lines that launched them. The names of kernels lead to the table below.", Tree: tree},
			htmlreport.Section{ID: "flame", Title: "GPU time by layer type, operator and kernel", Flame: flame})
	}
	p.Sections = append(p.Sections, h.operators())
	if r.light != nil {
		p.Sections = append(p.Sections, lightpage.Sections(r.light)...)
	}
	p.Sections = append(p.Sections, h.idle()...)
	p.Sections = append(p.Sections, h.exposure()...)
	p.Sections = append(p.Sections, h.fusions()...)
	p.Sections = append(p.Sections, h.against()...)
	return h.withKernels(p)
}

// colors are the labels of categories in their fixed order.
func (h *htmlBuilder) colors() []string {
	var out []string
	m := h.r.main()
	for _, c := range classify.Categories() {
		label := string(c)
		if m != nil {
			label = m.d.CategoryLabel(c)
		}
		out = append(out, label)
	}
	return out
}

func (h *htmlBuilder) facts() []htmlreport.Fact {
	r := h.r
	var out []htmlreport.Fact
	add := func(name, value string, long bool) {
		if value != "" {
			out = append(out, htmlreport.Fact{Name: name, Value: value, Long: long})
		}
	}
	add("Framework", r.Framework, false)
	add("Model", r.Model, false)
	add("GPU", r.GPU, false)
	add("Host", r.HostText, true)
	if r.Headroom > 0 {
		add("Without idle time at most", table.Times(r.Headroom, 2)+" as fast", false)
	}
	add("Coverage", r.coverageText(), true)
	for i, t := range r.Traces {
		add("Trace "+strconv.Itoa(i), t, true)
	}
	return out
}

func (h *htmlBuilder) findings() htmlreport.Section {
	s := htmlreport.Section{ID: "findings", Title: "What matters", Text: "Ranked by the time that all steps lose; those that put the figures in doubt come first."}
	if len(h.r.Findings) == 0 {
		s.Text = "Nothing was found that costs a percent of a step."
	}
	for i, f := range h.r.Findings {
		it := htmlreport.Item{ID: "finding-" + strconv.Itoa(i+1), Size: f.size(), Text: f.Text}
		if f.Where != "" {
			it.Lines = append(it.Lines, htmlreport.Line{Name: "where", Text: f.Where, Href: h.placeOf(f)})
		}
		if f.Do != "" {
			it.Lines = append(it.Lines, htmlreport.Line{Name: "what helps", Text: f.Do})
		}
		it.Lines = append(it.Lines, htmlreport.Line{Name: "next", Text: f.Next, Code: true})
		s.Items = append(s.Items, it)
	}
	return s
}

// placeOf leads from a finding to the part of the page that shows it.
func (h *htmlBuilder) placeOf(f Finding) string {
	switch f.Kind {
	case "health":
		return "#health"
	case "coverage":
		return "#passes"
	case "host-idle":
		return "#idle"
	case "exposed-communication":
		return "#exposure"
	case "fusion":
		return "#fusions"
	}
	for i := range h.r.parts {
		for _, pass := range h.r.parts[i].chosen {
			if h.r.parts[i].d.Passes[pass].Stage == f.Stage {
				return "#" + passID(i, pass)
			}
		}
	}
	return "#operators"
}

func passID(part, pass int) string { return fmt.Sprintf("pass-%d-%d", part, pass) }

func (h *htmlBuilder) passes() htmlreport.Section {
	s := htmlreport.Section{ID: "passes", Title: "Passes"}
	if len(h.r.Passes) == 0 {
		s.Text = "No forward pass was found."
		return s
	}
	var end trace.Time
	strip := &htmlreport.Strip{Label: "Forward passes of " + filepath.Base(h.r.Traces[h.r.Passes[0].Trace])}
	tab := htmlreport.Table{Caption: "All passes", Folded: len(h.r.Passes) > topOperators, Columns: []htmlreport.Column{{Title: "Pass", Numeric: true}, {Title: "Trace", Numeric: true}, {Title: "Stage", Filter: true},
		{Title: "Start (ms)", Numeric: true}, {Title: "Step (ms)", Numeric: true}, {Title: "Idle (ms)", Numeric: true}, {Title: "Floor (ms)", Numeric: true}, {Title: "Batch", Numeric: true},
		{Title: "Tokens", Numeric: true}, {Title: "Layers", Numeric: true}, {Title: "Kernels", Numeric: true}, {Title: "Note", Prose: true}, {Title: "Perfetto"}}}
	for _, p := range h.r.Passes {
		part := h.r.parts[p.Trace]
		stop := part.d.Passes[p.Index].End
		href := "#drill"
		for _, c := range part.chosen {
			if part.d.Passes[c].Stage == p.Stage {
				href = "#" + passID(p.Trace, c)
			}
		}
		if p.Trace == h.r.Passes[0].Trace {
			end = max(end, stop)
			strip.Spans = append(strip.Spans, htmlreport.Span{Label: strconv.Itoa(p.Index), Series: string(p.Stage), StartMS: msOf(time.Duration(p.Start)), EndMS: msOf(time.Duration(stop)),
				Detail: fmt.Sprintf("%s, %s ms, %d kernels", stageName(p.Stage), millis(p.Wall), p.Kernels), Marked: p.Chosen, Href: href})
		}
		tab.Rows = append(tab.Rows, []htmlreport.Cell{{Text: strconv.Itoa(p.Index), Sort: float64(p.Index), Strong: p.Chosen, Href: href}, number(float64(p.Trace), 0), {Text: string(p.Stage)},
			ms(time.Duration(p.Start)), ms(p.Wall), ms(p.Idle), knownMS(p.Floor), count(int64(p.Batch)), count(p.Tokens), count(int64(p.Layers)), count(int64(p.Kernels)), {Text: passNote(p)},
			{Text: "open", Href: perfettoURL(part, p.Start, stop)}})
	}
	strip.EndMS = msOf(time.Duration(end))
	s.Strip, s.Tables = strip, []htmlreport.Table{tab}
	s.Text = "The outlined passes are those whose layers are shown below."
	return s
}

func (h *htmlBuilder) operators() htmlreport.Section {
	s := htmlreport.Section{ID: "operators", Title: "Operators"}
	tab := htmlreport.Table{Caption: "Operators of the outlined passes", Search: true, Columns: []htmlreport.Column{{Title: "Stage", Filter: true}, {Title: "Layers", Filter: true}, {Title: "Operator"}, {Title: "Category", Filter: true},
		{Title: "Kernels", Numeric: true}, {Title: "Time (ms)", Numeric: true}, {Title: "Share (%)", Numeric: true}, {Title: "Floor (ms)", Numeric: true}, {Title: "Of peak (%)", Numeric: true}, {Title: "Bound"},
		{Title: "Longest kernel", Code: true}}}
	for _, o := range h.r.Operators {
		peak := htmlreport.Cell{Text: table.None, Sort: -1}
		if o.Floor > 0 {
			peak = number(100*ratio(o.Floor, o.Time), 0)
		}
		tab.Rows = append(tab.Rows, []htmlreport.Cell{{Text: string(o.Stage)}, {Text: o.LayerType}, {Text: o.Operator}, {Text: o.Category, Series: true}, count(int64(o.Kernels)), ms(o.Time), number(100*o.Share, 1),
			knownMS(o.Floor), peak, {Text: o.Bound}, {Text: o.Kernel}})
	}
	s.Tables = []htmlreport.Table{tab}
	return s
}

func (h *htmlBuilder) idle() []htmlreport.Section {
	tab := htmlreport.Table{Caption: "Idle time in the steps by cause", Columns: []htmlreport.Column{{Title: "Kind", Filter: true}, {Title: "Cause"}, {Title: "A step (ms)", Numeric: true}, {Title: "Share (%)", Numeric: true}, {Title: "Most of it in", Code: true}}}
	for _, i := range h.r.Idle {
		tab.Rows = append(tab.Rows, []htmlreport.Cell{{Text: i.Group.String()}, {Text: i.Cause.String()}, ms(i.PerStep), number(100*i.Share, 1), {Text: i.Name}})
	}
	return section("idle", "Idle time", tab)
}

func (h *htmlBuilder) exposure() []htmlreport.Section {
	tab := htmlreport.Table{Caption: "Time in which nothing of another category runs", Columns: []htmlreport.Column{{Title: "Stage", Filter: true}, {Title: "Category"}, {Title: "Exposed a step (ms)", Numeric: true}, {Title: "Share (%)", Numeric: true}, {Title: "Hidden a step (ms)", Numeric: true}}}
	for _, e := range h.r.Exposure {
		tab.Rows = append(tab.Rows, []htmlreport.Cell{{Text: e.Stage}, {Text: e.Category, Series: true}, ms(e.PerStep), number(100*e.Share, 1), ms(e.Hidden)})
	}
	return section("exposure", "Exposure", tab)
}

func (h *htmlBuilder) fusions() []htmlreport.Section {
	tab := htmlreport.Table{Caption: "Known fused paths", Columns: []htmlreport.Column{{Title: "Stage", Filter: true}, {Title: "Path"}, {Title: "State", Filter: true}, {Title: "A step (ms)", Numeric: true}, {Title: "Gain (ms)", Numeric: true}, {Title: "Times", Numeric: true}, {Title: "What to do", Prose: true}}}
	for _, f := range h.r.Fusions {
		tab.Rows = append(tab.Rows, []htmlreport.Cell{{Text: f.Stage}, {Text: f.Pattern}, {Text: f.State}, ms(f.PerStep), knownMS(f.Gain), count(int64(f.Times)), {Text: f.Do}})
	}
	return section("fusions", "Fusions", tab)
}

func (h *htmlBuilder) against() []htmlreport.Section {
	c := h.r.Against
	if c == nil {
		return nil
	}
	tab := htmlreport.Table{Caption: "Operators of both runs", Search: true, Columns: []htmlreport.Column{{Title: "Operator"}, {Title: "Before (ms)", Numeric: true}, {Title: "Now (ms)", Numeric: true}, {Title: "Change (ms)", Numeric: true}, {Title: "Beyond noise", Filter: true}}}
	for _, row := range c.Rows {
		beyond := "no"
		if row.Significant {
			beyond = "yes"
		}
		tab.Rows = append(tab.Rows, []htmlreport.Cell{{Text: row.Operator, Strong: row.Significant}, ms(row.A), ms(row.B), ms(row.Delta), {Text: beyond}})
	}
	out := section("against", "Against "+c.A.Label, tab)
	for i := range out {
		out[i].Text = c.Text
	}
	return out
}

func section(id, title string, tab htmlreport.Table) []htmlreport.Section {
	if len(tab.Rows) == 0 {
		return nil
	}
	return []htmlreport.Section{{ID: id, Title: title, Tables: []htmlreport.Table{tab}}}
}

// Cells of tables.

func msOf(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ms(d time.Duration) htmlreport.Cell { return htmlreport.Cell{Text: millis(d), Sort: msOf(d)} }

func knownMS(d time.Duration) htmlreport.Cell {
	return htmlreport.Cell{Text: positive(d), Sort: msOf(d)}
}

func number(v float64, decimals int) htmlreport.Cell {
	return htmlreport.Cell{Text: table.Fixed(v, decimals), Sort: v}
}

func count(n int64) htmlreport.Cell { return htmlreport.Cell{Text: known(n), Sort: float64(n)} }

// shortName is how a kernel is called in narrow places.
func shortName(k layer.Kernel) string { return cmp.Or(k.Facts().Short, k.Event().Name()) }
