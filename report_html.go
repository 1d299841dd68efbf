package strata

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/page"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// PageGaps is how many idle times are drawn with their cause.
const PageGaps = 3000

// Limits of what the page lists before it folds.
const (
	shownRows = 12
	// searchedRows are those of tables that can be searched.
	searchedRows = 24
	pageHeats    = 3 // passes whose layers are drawn
	nameBudget   = 250_000
)

// WriteHTML writes the report as one page that needs nothing else: a verdict, a timeline, findings as cards, where a
// step goes, its layers, and tables down to each kernel. It works without JavaScript, which adds the timeline's
// views, sorting and searching.
func (r *Report) WriteHTML(w io.Writer) error { return r.writePage(w, false) }

// WriteServed writes the page of [Report.WriteHTML] for a server: its script asks "details?from=NS&to=NS" beside it
// for kernels that the page only summarises, which [Report.WriteDetails] answers.
func (r *Report) WriteServed(w io.Writer) error { return r.writePage(w, true) }

// WriteDetails writes the timeline's data with all kernels between two times of the page's timeline, as far as 20,000
// reach.
func (r *Report) WriteDetails(w io.Writer, from, to time.Duration) error {
	m := r.main()
	if m == nil {
		return layer.ErrNoKernels
	}
	return r.drawn(m, [2]int64{int64(from), int64(to)}).WriteData(w)
}

func (r *Report) writePage(w io.Writer, served bool) error {
	p := &page.Page{Served: served, Title: filepath.Base(r.Name), Program: "report", Verdict: r.Verdict, Notes: r.Notes,
		Colours: map[string]string{}, Inputs: r.inputs}
	p.Health.Status = r.Health
	for _, t := range r.HealthNotes {
		addRemarks(p, t.Findings, "")
	}
	p.Context = table.Known(r.Framework, r.modelInWords(), r.GPU)
	if r.GPUTime > 0 {
		p.Health.Coverage = table.Percent(float64(r.WithOperator), float64(r.GPUTime), 1) + "% of GPU time explained"
	}
	if m := r.main(); m != nil && m.d.NumKernels() > 0 {
		r.stepFigures(p, m)
		addColours(p, m.d)
		p.Sections = append(p.Sections, page.Section{ID: "timeline", Timelines: []*page.Timeline{r.drawn(m)}})
	}
	cards := page.Section{ID: "findings", Title: "What to do, largest first",
		Text:  "Each bar is what can be won at most: a bound, not a promise. A grey bar is what something takes.",
		Cards: r.cards()}
	if len(cards.Cards) == 0 {
		cards.Text = "No finding above 1% of step time."
	}
	p.Sections = append(p.Sections, cards)
	if r.Ranks != nil {
		p.Sections = append(p.Sections, rankSection(r.Ranks))
	}
	if r.light != nil {
		p.Sections = append(p.Sections, waterfalls(r.light))
	}
	p.Sections = append(p.Sections, r.heats()...)
	var devices []*layer.Device
	for _, part := range r.parts {
		if part.d != nil {
			devices = append(devices, part.d)
		}
	}
	p.Sections = append(p.Sections, r.operatorTable(), section("kernels", "Kernels", kernelTable(devices)),
		passTable(r.Passes, r.parts...))
	if r.light != nil {
		p.Sections = append(p.Sections, costs(r.light))
	}
	p.Sections = append(p.Sections, r.tables()...)
	p.Sections = append(p.Sections, r.reproduce())
	p.Sections = slices.DeleteFunc(p.Sections, func(s page.Section) bool {
		return len(s.Timelines)+len(s.Cards)+len(s.Falls)+len(s.Heats)+len(s.Tables) == 0 && s.Text == ""
	})
	return p.Write(w)
}

// stepFigures are those of a step of the part's main stage.
func (r *Report) stepFigures(p *page.Page, m *reportPart) {
	pass := m.d.Steady.Pass
	if pass == trace.None || len(m.d.Passes) == 0 {
		return
	}
	f := &m.d.Passes[pass]
	var wall, idle, floor time.Duration
	n := 0
	for i := range r.Passes {
		if x := &r.Passes[i]; r.parts[x.Trace] == m && x.Stage == f.Stage && m.kind(x.Index) == m.kind(pass) {
			wall += x.Wall
			idle += x.Idle
			n++
		}
		if x := &r.Passes[i]; r.parts[x.Trace] == m && x.Index == pass {
			floor = x.Floor
		}
	}
	if n == 0 {
		return
	}
	each := func(d time.Duration) string { return table.Duration(d / time.Duration(n)) }
	name := f.Basis().EachOf(f.Stage) + finding.OfModel(m.d.ModelOf(pass))
	if n < len(r.Passes) {
		name += fmt.Sprintf(" (mean of %d of %d passes, those like pass %d)", n, len(r.Passes), pass)
	}
	p.Figures = []page.Figure{{Value: each(wall), Name: name}, {Value: each(wall - idle), Name: "GPU busy"},
		{Value: each(idle), Name: "idle"}}
	if r.light != nil && slices.ContainsFunc(r.light.Passes, func(p roofline.Pass) bool {
		return p.Index == pass && p.HasFloor()
	}) {
		p.Figures = append(p.Figures, page.Figure{Value: table.Duration(floor), Name: "floor at least"})
	}
	if f.Batch > 0 {
		p.Context = append(p.Context, table.Counted(f.Batch, "request", "requests"))
	}
	if f.Tokens > 0 {
		p.Context = append(p.Context, table.Counted(int(f.Tokens), "token", "tokens"))
	}
	p.Context = append(p.Context, amounts(m.d)...)
}

// drawn is a part, with the causes of its longest idle times.
func (r *Report) drawn(m *reportPart, windows ...[2]int64) *page.Timeline {
	var gaps []hostoverhead.Gap
	if r.host != nil {
		for i := range r.host.Ranks {
			if rank := &r.host.Ranks[i]; rank.File == r.index(m) && rank.Device == m.d.ID {
				gaps = rank.Top
			}
		}
	}
	x := page.Extra{Passes: m.chosen, Windows: windows}
	for i := range r.Findings {
		if pin, ok := r.pin(m, i); ok {
			x.Pins = append(x.Pins, pin)
		}
	}
	return m.timeline(x, gaps)
}

// pin marks the place of a finding: the longest idle time of its cause, or the pass that it is about.
func (r *Report) pin(m *reportPart, i int) (page.Pin, bool) {
	f := &r.Findings[i]
	if f.Place.Trace != m.name {
		return page.Pin{}, false
	}
	if f.Place.End > f.Place.Start {
		return page.Pin{Card: i + 1, Start: int64(f.Place.Start), End: int64(f.Place.End)}, true
	}
	for pass := range m.d.Passes {
		if p := &m.d.Passes[pass]; slices.Contains(m.chosen, pass) && (f.Stage == "" || p.Stage == f.Stage) {
			return page.Pin{Card: i + 1, Start: int64(p.Start), End: int64(p.End)}, true
		}
	}
	return page.Pin{}, false
}

func (r *Report) cards() []page.Card {
	out := cardsOf(r.Findings)
	for i := range out {
		out[i].Next = r.baseNames(out[i].Next)
	}
	return out
}

func cardsOf(findings []finding.Finding) []page.Card {
	var out []page.Card
	for i := range findings {
		f := &findings[i]
		c := page.Card{Title: f.Text, Evidence: f.Evidence, Size: float64(f.Total), Wins: f.Measure == finding.Recoverable,
			Where: f.Where, Fix: f.Do, Next: f.Next}
		if f.Measure != finding.NoMeasure {
			c.Gain = f.Amount()
		}
		if f.Confidence == finding.Low {
			c.Doubt = "Low confidence."
		}
		out = append(out, c)
	}
	return out
}

// baseNames leaves only the base names of the recording's files in a command: a page is sent to others.
func (r *Report) baseNames(command string) string {
	for _, path := range slices.Concat([]string{r.Name}, r.opens, r.named, r.Traces) {
		if base := filepath.Base(path); base != path {
			command = strings.ReplaceAll(command, path, base)
		}
	}
	return command
}

// kindsOfShares are the colours of a waterfall's rows.
var kindsOfShares = [...]page.Kind{roofline.NoFloor: page.Unknown, roofline.Floor: page.Must, roofline.Above: page.Win,
	roofline.Communication: page.Alone, roofline.Idle: page.Idle}

// waterfalls draw where the time of a typical pass of each stage goes.
func waterfalls(l *roofline.Report) page.Section {
	s := page.Section{ID: "waterfall", Title: "Where the time goes",
		Text: "From what has to be to what was measured: each bar begins where the one above ends."}
	for _, p := range l.Typical() {
		whole := cmp.Or(p.Wall, p.Floor)
		f := page.Waterfall{Label: passTitle(p.Index, p.Stage),
			Total: table.Duration(whole), Max: float64(whole)}
		var at float64
		var unknown time.Duration
		for _, x := range p.Waterfall {
			if x.Time == 0 {
				continue
			}
			f.Steps = append(f.Steps, page.Step{Name: x.Name,
				Value:  table.Duration(x.Time) + ", " + table.Percent(float64(x.Time), float64(whole), 1) + "%",
				Detail: x.Note, Kind: kindsOfShares[x.Kind], From: at, To: at + float64(x.Time)})
			at += float64(x.Time)
			if x.Kind == roofline.NoFloor {
				unknown += x.Time
			}
		}
		if unknown > 0 {
			f.Text = fmt.Sprintf("Hatched: how much of this %s has to be is not known.",
				table.Pct(100*ratio(unknown, whole), 1))
			if l.Model == "" {
				f.Text += " To know more, " + l.Wanted() + "."
			}
		}
		if len(f.Steps) > 0 {
			s.Falls = append(s.Falls, f)
		}
	}
	return s
}

// heats draw the layers of the chosen passes.
func (r *Report) heats() []page.Section {
	s := heatSection()
	for _, m := range r.parts {
		if m.d == nil {
			continue
		}
		for _, pass := range m.chosen {
			if h := page.FromLayers(m.d, pass); h != nil && len(s.Heats) < pageHeats {
				s.Heats = append(s.Heats, h)
			}
		}
	}
	if len(s.Heats) == 0 {
		return nil
	}
	return []page.Section{s}
}

// heatSection has pictures of the layers of passes.
func heatSection(heats ...*page.Heat) page.Section {
	return page.Section{ID: "layers", Title: "Which layer is different", Heats: heats,
		Text: "Colour is time against the median of that operator over layers of the same kind."}
}

// operatorTable lists the operators of the chosen passes by time.
func (r *Report) operatorTable() page.Section {
	tab := page.Table{Caption: "Operators of one typical pass of each stage", Search: true, FoldAfter: shownRows,
		Columns: []page.Column{page.Text("Stage"), page.Text("Layers"), page.Text("Operator"),
			page.Text("Category"), page.Number("Launches"), page.Number("Time"),
			{Title: "% of GPU time", Numeric: true, Help: "of the GPU time of all listed operators of the pass"},
			{Title: r.basis().Percent(), Numeric: true,
				Help: "of the pass up to the next one, idle time included"},
			page.Number("Floor"), page.Number("% of peak"), page.Text("Bound"), page.Code("Longest kernel")}}
	several := r.figures().sums
	if several {
		tab.Caption += " and model"
		tab.Columns = slices.Insert(tab.Columns, 0, page.Text("Model"))
	}
	rows := slices.Clone(r.Operators)
	slices.SortStableFunc(rows, func(a, b ReportOperator) int { return -cmp.Compare(a.Time, b.Time) })
	type pass struct{ trace, pass int }
	gpu := map[pass]time.Duration{}
	for i := range rows {
		gpu[pass{rows[i].Trace, rows[i].Pass}] += rows[i].Time
	}
	for i := range rows {
		o := &rows[i]
		peak := where(o.Floor > 0, number(100*ratio(o.Floor, o.Time), 0))
		share := ratio(o.Time, gpu[pass{o.Trace, o.Pass}])
		ofGPU := number(100*share, 1)
		ofGPU.Bar = share
		cells := []any{string(o.Stage), o.LayerType, page.Cell{Text: o.Operator, Find: o.Operator},
			page.Cell{Text: o.Category, Series: true}, count(int64(o.Kernels)), took(o.Time), ofGPU,
			number(100*o.Share, 1), knownTime(o.Floor), peak, o.Bound, o.Kernel}
		if several {
			cells = slices.Insert(cells, 0, any(r.parts[o.Trace].d.ModelOf(o.Pass)))
		}
		tab.Add(cells...)
	}
	return section("operators", "Operators", tab)
}

// kernelSum adds up the launches of one kernel in the recording.
type kernelSum struct {
	first             layer.Kernel
	category          string
	time, least, most time.Duration
	launches          int
}

// kernelTable lists kernels by name and operator; the table has the short name, the tooltip the full one.
func kernelTable(devices []*layer.Device) page.Table {
	type use struct {
		name string
		op   profile.Operator
	}
	sums := map[use]*kernelSum{}
	var order []*kernelSum
	var total time.Duration
	for _, gpu := range devices {
		for k := range gpu.Kernels() {
			op, _, _ := k.Operator()
			d, of := k.Event().Duration(), use{k.Event().Name(), op}
			s := sums[of]
			if s == nil {
				s = &kernelSum{first: k, category: gpu.CategoryLabel(k.Category()), least: d}
				sums[of] = s
				order = append(order, s)
			}
			s.time += d
			s.launches++
			s.least, s.most = min(s.least, d), max(s.most, d)
			total += d
		}
	}
	slices.SortStableFunc(order, func(a, b *kernelSum) int { return -cmp.Compare(a.time, b.time) })
	tab := page.Table{Caption: "Kernels by name and operator, whole recording", Search: true, FoldAfter: shownRows,
		Columns: []page.Column{page.Code("Kernel"), page.Text("Category"),
			page.Text("Operator"), page.Number("Time"),
			page.Number("% of GPU time"), page.Number("Launches"), page.Number("Avg"), page.Number("Min"),
			page.Number("Max")}}
	bytes := 0
	for i, s := range order {
		whole := s.first.Event().Name()
		name, short := classify.Canonical(whole), cmp.Or(s.first.Facts().Short, whole)
		op, _, _ := s.first.Operator()
		if bytes += len(name); bytes > nameBudget {
			tab.Hidden = len(order) - i
			break
		}
		share := number(100*ratio(s.time, total), 1)
		share.Bar = ratio(s.time, total)
		tab.Add(page.Cell{Text: short, Find: short, Hover: name}, page.Cell{Text: s.category, Series: true},
			cmp.Or(string(op), opname.Other), took(s.time), share, count(int64(s.launches)),
			took(s.time/time.Duration(s.launches)), took(s.least), took(s.most))
	}
	return tab
}

// passTable lists the passes of some parts.
func passTable(passes []ReportPass, parts ...*reportPart) page.Section {
	if len(passes) == 0 {
		return page.Section{ID: "passes", Title: "Passes", Text: "No forward pass was found."}
	}
	of := basisOf(parts)
	tab := page.Table{Caption: "All passes", Folded: len(passes) > shownRows,
		Columns: []page.Column{page.Number("Pass"), page.Number("Trace"), page.Text("Stage"), page.Number("Start"),
			page.Number(of.Noun()), page.Number("Idle"), page.Number("Idle, " + of.Percent()), page.Number("Floor"),
			page.Number("Requests"), page.Number("Tokens"), page.Number("Layers"), page.Number("Kernels"),
			page.Number("Confidence"), page.Prose("Note"), page.Text("Perfetto")}}
	for _, p := range passes {
		part := parts[p.Trace]
		link := perfettoCell(part.a.Trace(), p.Start, part.d.Passes[p.Index].End)
		tab.Add(page.Cell{Text: strconv.Itoa(p.Index), Sort: float64(p.Index), Strong: p.Chosen},
			number(float64(p.Trace), 0), string(p.Stage), took(time.Duration(p.Start)), took(p.Wall), took(p.Idle),
			number(100*ratio(p.Idle, p.Wall), 1), knownTime(p.Floor), count(int64(p.Batch)), count(p.Tokens),
			count(int64(p.Layers)), count(int64(p.Kernels)), number(p.Confidence, 2), passNote(p), link)
	}
	return section("passes", "Passes", tab)
}

// tables are those of the analyses that found the findings.
func (r *Report) tables() []page.Section {
	of := r.figures()
	each, share := page.Number(of.Each()), page.Number(of.Percent())
	idle := page.Table{Caption: "Idle GPU time by cause",
		Columns: []page.Column{page.Text("Kind"), page.Text("Cause"), each, share, page.Code("Mostly in")}}
	for _, i := range r.Idle {
		idle.Add(i.Group, i.Cause.String(), took(of.of(i.PerStep, i.total)), number(100*i.Share, 1), i.Name)
	}
	exposed := page.Table{FoldAfter: shownRows / 2,
		Caption: "Time in which nothing of another category runs, " + strings.ToLower(of.Each()),
		Columns: []page.Column{page.Text("Stage"), page.Text("Category"), page.Number("Exposed"), share,
			page.Number("Hidden")}}
	for _, e := range r.Exposure {
		exposed.Add(e.Stage, page.Cell{Text: string(e.Category), Series: true}, took(of.of(e.PerStep, e.exposed)),
			number(100*e.Share, 1), took(of.of(e.Hidden, e.hidden)))
	}
	fusions := page.Table{Caption: "Known fused paths", FoldAfter: shownRows / 2,
		Columns: []page.Column{page.Text("Stage"), page.Text("Path"), page.Text("State"),
			each, page.Number(of.Gain()), page.Number("Times"), page.Prose("What to do")}}
	for _, f := range r.Fusions {
		fusions.Add(f.Stage, f.Pattern, string(f.State), took(of.of(f.PerStep, f.took)),
			knownTime(of.of(f.Gain, f.gain)), count(int64(f.Times)), f.Do)
	}
	out := []page.Section{section("idle", "Idle time", idle), section("exposure", "Exposure", exposed),
		section("fusions", "Fusions", fusions)}
	if c := r.Against; c != nil {
		out = append(out, against(c, "Against "+sideName(&c.A))...)
	}
	return out
}

// reproduce says which commands show more; files by their base names, since the page is sent to others.
func (r *Report) reproduce() page.Section {
	s := page.Section{ID: "next", Title: "How to reproduce"}
	tab := page.Table{Caption: "Commands", Columns: []page.Column{page.Code("Command"), page.Text("Shows")}}
	file := filepath.Base(r.Name)
	for _, c := range [][2]string{{"report", "this page: strata report FILE --html page.html"},
		{"layers", "passes and layers"}, {"light", "what each operator should take (with --config config.json)"},
		{"host", "why the GPU is idle"}, {"triage", "kernels by source line, exposure, fusions"},
		{"export", "each kernel as a row"}} {
		tab.Add("strata "+c[0]+" "+file, c[1])
	}
	s.Tables = []page.Table{tab}
	return s
}

// section has the tables that have rows.
func section(id, title string, tables ...page.Table) page.Section {
	return page.Section{ID: id, Title: title,
		Tables: slices.DeleteFunc(tables, func(t page.Table) bool { return len(t.Rows) == 0 })}
}

// perfettoURL opens the Perfetto UI at a time of a trace; "" where the UI does not read the file.
func perfettoURL(t *trace.Trace, start, end trace.Time) string {
	if !perfetto.CanOpen(t) {
		return ""
	}
	return perfetto.Link("", perfetto.Margin(t, perfetto.NewRange(t, start, end)))
}

func perfettoCell(t *trace.Trace, start, end trace.Time) page.Cell {
	href := perfettoURL(t, start, end)
	if href == "" {
		return page.Cell{Text: table.None}
	}
	return page.Cell{Text: "open", Href: href}
}

// Cells of tables.

func took(d time.Duration) page.Cell { return page.Cell{Text: table.Duration(d), Sort: float64(d)} }

// where is a cell of what is known, or of none.
func where(known bool, c page.Cell) page.Cell {
	if !known {
		return page.Cell{Text: table.None, Sort: -1}
	}
	return c
}

func knownTime(d time.Duration) page.Cell { return where(d > 0, took(d)) }

func number(v float64, decimals int) page.Cell {
	return page.Cell{Text: table.Fixed(v, decimals), Sort: v}
}

func count(n int64) page.Cell { return page.Cell{Text: known(n), Sort: float64(n)} }
