package htmlreport

import (
	"math"
	"slices"
)

// stripInset is the room on both sides for the numbers of the axis' ends.
const stripInset = 20.0

// stripView is a strip of spans over time.
type stripView struct {
	Label         string
	Width, Height string
	Bottom        string
	Rects         []rectView
	Labels        []label
	Ticks         []tick
	Legend        []legendView
	Joined        bool
}

type rectView struct {
	Class, X, W, Title string
	Href               string // "#id", or nothing
}

// edgeWidth is the least width of a rectangle that has room for an edge, which
// sets it off from its neighbours.
const edgeWidth = 3

func newStrip(s *Strip) *stripView {
	c := colors{}
	v := &stripView{Label: text(s.Label), Width: coord(chartWidth), Height: coord(stripHeight + 20), Bottom: coord(stripHeight)}
	end := positive(s.EndMS)
	for _, sp := range s.Spans {
		end = max(end, positive(sp.EndMS))
	}
	if end == 0 {
		end = 1
	}
	x := func(ms float64) float64 { return min(positive(ms), end) / end * (chartWidth - 2*stripInset) }
	spans := join(s.Spans, end)
	v.Joined = len(spans) < len(s.Spans)
	var names []string
	var outlines []rectView // drawn last, so that nothing covers them
	for i, sp := range spans {
		if _, ok := c[sp.Series]; !ok {
			c[sp.Series] = min(len(c), maxSeries)
		}
		from, to := x(sp.StartMS), x(sp.EndMS)
		w := max(to-from, 0.6)
		r := rectView{c.class(sp.Series), coord(from + stripInset), coord(w), text(sp.Label) + "\n" + text(sp.Detail), safeLink(sp.Href)}
		if w >= edgeWidth {
			r.Class += " edge"
		}
		v.Rects = append(v.Rects, r)
		if sp.Marked {
			r.Class = "marked"
			outlines = append(outlines, r)
		}
		seen := w // of the span, before the next one covers it
		if i+1 < len(spans) {
			seen = min(w, max(x(spans[i+1].StartMS)-from, 0))
		}
		if l := []rune(text(sp.Label)); seen > charWidth*float64(len(l)+1) {
			v.Labels = append(v.Labels, label{coord(from + stripInset + seen/2), coord(stripHeight/2 + 4), string(l), "mid on" + c.class(sp.Series)})
		}
		if !slices.Contains(names, sp.Series) && len(names) <= maxSeries {
			names = append(names, sp.Series)
		}
	}
	v.Rects = append(v.Rects, outlines...)
	v.Legend = legend(names, c)
	step := niceStep(end, 6)
	for i := 0; i <= maxTicks && float64(i)*step <= end; i++ {
		v.Ticks = append(v.Ticks, tick{coord(x(float64(i)*step) + stripInset), short(float64(i) * step)})
	}
	v.Ticks[len(v.Ticks)-1].Label += " ms"
	return v
}

// join makes one span of neighbours of the same series until few enough are
// left, those first that are closest to each other on the page.
func join(spans []Span, end float64) []Span {
	for gap := end / chartWidth / 8; len(spans) > maxSpans && !math.IsInf(gap, 0); gap *= 2 {
		var out []Span
		for _, sp := range spans {
			if n := len(out); n > 0 && !sp.Marked && !out[n-1].Marked && out[n-1].Series == sp.Series && sp.StartMS-out[n-1].EndMS <= gap {
				last := &out[n-1]
				last.EndMS = max(last.EndMS, sp.EndMS)
				last.Detail = "several, up to " + sp.Label
				continue
			}
			out = append(out, sp)
		}
		if gap > end { // only different series are left
			return out[:min(len(out), maxSpans)]
		}
		spans = out
	}
	return spans
}
