package strata

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/page"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// The pages of single analyses. Each is one file that needs nothing else, with the parts of [Report.WriteHTML] that
// the analysis has. Only base names of files appear.

// newPage begins the page of an analysed GPU. m is nil for none.
func newPage(program, name string, m *reportPart) *page.Page {
	p := &page.Page{Title: filepath.Base(name), Program: program, Colours: map[string]string{}, Inputs: []string{name}}
	if m == nil {
		return p
	}
	p.Health.Status = m.a.Health.Status
	addRemarks(p, m.a.Health.Findings, "")
	addColours(p, m.d)
	p.Context = table.Known(m.a.Framework(), m.d.GPU)
	p.Context = append(p.Context, amounts(m.d)...)
	return p
}

// layersOf is a number of layers of a model, with the confidence of the pass that shows them best where it is low.
func layersOf(d *layer.Device, model, n int) string {
	const low = 0.5
	text, best := table.Counted(n, "layer", "layers"), -1.0
	for i := range d.Passes {
		if p := &d.Passes[i]; p.Model == model && p.NumLayers > 0 {
			best = max(best, p.Confidence)
		}
	}
	if best >= 0 && best < low {
		text += fmt.Sprintf(" (confidence %s)", table.Fixed(best, 2))
	}
	return text
}

// amounts are how many layers, of each model where several run, passes and kernels there are.
func amounts(d *layer.Device) (out []string) {
	for i := range d.Models {
		m := &d.Models[i]
		layers := layersOf(d, i, m.NumLayers)
		if len(d.Models) > 1 {
			layers = m.Title() + ": " + layers
		}
		if m.NumLayers > 0 {
			out = append(out, layers)
		}
	}
	return append(out, table.Counted(len(d.Passes), "pass", "passes"), table.Counted(d.NumKernels(), "kernel", "kernels"))
}

func addColours(p *page.Page, d *layer.Device) {
	for _, c := range d.Categories() {
		p.Colours[d.CategoryLabel(c)] = page.CategoryColour(c)
	}
}

func addRemarks(p *page.Page, list []trace.Remark, of string) {
	for _, f := range list {
		p.Health.Findings = append(p.Health.Findings, page.Remark{Code: string(f.Code), Message: of + f.Message})
	}
}

// timeline draws a part. x has what differs between pages.
func (m *reportPart) timeline(x page.Extra, gaps []hostoverhead.Gap) *page.Timeline {
	t := m.a.Trace()
	x.ID, x.Label = cmp.Or(x.ID, "t0"), cmp.Or(x.Label, "Timeline of "+filepath.Base(m.name))
	x.Waits, x.Source = waits(gaps), sourceLines(m.a)
	x.Href = func(a, b trace.Time) string { return perfettoURL(t, a, b) }
	return page.FromDevice(m.d, x)
}

// addTimeline begins a page with what ran, and with one pass kernel by kernel whatever the window's length.
func addTimeline(p *page.Page, m *reportPart, pass int, gaps []hostoverhead.Gap) {
	if m.d.NumKernels() > 0 {
		t := m.timeline(page.Extra{Passes: []int{max(pass, 0)}}, gaps)
		p.Sections = append(p.Sections, page.Section{ID: "timeline", Timelines: []*page.Timeline{t}})
	}
}

// gapsOf are the explained idle times of a GPU; none where the host cannot be judged.
func gapsOf(ctx context.Context, d *layer.Device) []hostoverhead.Gap {
	most := PageGaps
	v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{d.Analysis()}, hostoverhead.Options{TopGaps: &most})
	if err != nil {
		return nil
	}
	for i := range v.Ranks {
		if v.Ranks[i].Device == d.ID {
			return v.Ranks[i].Top
		}
	}
	return nil
}

// waits are idle times with their largest cause and what else is known of them.
func waits(gaps []hostoverhead.Gap) []page.Wait {
	var out []page.Wait
	for i := range gaps {
		g := &gaps[i]
		if len(g.Causes) == 0 {
			continue
		}
		w := page.Wait{Start: trace.Time(g.StartNS), Cause: g.Causes[0].Cause}
		for _, c := range g.Causes[:min(len(g.Causes), 4)] {
			w.Lines = append(w.Lines, fmt.Sprintf("%s: %v, %s", table.Duration(time.Duration(c.NS)), c.Cause, c.Name))
		}
		w.Lines = append(w.Lines, "after "+g.Before, "before "+g.After)
		out = append(out, w)
	}
	return out
}

// sourceLines returns what says most about where a kernel comes from.
func sourceLines(a *layer.Analysis) func(layer.Kernel) string {
	sources := triage.Sources(a)
	return func(k layer.Kernel) string {
		if m := k.ModelLine(); m.Line != "" {
			return m.String()
		}
		return sources(k.Event())
	}
}

// WriteLayersHTML writes the page of the passes and layers of a GPU: pass is the one whose layers are drawn,
// [trace.None] for the steady one. With a config the page says what its operators should take. name is what the trace
// is called.
func WriteLayersHTML(ctx context.Context, w io.Writer, d *layer.Device, pass int, name string) error {
	m := newPart(name, d.Analysis(), d)
	p := newPage("layers", name, m)
	if pass == trace.None {
		pass = d.Steady.Pass
	}
	p.Notes = append(p.Notes, d.Notes...)
	for _, e := range d.Evidence {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: %s (confidence %s)", e.For, e.Detail, table.Fixed(e.Confidence, 2)))
	}
	p.Verdict = table.Counted(len(d.Passes), "pass", "passes") + " of "
	if n := len(d.Models); n > 1 {
		p.Verdict += table.Counted(n, "model", "models")
	} else {
		p.Verdict += layersOf(d, 0, d.NumLayers)
	}
	addTimeline(p, m, pass, gapsOf(ctx, d))
	if pass != trace.None {
		f, err := d.Pass(pass)
		if err != nil {
			return err
		}
		p.Verdict += fmt.Sprintf("; %s takes %s", passTitle(pass, f.Stage), table.Duration(f.Wall()))
		if h := page.FromLayers(d, pass); h != nil {
			p.Sections = append(p.Sections, heatSection(h))
		}
		p.Sections = append(p.Sections, section("layer-list", "Layers", layerTable(d, pass)))
	}
	if m.a.Config != nil {
		light, err := roofline.Analyze(ctx, m.a, roofline.Options{On: &d.ID,
			Waits: fleet.Waits([]*layer.Analysis{m.a}, nil)[0]})
		if err != nil {
			return err
		}
		p.Sections = append(p.Sections, lightSections(light)...)
		p.Notes = append(p.Notes, light.Notes...)
	}
	p.Sections = append(p.Sections, section("kernels", "Kernels", kernelTable([]*layer.Device{d})),
		passTable(m.rows(0), m))
	return p.Write(w)
}

// passTitle is a pass by its number, with its stage where that is known.
func passTitle(pass int, s layer.Stage) string {
	name := "pass " + strconv.Itoa(pass)
	if s != layer.StageUnknown {
		name += ", " + s.Info().Title
	}
	return name
}

func layerTable(d *layer.Device, pass int) page.Table {
	p := &d.Passes[pass]
	tab := page.Table{Caption: fmt.Sprintf("Layers of pass %d", pass), FoldAfter: shownRows,
		Columns: []page.Column{page.Number("Layer"), page.Text("Type"), page.Number("Wall"),
			page.Number("Sum of kernels"), page.Number("Kernels"), page.Text("Perfetto")}}
	for _, l := range p.Layers() {
		n := p.LayerNumber(l.Index)
		tab.Add(page.Cell{Text: strconv.Itoa(n), Sort: float64(n)}, l.Type, took(l.Wall), took(l.Sum),
			count(int64(len(l.Kernels))), perfettoCell(d.Analysis().Trace(), l.Start, l.End))
	}
	return tab
}

// WriteLightHTML writes the page of what passes should take. d is the GPU that was analysed, nil for a plan.
func WriteLightHTML(ctx context.Context, w io.Writer, r *roofline.Report, d *layer.Device, name string) error {
	var m *reportPart
	if d != nil {
		m = newPart(name, d.Analysis(), d)
	}
	p := newPage("light", name, m)
	p.Notes = r.Notes
	p.Context = append(p.Context, table.Known(r.ModelInWords())...)
	if r.GPU != nil {
		p.Context = append(p.Context, table.Known(r.GPU.ID)...)
	}
	if r.TP > 0 {
		p.Context = append(p.Context, fmt.Sprintf("TP %d, EP %d", r.TP, r.EP))
	}
	if typical := r.Typical(); len(typical) > 0 && typical[0].Floor > 0 {
		t := typical[0]
		if t.Wall > 0 {
			p.Verdict = fmt.Sprintf("Pass %d (%s) takes %s; the GPU needs at least %s of it (%s).", t.Index, stageName(t.Stage),
				table.Duration(t.Wall), table.Duration(t.Floor), table.Pct(100*float64(t.Floor)/float64(t.Wall), 1))
		} else {
			p.Verdict = fmt.Sprintf("A %s needs at least %s.", t.Stage.Info().Step, table.Duration(t.Floor))
		}
		if r.Assumed {
			p.Verdict += " The model is assumed."
		}
	}
	if m != nil {
		addTimeline(p, m, d.Steady.Pass, gapsOf(ctx, d))
	}
	p.Sections = append(p.Sections, lightSections(r)...)
	return p.Write(w)
}

// lightSections are where the time of a pass goes, operators against the GPU, and the cost per token.
func lightSections(r *roofline.Report) []page.Section {
	out := []page.Section{waterfalls(r)}
	tab := page.Table{Caption: "Operators of the steady pass against the GPU", Search: true, FoldAfter: searchedRows,
		Columns: []page.Column{page.Text("Layer type"), page.Text("Operator"), page.Number("Layers"),
			page.Number("M"), page.Number("N"), page.Number("K"), page.Number("GFLOP"), page.Number("MB"),
			page.Number("Time"), page.Number("Floor"), page.Text("Bound"), page.Number("% of peak"),
			page.Prose("Remark")}}
	for i := range r.Operators {
		o := &r.Operators[i]
		peak := where(o.PeakShare > 0, number(100*o.PeakShare, 0))
		peak.Bar = o.PeakShare
		tab.Add(o.LayerType, page.Cell{Text: o.Operator, Find: o.Operator}, count(int64(o.Count)),
			where(o.M > 0, count(o.M)), where(o.N > 0, count(o.N)), where(o.K > 0, count(o.K)), number(o.GFLOP, 1),
			number(float64(o.Bytes)/1e6, 1), knownTime(o.Time), knownTime(o.Floor), o.Bound, peak, o.Note)
	}
	return append(out, section("operators", "Operators", tab), costs(r))
}

// costs are what a token and a request cost.
func costs(r *roofline.Report) page.Section {
	cost := page.Table{Caption: "Cost per token, by stage and requests",
		Columns: []page.Column{page.Text("Stage"), page.Number("Requests"), page.Number("Passes"),
			page.Number("Tokens"), page.Number("Time"), page.Number("Per token"), page.Number("Per request"),
			page.Number("Floor " + r.Basis().Percent()), page.Number("% padding"),
			page.Number("Prefill tax (" + r.Basis().Per("ms") + ")")}}
	share := func(part, whole float64) page.Cell {
		return where(whole > 0, number(100*part/whole, 1))
	}
	for i := range r.Economy {
		b := &r.Economy[i]
		if b.PerToken <= 0 && b.PerRequest <= 0 && b.Floored <= 0 {
			continue
		}
		tax := where(b.Taxed > 0, took(b.Tax/time.Duration(max(b.Taxed, 1))))
		cost.Add(string(b.Stage), page.Cell{Text: table.Span(b.From, b.To), Sort: float64(b.From)},
			count(int64(b.Passes)), count(b.Tokens), took(b.Wall), knownTime(b.PerToken), knownTime(b.PerRequest),
			share(float64(b.Floor), float64(b.Floored)), share(float64(b.Rows-b.Asked), float64(b.Rows)), tax)
	}
	return section("cost", "Cost per token", cost)
}

// WriteHostHTML writes the page of a host verdict: the idle time of the deciding GPU by cause, in its timeline and as a
// ledger. ranks are those that were judged. The longest gaps that the verdict lists are drawn with their causes:
// [PageGaps] are enough.
func WriteHostHTML(w io.Writer, v *hostoverhead.Verdict, ranks []*layer.Analysis,
	name string) error {
	var m *reportPart
	if v.Deciding >= 0 && v.Deciding < len(v.Ranks) {
		decides := &v.Ranks[v.Deciding]
		if decides.File >= 0 && decides.File < len(ranks) {
			// none where the verdict is of other ranks: the page has no timeline then
			if d, err := ranks[decides.File].Device(&decides.Device); err == nil {
				m = newPart(name, d.Analysis(), d)
			}
		}
	}
	p := newPage("host", name, m)
	p.Verdict = fmt.Sprintf("Is the host the bottleneck? %v. %s", v.Verdict, v.Summary)
	for _, x := range v.Doubts {
		p.Notes = append(p.Notes, x.Evidence)
	}
	if h := &v.Headroom; h.WallNS > 0 {
		p.Figures = []page.Figure{{Value: table.Duration(time.Duration(h.WallNS)), Name: "in " + v.Basis.Span()},
			{Value: table.Duration(time.Duration(h.BusyNS)), Name: "GPU busy"},
			{Value: table.Duration(time.Duration(h.IdleNS)), Name: "idle"},
			{Value: table.Duration(time.Duration(h.HostNS)), Name: "because of the host"}}
	}
	if m != nil {
		addTimeline(p, m, m.d.Steady.Pass, v.Ranks[v.Deciding].Top)
	}
	idle := page.Table{Caption: "Idle GPU time by cause",
		Columns: []page.Column{page.Text("Kind"), page.Text("Cause"), page.Number("Whole window"),
			page.Number("In " + v.Basis.Span()), page.Number(v.Basis.Percent()), page.Code("Mostly in")}}
	for _, c := range v.Idle {
		var lines []string
		for _, n := range c.Names[:min(len(c.Names), 3)] {
			lines = append(lines, table.Duration(time.Duration(n.NS))+" "+n.Name)
		}
		idle.Add(c.Group, c.Cause, took(time.Duration(c.NS)), took(time.Duration(c.StepsNS)),
			number(100*c.Share, 1), page.Cell{Lines: lines})
	}
	p.Sections = append(p.Sections, section("idle", "Where idle time goes", idle))
	return p.Write(w)
}

// WriteCompareHTML writes the page of a comparison. a and b are GPUs of the two sides, for the timelines of the first
// passes that match; nil for none.
func WriteCompareHTML(ctx context.Context, w io.Writer, r *compare.Report, a, b *layer.Device) error {
	p := &page.Page{Title: sideName(&r.A) + " and " + sideName(&r.B), Program: "compare", Verdict: r.Text,
		Colours: map[string]string{}, Notes: append(append([]string{}, r.Notes...), r.Left...),
		Inputs: []string{r.A.Trace, r.B.Trace}}
	p.Health.Status = trace.HealthOK
	for _, d := range r.Doubts {
		p.Health.Findings = append(p.Health.Findings, page.Remark{Code: d.Code, Message: d.Sentence()})
	}
	p.Context = []string{"A: " + sideFact(&r.A), "B: " + sideFact(&r.B),
		fmt.Sprintf("noise between runs %s (%s)", table.Pct(100*r.Floor, 2), r.FloorFrom)}
	var pair page.Section
	sides := [...]*compare.Summary{&r.A, &r.B}
	for i, d := range []*layer.Device{a, b} {
		if d == nil {
			continue
		}
		first := slices.IndexFunc(d.Passes, func(p layer.ForwardPass) bool { return int64(p.Start) == sides[i].Start })
		if first < 0 { // a side that was compared by other passes than this device has
			continue
		}
		f := &d.Passes[first]
		addColours(p, d)
		pair.Timelines = append(pair.Timelines, newPart(sides[i].Trace, d.Analysis(), d).timeline(
			page.Extra{ID: "t" + strconv.Itoa(i), Link: "sides", Label: string(rune('A'+i)) + ": " + passTitle(f.Index, f.Stage),
				From: f.Start, To: d.StepEnd(f.Index)}, gapsOf(ctx, d)))
	}
	if len(pair.Timelines) == 2 {
		page.Align(pair.Timelines)
		pair.ID, pair.Title, pair.Text = "timeline", "The first matched step of each side",
			"A above, B below, both from the step's start; they move together."
		p.Sections = append(p.Sections, pair)
	}
	p.Sections = append(p.Sections, compareSections(r)...)
	return p.Write(w)
}

func sideName(s *compare.Summary) string {
	return filepath.Base(cmp.Or(s.Label, s.Trace, "unnamed"))
}

func sideFact(s *compare.Summary) string {
	parts := []string{sideName(s), s.Work() + " in " + table.Counted(s.Runs, "run", "runs"),
		table.Duration(s.Wall) + " each", s.GPU, s.Framework}
	return strings.Join(table.Known(parts...), ", ")
}

// fallRows is how many rows of a comparison have a bar of their own: more than there are parts of a model.
const fallRows = 76

// compareSections are the waterfall from A to B, its rows, findings and gates.
func compareSections(r *compare.Report) []page.Section {
	fall := page.Waterfall{Label: "From a step of A to one of B",
		Total: table.Duration(r.A.Wall) + " → " + table.Duration(r.B.Wall)}
	at := r.A.Wall
	fall.Steps = append(fall.Steps, page.Step{Name: "A: " + sideName(&r.A), Value: table.Duration(at), Kind: page.Whole,
		To: float64(at)})
	step := func(name string, delta time.Duration) {
		if delta == 0 {
			return
		}
		kind, sign := page.Slower, "+"
		if delta < 0 {
			kind, sign = page.Faster, "−"
		}
		fall.Steps = append(fall.Steps, page.Step{Name: name, Value: sign + table.Duration(max(delta, -delta)),
			Kind: kind, From: float64(min(at, at+delta)), To: float64(max(at, at+delta))})
		at += delta
	}
	for i := range first(r.Rows, fallRows) {
		step(r.Rows[i].Operator, r.Rows[i].Delta)
	}
	step("all others", r.A.Wall+r.Delta-at)
	fall.Steps = append(fall.Steps, page.Step{Name: "B: " + sideName(&r.B), Value: table.Duration(at), Kind: page.Whole,
		To: float64(at)})
	parts := page.Table{Caption: "Where a step's time changed", Columns: []page.Column{page.Text("Part"), page.Number("A"),
		page.Number("B"), page.Number("B − A"), page.Number("95% interval"), page.Text("Found")}}
	for i := range r.Waterfall {
		part := &r.Waterfall[i]
		if part.Empty() {
			continue
		}
		parts.Add(part.Operator, took(part.A), took(part.B), took(part.Delta), intervalOf(part),
			page.Cell{Text: part.Found, Strong: part.Significant})
	}
	out := []page.Section{{ID: "difference", Title: "What changed", Text: compare.Unclear(r.Rows),
		Falls: []page.Waterfall{fall}, Tables: []page.Table{parts, compareRows(r)}}}
	if len(r.Findings) > 0 {
		tab := page.Table{Caption: "Beyond noise", Columns: []page.Column{page.Text("Kind"), page.Prose("Finding"),
			page.Number("B − A")}}
		for i := range r.Findings {
			f := &r.Findings[i]
			tab.Add(f.Kind, f.Sentence(), took(f.PerStep))
		}
		out = append(out, section("changes", "Findings", tab))
	}
	if len(r.Gates) > 0 {
		tab := page.Table{Caption: "Gates", Columns: []page.Column{page.Text("Gate"), page.Text("Outcome"),
			page.Prose("Found")}}
		for i := range r.Gates {
			g := &r.Gates[i]
			tab.Add(g.Gate, g.Outcome, g.Text)
		}
		out = append(out, section("gates", "Gates", tab))
	}
	return out
}

func compareRows(r *compare.Report) page.Table {
	t := page.Table{Caption: "Parts of the step by difference", Search: true, FoldAfter: searchedRows,
		Columns: []page.Column{page.Text("Operator"), page.Number("A"), page.Number("B"), page.Number("B − A"),
			page.Number("% of A"), {Title: "Kernel time", Numeric: true, Help: "durations of kernels, where others hide more " +
				"than 5% of them"},
			{Title: "its B − A", Numeric: true, Help: "kernel time, what the interval and the finding are about"},
			page.Number("95% interval"), page.Text("Found"), page.Text("Launches"),
			page.Code("Kernels")}}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Empty() {
			continue
		}
		percent := where(row.A > 0, number(100*ratio(row.Delta, row.A), 1))
		kernels := where(row.Overlapped(), page.Cell{Sort: float64(row.KernelB - row.KernelA),
			Text: table.Duration(row.KernelA) + " → " + table.Duration(row.KernelB)})
		t.Add(page.Cell{Text: row.Operator, Find: row.Operator}, took(row.A), took(row.B), took(row.Delta), percent, kernels,
			took(row.KernelB-row.KernelA), intervalOf(row), page.Cell{Text: row.Found, Strong: row.Significant},
			row.Launches(), kernelsOf(row))
	}
	return t
}

// intervalOf is a cell of the interval of a row that is judged.
func intervalOf(row *compare.Row) page.Cell {
	return where(row.Judged && row.Low != row.High, page.Cell{Text: table.Duration(row.Low) + " … " +
		table.Duration(row.High),
		Sort: float64(row.Low)})
}

// kernelsOf is a cell of the kernels of a row, which unfolds to each with its times, launches and sizes on both sides.
func kernelsOf(row *compare.Row) page.Cell {
	both := func(a, b string) string {
		if a == b {
			return a
		}
		return cmp.Or(a, table.None) + " → " + cmp.Or(b, table.None)
	}
	names := func(side int) string { return strings.Join(first(row.Names(side), 2), ", ") }
	c := page.Cell{Text: cmp.Or(both(names(0), names(1)), table.None), Folded: true}
	for i := range row.Kernels {
		k := &row.Kernels[i]
		line := fmt.Sprintf("%s: %s, %.0f → %.0f launches", both(cmp.Or(k.Was, k.Name), k.Name),
			table.Duration(k.A)+" → "+table.Duration(k.B), k.LaunchesA, k.LaunchesB)
		if shape := both(k.WorkA.Shape, k.WorkB.Shape); shape != "" {
			line += ", M×N×K " + shape
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}

// rankSection lists groups of ranks, and ranks one by one where they are few.
func rankSection(f *fleet.Report) page.Section {
	groups := page.Table{Caption: "Groups of ranks that exchange data", FoldAfter: shownRows,
		Columns: []page.Column{page.Text("Recording"), page.Text("Ranks"), page.Number("Steps"),
			{Title: "Step", Numeric: true, Help: "of the median rank"}, page.Number("Waiting, least"),
			page.Number("Median"), page.Number("Most"),
			{Title: "Transfer", Numeric: true, Help: "time in which all ranks exchange"},
			page.Number("Collectives"), page.Text("Late rank"), page.Prose("Why")}}
	ranks := page.Table{Caption: "Ranks, per step", Search: true, FoldAfter: searchedRows,
		Columns: []page.Column{page.Text("Rank"), page.Number("Step"), page.Number("GPU busy"),
			{Title: "Waiting for others", Numeric: true, Help: "the late rank waits least"},
			page.Number("Waiting, % of step"),
			{Title: "Arrives last", Numeric: true, Help: "collectives at which it alone arrives last"},
			page.Prose("Unlike the others")}}
	ns := func(n int64) page.Cell { return took(time.Duration(n)) }
	bar := func(n, of int64) page.Cell {
		c := ns(n)
		c.Bar = ratio(time.Duration(n), time.Duration(of))
		return c
	}
	s := page.Section{ID: "ranks", Title: "Ranks", Text: "A column a rank, the late one set apart; then a column a step."}
	for i := range f.Runs {
		for k := range f.Runs[i].Groups {
			g := &f.Runs[i].Groups[k]
			if len(s.Plots) < mostPlots {
				s.Plots = append(s.Plots, rankPlots(g)...)
			}
			late, why := page.Cell{Text: table.None}, ""
			if g.Late != nil {
				late, why = page.Cell{Text: g.Late.Rank, Strong: true}, g.Late.Why()
			}
			// Without matched collectives waiting is not known.
			known := func(c page.Cell) page.Cell { return where(g.Wait.Known(), c) }
			groups.Add(f.Runs[i].Run, strings.TrimSpace(g.Name+" "+g.Part), count(int64(g.Steps)), ns(g.Step),
				known(bar(g.Wait.Min, g.Step)), known(bar(g.Wait.Median, g.Step)), known(bar(g.Wait.Max, g.Step)),
				known(ns(g.Transfer)),
				count(int64(g.Collectives)), late, why)
			longest := int64(0)
			for _, row := range g.Rows {
				longest = max(longest, row.Wall)
			}
			for _, row := range g.Rows {
				unlike := ""
				if n := slices.IndexFunc(g.Differs, func(d fleet.Differs) bool { return d.Rank == row.Rank }); n >= 0 {
					unlike = fmt.Sprintf("%s: %+.1f%% of step time", g.Differs[n].What, 100*g.Differs[n].Share)
				}
				ranks.Add(page.Cell{Text: row.Rank, Strong: late.Text == row.Rank}, bar(row.Wall, longest),
					bar(row.Busy, longest), known(bar(row.Wait, longest)),
					known(number(100*ratio(time.Duration(row.Wait), time.Duration(row.Wall)), 1)), known(count(int64(row.Last))),
					unlike)
			}
		}
	}
	if s.Tables = section("", "", ranks, groups).Tables; len(s.Tables) == 0 {
		s.Text = "No collectives of different ranks could be matched; waiting is unknown."
	}
	return s
}

// mostPlots bounds the small charts of a page.
const mostPlots = 48

// rankPlots are what the ranks of a group do in a step, side by side, and how long one waits in each step.
func rankPlots(g *fleet.Group) []page.Plot {
	if len(g.Rows) < 2 {
		return nil
	}
	name := strings.TrimSpace("ranks " + g.Name + " " + g.Part)
	plot := func(what string, of func(*fleet.Row) int64) page.Plot {
		p := page.Plot{Title: what + ", " + name}
		for i := range g.Rows {
			p.Values = append(p.Values, float64(of(&g.Rows[i])))
			if g.Late != nil && g.Rows[i].Rank == g.Late.Rank {
				p.Mark, p.Marked = i, 1
			}
		}
		less := func(a, b fleet.Row) int { return cmp.Compare(of(&a), of(&b)) }
		least, most := slices.MinFunc(g.Rows, less), slices.MaxFunc(g.Rows, less)
		p.Text = fmt.Sprintf("%s on %s … %s on %s", table.Duration(time.Duration(of(&least))), least.Rank,
			table.Duration(time.Duration(of(&most))), most.Rank)
		return p
	}
	out := []page.Plot{plot("GPU busy", func(r *fleet.Row) int64 { return r.Busy - r.Wait }),
		plot("Waiting for others", func(r *fleet.Row) int64 { return r.Wait }),
		plot("GPU idle", func(r *fleet.Row) int64 { return r.Wall - r.Busy })}
	skew := page.Plot{Title: "Longest wait by step, " + name, Text: table.Counted(len(g.Skew), "step", "steps")}
	for _, ns := range g.Skew {
		skew.Values = append(skew.Values, float64(ns))
	}
	return append(out, skew)
}

// WriteFleetHTML writes the page of many ranks: findings as cards, and what each rank waits for. name is what was read.
func WriteFleetHTML(w io.Writer, f *fleet.Report, name string) error {
	p := &page.Page{Title: filepath.Base(name), Program: "fleet", Verdict: f.Verdict, Inputs: []string{name},
		Context: []string{table.Counted(f.Ranks, "rank", "ranks"), table.Counted(len(f.Runs), "recording", "recordings")}}
	p.Health.Status = f.Health
	cards := page.Section{ID: "findings", Title: "Findings", Cards: cardsOf(f.Findings)}
	if len(cards.Cards) == 0 {
		cards.Text = f.Verdict
	}
	p.Sections = append(p.Sections, cards, rankSection(f))
	return p.Write(w)
}

// WriteTriageHTML writes the page of a triage, with the comparison of its stages with an older run before it. d is the
// GPU to draw, nil for no timeline.
func WriteTriageHTML(ctx context.Context, w io.Writer, r *triage.Report, old []compare.StageReport,
	d *layer.Device) error {
	var names []string
	for _, t := range r.Traces {
		names = append(names, filepath.Base(t))
	}
	p := &page.Page{Title: strings.Join(names, ", "), Program: "triage", Verdict: r.Summary,
		Colours: map[string]string{}, Inputs: append(slices.Clone(r.Traces), r.MappingTraces...)}
	worst := trace.HealthOK
	for _, n := range r.Health {
		worst = slices.MaxFunc([]trace.HealthStatus{worst, n.Status}, trace.HealthStatus.Compare)
		addRemarks(p, n.Findings, filepath.Base(n.Trace)+": ")
	}
	p.Health.Status = worst
	p.Context = table.Known(r.Framework, r.Model)
	if r.TPSize > 0 {
		p.Context = append(p.Context, "TP "+strconv.Itoa(r.TPSize))
	}
	if d != nil {
		addColours(p, d)
		addTimeline(p, newPart(p.Title, d.Analysis(), d), d.Steady.Pass, gapsOf(ctx, d))
	}
	for _, s := range old {
		if s.Report == nil {
			p.Notes = append(p.Notes, fmt.Sprintf("Stage %s is %s.", s.Stage, s.Why))
			continue
		}
		p.Sections = append(p.Sections, against(s.Report, fmt.Sprintf("Against the older run, %v", s.Stage))...)
	}
	for i := range r.Stages {
		p.Sections = append(p.Sections, triageSections(r, &r.Stages[i])...)
	}
	return p.Write(w)
}

// against is a comparison inside of another page.
func against(r *compare.Report, title string) []page.Section {
	out := compareSections(r)
	for i := range out {
		out[i].ID, out[i].Title = "", title+": "+strings.ToLower(out[i].Title)
	}
	return out
}

func triageSections(r *triage.Report, s *triage.StageReport) []page.Section {
	name := fmt.Sprintf("Stage %v: ", s.Stage)
	us := func(v float64) page.Cell { return took(time.Duration(v * 1e3)) }
	tab := page.Table{Caption: name + "kernels", Search: true, FoldAfter: shownRows, Hidden: s.HiddenRows,
		Columns: []page.Column{page.Code("Kernel"), page.Text("Category"), page.Text("Operator"),
			page.Number("GPU time"), page.Number("% of GPU time"), page.Number("Launches"), page.Number("Avg"),
			page.Code("Model line"), page.Code("Source"), page.Code("CPU op")}}
	for _, k := range s.ByOperator() {
		if k.SharePct < r.MinSharePct {
			tab.Hidden++
			continue
		}
		share := number(k.SharePct, 1)
		share.Bar = k.SharePct / 100
		tab.Add(page.Cell{Text: cmp.Or(k.Label, k.Kernel), Hover: k.Kernel},
			page.Cell{Text: string(k.Category), Series: true}, k.Operator(), us(k.GPUTimeUS), share,
			count(int64(k.Launches)), us(k.GPUTimeUS/float64(max(1, k.Launches))),
			page.Cell{Lines: locations(k.ModelLines)}, page.Cell{Lines: locations(k.Locations)},
			page.Cell{Lines: slices.Compact(slices.Sorted(slices.Values(k.CPUOps)))})
	}
	ops := page.Table{Caption: name + "operators",
		Columns: []page.Column{page.Text("Operator"), page.Number("GPU time"), page.Number("% of GPU time"),
			page.Number("Launches"), page.Number("Confidence")}}
	for _, o := range s.Operators {
		ops.Add(page.Cell{Text: o.Operator, Find: o.Operator}, took(time.Duration(o.GPUTimeNS)),
			number(o.SharePct, 1), count(int64(o.Launches)), where(o.Confidence > 0, number(o.Confidence, 2)))
	}
	overlap := page.Table{Caption: name + "overlap", FoldAfter: shownRows,
		Columns: []page.Column{page.Text("Priority"), page.Code("Kernel"), page.Text("Category"),
			page.Number("Time"), page.Number("% of GPU time"), page.Number("Alone (%)"),
			page.Number("Gain at most"), page.Number(s.Exposure.Basis().Percent()), page.Text("Recommendation")}}
	for _, o := range s.Overlap {
		overlap.Add(o.Priority, page.Cell{Text: cmp.Or(o.Label, o.Kernel), Hover: o.Kernel},
			page.Cell{Text: string(o.Category), Series: true}, us(o.TotalUS), number(o.SharePct, 1),
			number(100*o.ExclusiveRatio, 0), took(time.Duration(o.BoundNS)), number(o.BoundPct, 1),
			o.Recommendation)
	}
	fuse := page.Table{Caption: name + "fused paths",
		Columns: []page.Column{page.Text("Pattern"), page.Text("State"), page.Prose("What to do"),
			page.Text("Confidence"), page.Number("Time"), page.Number("% of GPU time"), page.Number("Times"),
			page.Number("GPU gain"),
			page.Number(s.Exposure.Basis().Gain()), page.Code("Evidence"), page.Code("Candidate paths")}}
	for _, f := range s.Fuse {
		var evidence []string
		for _, e := range f.Evidence {
			evidence = append(evidence, fmt.Sprintf("%d × %s", e.Launches, cmp.Or(e.Label, e.Kernel)))
		}
		gain := where(f.EstimatedGainUS > 0, us(f.EstimatedGainUS))
		gain.Hover = f.Gain.String()
		fuse.Add(f.Pattern, f.Status(), f.Action, string(f.Confidence), us(f.RelatedUS), number(f.SharePct, 1),
			count(int64(f.Occurrences)), gain,
			where(f.EstimatedGainUS > 0, page.Cell{Text: "≤ " + table.Pct(f.GainPct, 1), Sort: f.GainPct}),
			page.Cell{Lines: evidence},
			page.Cell{Lines: f.CandidatePaths})
	}
	slow := page.Table{Caption: name + "slow kernels",
		Columns: []page.Column{page.Code("Kernel"), page.Number("GPU time"), page.Number("% of GPU time"),
			page.Number("Launches"), page.Number("Above floor"), page.Prose("Reason"), page.Prose("What to do")}}
	for _, k := range s.Slow {
		slow.Add(page.Cell{Text: cmp.Or(k.Label, k.Kernel), Hover: k.Kernel}, took(time.Duration(k.GPUTimeNS)),
			number(k.SharePct, 1), count(int64(k.Launches)),
			where(k.FloorNS > 0, took(time.Duration(k.GPUTimeNS-k.FloorNS))), k.Reason, k.Do)
	}
	title := fmt.Sprintf("Stage %v", s.Stage)
	head := section("", title, tab, ops)
	head.Text = fmt.Sprintf("%s of GPU time in %s; busy %s of %s.", table.Duration(time.Duration(s.GPUTimeUS*1e3)),
		table.Counted(s.Launches, "launch", "launches"), table.Duration(time.Duration(s.BusyUS*1e3)),
		table.Duration(time.Duration(s.SpanUS*1e3)))
	if s.Devices > 1 {
		head.Text += fmt.Sprintf(" Times are sums over %d GPUs.", s.Devices)
	}
	head.Text = strings.TrimSpace(head.Text + " " + s.Unresolved())
	lap := section("", title+": exposure and overlap", exposed(name, r, s.Exposure), overlap)
	lap.Text = s.OverlapNote
	fused := section("", title+": fusion", fuse)
	if len(fuse.Rows) == 0 {
		fused.Text = "No known fused path is in use, and no chain of kernels was found for which one is known."
	}
	out := []page.Section{head, lap, fused}
	if len(s.Slow) > 0 {
		out = append(out, section("", title+": slow kernels", slow))
	}
	return out
}

// exposed is which work of a stage runs alone.
func exposed(name string, report *triage.Report, x *triage.Exposure) page.Table {
	if x == nil {
		x = &triage.Exposure{}
	}
	tab := page.Table{Caption: name + "exposure",
		Columns: []page.Column{page.Text("Category"), page.Number("Total"), page.Number("Exposed"),
			page.Number(x.Basis().Percent()), page.Number("Hidden"), page.Number("Waiting"), page.Number("Hideable (at most)")}}
	for _, r := range x.Rows {
		if r.ExposedPct < report.MinSharePct {
			tab.Hidden++
			continue
		}
		tab.Add(page.Cell{Text: string(r.Category), Series: true}, took(time.Duration(r.TotalNS)),
			took(time.Duration(r.ExposedNS)), number(r.ExposedPct, 1), took(time.Duration(r.HiddenNS)),
			where(r.WaitingBy != "", took(time.Duration(r.WaitingNS))),
			where(r.BoundNS > 0, took(time.Duration(r.BoundNS))))
	}
	return tab
}

// wholeSite is from which share on, in percent, a line is not said to be a part: rounded it is all.
const wholeSite = 99.5

// locations are the lines that a row comes from, each with the modules around it and its share of the row.
func locations(list []triage.Location) []string {
	var out []string
	for _, l := range list {
		line := l.Location
		if l.Module != "" {
			line = strings.TrimPrefix(line+" in "+l.Module, " ")
		}
		if l.SharePct < wholeSite {
			line += fmt.Sprintf(" (%s)", table.Pct(l.SharePct, 0))
		}
		out = append(out, line)
	}
	return out
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }
