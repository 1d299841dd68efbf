package htmlreport

import (
	"math"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// Geometry of the charts in SVG units; a chart is scaled to the page's width.
const (
	chartWidth  = 960.0
	plotLeft    = 60.0 // room for the numbers of the y axis
	plotHeight  = 200.0
	plotTop     = 8.0
	stripHeight = 44.0
	labelWidth  = 150.0 // room for the names of bars
	barPitch    = 30.0
	barHeight   = 20.0
	charWidth   = 6.6 // of a digit in the axis' font
	maxTicks    = 20
)

// tick is a line of an axis with its number.
type tick struct {
	At    string
	Label string
}

// path draws the rectangles of one series.
type path struct{ Class, D string }

// area is an invisible rectangle that says on hovering what is there.
type area struct{ X, Y, W, H, Title string }

// label is a text in a chart.
type label struct{ X, Y, Text, Class string }

// columnsView is a chart of stacked columns.
type columnsView struct {
	Label, Unit       string
	Width, Height     string
	Left, Right, Base string
	Ticks             []tick
	Paths             []path
	Marks             string
	Areas             []area
	Labels            []label
	Legend            []legendView
	Hidden            int
}

func newColumns(ch *Chart, c colors) *columnsView {
	v := &columnsView{Label: text(ch.Label), Unit: text(ch.Unit), Width: coord(chartWidth), Height: coord(plotTop + plotHeight + 24),
		Left: coord(plotLeft), Right: coord(chartWidth), Base: coord(plotTop + plotHeight), Legend: legend(ch.Series, c)}
	if ch.MarkName != "" {
		v.Legend = append(v.Legend, legendView{"line", text(ch.MarkName)})
	}
	stacks := ch.Stacks
	if len(stacks) > maxStacks {
		v.Hidden = len(stacks) - maxStacks
		stacks = stacks[:maxStacks]
	}
	top := tallest(ch, stacks)
	step := niceStep(top, 4)
	top = math.Ceil(top/step-1e-9) * step
	y := func(value float64) float64 { return plotTop + plotHeight*(1-value/top) }
	for i := 0; i <= maxTicks && float64(i)*step <= top*(1+1e-9); i++ {
		v.Ticks = append(v.Ticks, tick{coord(y(float64(i) * step)), short(float64(i) * step)})
	}
	v.Ticks[len(v.Ticks)-1].Label += " " + v.Unit
	slot := (chartWidth - plotLeft) / float64(max(len(stacks), 1))
	width := min(slot*0.8, 60)
	longest := 1
	for _, s := range stacks {
		longest = max(longest, len([]rune(text(s.Label))))
	}
	every := max(1, int(math.Ceil(charWidth*float64(longest+1)/slot)))
	ds := make([]strings.Builder, len(ch.Series))
	var marks strings.Builder
	for i, s := range stacks {
		x := plotLeft + slot*float64(i) + (slot-width)/2
		base := positive(s.Base)
		for k, p := range parts(s, ch) {
			if p > 0 {
				box(&ds[k], x, y(base+p), width, y(base)-y(base+p))
			}
			base += p
		}
		if ch.MarkName != "" {
			marks.WriteString("M" + coord(x-slot*0.08) + " " + coord(y(positive(s.Mark))) + "h" + coord(width+slot*0.16))
		}
		v.Areas = append(v.Areas, area{coord(x - (slot-width)/2), coord(plotTop), coord(slot), coord(plotHeight), describe(s, ch)})
		if i%every == 0 {
			v.Labels = append(v.Labels, label{coord(x + width/2), coord(plotTop + plotHeight + 16), text(s.Label), "mid"})
		}
	}
	for k, name := range ch.Series {
		if ds[k].Len() > 0 {
			v.Paths = append(v.Paths, path{c.class(name), ds[k].String()})
		}
	}
	v.Marks = marks.String()
	return v
}

// tallest is the height of the highest stack or mark, 1 where all are empty.
func tallest(ch *Chart, stacks []Stack) float64 {
	top := 0.0
	for _, s := range stacks {
		sum := positive(s.Base)
		for _, p := range parts(s, ch) {
			sum += p
		}
		top = max(top, sum)
		if ch.MarkName != "" {
			top = max(top, positive(s.Mark))
		}
	}
	if top == 0 {
		return 1
	}
	return top
}

// sharesView is a chart of bars that each show parts of a whole.
type sharesView struct {
	Label         string
	Width, Height string
	Paths         []path
	Areas         []area
	Labels        []label
	Legend        []legendView
	Hidden        int
}

func newShares(ch *Chart, c colors) *sharesView {
	v := &sharesView{Label: text(ch.Label), Width: coord(chartWidth), Legend: legend(ch.Series, c)}
	stacks := ch.Stacks
	if len(stacks) > maxStacks {
		v.Hidden = len(stacks) - maxStacks
		stacks = stacks[:maxStacks]
	}
	v.Height = coord(barPitch*float64(len(stacks)) + 4)
	ds := make([]strings.Builder, len(ch.Series))
	for i, s := range stacks {
		y := barPitch*float64(i) + 4
		v.Labels = append(v.Labels, label{"0", coord(y + barHeight*0.72), cutLabel(text(s.Label)), ""})
		total := 0.0
		for _, p := range parts(s, ch) {
			total += p
		}
		v.Areas = append(v.Areas, area{"0", coord(y), coord(chartWidth), coord(barHeight), describe(s, ch)})
		if total == 0 {
			continue
		}
		x := labelWidth
		for k, p := range parts(s, ch) {
			w := p / total * (chartWidth - labelWidth)
			if p > 0 {
				box(&ds[k], x, y, w, barHeight)
			}
			if share := table.Pct(100*p/total, 0); w > charWidth*float64(len(share)+1) {
				v.Labels = append(v.Labels, label{coord(x + w/2), coord(y + barHeight*0.72), share, "mid on" + c.class(ch.Series[k])})
			}
			x += w
		}
	}
	for k, name := range ch.Series {
		if ds[k].Len() > 0 {
			v.Paths = append(v.Paths, path{c.class(name), ds[k].String()})
		}
	}
	return v
}

// cutLabel fits a text into the room for names of bars.
func cutLabel(s string) string {
	const n = 20 // labelWidth less a gap, by charWidth
	return cutTo(s, n)
}

// cutTo shortens a text to n characters.
func cutTo(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// parts returns the values of s, one for each series, none of them negative.
func parts(s Stack, ch *Chart) []float64 {
	out := make([]float64, len(ch.Series))
	for i := range min(len(out), len(s.Parts)) {
		out[i] = positive(s.Parts[i])
	}
	return out
}

// The range of values that charts draw. It is far beyond any time or share,
// and sums and quotients of such values are finite.
const (
	smallest = 1e-12
	largest  = 1e15
)

// positive makes a value one that can be drawn.
func positive(f float64) float64 {
	if !(f >= smallest) || math.IsInf(f, 0) {
		return 0
	}
	return min(f, largest)
}

// describe says in words what a stack shows.
func describe(s Stack, ch *Chart) string {
	var b strings.Builder
	b.WriteString(text(s.Label))
	if s.Detail != "" {
		b.WriteString(": " + text(s.Detail))
	}
	for i, p := range parts(s, ch) {
		if p > 0 {
			b.WriteString("\n" + text(ch.Series[i]) + " " + short(p) + " " + ch.Unit)
		}
	}
	return b.String()
}

// box appends a rectangle to a path.
func box(d *strings.Builder, x, y, w, h float64) {
	d.WriteString("M" + coord(x) + " " + coord(y) + "h" + coord(w) + "v" + coord(h) + "h-" + coord(w) + "z")
}

// coord formats a coordinate with two decimals at most.
func coord(f float64) string {
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
}

// short formats a value with three significant digits.
func short(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(math.Round(f), 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// niceStep returns the smallest of 1, 2, 2.5, 5 × 10ⁿ with which about n steps
// reach top.
func niceStep(top float64, n int) float64 {
	raw := top / float64(n)
	pow := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*pow >= raw*(1-1e-9) {
			return m * pow
		}
	}
	return 10 * pow
}
