package lightpage

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/htmlreport"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/roofline"
)

// Sections are those on what passes should take: where the time of one pass of each stage goes, how close its operators come to the GPU's peak,
// and what a token costs.
func Sections(r *roofline.Report) []htmlreport.Section {
	fall := htmlreport.Section{ID: "waterfall", Title: "Speed of light", Text: "Where the time of a pass goes: first what must be, weights and cache at the memory's speed or arithmetic at " +
		"the GPU's, then what stands above it. Each bar begins where the one above ends."}
	for _, p := range r.Typical() {
		bars, tab := timeOf(p)
		fall.Bars = append(fall.Bars, bars)
		fall.Tables = append(fall.Tables, tab)
	}
	out := []htmlreport.Section{fall}
	if len(r.Operators) > 0 {
		out = append(out, shareOfFloor(r))
	}
	if len(r.Economy) > 0 {
		out = append(out, economy(r))
	}
	return out
}

// kindOf is the series of a row of a waterfall: what it is about, for its colour.
func kindOf(name string) string {
	switch {
	case strings.HasPrefix(name, "floor"):
		return "what must be"
	case strings.Contains(name, "idle"):
		return "the GPU is idle"
	case strings.HasPrefix(name, "communication"):
		return "communication"
	}
	return "above the floor, or without one"
}

// timeOf draws and lists where the time of a pass goes.
func timeOf(p *roofline.Pass) (htmlreport.Bars, htmlreport.Table) {
	name := fmt.Sprintf("Pass %d, %s", p.Index, p.Stage)
	if p.Batch > 0 {
		name += fmt.Sprintf(", requests: %d", p.Batch)
	}
	whole, sum := p.Wall, "= start to next start"
	if whole == 0 { // a plan
		whole, sum = p.Floor, "= floor"
	}
	bars := htmlreport.Bars{Label: name + ": where the time goes", Unit: "ms", Max: float64(whole) / 1e6}
	tab := htmlreport.Table{Caption: name, Columns: []htmlreport.Column{{Title: "Where the time goes"}, {Title: "ms", Numeric: true}, {Title: "Share (%)", Numeric: true}, {Title: "Remark", Prose: true}}}
	at := 0.0
	for _, s := range p.Waterfall {
		if s.Time == 0 {
			continue
		}
		took := float64(s.Time) / 1e6
		share := 100 * float64(s.Time) / float64(max(whole, 1))
		bars.Rows = append(bars.Rows, htmlreport.Bar{Label: s.Name, Value: ms(s.Time) + " ms, " + table.Fixed(share, 1) + " %", Detail: s.Note, Series: kindOf(s.Name), From: at, To: at + took})
		tab.Rows = append(tab.Rows, []htmlreport.Cell{textCell(s.Name), numberCell(took, 3), numberCell(share, 1), textCell(s.Note)})
		at += took
	}
	tab.Rows = append(tab.Rows, []htmlreport.Cell{{Text: sum, Strong: true}, numberCell(float64(whole)/1e6, 3), numberCell(100, 1), {}})
	return bars, tab
}

// shareOfFloor draws how much of what the GPU can do each operator reaches, and lists what it has to do.
func shareOfFloor(r *roofline.Report) htmlreport.Section {
	bars := htmlreport.Bars{Label: "Share of the floor in the time of each operator", Unit: "%", Max: 100}
	tab := htmlreport.Table{Caption: "Operators of the steady pass", Search: true, Columns: []htmlreport.Column{{Title: "Layer type", Filter: true}, {Title: "Operator"}, {Title: "Layers", Numeric: true},
		{Title: "M", Numeric: true}, {Title: "N", Numeric: true}, {Title: "K", Numeric: true}, {Title: "GFLOP", Numeric: true}, {Title: "MB", Numeric: true}, {Title: "ms", Numeric: true},
		{Title: "Floor (ms)", Numeric: true}, {Title: "Bound", Filter: true}, {Title: "Of peak (%)", Numeric: true}, {Title: "Remark", Prose: true}}}
	for i := range r.Operators {
		o := &r.Operators[i]
		if o.PeakShare > 0 {
			bars.Rows = append(bars.Rows, htmlreport.Bar{Label: o.Operator, Value: table.Fixed(100*o.PeakShare, 0) + " % of " + ms(o.Time) + " ms", Detail: o.LayerType, Series: "bound by " + o.Bound, To: 100 * o.PeakShare})
		}
		tab.Rows = append(tab.Rows, []htmlreport.Cell{textCell(o.LayerType), textCell(o.Operator), countCell(int64(o.Count)), sizeCell(o.M), sizeCell(o.N), sizeCell(o.K), numberCell(o.GFLOP, 1),
			numberCell(float64(o.Bytes)/1e6, 1), numberCell(float64(o.Time)/1e6, 3), numberCell(float64(o.Floor)/1e6, 3), textCell(o.Bound), numberCell(100*o.PeakShare, 0), textCell(o.Note)})
	}
	s := htmlreport.Section{Title: "Operators against the GPU", Text: "100 % is what the data sheet says the GPU can do; operators without a bar have no floor: their kernels are too small, or move what may be in a cache.",
		Tables: []htmlreport.Table{tab}}
	if len(bars.Rows) > 0 {
		s.Bars = []htmlreport.Bars{bars}
	}
	return s
}

func sizeCell(n int64) htmlreport.Cell {
	if n == 0 {
		return htmlreport.Cell{Sort: -1}
	}
	return htmlreport.Cell{Text: strconv.FormatInt(n, 10), Sort: float64(n)}
}

// economy lists what a token and a request cost.
func economy(r *roofline.Report) htmlreport.Section {
	tab := htmlreport.Table{Caption: "Passes by stage and requests", Columns: []htmlreport.Column{{Title: "Stage"}, {Title: "Requests", Numeric: true}, {Title: "Passes", Numeric: true}, {Title: "Tokens", Numeric: true},
		{Title: "ms", Numeric: true}, {Title: "µs/token", Numeric: true}, {Title: "µs/request", Numeric: true}, {Title: "Of floor (%)", Numeric: true}, {Title: "Padding (%)", Numeric: true}, {Title: "Prefill tax (ms a step)", Numeric: true}}}
	share := func(part, whole float64) htmlreport.Cell {
		if whole <= 0 {
			return htmlreport.Cell{Text: table.None, Sort: -1}
		}
		return numberCell(100*part/whole, 1)
	}
	each := func(d time.Duration) htmlreport.Cell {
		if d == 0 {
			return htmlreport.Cell{Text: table.None, Sort: -1}
		}
		return numberCell(float64(d)/1e3, 1)
	}
	for i := range r.Economy {
		b := &r.Economy[i]
		tax := htmlreport.Cell{Text: table.None, Sort: -1}
		if b.Taxed > 0 {
			tax = numberCell(float64(b.Tax)/float64(b.Taxed)/1e6, 3)
		}
		floor := share(float64(b.Floor), float64(b.Floored))
		tab.Rows = append(tab.Rows, []htmlreport.Cell{textCell(string(b.Stage)), {Text: table.Span(b.From, b.To), Sort: float64(b.From)}, countCell(int64(b.Passes)), countCell(b.Tokens), numberCell(float64(b.Wall)/1e6, 3),
			each(b.PerToken), each(b.PerRequest), floor, share(float64(b.Rows-b.Asked), float64(b.Rows)), tax})
	}
	return htmlreport.Section{Title: "What a token costs", Tables: []htmlreport.Table{tab}}
}

func ms(d time.Duration) string { return table.Fixed(float64(d)/1e6, 3) }

func textCell(s string) htmlreport.Cell { return htmlreport.Cell{Text: s} }

func numberCell(v float64, decimals int) htmlreport.Cell {
	return htmlreport.Cell{Text: table.Fixed(v, decimals), Sort: v}
}

func countCell(n int64) htmlreport.Cell {
	if n < 0 {
		return htmlreport.Cell{Text: table.None, Sort: -1}
	}
	return htmlreport.Cell{Text: table.Count(n), Sort: float64(n)}
}
