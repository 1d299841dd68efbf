package roofline

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// WriteText prints the report for people: the pass that represents all as a waterfall, its operators, possible
// gains, and a line for each pass.
func (r *Report) WriteText(w io.Writer) error {
	p := printer{table.NewWriter(w)}
	gpu := "unknown GPU"
	if r.GPU != nil && r.GPU.ID != "" {
		gpu = r.GPU.ID
	}
	if r.Model == "" {
		p.Heading(1, "Speed of light on %s (%s); no model config found (%s)", gpu, r.GPUWhy, r.Wanted())
	} else {
		p.Heading(1, "Speed of light of %s on %s (%s), TP %d, EP %d", r.ModelInWords(), gpu, r.GPUWhy, r.TP, r.EP)
	}
	if s := r.steady(); s != nil {
		p.pass(s)
	}
	p.operators(r.Operators, r.steady() == nil || r.steady().Wall > 0)
	p.wins(r.Recoverable)
	p.passes(r.Passes)
	p.economy(r)
	p.collectives(r)
	for _, n := range r.Notes {
		p.Say("Note: %s", n)
	}
	return p.Flush()
}

// WriteWaterfall prints where the time of the pass that represents all goes, nothing where there is none.
func (r *Report) WriteWaterfall(w io.Writer) error {
	p := printer{table.NewWriter(w)}
	if s := r.steady(); s != nil {
		p.fall(s)
	}
	return p.Flush()
}

// steady is the pass that represents all, nil where there is none.
func (r *Report) steady() *Pass {
	for i := range r.Passes {
		if r.Passes[i].Index == r.Steady {
			return &r.Passes[i]
		}
	}
	return nil
}

// A printer writes a report.
type printer struct{ *table.Writer }

func ms(d time.Duration) string { return table.Fixed(float64(d)/1e6, 3) }

// some is the cell of a time, "-" for none.
func some(d time.Duration, form func(time.Duration) string) string {
	if d <= 0 {
		return table.None
	}
	return form(d)
}

// percent is a share in per cent with its sign.
func percent(part, whole float64, decimals int) string {
	return table.Percent(part, whole, decimals) + "%"
}

func known(n int64) string {
	if n < 0 {
		return "?"
	}
	return strconv.FormatInt(n, 10)
}

// pass prints a waterfall.
func (p printer) pass(s *Pass) {
	p.Heading(2, "Pass %d: %s, tokens: %s (%s), requests: %s", s.Index, s.Stage, known(s.Tokens), orNone(s.TokensFrom),
		known(s.Batch))
	if s.Rows > s.Tokens {
		p.Say("Padding: kernels ran %d rows for %d tokens", s.Rows, s.Tokens)
	}
	if s.Floor > 0 {
		what := table.Duration(s.Floor)
		if s.AtLeast {
			what = "at least " + what
		}
		if s.Wall > 0 {
			what += fmt.Sprintf(" of %s (%s)", table.Duration(s.Wall), percent(float64(s.Floor), float64(s.Wall), 1))
			if took := s.Wall - s.after(); table.Duration(took) != table.Duration(s.Wall) {
				what += fmt.Sprintf(", %s of the %s up to its last kernel", percent(float64(s.Floor), float64(took), 1),
					table.Duration(took))
			}
		}
		what += "; " + basisText(s.Basis)
		if s.Wall > 0 && s.Covered < mostlyCovered {
			what += fmt.Sprintf("; operators with %s of its GPU time have one", percent(s.Covered, 1, 1))
		}
		p.Say("Floor: %s", what)
	}
	p.fall(s)
}

// mostlyCovered is the share of a pass's GPU time from which its floor is one of the pass, and needs no word on what
// it leaves out.
const mostlyCovered = 0.9

// fall prints the table of a waterfall.
func (p printer) fall(s *Pass) {
	whole, sum := s.Wall, "= start to next start"
	switch {
	case whole == 0: // a plan
		whole, sum = s.Floor, "= floor"
	case s.of == finding.OfWindow:
		sum = "= window"
	}
	t := table.New(table.Text("Where the time goes"), table.Number("ms"), table.Number(s.of.Percent()),
		table.Text("Remark"))
	for _, w := range s.Waterfall {
		if w.Time != 0 {
			t.Row(w.Name, ms(w.Time), table.Percent(float64(w.Time), float64(whole), 1), w.Note)
		}
	}
	t.Rule()
	t.Row(sum, ms(whole), "100.0")
	p.Table(t)
}

// basisText says what a floor rests on.
func basisText(b Basis) string {
	switch b {
	case BasisWeights:
		return "weights alone, which holds for any number of tokens"
	case BasisShapes:
		return "from recorded op inputs"
	}
	return b.String()
}

// after is the idle time after a pass's last kernel.
func (s *Pass) after() time.Duration {
	if n := len(s.Waterfall); n > 0 && s.Wall > 0 {
		return s.Waterfall[n-1].Time
	}
	return 0
}

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return "from " + s
}

// operators prints a row for each; what was measured has no columns in a plan.
func (p printer) operators(rows []Row, measured bool) {
	if len(rows) == 0 {
		return
	}
	p.Heading(2, "Operators")
	number, count := "Layers", func(r *Row) int { return r.Count }
	if measured {
		number, count = "Kernels", func(r *Row) int { return r.Kernels }
	}
	columns := []table.Column{table.Text("Layer type"), table.Text("Operator"), table.Number(number), table.Number("M"),
		table.Number("N"), table.Number("K"), table.Number("GFLOP"), table.Number("MB")}
	if measured {
		columns = append(columns, table.Number("ms"), table.Number("TFLOP/s"), table.Number("TB/s"))
	}
	columns = append(columns, table.Number("Floor ms"), table.Text("Bound"))
	if measured {
		columns = append(columns, table.Number("% of peak"))
	}
	t := table.New(append(columns, table.Text("Remark"))...)
	size := func(n int64) string {
		if n == 0 {
			return table.None
		}
		return strconv.FormatInt(n, 10)
	}
	for i := range rows {
		r := &rows[i]
		share := table.None
		if r.PeakShare > 0 {
			share = table.Percent(r.PeakShare, 1, 0)
		}
		cells := []string{r.LayerType, r.Operator, size(int64(count(r))), size(r.M), size(r.N), size(r.K),
			r.span(r.GFLOP, r.MostGFLOP, 1), r.span(float64(r.Bytes)/1e6, float64(r.MostBytes)/1e6, 1)}
		if measured {
			cells = append(cells, ms(r.Time), r.span(r.TFLOPs, r.TFLOPs*ratio(r.MostGFLOP, r.GFLOP), 1),
				r.span(r.TBs, r.TBs*ratio(float64(r.MostBytes), float64(r.Bytes)), 2))
		}
		cells = append(cells, some(r.Floor, ms), r.Bound)
		if measured {
			cells = append(cells, share)
		}
		t.Row(append(cells, r.Note)...)
	}
	p.Table(t)
}

// span is work that was counted, with the most that it may be where that is more; "-" where nothing was counted.
func (c *Cost) span(least, most float64, decimals int) string {
	switch {
	case least == 0:
		return table.None
	case c.AtLeast:
		return "≥ " + table.Fixed(least, decimals)
	case most > least:
		return table.Fixed(least, decimals) + "–" + table.Fixed(most, decimals)
	}
	return table.Fixed(least, decimals)
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// mostWins is how many items are printed; the others are one sum.
const mostWins = 5

// wins prints what is above its floor, and apart from it what has none, and what is no work of the GPU's own.
func (p printer) wins(items []Item) {
	var above, bare, waits []Item
	for _, it := range items {
		switch it.kind {
		case NoFloor:
			bare = append(bare, it)
		case Communication, Idle:
			waits = append(waits, it)
		case Above, Floor: // floors are no items
			above = append(above, it)
		}
	}
	p.items("Above the floor", above)
	p.items("Communication and idle time", waits)
	p.items("Without a floor", bare)
}

func (p printer) items(title string, items []Item) {
	var all, rest time.Duration
	for i, it := range items {
		if all += it.Time; i >= mostWins {
			rest += it.Time
		}
	}
	for i, it := range items[:min(mostWins, len(items))] {
		if i == 0 {
			p.Heading(2, "%s, %s in all", title, table.Duration(all))
		}
		where := ""
		if it.Place != "" {
			where = " (" + it.Place + ", longest " + it.Kernel + ")"
			if it.Kernel == "" {
				where = " (" + it.Place + ")"
			}
		}
		why := it.Why
		if launches, rest, _ := strings.Cut(why, "; "); strings.HasPrefix(it.Place, launches) {
			why = rest // the place says how many launches
		}
		if why != "" {
			why = ": " + why
		}
		p.Numbered(i+1, "%s: %s, %s of the pass%s%s", it.What, table.Duration(it.Time), percent(it.Share, 1, 1),
			where, why)
	}
	if rest > 0 {
		p.Item("others: %s", table.Duration(rest))
	}
}

// passes prints a line for each, where there are several.
func (p printer) passes(all []Pass) {
	if len(all) < 2 {
		return
	}
	table.List(p.Writer, "Passes", all, len(all), func(s Pass) []string {
		share := ""
		if s.Floor > 0 {
			share = table.Percent(float64(s.Floor), float64(s.Wall), 1)
		}
		return []string{strconv.Itoa(s.Index), string(s.Stage), known(s.Batch), known(s.Tokens), ms(s.Wall),
			some(s.Floor, ms), share, some(s.PerToken, us), some(s.PerRequest, us), ms(s.after())}
	}, table.Number("Pass"), table.Text("Stage"), table.Number("Requests"), table.Number("Tokens"), table.Number("ms"),
		table.Number("Floor ms"), table.Number("Floor % of step"), table.Number("µs/token"),
		table.Number("µs/request"), table.Number("Idle after, ms"))
}

// economy prints what a token and a request cost, over all passes.
func (p printer) economy(r *Report) {
	of := r.Basis()
	table.List(p.Writer, "Cost per token and request", r.Economy, len(r.Economy), func(b Bucket) []string {
		var share, rows, padding, tax string
		if b.Floor > 0 {
			share = table.Percent(float64(b.Floor), float64(b.Floored), 1)
		}
		if b.Asked > 0 {
			rows, padding = strconv.FormatInt(b.Rows, 10), percent(float64(b.Rows-b.Asked), float64(b.Rows), 1)
		}
		if b.Taxed > 0 {
			tax = ms(b.Tax / time.Duration(b.Taxed))
		}
		return []string{string(b.Stage), table.Span(b.From, b.To), strconv.Itoa(b.Passes), known(b.Tokens), ms(b.Wall),
			some(b.PerToken, us), some(b.PerRequest, us), share, rows, padding, tax}
	}, table.Text("Stage"), table.Number("Requests"), table.Number("Passes"), table.Number("Tokens"),
		table.Number("ms"), table.Number("µs/token"), table.Number("µs/request"), table.Number("Floor "+of.Percent()),
		table.Number("Rows run"), table.Number("Padding"), table.Number("Prefill tax ("+of.Per("ms")+")"))
}

func us(d time.Duration) string { return table.Fixed(float64(d)/1e3, 1) }

// collectives prints what exchanges between GPUs take, and which rank the others wait for.
func (p printer) collectives(r *Report) {
	if len(r.Collectives) == 0 {
		return
	}
	table.List(p.Writer, "Collectives of all passes", r.Collectives, len(r.Collectives), func(c Collective) []string {
		var transfer, waiting string
		if c.Divided > 0 {
			transfer, waiting = ms(c.Transfer), ms(c.Waiting)
		}
		return []string{c.Operator, strconv.Itoa(c.Count), ms(c.Time), transfer, waiting, ms(c.Time - c.Divided),
			some(c.Floor, ms)}
	}, table.Text("Operator"), table.Number("Kernels"), table.Number("ms"), table.Number("Transfer ms"),
		table.Number("Waiting ms"), table.Number("Not separated ms"), table.Number("Floor ms"))
	table.List(p.Writer, "Ranks", r.Ranks, len(r.Ranks), func(w layer.RankWait) []string {
		name := known(int64(w.Rank))
		if w == r.Ranks[0] {
			name += " (this report's)"
		}
		return []string{name, strconv.FormatInt(int64(w.GPU), 10), strconv.Itoa(w.Passes), ms(w.Waiting)}
	}, table.Text("Rank"), table.Number("GPU"), table.Number("Passes compared"), table.Number("Waits, ms"))
}
