package htmlreport

import (
	"math"
	"strings"
)

// Bars shows one bar a row along one axis: steps of a waterfall, each beginning where the one above ends, or values that begin at 0.
type Bars struct {
	Label string  // what the chart shows, for people who cannot see it
	Unit  string  // of the axis, such as "ms"
	Max   float64 // end of the axis; 0: where the last bar ends
	Rows  []Bar
}

// Bar is one row.
type Bar struct {
	Label  string
	Value  string // stands behind the bar
	Detail string // shown on hovering
	Series string // decides the colour
	From   float64
	To     float64
}

// Geometry of the bars in SVG units.
const (
	rowPitch    = 24.0
	rowHeight   = 16.0
	rowLabel    = 270.0 // room for the names of rows
	valueWidth  = 130.0 // room for the values behind bars
	rowLabelMax = 42    // characters of a name
	maxBars     = 80    // rows: more operators than any public model has
)

// barsView is a chart of bars.
type barsView struct {
	Label, Unit   string
	Width, Height string
	Bottom        string
	Ticks         []tick
	Paths         []path
	Areas         []area
	Labels        []label
	Legend        []legendView
	Hidden        int
}

func newBars(b *Bars, c colors) *barsView {
	rows := b.Rows[:min(len(b.Rows), maxBars)]
	bottom := rowPitch*float64(len(rows)) + 4
	v := &barsView{Label: text(b.Label), Unit: text(b.Unit), Width: coord(chartWidth), Height: coord(bottom + 22), Bottom: coord(bottom), Hidden: len(b.Rows) - len(rows)}
	end := positive(b.Max)
	for i := range rows {
		end = max(end, positive(rows[i].From), positive(rows[i].To))
	}
	if end == 0 {
		end = 1
	}
	x := func(value float64) float64 {
		return rowLabel + positive(value)/end*(chartWidth-rowLabel-valueWidth)
	}
	step := niceStep(end, 6)
	for i := 0; i <= maxTicks && float64(i)*step <= end*(1+1e-9); i++ {
		v.Ticks = append(v.Ticks, tick{coord(x(float64(i) * step)), short(float64(i) * step)})
	}
	v.Ticks[len(v.Ticks)-1].Label += " " + v.Unit
	for i := range rows {
		v.row(&rows[i], rowPitch*float64(i)+4, x, c)
	}
	return v
}

// row draws one bar, at least a hair wide where its value is more than nothing.
func (v *barsView) row(b *Bar, y float64, x func(float64) float64, c colors) {
	from, to := x(math.Min(b.From, b.To)), x(math.Max(b.From, b.To))
	if b.To > b.From {
		to = max(to, from+0.7)
	}
	class := c.class(b.Series)
	var d strings.Builder
	box(&d, from, y, to-from, rowHeight)
	if to > from {
		v.Paths = append(v.Paths, path{class, d.String()})
	}
	base := coord(y + rowHeight*0.78)
	v.Labels = append(v.Labels, label{"0", base, cutTo(text(b.Label), rowLabelMax), ""}, label{coord(to + 4), base, text(b.Value), ""})
	title := text(b.Label) + ": " + text(b.Value)
	if b.Detail != "" {
		title += "\n" + text(b.Detail)
	}
	v.Areas = append(v.Areas, area{"0", coord(y - 3), coord(chartWidth), coord(rowPitch), title})
	if name := text(b.Series); name != "" && !v.named(name) {
		v.Legend = append(v.Legend, legendView{class, name})
	}
}

func (v *barsView) named(series string) bool {
	for _, l := range v.Legend {
		if l.Name == series {
			return true
		}
	}
	return false
}
