package page

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/htmlreport"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/view"
)

// Timeline returns the report of an analysis with the layers of the given
// pass, the steady one where it is trace.None. name is what the trace is
// called, header what else is known ("GPU type: H100"). The error is that of
// [layer.Analysis.Timeline].
func Timeline(a *layer.Device, pass int, name string, header ...string) (*htmlreport.Report, error) {
	t, err := view.NewTimeline(a, pass)
	if err != nil {
		return nil, err
	}
	r := &htmlreport.Report{
		Title: filepath.Base(name), Program: "layer timeline", Summary: t.Summary, Health: health(a.Analysis().Trace().Health()), Notes: t.Notes, Facts: facts(a, t, name),
		Colors:   colors(a),
		Sections: []htmlreport.Section{passes(a, t)},
	}
	for _, line := range header {
		k, v, _ := strings.Cut(line, ": ")
		r.Facts = append(r.Facts, htmlreport.Fact{Name: k, Value: v, Long: true})
	}
	// Categories have the same colour in all charts: those that matter in the
	// whole trace come first.
	all := map[string]float64{}
	for k := range a.Kernels() {
		all[a.CategoryLabel(k.Category())] += k.Event().Duration().Seconds()
	}
	series := top(all)
	if len(t.Layers) > 0 {
		r.Sections = append(r.Sections, layers(a, t, series), clusterSection(a, t, series))
	}
	r.Sections = append(r.Sections, kernels(a, t, series))
	return r, nil
}

func facts(a *layer.Device, t *view.Timeline, name string) []htmlreport.Fact {
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	out := []htmlreport.Fact{
		{Name: "GPU", Value: or(t.GPU, "unknown") + " (device " + strconv.Itoa(t.Device) + ")"},
		{Name: "Kernels", Value: table.Count(int64(t.NumKernels))},
		{Name: "Passes", Value: strconv.Itoa(len(t.Passes))},
		{Name: "Layers", Value: strconv.Itoa(t.NumLayers) + ", from " + or(t.LayerSource, "nothing")},
		{Name: "Profile", Value: t.Profile},
		{Name: "Config", Value: or(t.Config, "none")},
		{Name: "Boundaries", Value: t.Boundaries},
		{Name: "Trace", Value: name, Long: true},
	}
	if t.Anchor != "" {
		out = append(out, htmlreport.Fact{Name: "Anchor", Value: fmt.Sprintf("%s (%d kernels)", t.Anchor, t.NumAnchors), Long: true})
	}
	for _, e := range a.Evidence {
		out = append(out, htmlreport.Fact{Name: "Evidence for " + e.For, Value: e.Detail, Long: true})
	}
	if t.SteadyReason != "" {
		out = append(out, htmlreport.Fact{Name: "Steady pass", Value: t.SteadyReason, Long: true})
	}
	return out
}

func passes(a *layer.Device, t *view.Timeline) htmlreport.Section {
	_, end := a.Analysis().Trace().Window()
	strip := &htmlreport.Strip{Label: "Forward passes", EndMS: float64(end) / 1e6}
	tab := htmlreport.Table{Caption: "All forward passes", Folded: len(t.Passes) > 24, Columns: []htmlreport.Column{
		{Title: "Pass", Numeric: true}, {Title: "Stage", Filter: true}, {Title: "Start (ms)", Numeric: true}, {Title: "Duration (ms)", Numeric: true},
		{Title: "Mean layer (ms)", Numeric: true}, {Title: "First layer (ms)", Numeric: true}, {Title: "Layers", Numeric: true},
		{Title: "Kernels", Numeric: true}, {Title: "Batch", Numeric: true}, {Title: "Tokens", Numeric: true}, {Title: "Note", Prose: true}}}
	for _, p := range t.Passes {
		note := p.Note
		if p.Partial {
			note = join(note, "cut at "+p.Cut)
		}
		shown := p.Index == t.FwdPass
		if p.Index == t.SteadyPass {
			note = join(note, "steady pass")
		}
		mean, first := numberCell(p.AvgLayerMS, 4), numberCell(p.FirstLayerMS, 4)
		if p.Layers == 0 {
			mean.Text, first.Text = table.None, table.None
		}
		strip.Spans = append(strip.Spans, htmlreport.Span{Label: strconv.Itoa(p.Index), Series: string(p.Stage), StartMS: p.StartS * 1e3, EndMS: p.EndS * 1e3,
			Detail: fmt.Sprintf("%s, %s ms, %d kernels", p.Stage, table.Fixed(p.DurationMS, 3), p.Kernels), Marked: shown})
		tab.Rows = append(tab.Rows, []htmlreport.Cell{
			{Text: strconv.Itoa(p.Index), Sort: float64(p.Index), Strong: shown}, textCell(string(p.Stage)), numberCell(p.StartS*1e3, 3), numberCell(p.DurationMS, 3),
			mean, first, indexCell(p.Layers), countCell(int64(p.Kernels)),
			knownCell(int64(p.Batch)), knownCell(p.Tokens), textCell(note)})
	}
	s := htmlreport.Section{Title: "Forward passes", Strip: strip, Tables: []htmlreport.Table{tab}}
	if len(t.Passes) == 0 {
		return htmlreport.Section{Title: "Forward passes", Text: "No forward pass was found in this trace."}
	}
	if len(t.Layers) > 0 {
		s.Text = fmt.Sprintf("The outlined pass %d is the one whose layers are shown below.", t.FwdPass)
	}
	return s
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// values maps category labels to the numbers of a row.
func values(a *layer.Device, s view.Shares) map[string]float64 {
	out := map[string]float64{}
	for _, c := range s {
		out[a.CategoryLabel(classify.Category(c.Key))] += c.Value
	}
	return out
}

// used returns the series that occur in at least one of the rows.
func used(series []string, rows []map[string]float64) []string {
	var out []string
	for i, name := range series {
		for _, r := range rows {
			if spread(series, r)[i] > 0 {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

func layers(a *layer.Device, t *view.Timeline, series []string) htmlreport.Section {
	var rows []map[string]float64
	for i := range t.Layers {
		rows = append(rows, values(a, t.Layers[i].Categories))
	}
	series = used(series, rows)
	ch := &htmlreport.Chart{Label: fmt.Sprintf("Time of each layer of pass %d by category", t.FwdPass), Unit: "ms", Series: series, MarkName: "wall time of the layer"}
	ratios := slices.ContainsFunc(t.Layers, func(l view.LayerRow) bool { return l.CompressRatio >= 0 })
	tab := htmlreport.Table{Caption: fmt.Sprintf("Layers of pass %d", t.FwdPass), Folded: true,
		Columns: []htmlreport.Column{{Title: "Layer", Numeric: true}, {Title: "Type", Filter: true}}}
	if ratios {
		tab.Columns = append(tab.Columns, htmlreport.Column{Title: "Ratio", Numeric: true})
	}
	tab.Columns = append(tab.Columns, htmlreport.Column{Title: "Wall (ms)", Numeric: true}, htmlreport.Column{Title: "Sum (ms)", Numeric: true},
		htmlreport.Column{Title: "Kernels", Numeric: true})
	for _, name := range series {
		tab.Columns = append(tab.Columns, htmlreport.Column{Title: name + " (ms)", Numeric: true})
	}
	for i, l := range t.Layers {
		parts := spread(series, rows[i])
		ch.Stacks = append(ch.Stacks, htmlreport.Stack{Label: strconv.Itoa(l.Index), Parts: parts, Mark: l.WallMS,
			Detail: fmt.Sprintf("%s, wall %s ms, sum %s ms, %d kernels", l.Type, table.Fixed(l.WallMS, 3), table.Fixed(l.SumMS, 3), l.Kernels)})
		row := []htmlreport.Cell{indexCell(l.Index), textCell(l.Type)}
		if ratios {
			row = append(row, knownCell(int64(l.CompressRatio)))
		}
		row = append(row, numberCell(l.WallMS, 4), numberCell(l.SumMS, 4), countCell(int64(l.Kernels)))
		for _, p := range parts {
			row = append(row, numberCell(p, 4))
		}
		tab.Rows = append(tab.Rows, row)
	}
	return htmlreport.Section{Title: "Layers", Columns: ch, Tables: []htmlreport.Table{tab}}
}

func clusterSection(a *layer.Device, t *view.Timeline, series []string) htmlreport.Section {
	var rows []map[string]float64
	for i := range t.Clusters {
		rows = append(rows, values(a, t.Clusters[i].Share))
	}
	series = used(series, rows)
	ch := &htmlreport.Chart{Label: "Share of kernel time by layer type", Unit: "%", Series: series}
	tab := htmlreport.Table{Caption: "Layer types", Columns: []htmlreport.Column{{Title: "Type"}, {Title: "Layers", Numeric: true},
		{Title: "Mean wall (ms)", Numeric: true}, {Title: "Mean sum (ms)", Numeric: true}}}
	for _, name := range series {
		tab.Columns = append(tab.Columns, htmlreport.Column{Title: name + " (%)", Numeric: true})
	}
	for i, c := range t.Clusters {
		parts := spread(series, rows[i])
		ch.Stacks = append(ch.Stacks, htmlreport.Stack{Label: fmt.Sprintf("%s (%d)", c.Type, c.Count), Parts: parts,
			Detail: fmt.Sprintf("mean wall %s ms", table.Fixed(c.AvgWallMS, 4))})
		row := []htmlreport.Cell{textCell(c.Type), indexCell(c.Count), numberCell(c.AvgWallMS, 4), numberCell(c.AvgSumMS, 4)}
		for _, p := range parts {
			row = append(row, numberCell(p, 1))
		}
		tab.Rows = append(tab.Rows, row)
	}
	return htmlreport.Section{Title: "Layer types", Shares: ch, Tables: []htmlreport.Table{tab}}
}

// kernelRow adds up the launches of one kernel.
type kernelRow struct {
	name, category string
	time           time.Duration
	min, max       time.Duration
	launches       int
	inPass         int // launches in the shown pass
}

// maxKernelRows is how many kernels the table lists; the rest is counted.
const maxKernelRows = 500

func kernels(a *layer.Device, t *view.Timeline, series []string) htmlreport.Section {
	index := map[string]*kernelRow{}
	names := map[string]string{}
	var rows []*kernelRow
	var total time.Duration
	for k := range a.Kernels() {
		e := k.Event()
		name, ok := names[e.Name()]
		if !ok {
			name = classify.Canonical(e.Name())
			names[e.Name()] = name
		}
		category := a.CategoryLabel(k.Category())
		key := category + "\x00" + name
		row := index[key]
		if row == nil {
			row = &kernelRow{name: name, category: category, min: e.Duration()}
			index[key] = row
			rows = append(rows, row)
		}
		d := e.Duration()
		row.time, row.min, row.max = row.time+d, min(row.min, d), max(row.max, d)
		row.launches++
		total += d
		if k.Place().Pass == t.FwdPass {
			row.inPass++
		}
	}
	slices.SortStableFunc(rows, func(x, y *kernelRow) int { return cmp.Or(-cmp.Compare(x.time, y.time), cmp.Compare(x.name, y.name)) })
	sums := map[string]float64{}
	for _, r := range rows {
		sums[r.category] += float64(r.time) / 1e6
	}
	tab := htmlreport.Table{Caption: "GPU activities by name, all passes", Search: true, Columns: []htmlreport.Column{
		{Title: "Kernel", Code: true}, {Title: "Category", Filter: true}, {Title: "Time (ms)", Numeric: true}, {Title: "Share (%)", Numeric: true},
		{Title: "Launches", Numeric: true}, {Title: "Mean (µs)", Numeric: true}, {Title: "Min (µs)", Numeric: true}, {Title: "Max (µs)", Numeric: true}}}
	if t.FwdPass >= 0 {
		tab.Columns = append(tab.Columns, htmlreport.Column{Title: fmt.Sprintf("In pass\u00a0%d", t.FwdPass), Numeric: true})
	}
	if len(rows) > maxKernelRows {
		tab.Hidden = len(rows) - maxKernelRows
		rows = rows[:maxKernelRows]
	}
	for _, r := range rows {
		share := 0.0
		if total > 0 {
			share = 100 * float64(r.time) / float64(total)
		}
		tab.Rows = append(tab.Rows, []htmlreport.Cell{textCell(r.name), {Text: r.category, Series: true}, numberCell(float64(r.time)/1e6, 3), numberCell(share, 1),
			countCell(int64(r.launches)), numberCell(float64(r.time)/float64(r.launches)/1e3, 2), numberCell(float64(r.min)/1e3, 2), numberCell(float64(r.max)/1e3, 2),
			countCell(int64(r.inPass))})
	}
	return htmlreport.Section{Title: "Kernels", Tables: []htmlreport.Table{tab},
		Shares: &htmlreport.Chart{Label: "Share of all GPU time by category", Unit: "ms", Series: series,
			Stacks: []htmlreport.Stack{{Label: "whole trace", Parts: spread(series, sums)}}}}
}
