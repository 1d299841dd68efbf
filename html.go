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

// newPage begins the page of analysed GPUs.
func newPage(program, name string, d *layer.Device) *page.Page {
	p := &page.Page{Title: filepath.Base(name), Program: program, Colours: map[string]string{}, Inputs: []string{name}}
	if d == nil {
		return p
	}
	addHealth(p, d.Analysis().Trace().Health())
	addColours(p, d)
	for _, c := range []string{d.Analysis().Framework(), d.GPU} {
		if c != "" {
			p.Context = append(p.Context, c)
		}
	}
	if d.NumLayers > 0 {
		p.Context = append(p.Context, table.Counted(d.NumLayers, "layer", "layers"))
	}
	p.Context = append(p.Context, table.Counted(len(d.Passes), "pass", "passes"), table.Counted(d.NumKernels(), "kernel", "kernels"))
	return p
}

func addColours(p *page.Page, d *layer.Device) {
	for _, c := range d.Categories() {
		p.Colours[d.CategoryLabel(c)] = page.CategoryColour(c)
	}
}

func addHealth(p *page.Page, h trace.Health) {
	p.Health.Status = string(h.Status)
	for _, f := range h.Findings {
		p.Health.Findings = append(p.Health.Findings, page.Remark{Code: string(f.Code), Message: f.Message})
	}
}

// draw is the timeline of a GPU.
func draw(d *layer.Device, name string, gaps []hostoverhead.Gap, passes []int) *page.Timeline {
	t := d.Analysis().Trace()
	return page.FromDevice(d, page.Extra{ID: "t0", Label: "Timeline of " + filepath.Base(name), Waits: waits(gaps),
		Passes: passes, Source: sourceLines(d.Analysis()),
		Href: func(a, b trace.Time) string { return perfettoURL(t, a, b) }})
}

// gapsOf are the explained idle times of a GPU; none where the host cannot be judged.
func gapsOf(ctx context.Context, d *layer.Device) []hostoverhead.Gap {
	most := pageGaps
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
	sources := triage.Sources(a.Trace())
	return func(k layer.Kernel) string {
		if m := k.ModelLine(); m.Line != "" {
			return m.String()
		}
		return sources(k.Event())
	}
}

// WriteLayersHTML writes the page of the passes and layers of a GPU: pass is the one whose layers are drawn,
// [trace.None] for the steady one. light adds what its operators should take; nil for none. name is what the trace is
// called.
func WriteLayersHTML(ctx context.Context, w io.Writer, d *layer.Device, pass int, light *roofline.Report,
	name string) error {
	p := newPage("layers", name, d)
	if pass == trace.None {
		pass = d.Steady.Pass
	}
	p.Notes = append(p.Notes, d.Notes...)
	for _, e := range d.Evidence {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: %s (confidence %s)", e.For, e.Detail, table.Fixed(e.Confidence, 2)))
	}
	p.Verdict = table.Counted(len(d.Passes), "pass", "passes") + " of " + table.Counted(d.NumLayers, "layer", "layers")
	p.Sections = append(p.Sections, page.Section{ID: "timeline",
		Timelines: []*page.Timeline{draw(d, name, gapsOf(ctx, d), []int{max(pass, 0)})}})
	if pass != trace.None {
		f, err := d.Pass(pass)
		if err != nil {
			return err
		}
		p.Verdict += fmt.Sprintf("; pass %d, %s, takes %s", pass, f.Stage.Info().Title, table.Duration(f.Wall()))
		if h := page.FromLayers(d, pass); h != nil {
			p.Sections = append(p.Sections, page.Section{ID: "layers", Title: "Which layer is different",
				Text:  "Colour is time against the median of that operator over layers of the same type.",
				Heats: []*page.Heat{h}})
		}
		p.Sections = append(p.Sections, section("layer-list", "Layers", layerTable(d, pass)))
	}
	if light != nil {
		p.Sections = append(p.Sections, lightSections(light)...)
		p.Notes = append(p.Notes, light.Notes...)
	}
	p.Sections = append(p.Sections, section("kernels", "Kernels", kernelTable([]*layer.Device{d})),
		section("passes", "Passes", devicePasses(d)))
	return p.Write(w)
}

func layerTable(d *layer.Device, pass int) page.Table {
	p := &d.Passes[pass]
	tab := page.Table{Caption: fmt.Sprintf("Layers of pass %d", pass), FoldAfter: shownRows,
		Columns: []page.Column{{Title: "Layer", Numeric: true}, {Title: "Type", Filter: true},
			{Title: "Wall", Numeric: true},
			{Title: "Sum of kernels", Numeric: true}, {Title: "Kernels", Numeric: true}, {Title: "Perfetto"}}}
	for _, l := range p.Layers() {
		n := p.LayerNumber(l.Index)
		tab.Rows = append(tab.Rows, page.Row{Cells: []page.Cell{{Text: strconv.Itoa(n), Sort: float64(n)},
			{Text: l.Type}, took(l.Wall), took(l.Sum), count(int64(len(l.Kernels))),
			perfettoCell(d.Analysis().Trace(), l.Start, l.End)}})
	}
	return tab
}

func devicePasses(d *layer.Device) page.Table {
	tab := page.Table{Caption: "All passes", Folded: len(d.Passes) > shownRows,
		Columns: []page.Column{{Title: "Pass", Numeric: true}, {Title: "Stage", Filter: true},
			{Title: "Start", Numeric: true}, {Title: "Wall", Numeric: true},
			{Title: "Requests", Numeric: true}, {Title: "Tokens", Numeric: true}, {Title: "Layers", Numeric: true},
			{Title: "Kernels", Numeric: true}, {Title: "Confidence", Numeric: true}, {Title: "Note", Prose: true},
			{Title: "Perfetto"}}}
	for i := range d.Passes {
		f := &d.Passes[i]
		tab.Rows = append(tab.Rows, page.Row{Cells: []page.Cell{{Text: strconv.Itoa(i), Sort: float64(i),
			Strong: i == d.Steady.Pass}, {Text: string(f.Stage)}, took(time.Duration(f.Start)), took(f.Wall()),
			count(int64(f.Batch)), count(f.Tokens),
			count(int64(f.NumLayers)), count(int64(f.Kernels)), number(f.Confidence, 2), {Text: f.Note},
			perfettoCell(d.Analysis().Trace(), f.Start, f.End)}})
	}
	return tab
}

// WriteLightHTML writes the page of what passes should take. d is the GPU that was analysed, nil for a plan.
func WriteLightHTML(ctx context.Context, w io.Writer, r *roofline.Report, d *layer.Device, name string) error {
	p := newPage("light", name, d)
	p.Notes = r.Notes
	if r.Model != "" {
		p.Context = append(p.Context, r.Model)
	}
	if r.GPU != nil {
		p.Context = append(p.Context, r.GPU.ID)
	}
	p.Context = append(p.Context, fmt.Sprintf("TP %d, EP %d", r.TP, r.EP))
	if typical := r.Typical(); len(typical) > 0 && typical[0].Floor > 0 {
		t := typical[0]
		if t.Wall > 0 {
			p.Verdict = fmt.Sprintf("A %s takes %s; the GPU needs at least %s of it (%s).", t.Stage.Info().Step,
				table.Duration(t.Wall), table.Duration(t.Floor), table.Pct(100*float64(t.Floor)/float64(t.Wall), 1))
		} else {
			p.Verdict = fmt.Sprintf("A %s needs at least %s.", t.Stage.Info().Step, table.Duration(t.Floor))
		}
	}
	if d != nil && d.NumKernels() > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "timeline",
			Timelines: []*page.Timeline{draw(d, name, gapsOf(ctx, d), []int{max(d.Steady.Pass, 0)})}})
	}
	p.Sections = append(p.Sections, lightSections(r)...)
	return p.Write(w)
}

// lightSections are where a step goes, operators against the GPU, and the cost per token.
func lightSections(r *roofline.Report) []page.Section {
	out := []page.Section{waterfalls(r)}
	tab := page.Table{Caption: "Operators of the steady pass against the GPU", Search: true, FoldAfter: 2 * shownRows,
		Columns: []page.Column{{Title: "Layer type", Filter: true}, {Title: "Operator"},
			{Title: "Layers", Numeric: true},
			{Title: "M", Numeric: true}, {Title: "N", Numeric: true}, {Title: "K", Numeric: true},
			{Title: "GFLOP", Numeric: true}, {Title: "MB", Numeric: true}, {Title: "Time", Numeric: true},
			{Title: "Floor", Numeric: true}, {Title: "Bound", Filter: true}, {Title: "% of peak", Numeric: true},
			{Title: "Remark", Prose: true}}}
	for i := range r.Operators {
		o := &r.Operators[i]
		peak := page.Cell{Text: table.None, Sort: -1}
		if o.PeakShare > 0 {
			peak = number(100*o.PeakShare, 0)
			peak.Bar = o.PeakShare
		}
		tab.Rows = append(tab.Rows, page.Row{Cells: []page.Cell{{Text: o.LayerType},
			{Text: o.Operator, Find: o.Operator}, count(int64(o.Count)), size(o.M), size(o.N), size(o.K),
			number(o.GFLOP, 1),
			number(float64(o.Bytes)/1e6, 1), knownTime(o.Time), knownTime(o.Floor), {Text: fmt.Sprint(o.Bound)}, peak,
			{Text: o.Note}}})
	}
	return append(out, section("operators", "Operators", tab), costs(r))
}

// costs are what a token and a request cost.
func costs(r *roofline.Report) page.Section {
	cost := page.Table{Caption: "Cost per token, by stage and requests",
		Columns: []page.Column{{Title: "Stage"}, {Title: "Requests", Numeric: true}, {Title: "Passes", Numeric: true},
			{Title: "Tokens", Numeric: true},
			{Title: "Time", Numeric: true}, {Title: "Per token", Numeric: true}, {Title: "Per request", Numeric: true},
			{Title: "% of floor", Numeric: true}, {Title: "% padding", Numeric: true},
			{Title: "Prefill tax per step", Numeric: true}}}
	share := func(part, whole float64) page.Cell {
		if whole <= 0 {
			return page.Cell{Text: table.None, Sort: -1}
		}
		return number(100*part/whole, 1)
	}
	for i := range r.Economy {
		b := &r.Economy[i]
		if b.PerToken <= 0 && b.PerRequest <= 0 && b.Floored <= 0 {
			continue
		}
		tax := page.Cell{Text: table.None, Sort: -1}
		if b.Taxed > 0 {
			tax = took(b.Tax / time.Duration(b.Taxed))
		}
		cost.Rows = append(cost.Rows, page.Row{Cells: []page.Cell{{Text: string(b.Stage)},
			{Text: table.Span(b.From, b.To), Sort: float64(b.From)}, count(int64(b.Passes)), count(b.Tokens),
			took(b.Wall),
			knownTime(b.PerToken), knownTime(b.PerRequest), share(float64(b.Floor), float64(b.Floored)),
			share(float64(b.Rows-b.Asked), float64(b.Rows)), tax}})
	}
	return section("cost", "Cost per token", cost)
}

func size(n int64) page.Cell {
	if n == 0 {
		return page.Cell{Text: table.None, Sort: -1}
	}
	return page.Cell{Text: strconv.FormatInt(n, 10), Sort: float64(n)}
}

// WriteHostHTML writes the page of a host verdict: the idle time of the deciding GPU by cause, in its timeline and as a
// ledger. ranks are those that were judged.
func WriteHostHTML(ctx context.Context, w io.Writer, v *hostoverhead.Verdict, ranks []*layer.Analysis,
	name string) error {
	var d *layer.Device
	var decides *hostoverhead.RankVerdict
	if v.Deciding >= 0 && v.Deciding < len(v.Ranks) {
		decides = &v.Ranks[v.Deciding]
		if decides.File >= 0 && decides.File < len(ranks) {
			// nil where the verdict is of other ranks: the page has no timeline then
			d, _ = ranks[decides.File].Device(&decides.Device)
		}
	}
	p := newPage("host", name, d)
	p.Verdict = fmt.Sprintf("Is the host the bottleneck? %v. %s", v.Verdict, v.Summary)
	for _, x := range v.Doubts {
		p.Notes = append(p.Notes, x.Message)
	}
	if h := &v.Headroom; h.WallNS > 0 {
		p.Figures = []page.Figure{{Value: table.Duration(time.Duration(h.WallNS)), Name: "in the " + string(v.Basis)},
			{Value: table.Duration(time.Duration(h.BusyNS)), Name: "GPU busy"},
			{Value: table.Duration(time.Duration(h.IdleNS)), Name: "idle"},
			{Value: table.Duration(time.Duration(h.HostNS)), Name: "because of the host"}}
	}
	if d != nil && decides != nil {
		p.Sections = append(p.Sections, page.Section{ID: "timeline",
			Timelines: []*page.Timeline{draw(d, name, gapsOf(ctx, d), []int{max(d.Steady.Pass, 0)})}})
	}
	idle := page.Table{Caption: "Idle GPU time by cause",
		Columns: []page.Column{{Title: "Kind", Filter: true}, {Title: "Cause"}, {Title: "In the window", Numeric: true},
			{Title: "In the steps", Numeric: true}, {Title: "% of step time", Numeric: true},
			{Title: "Mostly in", Code: true}}}
	for _, c := range v.Idle {
		var lines []string
		for _, n := range c.Names[:min(len(c.Names), 3)] {
			lines = append(lines, table.Duration(time.Duration(n.NS))+" "+n.Name)
		}
		idle.Rows = append(idle.Rows, page.Row{Cells: []page.Cell{{Text: fmt.Sprint(c.Group)},
			{Text: fmt.Sprint(c.Cause)}, took(time.Duration(c.NS)), took(time.Duration(c.StepsNS)),
			number(100*c.Share, 1), {Lines: lines}}})
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
	p.Health.Status = "ok"
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
		pair.Timelines = append(pair.Timelines, page.FromDevice(d,
			page.Extra{ID: "t" + strconv.Itoa(i), Link: "sides",
				Label: fmt.Sprintf("%c: %s, pass %d", 'A'+i, f.Stage.Info().Title, f.Index), From: f.Start,
				To: d.StepEnd(f.Index), Waits: waits(gapsOf(ctx, d)), Source: sourceLines(d.Analysis())}))
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
	parts := []string{sideName(s), fmt.Sprintf("%s in %s",
		table.Counted(s.Passes, fmt.Sprintf("%v pass", s.Stage), fmt.Sprintf("%v passes", s.Stage)),
		table.Counted(s.Runs, "run", "runs"))}
	if s.Batch >= 0 {
		parts = append(parts, "batch "+strconv.FormatInt(s.Batch, 10))
	}
	parts = append(parts, table.Duration(s.Wall)+" each")
	for _, x := range []string{s.GPU, s.Framework} {
		if x != "" {
			parts = append(parts, x)
		}
	}
	return strings.Join(parts, ", ")
}

// fallRows is how many rows of a comparison have a bar of their own; the others are added up.
const fallRows = 14

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
	var rest time.Duration
	for i := range r.Rows {
		if i >= fallRows {
			rest += r.Rows[i].Delta
			continue
		}
		step(r.Rows[i].Operator, r.Rows[i].Delta)
	}
	step("all others", rest)
	fall.Steps = append(fall.Steps, page.Step{Name: "B: " + sideName(&r.B), Value: table.Duration(at), Kind: page.Whole,
		To: float64(at)})
	out := []page.Section{{ID: "difference", Title: "What changed", Falls: []page.Waterfall{fall},
		Tables: []page.Table{compareRows(r)}}}
	if len(r.Findings) > 0 {
		tab := page.Table{Caption: "Beyond noise", Columns: []page.Column{{Title: "Kind"},
			{Title: "Finding", Prose: true}, {Title: "B − A", Numeric: true}}}
		for i := range r.Findings {
			f := &r.Findings[i]
			tab.Rows = append(tab.Rows, page.Row{Cells: []page.Cell{{Text: fmt.Sprint(f.Kind)}, {Text: f.Sentence()},
				took(f.PerStep)}})
		}
		out = append(out, section("changes", "Findings", tab))
	}
	if len(r.Gates) > 0 {
		tab := page.Table{Caption: "Gates", Columns: []page.Column{{Title: "Gate"}, {Title: "Outcome"},
			{Title: "Found", Prose: true}}}
		for i := range r.Gates {
			g := &r.Gates[i]
			tab.Rows = append(tab.Rows, page.Row{Cells: []page.Cell{{Text: g.Gate}, {Text: fmt.Sprint(g.Outcome)},
				{Text: g.Text}}})
		}
		out = append(out, section("gates", "Gates", tab))
	}
	if len(r.Layers) > 1 {
		tab := page.Table{Caption: "GPU time of each layer, mean of the passes", Folded: true,
			Columns: []page.Column{{Title: "Layer", Numeric: true}, {Title: "A", Numeric: true},
				{Title: "B", Numeric: true}, {Title: "B − A", Numeric: true}}}
		for _, l := range r.Layers {
			tab.Rows = append(tab.Rows, page.Row{Cells: []page.Cell{number(float64(l.Layer), 0), took(l.A), took(l.B),
				took(l.B - l.A)}})
		}
		out = append(out, section("layers", "Layers", tab))
	}
	return out
}

func compareRows(r *compare.Report) page.Table {
	t := page.Table{Caption: "Parts of the step by difference", Search: true, FoldAfter: 2 * shownRows,
		Columns: []page.Column{{Title: "Operator"}, {Title: "A", Numeric: true}, {Title: "B", Numeric: true},
			{Title: "B − A", Numeric: true}, {Title: "% of A", Numeric: true},
			{Title: "95% interval", Numeric: true}, {Title: "Found", Filter: true}, {Title: "Launches"},
			{Title: "Kernels A", Code: true}, {Title: "Kernels B", Code: true}}}
	for i := range r.Rows {
		row := &r.Rows[i]
		percent, interval := page.Cell{Text: table.None}, page.Cell{Text: table.None}
		if row.A > 0 {
			percent = number(100*float64(row.Delta)/float64(row.A), 1)
		}
		if row.Judged {
			interval = page.Cell{Text: table.Duration(row.Low) + " … " + table.Duration(row.High),
				Sort: float64(row.Low)}
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: row.Operator, Find: row.Operator}, took(row.A),
			took(row.B), took(row.Delta), percent, interval,
			{Text: fmt.Sprint(row.Found), Strong: row.Significant},
			{Text: fmt.Sprintf("%.0f → %.0f", row.LaunchesA, row.LaunchesB)}, {Lines: first(row.Names(0), 3)},
			{Lines: first(row.Names(1), 3)}}})
	}
	return t
}

// rankSection lists groups of ranks, and ranks one by one where they are few.
func rankSection(f *fleet.Report) page.Section {
	groups := page.Table{Caption: "Groups of ranks that exchange data", FoldAfter: shownRows,
		Columns: []page.Column{{Title: "Recording", Filter: true}, {Title: "Ranks"}, {Title: "Steps", Numeric: true},
			{Title: "Step", Numeric: true, Help: "of the median rank"},
			{Title: "Waiting, least", Numeric: true}, {Title: "Median", Numeric: true}, {Title: "Most", Numeric: true},
			{Title: "Transfer", Numeric: true, Help: "time in which all ranks exchange"},
			{Title: "Collectives", Numeric: true}, {Title: "Late rank"}, {Title: "Why", Prose: true}}}
	ranks := page.Table{Caption: "Ranks, per step", Search: true, FoldAfter: 2 * shownRows,
		Columns: []page.Column{{Title: "Rank"}, {Title: "Step", Numeric: true}, {Title: "GPU busy", Numeric: true},
			{Title: "Waiting for others", Numeric: true, Help: "the late rank waits least"},
			{Title: "Waiting, % of step", Numeric: true},
			{Title: "Arrives last", Numeric: true, Help: "collectives at which it alone arrives last"},
			{Title: "Unlike the others", Prose: true}}}
	ns := func(n int64) page.Cell { return took(time.Duration(n)) }
	bar := func(n, of int64) page.Cell {
		c := ns(n)
		c.Bar = ratio(time.Duration(n), time.Duration(of))
		return c
	}
	for i := range f.Runs {
		for k := range f.Runs[i].Groups {
			g := &f.Runs[i].Groups[k]
			late, why := page.Cell{Text: table.None}, ""
			if g.Late != nil {
				late, why = page.Cell{Text: g.Late.Rank, Strong: true}, g.Late.Why()
			}
			groups.Rows = append(groups.Rows, page.Row{Cells: []page.Cell{{Text: f.Runs[i].Run},
				{Text: strings.TrimSpace(g.Name + " " + g.Part)}, count(int64(g.Steps)), ns(g.Step),
				bar(g.Wait.Min, g.Step), bar(g.Wait.Median, g.Step), bar(g.Wait.Max, g.Step), ns(g.Transfer),
				count(int64(g.Collectives)), late, {Text: why}}})
			longest := int64(0)
			for _, row := range g.Rows {
				longest = max(longest, row.Wall)
			}
			for _, row := range g.Rows {
				unlike := ""
				if n := slices.IndexFunc(g.Differs, func(d fleet.Differs) bool { return d.Rank == row.Rank }); n >= 0 {
					unlike = fmt.Sprintf("%s: %+.1f%% of step time", g.Differs[n].What, 100*g.Differs[n].Share)
				}
				ranks.Rows = append(ranks.Rows, page.Row{Cells: []page.Cell{{Text: row.Rank,
					Strong: late.Text == row.Rank}, bar(row.Wall, longest), bar(row.Busy, longest),
					bar(row.Wait, longest),
					number(100*ratio(time.Duration(row.Wait), time.Duration(row.Wall)), 1), count(int64(row.Last)),
					{Text: unlike}}})
			}
		}
	}
	s := page.Section{ID: "ranks", Title: "Ranks", Text: "All bars have one scale.", Tables: tablesOf(ranks)}
	if s.Tables = append(s.Tables, tablesOf(groups)...); len(s.Tables) == 0 {
		s.Text = "No collectives of several ranks could be matched, so that waiting is not known."
	}
	return s
}

// WriteFleetHTML writes the page of many ranks: findings as cards, and what each rank waits for. name is what was read.
func WriteFleetHTML(w io.Writer, f *fleet.Report, name string) error {
	p := &page.Page{Title: filepath.Base(name), Program: "fleet", Verdict: f.Verdict, Inputs: []string{name},
		Context: []string{table.Counted(f.Ranks, "rank", "ranks"), table.Counted(len(f.Runs), "recording", "recordings")}}
	p.Health.Status = string(f.Health)
	cards := page.Section{ID: "findings", Title: "Findings", Cards: cardsOf(f.Findings)}
	if len(cards.Cards) == 0 {
		cards.Text = "No rank makes the others wait for 1% of step time."
	}
	p.Sections = append(p.Sections, cards, rankSection(f))
	return p.Write(w)
}

// WriteTriageHTML writes the page of a triage, with the comparison with an older run before it; c is nil where there is
// none, d the GPU to draw, nil for no timeline.
func WriteTriageHTML(ctx context.Context, w io.Writer, r *triage.Report, c *triage.Comparison, d *layer.Device) error {
	var names []string
	for _, t := range r.Traces {
		names = append(names, filepath.Base(t))
	}
	p := &page.Page{Title: strings.Join(names, ", "), Program: "triage", Verdict: r.Summary,
		Colours: map[string]string{}, Inputs: append(slices.Clone(r.Traces), r.MappingTraces...)}
	worst := trace.HealthOK
	for _, n := range r.Health {
		if n.Status.Compare(worst) > 0 {
			worst = n.Status
		}
		for _, f := range n.Findings {
			p.Health.Findings = append(p.Health.Findings,
				page.Remark{Code: string(f.Code), Message: filepath.Base(n.Trace) + ": " + f.Message})
		}
	}
	p.Health.Status = string(worst)
	for _, x := range []string{r.Framework, r.Model} {
		if x != "" {
			p.Context = append(p.Context, x)
		}
	}
	if r.TPSize > 0 {
		p.Context = append(p.Context, "TP "+strconv.Itoa(r.TPSize))
	}
	if d != nil && d.NumKernels() > 0 {
		addColours(p, d)
		p.Sections = append(p.Sections, page.Section{ID: "timeline",
			Timelines: []*page.Timeline{draw(d, p.Title, gapsOf(ctx, d), []int{max(d.Steady.Pass, 0)})}})
	}
	if c != nil {
		for i := range c.Stages {
			s := &c.Stages[i]
			for _, part := range compareSections(s.Report) {
				part.ID, part.Title = "", fmt.Sprintf("Against the older run, %v: %s", s.Stage,
					strings.ToLower(part.Title))
				p.Sections = append(p.Sections, part)
			}
			p.Sections = append(p.Sections, section("", fmt.Sprintf("Against the older run, %v: kernels", s.Stage),
				changedKernels(s)))
		}
		p.Notes = append(p.Notes, c.Notes...)
	}
	for i := range r.Stages {
		p.Sections = append(p.Sections, triageSections(r, &r.Stages[i])...)
	}
	return p.Write(w)
}

func changedKernels(s *triage.StageComparison) page.Table {
	t := page.Table{Caption: "Kernels by change, per step", Search: true, Folded: true,
		Columns: []page.Column{{Title: "Kernel", Code: true}, {Title: "Category", Filter: true},
			{Title: "Status", Filter: true}, {Title: "Old", Numeric: true}, {Title: "New", Numeric: true},
			{Title: "Change", Numeric: true}}}
	us := func(v float64) page.Cell { return took(time.Duration(v * 1e3)) }
	for i := range s.Kernels {
		k := &s.Kernels[i]
		name := page.Cell{Text: k.Name}
		if k.Was != "" {
			name.Lines = []string{"was " + k.Was}
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{name, {Text: k.Category}, {Text: fmt.Sprint(k.Status)},
			us(k.OldUS), us(k.NewUS), us(k.DeltaUS)}})
	}
	return t
}

func triageSections(r *triage.Report, s *triage.StageReport) []page.Section {
	name := fmt.Sprintf("Stage %v: ", s.Stage)
	us := func(v float64) page.Cell { return took(time.Duration(v * 1e3)) }
	tab := page.Table{Caption: name + "kernels", Search: true, FoldAfter: shownRows, Hidden: s.HiddenRows,
		Columns: []page.Column{{Title: "Kernel", Code: true}, {Title: "Category", Filter: true},
			{Title: "Operator", Filter: true}, {Title: "GPU time", Numeric: true},
			{Title: "% of GPU time", Numeric: true}, {Title: "Launches", Numeric: true}, {Title: "Avg", Numeric: true},
			{Title: "Model line", Code: true}, {Title: "Source", Code: true}, {Title: "CPU op", Code: true}}}
	for _, k := range s.ByOperator() {
		if k.SharePct < r.MinSharePct {
			tab.Hidden++
			continue
		}
		share := number(k.SharePct, 1)
		share.Bar = k.SharePct / 100
		tab.Rows = append(tab.Rows, page.Row{Cells: []page.Cell{{Text: cmp.Or(k.Label, k.Kernel), Hover: k.Kernel},
			{Text: k.Category, Series: true}, {Text: k.Operator()}, us(k.GPUTimeUS), share, count(int64(k.Launches)),
			us(k.GPUTimeUS / float64(max(1, k.Launches))),
			{Lines: locations(k.ModelLines)}, {Lines: locations(k.Locations)},
			{Lines: slices.Compact(slices.Sorted(slices.Values(k.CPUOps)))}}})
	}
	ops := page.Table{Caption: name + "operators",
		Columns: []page.Column{{Title: "Operator"}, {Title: "GPU time", Numeric: true},
			{Title: "% of GPU time", Numeric: true}, {Title: "Launches", Numeric: true},
			{Title: "Confidence", Numeric: true}}}
	for _, o := range s.Operators {
		ops.Rows = append(ops.Rows, page.Row{Cells: []page.Cell{{Text: o.Operator, Find: o.Operator},
			took(time.Duration(o.GPUTimeNS)), number(o.SharePct, 1), count(int64(o.Launches)),
			number(o.Confidence, 2)}})
	}
	overlap := page.Table{Caption: name + "overlap", FoldAfter: shownRows,
		Columns: []page.Column{{Title: "Priority", Filter: true}, {Title: "Kernel", Code: true}, {Title: "Category"},
			{Title: "Time", Numeric: true}, {Title: "% of GPU time", Numeric: true},
			{Title: "Alone (%)", Numeric: true}, {Title: "Gain at most", Numeric: true},
			{Title: "% of step", Numeric: true}, {Title: "Recommendation"}}}
	for _, o := range s.Overlap {
		overlap.Rows = append(overlap.Rows, page.Row{Cells: []page.Cell{{Text: o.Priority},
			{Text: cmp.Or(o.Label, o.Kernel), Hover: o.Kernel}, {Text: o.Category, Series: true}, us(o.TotalUS),
			number(o.SharePct, 1), number(100*o.ExclusiveRatio, 0), took(time.Duration(o.BoundNS)),
			number(o.BoundPct, 1), {Text: o.Recommendation}}})
	}
	fuse := page.Table{Caption: name + "fused paths",
		Columns: []page.Column{{Title: "Pattern"}, {Title: "State", Filter: true}, {Title: "What to do", Prose: true},
			{Title: "Confidence", Filter: true}, {Title: "Time", Numeric: true},
			{Title: "% of GPU time", Numeric: true},
			{Title: "Times", Numeric: true}, {Title: "Gain", Numeric: true}, {Title: "% of step", Numeric: true},
			{Title: "Evidence", Code: true}, {Title: "Candidate paths", Code: true}}}
	for _, f := range s.Fuse {
		var evidence []string
		for _, e := range f.Evidence {
			evidence = append(evidence, fmt.Sprintf("%d × %s", e.Launches, cmp.Or(e.Label, e.Kernel)))
		}
		gain, share := page.Cell{Text: table.None, Sort: -1}, page.Cell{Text: table.None, Sort: -1}
		if f.EstimatedGainUS > 0 {
			gain, share = us(f.EstimatedGainUS), number(f.GainPct, 1)
		}
		fuse.Rows = append(fuse.Rows, page.Row{Cells: []page.Cell{{Text: f.Pattern}, {Text: f.Status()},
			{Text: f.Action}, {Text: string(f.Confidence)}, us(f.RelatedUS), number(f.SharePct, 1),
			count(int64(f.Occurrences)), gain, share, {Lines: evidence}, {Lines: f.CandidatePaths}}})
	}
	title := fmt.Sprintf("Stage %v", s.Stage)
	head := section("", title, tab)
	head.Text = fmt.Sprintf("%s of GPU time in %s; busy %s of %s.", table.Duration(time.Duration(s.GPUTimeUS*1e3)),
		table.Counted(s.Launches, "launch", "launches"), table.Duration(time.Duration(s.BusyUS*1e3)),
		table.Duration(time.Duration(s.SpanUS*1e3)))
	head.Tables = append(head.Tables, tablesOf(ops)...)
	lap := section("", title+": overlap", overlap)
	lap.Text = s.OverlapNote
	fused := section("", title+": fusion", fuse)
	if len(fuse.Rows) == 0 {
		fused.Text = "No known fused path is in use, and no chain of kernels was found for which one is known."
	}
	return []page.Section{head, lap, fused}
}

func tablesOf(t page.Table) []page.Table {
	if len(t.Rows) == 0 {
		return nil
	}
	return []page.Table{t}
}

// locations are the lines that a row comes from, each with the modules around it and its share of the row.
func locations(list []triage.Location) []string {
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

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }
