package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// A printer remembers the first error of a writer, so that a sequence of prints needs one check.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// when prints what is not always to be said.
func (p *printer) when(show bool, format string, args ...any) {
	if show {
		p.f(format, args...)
	}
}

// lines prints what others wrote, one a line.
func (p *printer) lines(lines ...string) {
	for _, l := range lines {
		p.f("%s\n", table.Clean(l))
	}
}

func (p *printer) table(t *table.Table) {
	if p.err == nil {
		p.err = t.WriteText(p.w)
	}
}

// TextOptions says what WriteText of a Timeline prints beside the tables.
type TextOptions struct {
	// Arch is the model's summary; nil prints none.
	Arch *profile.ArchSummary
	// Lines are printed below the header, e.g. parallel sizes and what the user said about the deployment.
	Lines []string
	// MaxPasses is how many rows the table of passes may have; 0 is all of them.
	MaxPasses int
}

// WriteText prints the header, the model's summary, the tables of kernel categories, of all passes, of the layers and
// of the clusters, and the one-line summary.
func (t *Timeline) WriteText(w io.Writer, o TextOptions) error {
	p := &printer{w: table.NewCleaner(w)}
	t.header(p, o)
	if len(t.KernelCategories) > 0 {
		p.f("\nGPU time by kernel category, whole trace\n\n")
		t.categoryTable(p)
	}
	if len(t.Passes) > 0 {
		p.f("\nForward passes\n\n")
		t.passTable(p, o.MaxPasses)
	}
	p.when(t.SteadyPass != trace.None, "Steady state: pass %d, %s\n", t.SteadyPass, t.SteadyReason)
	if len(t.Layers) > 0 {
		p.f("\nForward pass #%d, per layer\n\n", t.FwdPass)
		t.layerTable(p)
		p.f("\nBy layer type\n\n")
		t.clusterTable(p)
		t.operatorTable(p)
	}
	p.f("\nSummary: %s\n", t.Summary)
	for _, n := range t.Notes {
		p.f("Note: %s\n", table.Clean(n))
	}
	return p.err
}

func (t *Timeline) header(p *printer, o TextOptions) {
	p.f("Trace: %s\n", table.Clean(t.Trace))
	p.when(t.Config != "", "Config: %s\n", table.Clean(t.Config))
	p.f("Profile: %s, anchor: %s, blocks/layer: %d, boundaries: %s\n", t.Profile, table.Clean(cmp.Or(t.Anchor, "none")),
		t.BlocksPerLayer, t.Boundaries)
	p.when(t.GPU != "", "GPU: %s, device %d\n", table.Clean(t.GPU), t.Device)
	p.lines(o.Lines...)
	p.f("Health: %s%s\n", t.Health.Status, t.healthCounts())
	p.f("GPU kernels: %d, anchor blocks: %d\n", t.NumKernels, t.NumAnchors)
	from := ""
	if t.LayerSource != "" {
		from = " (from " + string(t.LayerSource) + ")"
	}
	passes := func(n int) string { return map[bool]string{true: "pass", false: "passes"}[n == 1] }
	p.f("Detected: %s%d layers%s, %d blocks/pass, %d forward %s\n", t.atLeast(), t.NumLayers, from,
		t.NumLayers*t.BlocksPerLayer, len(t.Passes), passes(len(t.Passes)))
	p.when(t.GPUTimeNS > 0, "Covered: %.1f%% of the GPU time in passes, %.1f%% in layers\n",
		100*float64(t.InPassesNS)/float64(t.GPUTimeNS), 100*float64(t.InLayersNS)/float64(t.GPUTimeNS))
	for _, e := range t.Evidence {
		p.f("  %s by %s, %d %s, confidence %.2f: %s\n", e.For, e.Kind, e.Passes, passes(e.Passes), e.Confidence,
			table.Clean(e.Detail))
	}
	if o.Arch != nil {
		p.f("\n")
		p.lines(o.Arch.Lines()...)
	}
}

// atLeast says that there may be more layers than were found: no pass is complete, and nothing else says how many there
// are.
func (t *Timeline) atLeast() string {
	shown := func(r PassRow) bool { // the number: complete passes do, and by frames those that hold the last layers
		return r.Layers > 0 && (!r.Partial || t.LayerSource == layer.SourceModules && r.Cut == "start" && !r.FromEnd)
	}
	if t.LayerSource != layer.SourceRepeats && t.LayerSource != layer.SourceModules || len(t.Passes) == 0 ||
		slices.ContainsFunc(t.Passes, shown) {
		return ""
	}
	return "at least "
}

// healthCounts says how much the findings concern; the findings themselves are notes of the program that loads the
// trace.
func (t *Timeline) healthCounts() string {
	h := &t.Health
	s := fmt.Sprintf(" (%s, %s without a launch call", table.Counted(h.Activities, "GPU activity", "GPU activities"),
		table.Count(int64(h.Orphans)))
	if n := len(h.Losses); n > 0 {
		s += ", " + table.Counted(n, "kind of loss", "kinds of loss")
	}
	return s + ")"
}

func (t *Timeline) categoryTable(p *printer) {
	tab := table.New(table.Text("Category"), table.Number("Time(ms)"), table.Number("Share"), table.Number("K#"),
		table.Number("Names"), table.Text("Longest kernel"))
	for _, c := range t.KernelCategories {
		tab.Row(t.labels(c.Key), table.Fixed(c.TimeMS, 3), table.Pct(c.SharePct, 1), strconv.Itoa(c.Kernels),
			strconv.Itoa(c.Names), table.Cut(c.Longest, 56))
	}
	p.table(tab)
}

// places is how many decimals numbers of at most the given size need to show four digits, in the limits of the clock.
func places(largest float64) int {
	switch {
	case largest < 10:
		return 3
	case largest < 100:
		return 2
	}
	return 1
}

func (t *Timeline) passTable(p *printer, most int) {
	rows := t.Passes
	if most > 0 && len(rows) > most {
		rows = rows[:most]
	}
	longest, layer := 0.0, 0.0
	for i := range rows {
		longest, layer = max(longest, rows[i].DurationMS), max(layer, rows[i].FirstLayerMS, rows[i].AvgLayerMS)
	}
	span, wall, lay := max(3, places(longest)+1), places(longest), places(layer)
	tab := table.New(table.Number("Fwd#"), table.Number("Start(s)"), table.Number("End(s)"),
		table.Number("Duration(ms)"), table.Number("Avg Layer(ms)"),
		table.Number("First Layer(ms)"), table.Text("Stage"), table.Number("Batch"), table.Number("Tokens"),
		table.Number("Layers"), table.Number("K#"), table.Text("Notes"))
	for i := range rows {
		r := &rows[i]
		note := r.Note
		if r.Partial {
			note = join("partial: cut at "+r.Cut, note)
		}
		avg, first := table.Fixed(r.AvgLayerMS, lay), table.Fixed(r.FirstLayerMS, lay)
		if r.Layers == 0 {
			avg, first = table.None, table.None
		}
		tab.Row(strconv.Itoa(r.Index), table.Fixed(r.StartS, span), table.Fixed(r.EndS, span),
			table.Fixed(r.DurationMS, wall), avg, first,
			string(r.Stage), known(int64(r.Batch)), known(r.Tokens), strconv.Itoa(r.Layers), strconv.Itoa(r.Kernels),
			note)
	}
	p.table(tab)
	n := len(t.Passes) - len(rows)
	p.when(n > 0, "… %d more passes; --show-all-passes prints them\n", n)
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// known prints a count, or a dash for −1.
func known(n int64) string {
	if n < 0 {
		return table.None
	}
	return strconv.FormatInt(n, 10)
}

// hasRatios reports whether the config has compress ratios; the column is left out elsewhere.
func (t *Timeline) hasRatios() bool {
	return slices.ContainsFunc(t.Layers, func(l LayerRow) bool { return l.CompressRatio >= 0 })
}

func (t *Timeline) layerTable(p *printer) {
	ratios := t.hasRatios()
	cols := slices.Concat([]table.Column{table.Number("L")}, cells(ratios, table.Number("c_r")),
		[]table.Column{table.Text("Type"), table.Number("Wall(ms)"), table.Number("SumDur(ms)")})
	for _, c := range t.columns {
		cols = append(cols, table.Number(c.title))
	}
	tab := table.New(append(cols, table.Number("AR#"), table.Number("K#"))...)
	decimals := t.decimals()
	for i := range t.Layers {
		l := &t.Layers[i]
		typ := variantName(l.Type, l.Variant)
		if l.Hash && l.Type != profile.HashLayer {
			typ += " +hash"
		}
		if l.Partial {
			typ += " (cut)"
		}
		row := slices.Concat([]string{strconv.Itoa(l.Index)}, cells(ratios, known(int64(l.CompressRatio))),
			[]string{typ, table.Fixed(l.WallMS, decimals), table.Fixed(l.SumMS, decimals)})
		for _, c := range t.columns {
			row = append(row, table.Fixed(l.Categories.of(c.match), decimals))
		}
		tab.Row(append(row, strconv.Itoa(l.ARCount), strconv.Itoa(l.Kernels))...)
	}
	p.table(tab)
}

// decimals is how many decimals times of layers and of categories need.
func (t *Timeline) decimals() int {
	most := 0.0
	for i := range t.Layers {
		most = max(most, t.Layers[i].WallMS, t.Layers[i].SumMS)
	}
	return places(most)
}

func (t *Timeline) clusterTable(p *printer) {
	cols := []table.Column{table.Text("Cluster"), table.Number("#"), table.Number("Avg Wall(ms)"),
		table.Number("Avg Sum(ms)")}
	for _, c := range t.columns {
		cols = append(cols, table.Number(c.title+"%"))
	}
	tab := table.New(cols...)
	wall := t.decimals()
	for i := range t.Clusters {
		c := &t.Clusters[i]
		row := []string{variantName(c.Type, c.Variant), strconv.Itoa(c.Count), table.Fixed(c.AvgWallMS, wall),
			table.Fixed(c.AvgSumMS, wall)}
		for _, col := range t.columns {
			row = append(row, table.Pct(c.Share.of(col.match), 1))
		}
		tab.Row(row...)
	}
	p.table(tab)
}

// variantName is the name in text of a type of layers with several kinds.
func variantName(typ profile.LayerType, variant string) string {
	if variant == "" {
		return string(typ)
	}
	return string(typ) + "/" + variant
}

// kernelCategories adds up all GPU activities by category, the most expensive first.
func kernelCategories(a *layer.Device) []CategoryTotal {
	index, out := map[string]int{}, []CategoryTotal{}
	var longest []time.Duration
	var names []map[string]bool
	total := 0.0
	for k := range a.Kernels() {
		e := k.Event()
		key, d := string(k.Category()), e.Duration()
		c := slot(index, &out, key, CategoryTotal{Key: key, Longest: e.Name()})
		if c == len(names) {
			names, longest = append(names, map[string]bool{}), append(longest, d)
		}
		out[c].TimeMS += millis(d)
		out[c].Kernels++
		names[c][e.Name()] = true
		total += millis(d)
		if d > longest[c] {
			longest[c], out[c].Longest = d, e.Name()
		}
	}
	raw := make([]string, len(out))
	for k := range out {
		raw[k] = out[k].Longest
	}
	labels := shown(a, raw)
	for k := range out {
		out[k].Longest = labels[raw[k]]
		out[k].Names = len(names[k])
		if total > 0 {
			out[k].SharePct = 100 * out[k].TimeMS / total
		}
	}
	slices.SortStableFunc(out, func(x, y CategoryTotal) int { return -cmp.Compare(x.TimeMS, y.TimeMS) })
	return out
}
