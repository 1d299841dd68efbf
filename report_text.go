package strata

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// The lengths of the lists for people; documents have everything.
const (
	topFindings  = 5
	topOperators = 24
	topPasses    = 16
	topFusions   = 8
	topNotes     = 6
)

// ReportText says how a report is printed for people.
type ReportText struct {
	// Width is how many characters wide lines may be. 0: 120.
	Width int
	// Color marks headings and what is bad by colour.
	Color bool
	// Markdown prints headings and tables as Markdown.
	Markdown bool
	// All prints every finding, pass and operator instead of the first ones.
	All bool
}

const (
	defaultWidth = 120
	narrowWidth  = 100 // below it tables leave out what matters least
)

// The colours of terminals.
const (
	bold   = table.Bold
	red    = table.Red
	green  = table.Green
	yellow = table.Yellow
	plain  = table.Plain
)

// printer writes a report for people.
type printer struct {
	strings.Builder
	o ReportText
}

// Width is the width of tables in characters.
func (p *printer) Width() int { return p.o.Width }

// Markdown says whether tables are Markdown.
func (p *printer) Markdown() bool { return p.o.Markdown }

// WriteText prints the report for people: as text, or as Markdown.
func (r *Report) WriteText(w io.Writer, o ReportText) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	p := &printer{o: o}
	p.head(r)
	p.waterfall(r)
	p.findings(r)
	if r.Ranks != nil {
		p.heading(2, "Ranks")
		// a Builder does not fail
		_ = r.Ranks.WriteText(p, true)
	}
	p.passes(r)
	p.operators(r)
	p.exposure(r)
	p.fusions(r)
	p.notes(r)
	out := table.NewCleaner(w)
	if o.Color {
		out.Styles = table.Styles()
	}
	_, err := io.WriteString(out, p.String())
	return err
}

// waterfall says where the time of one pass goes, as the floors have it.
func (p *printer) waterfall(r *Report) {
	if r.light == nil || r.light.Steady < 0 {
		return
	}
	for i := range r.light.Passes {
		if l := &r.light.Passes[i]; l.Index == r.light.Steady && l.Wall > 0 {
			p.heading(2, fmt.Sprintf("Where the time of pass %d (%s) goes", l.Index, stageName(l.Stage)))
			_ = r.light.WriteWaterfall(p) // a Builder does not fail
		}
	}
}

func (p *printer) color(code, text string) string {
	if !p.o.Color {
		return text
	}
	return code + text + plain
}

func (p *printer) heading(level int, text string) {
	if p.o.Markdown {
		fmt.Fprintf(p, "\n%s %s\n\n", strings.Repeat("#", level), table.EscapeMarkdown(text))
		return
	}
	if level > 1 {
		p.WriteByte('\n')
	}
	p.WriteString(p.color(bold, table.Clean(text)) + "\n")
}

// row prints a named value, its further lines below the first.
func (p *printer) row(name, value, code string) {
	const indent = 10
	if p.o.Markdown {
		fmt.Fprintf(p, "- **%s**: %s\n", name, table.EscapeMarkdown(value))
		return
	}
	for i, l := range table.Fill(value, p.o.Width-indent) {
		label := ""
		if i == 0 {
			label = name
		}
		if code != "" {
			l = p.color(code, l)
		}
		fmt.Fprintf(p, "%-*s%s\n", indent, label, l)
	}
}

func (p *printer) table(t *table.Table) {
	_ = t.WriteText(p) // a Builder does not fail
}

// more says how much of a list is not shown.
func (p *printer) more(n int, one, what string) {
	if n > 0 {
		fmt.Fprintf(p, "\n%s more %s (use --all).\n", table.Count(int64(n)), table.Plural(n, one, what))
	}
}

// limit is how many of n rows are shown.
func (p *printer) limit(n, most int) int {
	if p.o.All {
		return n
	}
	return min(n, most)
}

// modelInWords names the model, and says where it is assumed; "" where it is not known.
func (r *Report) modelInWords() string {
	if r.Model == "" && r.AssumedModel != "" {
		return r.AssumedModel + " (assumed)"
	}
	return r.Model
}

func (p *printer) head(r *Report) {
	p.heading(1, "strata report of "+r.Name)
	what := table.Known(r.Framework, r.modelInWords(), r.GPU)
	if r.Ranks != nil {
		what = append(what, table.Counted(r.Ranks.Ranks, "rank", "ranks"), "in detail "+r.detailed())
	} else if len(r.Traces) > 1 {
		what = append(what, fmt.Sprintf("%d traces", len(r.Traces)))
	}
	p.row("Run", cmp.Or(strings.Join(what, ", "), "server, model and GPU unknown"), "")
	p.row("Health", healthText(r), healthColor(r.Health))
	p.row("Coverage", r.coverageText(), "")
	if r.Host != "" {
		p.row("Host", r.HostText, "")
	}
	p.row("Verdict", r.Verdict, bold)
}

func healthText(r *Report) string {
	n := 0
	for _, t := range r.HealthNotes {
		n += len(t.Findings)
	}
	if n == 0 {
		return string(r.Health)
	}
	return fmt.Sprintf("%s (%s on the recording)", r.Health, table.Counted(n, "remark", "remarks"))
}

func healthColor(s trace.HealthStatus) string {
	switch s {
	case trace.HealthOK:
		return green
	case trace.HealthUnusable:
		return red
	}
	return yellow
}

func (r *Report) coverageText() string {
	if r.GPUTime == 0 {
		return "no GPU time"
	}
	share := func(d time.Duration) string { return table.Pct(100*ratio(d, r.GPUTime), 1) }
	if r.InLayers == 0 && r.WithOperator == 0 { // no model, or none whose layers can be seen
		return fmt.Sprintf("%s of GPU time: %s in passes; no layers of a model were found", table.Duration(r.GPUTime),
			share(r.InPasses))
	}
	return fmt.Sprintf("%s of GPU time: %s in passes, %s in layers, %s with a known operator",
		table.Duration(r.GPUTime),
		share(r.InPasses), share(r.InLayers), share(r.WithOperator))
}

func (p *printer) findings(r *Report) {
	p.heading(2, "What matters")
	if len(r.Findings) == 0 {
		p.WriteString("No finding above 1% of step time.\n")
		return
	}
	n := p.limit(len(r.Findings), topFindings)
	var shown []finding.Finding
	for i := range r.Findings {
		f := &r.Findings[i]
		if i >= n && !unexplained(f) {
			continue
		}
		shown = append(shown, *f)
		p.finding(len(shown), f)
	}
	if note := finding.Overlapping(shown); note != "" {
		fmt.Fprintf(p, "\n%s\n", note)
	}
	p.more(len(r.Findings)-len(shown), "finding", "findings")
}

func (p *printer) finding(n int, f *finding.Finding) {
	if p.o.Markdown {
		fmt.Fprintf(p, "%d. **%s**%s\n", n, table.EscapeMarkdown(f.Text),
			table.EscapeMarkdown(strings.TrimPrefix(f.Headline(), f.Text)))
		for _, l := range f.Lines() {
			fmt.Fprintf(p, "   - %s\n", table.EscapeProse(l))
		}
		fmt.Fprintf(p, "   - next: `%s`\n", strings.ReplaceAll(table.Clean(f.Next), "`", "'"))
		return
	}
	const indent = 4
	for i, l := range table.Fill(f.Headline(), p.o.Width-indent) {
		if i == 0 {
			fmt.Fprintf(p, "%*d. %s\n", indent-2, n, p.color(bold, l))
		} else {
			fmt.Fprintf(p, "%*s%s\n", indent, "", p.color(bold, l))
		}
	}
	margin := strings.Repeat(" ", indent)
	for _, l := range f.Lines() {
		fmt.Fprintf(p, "%s%s\n", margin, strings.Join(table.Fill(l, p.o.Width-indent-2), "\n  "+margin))
	}
	fmt.Fprintf(p, "%s%s\n", margin, strings.TrimSpace("next: "+table.Clean(f.Next))) // one line, to copy
}

func (p *printer) passes(r *Report) {
	if len(r.Passes) == 0 {
		return
	}
	p.heading(2, "Passes")
	floors := slices.ContainsFunc(r.Passes, func(s ReportPass) bool { return s.Floor > 0 })
	narrow, of := p.o.Width < narrowWidth && !p.o.Markdown, r.basis()
	cols := []table.Column{table.Number("Pass"), table.Text("Stage"), table.Number("Batch"), table.Number("Tokens"),
		table.Number(of.Noun() + " ms"), table.Number("Idle ms"), table.Number("Layers")}
	if !narrow {
		cols = append(cols, table.Number("Confidence"), table.Number("Kernels"), table.Number("Start s"))
	}
	if floors {
		cols = append(cols, table.Number("Floor ms"), table.Number("Floor "+of.Percent()))
	}
	t := table.New(append(cols, table.Text("Note"))...)
	n := p.limit(len(r.Passes), topPasses)
	for _, s := range r.Passes[:n] {
		cells := []string{passName(r, s), string(s.Stage), known(int64(s.Batch)), known(s.Tokens), millis(s.Wall),
			millis(s.Idle), strconv.Itoa(s.Layers)}
		if !narrow {
			cells = append(cells, table.Fixed(s.Confidence, 2), table.Count(int64(s.Kernels)),
				table.Seconds(time.Duration(s.Start), 6))
		}
		if floors {
			cells = append(cells, positive(s.Floor), percentOf(s.Floor, s.Wall, 1))
		}
		t.Row(append(cells, passNote(s))...)
	}
	p.table(t)
	p.more(len(r.Passes)-n, "pass", "passes")
}

// passName numbers a pass, with its trace where there are several.
func passName(r *Report, s ReportPass) string {
	if len(r.Traces) > 1 {
		return fmt.Sprintf("%d:%d", s.Trace, s.Index)
	}
	return strconv.Itoa(s.Index)
}

func passNote(s ReportPass) string {
	var notes []string
	if s.Chosen {
		notes = append(notes, "listed below")
	}
	if s.Partial != "" {
		notes = append(notes, layer.CutWords(s.Partial))
	}
	if s.Lost > 0 {
		notes = append(notes, fmt.Sprintf("%s for %s", finding.LostGroup, table.Duration(s.Lost)))
	}
	return strings.Join(append(notes, table.Known(s.Model, s.Note)...), ", ")
}

func (p *printer) operators(r *Report) {
	for i := 0; i < len(r.Operators); {
		from, first := i, &r.Operators[i]
		for i < len(r.Operators) && r.Operators[i].Trace == first.Trace && r.Operators[i].Pass == first.Pass {
			i++
		}
		p.operatorsOf(r, r.Operators[from:i])
	}
}

func (p *printer) operatorsOf(r *Report, rows []ReportOperator) {
	where := fmt.Sprintf("Operators of pass %d (%s)", rows[0].Pass, stageName(rows[0].Stage))
	if m := r.parts[rows[0].Trace].d.ModelOf(rows[0].Pass); m != "" {
		where += ", " + m
	}
	if len(r.Traces) > 1 {
		where += ", trace " + strconv.Itoa(rows[0].Trace)
	}
	p.heading(2, where)
	if len(rows) == 1 && rows[0].Operator == opname.Other {
		fmt.Fprintf(p, "No kernel could be mapped to a model operator: %s of them.\n",
			table.Count(int64(rows[0].Kernels)))
		return
	}
	n := len(rows)
	if !p.o.All && n > topOperators {
		rows = longest(rows, topOperators)
	}
	floors := slices.ContainsFunc(rows, func(row ReportOperator) bool { return row.Floor > 0 })
	cols := []table.Column{table.Text("Layers"), table.Text("Operator"), table.Number("Launches"), table.Number("ms"),
		table.Number(r.basis().Percent())}
	if floors {
		cols = append(cols, table.Number("Floor ms"), table.Number("% of peak"), table.Text("Bound"))
	}
	t := table.New(append(cols, table.Code("Longest kernel"))...)
	for _, row := range rows {
		cells := []string{row.LayerType, row.Operator, strconv.Itoa(row.Kernels), millis(row.Time),
			table.Fixed(100*row.Share, 1)}
		if floors {
			cells = append(cells, positive(row.Floor), percentOf(row.Floor, row.Time, 0), row.Bound)
		}
		t.Row(append(cells, row.Kernel)...)
	}
	p.table(t)
	p.more(n-len(rows), "operator", "operators")
}

// longest keeps the rows with most time, in their order.
func longest(rows []ReportOperator, n int) []ReportOperator {
	best := make([]int, len(rows)) // the first of equals
	for i := range best {
		best[i] = i
	}
	slices.SortStableFunc(best, func(x, y int) int { return cmp.Compare(rows[y].Time, rows[x].Time) })
	var out []ReportOperator
	for _, i := range slices.Sorted(slices.Values(best[:min(n, len(best))])) {
		out = append(out, rows[i])
	}
	return out
}

func (p *printer) exposure(r *Report) {
	if len(r.Exposure) == 0 {
		return
	}
	p.heading(2, "Exposed time: no other category overlaps"+finding.MeanOf(r.Exposure[0].GPUs))
	of := r.figures()
	t := table.New(table.Text("Stage"), table.Text("Category"), table.Number("Exposed ("+of.Per("ms")+")"),
		table.Number(of.Percent()), table.Number("Hidden ("+of.Per("ms")+")"))
	for _, e := range r.Exposure {
		if e.Share >= leastShare || p.o.All {
			t.Row(e.Stage.String(), string(e.Category), millis(of.of(e.PerStep, e.exposed)),
				table.Fixed(100*e.Share, 1), millis(of.of(e.Hidden, e.hidden)))
		}
	}
	p.table(t)
}

func (p *printer) fusions(r *Report) {
	if len(r.Fusions) == 0 {
		return
	}
	p.heading(2, "Fusions"+finding.MeanOf(r.Fusions[0].GPUs))
	of := r.figures()
	t := table.New(table.Text("Stage"), table.Text("Fused path"), table.Text("State"), table.Number(of.Per("ms")),
		table.Number("Gain ("+of.Per("ms")+")"), table.Number("Count"), table.Text("Fix"))
	n := p.limit(len(r.Fusions), topFusions)
	for _, f := range r.Fusions[:n] {
		t.Row(f.Stage.String(), f.Pattern, string(f.State), millis(of.of(f.PerStep, f.took)),
			positive(of.of(f.Gain, f.gain)), strconv.Itoa(f.Times), f.Do)
	}
	p.table(t)
	p.more(len(r.Fusions)-n, "fused path", "fused paths")
}

func (p *printer) notes(r *Report) {
	var all []string
	for _, t := range r.HealthNotes {
		for _, f := range t.Findings {
			if f.Severity == trace.HealthOK { // the others are findings
				all = append(all, fmt.Sprintf("%s (%s): %s", f.Code, f.Severity, f.Message))
			}
		}
	}
	all = append(all, r.Notes...)
	if len(all) == 0 {
		return
	}
	p.heading(2, "Notes")
	n := p.limit(len(all), topNotes)
	for _, s := range all[:n] {
		fmt.Fprintf(p, "- %s\n", strings.Join(table.Fill(s, p.o.Width-2), "\n  "))
	}
	p.more(len(all)-n, "note", "notes")
}

func millis(d time.Duration) string {
	return table.Fixed(float64(d)/float64(time.Millisecond), 3)
}

// positive is millis of a time that is 0 where it is not known.
func positive(d time.Duration) string {
	if d <= 0 {
		return table.None
	}
	return millis(d)
}

func percentOf(part, whole time.Duration, decimals int) string {
	if part <= 0 || whole <= 0 {
		return table.None
	}
	return table.Percent(float64(part), float64(whole), decimals)
}

// known is a count that is −1 where it is not known.
func known(n int64) string {
	if n < 0 {
		return table.None
	}
	return table.Count(n)
}
