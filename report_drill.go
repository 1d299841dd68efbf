package strata

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/htmlreport"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// The widths of a tree: beyond them the rest is counted.
const (
	drillKernels = 12 // of an operator
	drillSources = 4  // of a kernel
	drillLayers  = 200
)

// kernelSum adds up the launches of one kernel in the whole recording.
type kernelSum struct {
	id             string
	name, category string
	short          string
	time           time.Duration
	least, most    time.Duration
	launches       int
}

// sum is a level of the tree while it is added up.
type sum struct {
	name     string
	time     time.Duration
	kernels  int
	series   map[string]time.Duration
	children map[string]*sum
	order    []*sum
	kernel   *kernelSum     // of a leaf
	sources  map[string]int // launches by line, of a leaf
}

// child returns the part of that name, a new one where there is none.
func (s *sum) child(name string) *sum {
	c := s.children[name]
	if c == nil {
		if s.children == nil {
			s.children = map[string]*sum{}
		}
		c = &sum{name: name, series: map[string]time.Duration{}}
		s.children[name] = c
		s.order = append(s.order, c)
	}
	return c
}

func (s *sum) add(d time.Duration, series string) {
	s.time += d
	s.kernels++
	s.series[series] += d
}

// drill makes the tree of the chosen passes, and the flame graph of the longest
// of them.
func (h *htmlBuilder) drill() ([]htmlreport.Node, *htmlreport.Flame) {
	var nodes []htmlreport.Node
	var flame *htmlreport.Flame
	var longest time.Duration
	for i, p := range h.r.parts {
		if p.d == nil {
			continue
		}
		sources := triage.Sources(p.a.Trace())
		roots := map[int]*sum{}
		for _, pass := range p.chosen {
			roots[pass] = &sum{series: map[string]time.Duration{}}
		}
		for k := range p.d.Kernels() {
			ks := h.kernelOf(p, k)
			if root := roots[k.Place().Pass]; root != nil {
				p.addTo(root, k, ks, sources)
			}
		}
		for _, pass := range p.chosen {
			nodes = append(nodes, h.passNode(i, p, pass, roots[pass]))
			if flame == nil || roots[pass].time > longest {
				longest = roots[pass].time
				flame = &htmlreport.Flame{Label: fmt.Sprintf("Pass %d, %s: layer types, their operators, their kernels; widths are GPU time", pass, stageName(p.d.Passes[pass].Stage)), Unit: "ms", Roots: frames(roots[pass])}
			}
		}
	}
	return nodes, flame
}

// kernelOf adds an activity to the sums by kernel.
func (h *htmlBuilder) kernelOf(p *reportPart, k layer.Kernel) *kernelSum {
	category := p.d.CategoryLabel(k.Category())
	key := category + "\x00" + k.Event().Name()
	s := h.kernels[key]
	d := k.Event().Duration()
	if s == nil {
		s = &kernelSum{id: "k" + strconv.Itoa(len(h.order)), name: classify.Canonical(k.Event().Name()), category: category, short: shortName(k), least: d}
		h.kernels[key] = s
		h.order = append(h.order, s)
	}
	s.time += d
	s.launches++
	s.least, s.most = min(s.least, d), max(s.most, d)
	return s
}

// addTo adds an activity to the levels of a pass.
func (p *reportPart) addTo(root *sum, k layer.Kernel, ks *kernelSum, sources func(trace.Event) string) {
	d := k.Event().Duration()
	op, _, _ := k.Operator()
	root.add(d, ks.category)
	at := root.child(p.layerType(k.Place()))
	at.add(d, ks.category)
	at = at.child(cmp.Or(string(op), opname.Other))
	at.add(d, ks.category)
	at = at.child(ks.id)
	at.add(d, ks.category)
	at.kernel = ks
	if at.sources == nil {
		at.sources = map[string]int{}
	}
	at.sources[sourceOf(k, sources)]++
}

// sourceOf is the line that says most about where a kernel comes from.
func sourceOf(k layer.Kernel, sources func(trace.Event) string) string {
	if m := k.ModelLine(); m.Line != "" {
		return m.String()
	}
	return cmp.Or(sources(k.Event()), "no source line is recorded")
}

func (s *sum) cells(whole time.Duration) []string {
	return []string{millis(s.time) + " ms", table.Fixed(100*ratio(s.time, whole), 1) + " %", fmt.Sprintf("%d ×", s.kernels)}
}

// passNode is a pass with its layer types.
func (h *htmlBuilder) passNode(i int, p *reportPart, pass int, root *sum) htmlreport.Node {
	f := &p.d.Passes[pass]
	title := fmt.Sprintf("Pass %d, %s", pass, stageName(f.Stage))
	if len(h.r.parts) > 1 {
		title += " of trace " + strconv.Itoa(i)
	}
	n := htmlreport.Node{ID: passID(i, pass), Title: title, Open: true, Cells: append([]string{millis(p.wall[pass]) + " ms wall"}, root.cells(root.time)...),
		Links: []htmlreport.Line{{Text: "Perfetto", Href: perfettoURL(p, f.Start, f.End)}}}
	layers := f.Layers()
	for _, t := range root.order {
		n.Children = append(n.Children, h.typeNode(i, p, pass, layers, t, root.time))
	}
	return n
}

// typeNode is a type of layer with those of a pass's layers that are of it, and its operators.
func (h *htmlBuilder) typeNode(i int, p *reportPart, pass int, layers []layer.Layer, t *sum, whole time.Duration) htmlreport.Node {
	n := htmlreport.Node{Title: t.name, Series: largest(t.series), Cells: t.cells(whole)}
	list := htmlreport.Node{Title: "each layer"}
	f := &p.d.Passes[pass]
	for _, at := range layers {
		if p.layerType(layer.Place{Pass: pass, Layer: at.Index}) != t.name || len(list.Children) == drillLayers {
			continue
		}
		list.Children = append(list.Children, htmlreport.Node{ID: fmt.Sprintf("layer-%d-%d-%d", i, pass, at.Index), Title: "layer " + strconv.Itoa(f.LayerNumber(at.Index)),
			Cells: []string{millis(at.Wall) + " ms wall", millis(at.Sum) + " ms sum", fmt.Sprintf("%d ×", len(at.Kernels))},
			Links: []htmlreport.Line{{Text: "Perfetto", Href: perfettoURL(p, at.Start, at.End)}}})
	}
	if len(list.Children) > 0 {
		list.Cells = []string{fmt.Sprintf("%d layers", len(list.Children))}
		n.Children = append(n.Children, list)
	}
	for _, o := range t.order {
		n.Children = append(n.Children, operatorNode(o, whole))
	}
	return n
}

// operatorNode is an operator with its kernels, the longest first.
func operatorNode(o *sum, whole time.Duration) htmlreport.Node {
	n := htmlreport.Node{Title: o.name, Series: largest(o.series), Cells: o.cells(whole)}
	byTime := slices.Clone(o.order)
	slices.SortStableFunc(byTime, func(a, b *sum) int { return -cmp.Compare(a.time, b.time) })
	for i, k := range byTime {
		if i == drillKernels {
			n.Children = append(n.Children, htmlreport.Node{Title: fmt.Sprintf("%d more kernels", len(byTime)-i)})
			break
		}
		n.Children = append(n.Children, kernelNode(k, whole))
	}
	return n
}

// kernelNode is a kernel with the lines that launched it.
func kernelNode(k *sum, whole time.Duration) htmlreport.Node {
	n := htmlreport.Node{Title: k.kernel.short, Href: "#" + k.kernel.id, Code: true, Series: k.kernel.category, Cells: k.cells(whole)}
	var all []string
	for s := range k.sources {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(-cmp.Compare(k.sources[a], k.sources[b]), cmp.Compare(a, b)) })
	for _, s := range all[:min(len(all), drillSources)] {
		n.Children = append(n.Children, htmlreport.Node{Title: s, Code: true, Cells: []string{fmt.Sprintf("%d ×", k.sources[s])}})
	}
	return n
}

// frames makes the flame graph of a level.
func frames(s *sum) []htmlreport.Frame {
	var out []htmlreport.Frame
	for _, c := range s.order {
		name := c.name
		if c.kernel != nil {
			name = c.kernel.short
		}
		out = append(out, htmlreport.Frame{Name: name, Value: msOf(c.time), Series: largest(c.series), Children: frames(c)})
	}
	slices.SortStableFunc(out, func(a, b htmlreport.Frame) int { return -cmp.Compare(a.Value, b.Value) })
	return out
}

// withKernels adds the table of all kernels with their whole names.
func (h *htmlBuilder) withKernels(p *htmlreport.Report) *htmlreport.Report {
	if len(h.order) == 0 {
		return p
	}
	var total time.Duration
	for _, s := range h.order {
		total += s.time
	}
	byTime := slices.Clone(h.order)
	slices.SortStableFunc(byTime, func(a, b *kernelSum) int { return -cmp.Compare(a.time, b.time) })
	tab := htmlreport.Table{Caption: "Kernels by name, whole recording", Search: true, Columns: []htmlreport.Column{{Title: "Kernel", Code: true, Whole: true}, {Title: "Category", Filter: true}, {Title: "Time (ms)", Numeric: true},
		{Title: "Share (%)", Numeric: true}, {Title: "Launches", Numeric: true}, {Title: "Mean (µs)", Numeric: true}, {Title: "Min (µs)", Numeric: true}, {Title: "Max (µs)", Numeric: true}}}
	bytes := 0
	for i, s := range byTime {
		if bytes += len(s.name); bytes > nameBudget {
			tab.Hidden = len(byTime) - i
			break
		}
		tab.RowIDs = append(tab.RowIDs, s.id)
		tab.Rows = append(tab.Rows, []htmlreport.Cell{{Text: s.name}, {Text: s.category, Series: true}, ms(s.time), number(100*ratio(s.time, total), 1), count(int64(s.launches)),
			micros(s.time / time.Duration(s.launches)), micros(s.least), micros(s.most)})
	}
	p.Sections = append(p.Sections, htmlreport.Section{ID: "kernels", Title: "Kernels", Tables: []htmlreport.Table{tab}})
	return p
}

// nameBudget is how many bytes of kernel names a page holds: a few hundred
// templates, and a page below a megabyte.
const nameBudget = 250_000

func micros(d time.Duration) htmlreport.Cell { return number(float64(d)/float64(time.Microsecond), 2) }

// perfettoURL opens the Perfetto UI at a time of a trace; "" where the UI does
// not read the file.
func perfettoURL(p *reportPart, start, end trace.Time) string {
	t := p.a.Trace()
	if !perfetto.CanOpen(t) {
		return ""
	}
	return perfetto.Link{View: perfetto.Margin(t, perfetto.NewRange(t, start, end))}.String()
}
