package page

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// Limits of a timeline: a kernel takes some 11 bytes of the page.
const (
	maxBars      = 20_000
	maxGaps      = 6_000
	maxPasses    = 10_000
	maxLayerBars = 20_000
	nameBytes    = 300_000
	maxOperators = 400
	maxSources   = 500
)

// levelSizes are the numbers of buckets that summarise a window with more kernels.
var levelSizes = []int{2048, 8192, 32768}

// stageColours are the colours of passes by stage, in the order of first use.
const stageColours = 6

// Extra is what the caller knows of a device beyond its analysis.
type Extra struct {
	ID, Label, Link string
	// From and To bound what is drawn; To 0: all.
	From, To trace.Time
	// Waits explain idle times.
	Waits []Wait
	// Pins mark the places of cards.
	Pins []Pin
	// Passes are those that are drawn kernel by kernel also in a long window; Windows are further parts, since the
	// start of what is drawn.
	Passes  []int
	Windows [][2]int64
	// Source is the source line of a kernel, "" where unknown; nil for none.
	Source func(layer.Kernel) string
	// Href leads to a time of the trace in the Perfetto UI, "" where that does not read it; nil for none.
	Href func(start, end trace.Time) string
}

// Wait is why the GPU did nothing from a time on.
type Wait struct {
	Start trace.Time
	Cause finding.Cause
	Lines []string // more about it
}

// FromDevice draws what ran on a GPU.
func FromDevice(d *layer.Device, x Extra) *Timeline {
	b := &deviceBuilder{d: d, x: x, t: &Timeline{ID: x.ID, Label: x.Label, Link: x.Link}, names: map[string]int{},
		operators: map[string]int{}, sources: map[string]int{}, streams: map[trace.StreamID]int{}}
	if d.NumKernels() == 0 {
		return b.t
	}
	b.window()
	b.palette()
	b.passes()
	b.choose()
	b.kernels()
	b.gaps()
	return b.t
}

// Align gives timelines one scale, the longest: what takes twice as long is drawn twice as wide. Those that are
// summarised in buckets of their window keep theirs.
func Align(list []*Timeline) {
	most := int64(0)
	for _, t := range list {
		most = max(most, t.Span)
	}
	for _, t := range list {
		if len(t.Levels) == 0 {
			t.Span, t.Full = most, [][2]int64{{0, most}}
		}
	}
}

type deviceBuilder struct {
	d          *layer.Device
	x          Extra
	t          *Timeline
	start, end trace.Time

	categories                map[classify.Category]int
	names, operators, sources map[string]int
	streams                   map[trace.StreamID]int
	causes                    map[finding.Cause]int
	bytes, firstPs            int
}

func (b *deviceBuilder) at(t trace.Time) int64 { return int64(t - b.start) }

func (b *deviceBuilder) window() {
	b.start, b.end = b.x.From, b.x.To
	if b.end == 0 {
		b.start = b.d.Kernel(0).Event().Start()
		for s := range b.d.Timeline() {
			b.end = max(b.end, s.End)
		}
	}
	b.t.Span = max(b.at(b.end), 1)
	for range b.kernelsInside() {
		b.t.Kernels++
	}
	for _, p := range b.x.Pins {
		p.Start, p.End = p.Start-int64(b.start), p.End-int64(b.start)
		if p.Start < b.t.Span && p.End > 0 {
			b.t.Pins = append(b.t.Pins, p)
		}
	}
	slices.SortStableFunc(b.t.Pins, func(a, c Pin) int { return cmp.Compare(a.Start, c.Start) })
}

// kernelsInside are the kernels that begin in the window.
func (b *deviceBuilder) kernelsInside() iter.Seq[layer.Kernel] {
	return func(yield func(layer.Kernel) bool) {
		for k := range b.d.Kernels() {
			if s := k.Event().Start(); s >= b.start && s < b.end && !yield(k) {
				return
			}
		}
	}
}

// slices are those of the device's timeline inside the window.
func (b *deviceBuilder) slices() iter.Seq[layer.Slice] {
	return func(yield func(layer.Slice) bool) {
		for s := range b.d.Timeline() {
			s.Start, s.End = max(s.Start, b.start), min(s.End, b.end)
			if s.Start < s.End && !yield(s) {
				return
			}
		}
	}
}

// CategoryColour is the CSS variable of a category: the same on each page.
func CategoryColour(c classify.Category) string {
	if i := slices.Index(classify.Categories(), c); i >= 0 {
		return "--c" + strconv.Itoa(i)
	}
	return "--" + otherColour
}

func (b *deviceBuilder) palette() {
	b.categories = map[classify.Category]int{}
	for _, c := range b.d.Categories() {
		b.categories[c] = len(b.t.Palette)
		b.t.Palette = append(b.t.Palette, Colour{b.d.CategoryLabel(c), CategoryColour(c)})
	}
	b.t.Collectives = -1
	for k := range b.d.Kernels() {
		if k.Does() == classify.CategoryCommunication {
			b.t.Collectives = b.categories[k.Category()]
			break
		}
	}
	b.causes = map[finding.Cause]int{}
	for _, g := range b.x.Waits {
		if _, ok := b.causes[g.Cause]; !ok {
			b.cause(g.Cause)
		}
	}
	b.cause(finding.NoCause)
	if len(b.d.Damage) > 0 {
		b.cause(finding.NotRecorded)
	}
	b.firstPs = len(b.t.Palette)
	for i := range stageColours {
		b.t.Palette = append(b.t.Palette, Colour{"pass", "--p" + strconv.Itoa(i)})
	}
	b.t.Palette = append(b.t.Palette, Colour{"layer", "--l0"}, Colour{"layer", "--l1"})
}

func (b *deviceBuilder) cause(c finding.Cause) {
	info := c.Info()
	row := Cause{Colour: len(b.t.Palette), Name: c.String(), Means: info.Help}
	if c == finding.NoCause {
		row.Name, row.Means = "short gap", "One of many shorter gaps, or one without a known cause."
	}
	b.causes[c] = len(b.t.Causes)
	variable := CauseColour(c)
	if c == finding.NoCause || c == finding.UnknownCause {
		variable = unknownColour
	}
	b.t.Palette = append(b.t.Palette, Colour{row.Name, variable})
	b.t.Causes = append(b.t.Causes, row)
}

// unknownColour is that of what is not known: it is hatched.
const unknownColour = "--unknown"

// CauseColour is the CSS variable of a cause: the same on each page.
func CauseColour(c finding.Cause) string { return "--w" + strconv.Itoa(int(c)) }

func (b *deviceBuilder) passes() {
	idle := make([]int64, len(b.d.Passes))
	for i, s := range b.d.Steps() {
		if s.Idle() {
			idle[i] += int64(s.End - s.Start)
		}
	}
	stages := map[layer.Stage]int{}
	var end int64
	for i := range b.d.Passes[:min(len(b.d.Passes), maxPasses)] {
		p := &b.d.Passes[i]
		if _, ok := stages[p.Stage]; !ok {
			stages[p.Stage] = len(stages)
		}
		label := "pass " + strconv.Itoa(i)
		if p.Stage != layer.StageUnknown {
			label = fmt.Sprintf("%v %d", p.Stage, i)
		}
		row := Pass{Start: max(b.at(p.Start), end), End: min(b.at(b.d.StepEnd(i)), b.t.Span), Idle: idle[i],
			Label: label, Colour: b.firstPs + min(stages[p.Stage], stageColours-1)}
		if row.End <= row.Start {
			continue
		}
		end = row.End
		if b.x.Href != nil && len(b.t.Passes) < 200 {
			row.Href = b.x.Href(p.Start, p.End)
		}
		b.t.Passes = append(b.t.Passes, row)
		if len(b.t.Layers) > maxLayerBars {
			continue
		}
		for _, l := range p.Layers() {
			if b.at(l.Start) >= b.t.Span {
				break
			}
			b.t.Layers = append(b.t.Layers, LayerBar{b.at(l.Start), b.at(l.End), len(b.t.Passes) - 1,
				p.LayerNumber(l.Index)})
		}
	}
	slices.SortStableFunc(b.t.Layers, func(a, c LayerBar) int { return cmp.Compare(a.Start, c.Start) })
}

// choose decides what is drawn kernel by kernel: all, or the passes that the caller
// names and the kernels around pins.
func (b *deviceBuilder) choose() {
	if b.t.Kernels <= maxBars {
		b.t.Full = [][2]int64{{0, b.t.Span}}
		return
	}
	want := slices.Clone(b.x.Windows)
	for _, p := range b.x.Passes {
		want = append(want, [2]int64{b.at(b.d.Passes[p].Start), b.at(b.d.StepEnd(p))})
	}
	for _, p := range b.t.Pins {
		w := p.End - p.Start
		want = append(want, [2]int64{p.Start - w, p.End + w})
	}
	room := maxBars
	for _, w := range want {
		n := 0
		for k := range b.kernelsInside() {
			if s := b.at(k.Event().Start()); s >= w[0] && s < w[1] {
				n++
			}
		}
		if room -= n; room < 0 {
			break
		}
		b.t.Full = append(b.t.Full, w)
	}
}

func (b *deviceBuilder) full(start int64) bool {
	return slices.ContainsFunc(b.t.Full, func(w [2]int64) bool { return start >= w[0] && start < w[1] })
}

func (b *deviceBuilder) kernels() {
	for k := range b.kernelsInside() {
		e := k.Event()
		start, end := b.at(e.Start()), b.at(e.End())
		if b.full(start) {
			b.t.Bars = append(b.t.Bars, Bar{start, max(end, start), b.name(k), b.operator(k),
				b.categories[k.Category()], b.stream(e), b.source(k)})
		}
	}
	b.t.Still = b.level(stillBuckets)
	if b.t.Kernels > maxBars {
		for _, n := range levelSizes {
			b.t.Levels = append(b.t.Levels, b.level(n))
		}
	}
}

// level divides the window into n buckets.
func (b *deviceBuilder) level(n int) Level {
	sums := make([]map[int]int64, n) // time by colour
	l := Level{bytes.Repeat([]byte{NoColour}, n), make([]byte, n)}
	for s := range b.slices() {
		if s.Kernel == trace.None {
			continue
		}
		c := b.categories[b.d.Kernel(int(s.Kernel)).Category()]
		start, end := b.at(s.Start), b.at(s.End)
		for i := start * int64(n) / b.t.Span; i < int64(n); i++ {
			from, to := i*b.t.Span/int64(n), (i+1)*b.t.Span/int64(n)
			if d := min(end, to) - max(start, from); d > 0 {
				if sums[i] == nil {
					sums[i] = map[int]int64{}
				}
				sums[i][c] += d
			}
			if to >= end {
				break
			}
		}
	}
	for i, sum := range sums {
		most, busy := -1, int64(0)
		for c, d := range sum {
			if busy += d; most < 0 || d > sum[most] || d == sum[most] && c < most {
				most = c
			}
		}
		if most >= 0 {
			l.Colour[i] = byte(min(most, NoColour-1))
			l.Busy[i] = byte(max(1, min(255, busy*255*int64(n)/b.t.Span)))
		}
	}
	return l
}

// index numbers distinct texts; beyond a limit all are one.
func index(m map[string]int, list *[]string, s string, limit int) int {
	i, ok := m[s]
	if !ok {
		if len(*list) >= limit {
			s = "others"
			if i, ok = m[s]; ok {
				return i
			}
		}
		i = len(*list)
		m[s] = i
		*list = append(*list, s)
	}
	return i
}

func (b *deviceBuilder) name(k layer.Kernel) int {
	whole := k.Event().Name()
	i, ok := b.names[whole]
	if !ok {
		short := cmp.Or(k.Facts().Short, whole)
		if b.bytes += min(len(whole), maxName); b.bytes > nameBytes {
			whole, short = "", "another kernel"
			if i, ok = b.names[whole]; ok {
				return i
			}
		}
		i = len(b.t.Names)
		b.names[whole] = i
		b.t.Names = append(b.t.Names, Name{short, classify.Canonical(whole)})
	}
	return i
}

func (b *deviceBuilder) operator(k layer.Kernel) int {
	op, _, _ := k.Operator()
	return index(b.operators, &b.t.Operators, cmp.Or(string(op), "other"), maxOperators)
}

func (b *deviceBuilder) source(k layer.Kernel) int {
	s := ""
	if b.x.Source != nil {
		s = b.x.Source(k)
	}
	return index(b.sources, &b.t.Sources, s, maxSources)
}

func (b *deviceBuilder) stream(e trace.Event) int {
	id := e.Stream()
	i, ok := b.streams[id]
	if !ok {
		i = len(b.t.Streams)
		b.streams[id] = i
		b.t.Streams = append(b.t.Streams, "Stream "+strconv.FormatInt(int64(id), 10))
	}
	return i
}

// gaps takes the idle times of the device's own timeline, and the causes of those
// that the caller explains. The largest are kept.
func (b *deviceBuilder) gaps() {
	explained := map[int64]*Wait{}
	for i := range b.x.Waits {
		explained[b.at(b.x.Waits[i].Start)] = &b.x.Waits[i]
	}
	var all []Gap
	for s := range b.slices() {
		if s.Kernel != trace.None {
			continue
		}
		g := Gap{Start: b.at(s.Start), End: b.at(s.End), Cause: b.causes[finding.NoCause]}
		if s.Lost {
			g.Cause = b.causes[finding.NotRecorded]
		}
		if n := len(all); n > 0 && all[n-1].End == g.Start { // one idle time, cut where a pass begins
			all[n-1].End = g.End
			continue
		}
		if x, ok := explained[g.Start]; ok {
			g.Cause, g.Lines = b.causes[x.Cause], x.Lines
		}
		all = append(all, g)
	}
	if len(all) > maxGaps {
		lengths := make([]int64, len(all))
		for i, g := range all {
			lengths[i] = g.End - g.Start
		}
		slices.Sort(lengths)
		least := lengths[len(lengths)-maxGaps]
		all = slices.DeleteFunc(all, func(g Gap) bool { return g.End-g.Start <= least })
	}
	b.t.Gaps = all
}

// heat is a picture of layers and operators.

// FromLayers makes the picture of the layers of a pass: the time of each operator in each
// layer against the median of that operator over layers of the same type and kind. Nil where fewer
// than three layers are alike, as no operator can differ from the others then. A layer of a kind of
// fewer is held against its type: one that runs a kernel more is what the picture is to show.
func FromLayers(d *layer.Device, pass int) *Heat {
	p := &d.Passes[pass]
	layers := p.Layers()
	const fewest = 3
	if len(layers) < fewest {
		return nil
	}
	h := &Heat{Label: fmt.Sprintf("Time of each operator in each layer of pass %d, against its median over layers of "+
		"the same kind", pass)}
	rows := map[string]int{}
	values := map[[2]int]time.Duration{}
	type kind struct {
		layer   profile.LayerType
		variant string // "" for layers of all kinds
	}
	variants, count := p.Variants(layers), map[kind]int{}
	for i, l := range layers {
		h.Columns = append(h.Columns, strconv.Itoa(p.LayerNumber(l.Index)))
		count[kind{l.Type, variants[i]}]++
		for _, n := range l.Kernels {
			k := d.Kernel(int(n))
			op, _, _ := k.Operator()
			name := cmp.Or(string(op), "other")
			row, ok := rows[name]
			if !ok {
				row = len(h.Rows)
				rows[name] = row
				h.Rows = append(h.Rows, name)
			}
			values[[2]int{row, i}] += k.Event().Duration()
		}
	}
	h.NS = make([][]int64, len(h.Rows))
	h.Ratio = make([][]float64, len(h.Rows))
	for r := range h.Rows {
		h.NS[r], h.Ratio[r] = make([]int64, len(layers)), make([]float64, len(layers))
		byKind := map[kind][]time.Duration{}
		for i, l := range layers {
			if v, ok := values[[2]int{r, i}]; ok {
				all := kind{layer: l.Type}
				if byKind[all] = append(byKind[all], v); variants[i] != "" {
					k := kind{l.Type, variants[i]}
					byKind[k] = append(byKind[k], v)
				}
			}
		}
		for _, v := range byKind {
			slices.Sort(v)
		}
		for i, l := range layers {
			v, ok := values[[2]int{r, i}]
			if !ok {
				continue
			}
			h.NS[r][i] = int64(v)
			k := kind{l.Type, variants[i]}
			if count[k] < fewest {
				k.variant = ""
			}
			all := byKind[k]
			if median := all[len(all)/2]; len(all) >= fewest && median > 0 {
				h.Ratio[r][i] = float64(v) / float64(median)
			}
		}
	}
	h.Text = h.outlier()
	return h
}

// outlier names, in a sentence, the cell with most time beyond the median.
func (h *Heat) outlier() string {
	row, column, most := -1, -1, int64(0)
	for r := range h.NS {
		for c, ns := range h.NS[r] {
			if ratio := h.Ratio[r][c]; ratio > 1.2 {
				if over := ns - int64(float64(ns)/ratio); over > most {
					row, column, most = r, c, over
				}
			}
		}
	}
	if row < 0 {
		return "No layer stands out: each operator is within 20% of its median in all layers."
	}
	return fmt.Sprintf("Largest outlier: %s in layer %s takes %s, %s its median.", h.Rows[row], h.Columns[column],
		strings.ReplaceAll(table.Duration(time.Duration(h.NS[row][column])), " ", "\u00a0"),
		table.Times(h.Ratio[row][column], 1))
}
