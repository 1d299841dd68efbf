package page

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/llmstrata/strata/internal/table"
)

// Timeline is the data of one drawn timeline: what ran on a GPU in a window, and
// what it waited for. Times are nanoseconds since the window's start. Limits keep a
// page of any trace below some megabytes; what is left out is summarised in levels.
type Timeline struct {
	ID    string // part of the address that reopens a view
	Label string // for people who cannot see it
	Link  string // timelines with the same link move together; "" for none
	Span  int64  // length of the window
	// Kernels counts those of the window, also those that are only in Levels.
	Kernels int
	// Bars are kernels by start.
	Bars []Bar
	// Operators and Streams are what bars index.
	Operators, Streams []string
	Names              []Name
	Sources            []string
	Passes             []Pass
	Layers             []LayerBar
	// Gaps are idle times, by start; Causes is what they index.
	Gaps   []Gap
	Causes []Cause
	Pins   []Pin
	// Levels are summaries of the window, the coarsest first; Full are the parts whose kernels are all in Bars.
	Levels []Level
	Full   [][2]int64
	Still  Level // what the picture without a script shows
	// Palette names the colours that bars, passes and causes index; Collectives is that of communication, −1 for none.
	Palette     []Colour
	Collectives int
}

// Bar is a kernel. The rest index lists of the [Timeline].
type Bar struct {
	Start, End                             int64
	Name, Operator, Colour, Stream, Source int
}

// Name is a kernel's name: as bars show it, and as recorded.
type Name struct{ Short, Whole string }

// Pass is a forward pass.
type Pass struct {
	Start, End, Idle int64
	Label            string
	Colour           int
	Href             string // to the Perfetto UI; may be empty
}

// LayerBar is a layer of a pass.
type LayerBar struct {
	Start, End   int64
	Pass, Number int
}

// Gap is an idle time. Lines say more of a large one.
type Gap struct {
	Start, End int64
	Cause      int
	Lines      []string
}

// Cause is a reason of idle time.
type Cause struct {
	Colour      int
	Name, Means string
}

// Pin marks the place of a card.
type Pin struct {
	Card       int
	Start, End int64
}

// Level divides the window into equal buckets: the colour of most time in each, NoColour
// where nothing runs, and how busy the GPU is, 0 to 255.
type Level struct{ Colour, Busy []byte }

// NoColour is an empty bucket.
const NoColour = 255

// Colour is a colour of the page's style, by the name of its CSS variable.
type Colour struct{ Name, Variable string }

// varints appends numbers as LEB128, as the page's script reads them.
type varints []byte

func (v *varints) put(n int64) {
	u := uint64(max(n, 0))
	for u >= 128 {
		*v = append(*v, byte(u)|128)
		u >>= 7
	}
	*v = append(*v, byte(u))
}

func (v *varints) signed(n int64) { v.put(int64(uint64(n)<<1 ^ uint64(n>>63))) }

func (v varints) String() string { return base64.StdEncoding.EncodeToString(v) }

// pair is what kernels of one name and operator share: most have one of few.
type pair struct{ name, operator, colour, source int }

func (t *Timeline) bars() varints {
	var v, pairs varints
	index := map[pair]int64{}
	var rows varints
	var at int64
	for _, b := range t.Bars {
		p := pair{b.Name, b.Operator, b.Colour, b.Source}
		i, ok := index[p]
		if !ok {
			i = int64(len(index))
			index[p] = i
			for _, n := range []int{p.name, p.operator, p.colour, p.source} {
				pairs.put(int64(n))
			}
		}
		rows.put(b.Start - at)
		at = b.Start
		rows.put(b.End - b.Start)
		rows.put(i)
		rows.put(int64(b.Stream))
	}
	v.put(int64(len(t.Bars)))
	v.put(int64(len(index)))
	return append(append(v, pairs...), rows...)
}

func (t *Timeline) layers() varints {
	var v varints
	var at int64
	for _, l := range t.Layers {
		v.put(int64(l.Pass))
		v.signed(int64(l.Number))
		start := max(l.Start, at) // those of two passes that overlap are cut
		v.put(start - at)
		v.put(l.End - start)
		at = max(start, l.End)
	}
	return v
}

// gapNotes bounds the gaps whose lines are kept.
const gapNotes = 64

func (t *Timeline) gaps(p *writer) (varints, [][]string) {
	var order []int
	for i := range t.Gaps {
		if len(t.Gaps[i].Lines) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(t.Gaps[b].End - t.Gaps[b].Start - (t.Gaps[a].End - t.Gaps[a].Start))
	})
	notes, note := [][]string{}, map[int]int{}
	for _, i := range order[:min(len(order), gapNotes)] {
		var lines []string
		for _, l := range t.Gaps[i].Lines {
			lines = append(lines, p.text(l))
		}
		notes = append(notes, lines)
		note[i] = len(notes)
	}
	var v varints
	var at int64
	for i, g := range t.Gaps {
		v.put(g.Start - at)
		v.put(g.End - g.Start)
		v.put(int64(g.Cause))
		v.put(int64(note[i]))
		at = g.End
	}
	return v, notes
}

type levelJSON struct {
	N    int    `json:"n"`
	Op   string `json:"op"`
	Busy string `json:"busy"`
}

// timelineJSON is what the script reads; see the type Data in timeline.js.
type timelineJSON struct {
	ID          string      `json:"id"`
	Label       string      `json:"label"`
	Link        string      `json:"link"`
	Span        int64       `json:"span"`
	Kernels     int         `json:"kernels"`
	Palette     [][2]string `json:"palette"`
	Collectives int         `json:"collectives"`
	Operators   []string    `json:"operators"`
	Names       [][2]string `json:"names"`
	Streams     []string    `json:"streams"`
	Sources     []string    `json:"sources"`
	Bars        string      `json:"bars"`
	Passes      [][6]any    `json:"passes"`
	Layers      string      `json:"layers"`
	Gaps        string      `json:"gaps"`
	Causes      [][3]any    `json:"causes"`
	GapNotes    [][]string  `json:"gapNotes"`
	Pins        [][3]int64  `json:"pins"`
	Levels      []levelJSON `json:"levels"`
	Full        [][2]int64  `json:"full"`
}

// WriteData writes the data of the timeline alone, as the script of a page asks for it.
func (t *Timeline) WriteData(w io.Writer) error {
	data, err := t.data(&writer{paths: keepsPaths(w)})
	if err != nil {
		return fmt.Errorf("page: timeline: %w", err)
	}
	_, err = w.Write(data)
	return err
}

// data is the timeline for the page's script. json.Marshal escapes what could end the
// element around it.
func (t *Timeline) data(p *writer) ([]byte, error) {
	gaps, notes := t.gaps(p)
	j := timelineJSON{ID: anchor(t.ID), Label: p.text(t.Label), Link: t.Link, Span: max(t.Span, 1), Kernels: t.Kernels,
		Collectives: t.Collectives,
		Operators:   p.texts(t.Operators), Streams: p.texts(t.Streams), Sources: p.texts(t.Sources),
		Bars: t.bars().String(), Layers: t.layers().String(), Gaps: gaps.String(), GapNotes: notes,
		Palette: [][2]string{}, Names: [][2]string{}, Passes: [][6]any{}, Causes: [][3]any{}, Pins: [][3]int64{},
		Levels: []levelJSON{}, Full: [][2]int64{}}
	for _, c := range t.Palette {
		j.Palette = append(j.Palette, [2]string{p.text(c.Name), c.Variable})
	}
	for _, n := range t.Names {
		j.Names = append(j.Names, [2]string{p.text(n.Short), table.Cut(p.clean(n.Whole), maxName)})
	}
	for _, x := range t.Passes {
		j.Passes = append(j.Passes, [6]any{x.Start, x.End, p.text(x.Label), x.Colour, safeLink(x.Href), x.Idle})
	}
	for _, c := range t.Causes {
		j.Causes = append(j.Causes, [3]any{c.Colour, p.text(c.Name), table.Clean(c.Means)})
	}
	for _, x := range t.Pins {
		j.Pins = append(j.Pins, [3]int64{int64(x.Card), x.Start, x.End})
	}
	for _, l := range t.Levels {
		j.Levels = append(j.Levels, levelJSON{len(l.Colour), base64.StdEncoding.EncodeToString(l.Colour),
			base64.StdEncoding.EncodeToString(l.Busy)})
	}
	j.Full = append(j.Full, t.Full...)
	return json.Marshal(j)
}

func (p *writer) texts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = p.text(s)
	}
	return out
}

// stillBuckets is how many rectangles the picture without a script has at most.
const stillBuckets = 480

// timeline writes the data, and a still picture of the whole window for readers
// without a script: idle time by cause above, work by category below.
func (p *writer) timeline(t *Timeline) error {
	data, err := t.data(p)
	if err != nil {
		return fmt.Errorf("page: timeline: %w", err)
	}
	p.put("<div class=\"timeline\" id=\"%s\">\n<svg class=\"still\" viewBox=\"0 0 %d 40\" role=\"img\" preserveAspectRatio=\"none\" aria-label=\"%s\">", anchor(t.ID), stillBuckets, p.text(t.Label))
	width := func(from, to int64) (string, string) {
		scale := stillBuckets / float64(max(t.Span, 1))
		return number(math.Round(float64(from)*scale*100) / 100), number(math.Max(float64(to-from)*scale, .1))
	}
	still := func(variable string, from, to int64, y, h int) {
		x, w := width(from, to)
		p.put(`<rect class="%s" x="%s" y="%d" width="%s" height="%d"/>`, markup(variable[2:]), x, y, w, h)
	}
	for _, g := range t.Gaps {
		if (g.End-g.Start)*stillBuckets >= t.Span {
			still(t.Palette[t.Causes[g.Cause].Colour].Variable, g.Start, g.End, 0, 16)
		}
	}
	work := t.Still.Colour
	for i := 0; i < len(work); {
		k := i + 1
		for k < len(work) && work[k] == work[i] {
			k++
		}
		if work[i] != NoColour {
			still(t.Palette[work[i]].Variable, int64(i)*t.Span/stillBuckets, int64(k)*t.Span/stillBuckets, 18, 22)
		}
		i = k
	}
	p.put("</svg>\n</div>\n<script type=\"application/json\" class=\"timeline-data\" data-for=\"%s\">%s</script>\n",
		anchor(t.ID), markup(data))
	return nil
}
