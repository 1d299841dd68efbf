package htmlreport

import "strconv"

// flameRow is the height of a level; leastFlame is the narrowest part that is
// drawn.
const (
	flameRow   = 20.0
	leastFlame = 0.8
)

type flameView struct {
	Label              string
	Width, Height, Row string
	Rects              []flameRect
	Labels             []label
	Legend             []legendView
	Hidden             int
}

type flameRect struct {
	rectView
	Y string
}

func newFlame(f *Flame, c colors) *flameView {
	v := &flameView{Label: text(f.Label), Width: coord(chartWidth), Row: coord(flameRow - 1)}
	total := 0.0
	for _, r := range f.Roots {
		total += positive(r.Value)
	}
	depth := 0
	if total > 0 {
		var names []string
		seen := map[string]bool{}
		depth = v.add(f.Roots, f.Unit, 0, 0, chartWidth/total, total, c, func(name string) {
			if name != "" && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		})
		v.Legend = legend(names, c)
	}
	v.Height = coord(flameRow * float64(max(depth, 1)))
	return v
}

// add draws frames side by side from x on and what stands on them, and returns
// how many levels there are.
func (v *flameView) add(frames []Frame, unit string, x float64, level int, scale, total float64, c colors, used func(string)) int {
	depth := level
	for i := range frames {
		f := &frames[i]
		value := positive(f.Value)
		w := value * scale
		if w < leastFlame || len(v.Rects) >= maxRects || x+w > chartWidth+1 {
			v.Hidden++
			x += w
			continue
		}
		used(f.Series)
		class := c.class(f.Series) + " edge"
		y := flameRow * float64(level)
		v.Rects = append(v.Rects, flameRect{rectView{Class: class, X: coord(x), W: coord(w),
			Title: text(f.Name) + "\n" + short(value) + " " + unit + ", " + strconv.FormatFloat(100*value/total, 'f', 1, 64) + " %"}, coord(y)})
		if name := []rune(text(f.Name)); w > charWidth*4 {
			if room := int(w/charWidth) - 1; len(name) > room {
				name = append(name[:room-1:room-1], '…')
			}
			v.Labels = append(v.Labels, label{coord(x + 3), coord(y + flameRow*0.7), string(name), "on" + c.class(f.Series)})
		}
		depth = max(depth, level+1, v.add(f.Children, unit, x, level+1, scale, total, c, used))
		x += w
	}
	return depth
}
