package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// TextOptions says what WriteText of a Timeline prints beside the tables.
type TextOptions struct {
	// Arch is the model's summary; nil prints none.
	Arch *profile.ArchSummary
	// Facts are named values for the header, e.g. parallel sizes and what the user said about the deployment.
	Facts [][2]string
	// MaxPasses is how many rows the table of passes may have; 0 is all of them.
	MaxPasses int
}

// WriteText prints the header, the model's summary, the tables of kernel categories, of all passes, of the layers and
// of the clusters, and the one-line summary.
func (t *Timeline) WriteText(w io.Writer, o TextOptions) error {
	p := table.NewWriter(w)
	t.header(p, o)
	if len(t.KernelCategories) > 0 {
		p.Heading(2, "GPU time by kernel category, whole trace")
		t.categoryTable(p)
	}
	if len(t.Passes) > 0 {
		p.Heading(2, "Forward passes")
		t.passTable(p, o.MaxPasses)
	}
	if t.SteadyPass != trace.None {
		p.Say("Steady state: pass %d, %s", t.SteadyPass, t.SteadyReason)
	}
	if len(t.Layers) > 0 {
		p.Heading(2, "Forward pass #%d, per layer", t.FwdPass)
		t.layerTable(p)
		p.Heading(2, "By layer type")
		t.clusterTable(p)
		t.operatorTable(p)
	}
	p.Heading(2, "Summary")
	p.Say("%s", t.Summary)
	for _, n := range t.Notes {
		p.Say("Note: %s", n)
	}
	return p.Flush()
}

func (t *Timeline) header(p *table.Writer, o TextOptions) {
	p.Heading(1, "Layers of %s", t.Trace)
	p.Fact("Config", "%s", t.Config)
	p.Fact("GPU", "%s", t.GPU)
	p.Fact("Device", "%d", t.Device)
	for _, f := range o.Facts {
		p.Fact(f[0], "%s", f[1])
	}
	p.Fact("Health", "%s%s", t.Health.Status, t.healthCounts())
	anchors := ""
	if t.Anchor != "" {
		anchors = fmt.Sprintf(", anchor blocks: %d (%s)", t.NumAnchors, t.Anchor)
	}
	p.Fact("GPU activities", "%s, of them %s%s", table.Count(int64(t.Health.Activities)),
		table.Counted(t.NumKernels, "kernel", "kernels"), anchors)
	p.Fact("Profile", "%s, boundaries: %s", t.Profile, t.Boundaries)
	p.Fact("Found", "%s", t.found())
	if t.GPUTimeNS > 0 {
		p.Fact("Covered GPU time", "%s in passes, %s in layers", percent(float64(t.InPassesNS), float64(t.GPUTimeNS)),
			percent(float64(t.InLayersNS), float64(t.GPUTimeNS)))
	}
	for _, e := range t.Evidence {
		p.Item("%s by %s, %s, confidence %.2f: %s", e.For, e.Kind, passes(e.Passes), e.Confidence, e.Detail)
	}
	model(p, o.Arch)
}

func passes(n int) string { return table.Counted(n, "pass", "passes") }

// found says how many layers and passes there are, of each model where several run.
func (t *Timeline) found() string {
	layers := func(n int, from layer.Source) string {
		if n == 0 {
			return "no layers found"
		}
		out := table.Counted(n, "layer", "layers")
		if from != "" {
			out += " (from " + string(from) + ")"
		}
		return out
	}
	if len(t.Models) < 2 {
		return fmt.Sprintf("%s%s, %d blocks per pass, %s", t.AtLeast(), layers(t.NumLayers, t.LayerSource),
			t.NumLayers*t.BlocksPerLayer, passes(len(t.Passes)))
	}
	parts := make([]string, len(t.Models))
	for k, m := range t.Models {
		parts[k] = fmt.Sprintf("%s: %s in %s", m.Title(), layers(m.NumLayers, m.LayerSource), passes(m.Passes))
	}
	return strings.Join(parts, "; ")
}

// model prints what the config says of the model, nothing without one.
func model(p *table.Writer, arch *profile.ArchSummary) {
	if arch == nil {
		return
	}
	p.Heading(2, "Model")
	for _, l := range arch.Lines() {
		name, value, _ := strings.Cut(l, ":")
		p.Fact(name, "%s", strings.TrimSpace(value))
	}
}

// AtLeast says that there may be more layers than were found: no pass is complete, and nothing else says how many there
// are.
func (t *Timeline) AtLeast() string {
	shown := func(r PassRow) bool { // the number: complete passes do, and by frames those that hold the last layers
		return r.Layers > 0 && (!r.Partial || t.LayerSource == layer.SourceModules && r.Cut == layer.CutAtStart && !r.FromEnd)
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

// maxLongest is how many characters of a kernel's name the table of categories shows in text.
const maxLongest = 56

func (t *Timeline) categoryTable(p *table.Writer) {
	tab := table.New(table.Text("Category"), table.Number("Time(ms)"), table.Number("Share"), table.Number("Activities"),
		table.Number("Names"), table.Code("Longest kernel").Limit(maxLongest))
	for _, c := range t.KernelCategories {
		tab.Row(t.labels(c.Key), table.Fixed(c.TimeMS, 3), table.Pct(c.SharePct, 1), strconv.Itoa(c.Kernels),
			strconv.Itoa(c.Names), c.Longest)
	}
	p.Table(tab)
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

func (t *Timeline) passTable(p *table.Writer, most int) {
	rows := t.Passes
	if most > 0 && len(rows) > most {
		rows = rows[:most]
	}
	longest, longestLayer := 0.0, 0.0
	for i := range rows {
		longest, longestLayer = max(longest, rows[i].DurationMS), max(longestLayer, rows[i].FirstLayerMS, rows[i].AvgLayerMS)
	}
	span, wall, lay := max(3, places(longest)+1), places(longest), places(longestLayer)
	tab := table.New(table.Number("Fwd#"), table.Number("Start(s)"), table.Number("End(s)"),
		table.Number("Duration(ms)"), table.Number("Avg Layer(ms)"),
		table.Number("First Layer(ms)"), table.Text("Stage"), table.Number("Batch"), table.Number("Tokens"),
		table.Number("Layers"), table.Number("Activities"), table.Text("Notes"))
	for i := range rows {
		r := &rows[i]
		note := r.Note
		if r.Partial {
			note = join("partial: "+layer.CutWords(r.Cut), note)
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
	p.Table(tab)
	if n := len(t.Passes) - len(rows); n > 0 {
		p.Say("%s (use `--show-all-passes`).", table.Counted(n, "more pass", "more passes"))
	}
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

func (t *Timeline) layerTable(p *table.Writer) {
	// only some configs have them
	ratios := slices.ContainsFunc(t.Layers, func(l LayerRow) bool { return l.CompressRatio >= 0 })
	cols := slices.Concat([]table.Column{table.Number("L")}, cells(ratios, table.Number("c_r")),
		[]table.Column{table.Text("Type"), table.Number("Wall(ms)"), table.Number("SumDur(ms)")})
	for _, c := range t.columns {
		cols = append(cols, table.Number(c.title))
	}
	tab := table.New(append(cols, table.Number("AR#"), table.Number("K#"))...)
	decimals := t.decimals()
	for i := range t.Layers {
		l := &t.Layers[i]
		typ := VariantName(l.Type, l.Variant)
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
	p.Table(tab)
}

// decimals is how many decimals times of layers and of categories need.
func (t *Timeline) decimals() int {
	most := 0.0
	for i := range t.Layers {
		most = max(most, t.Layers[i].WallMS, t.Layers[i].SumMS)
	}
	return places(most)
}

func (t *Timeline) clusterTable(p *table.Writer) {
	cols := []table.Column{table.Text("Cluster"), table.Number("#"), table.Number("Avg Wall(ms)"),
		table.Number("Avg Sum(ms)")}
	for _, c := range t.columns {
		cols = append(cols, table.Number(c.title+"%"))
	}
	tab := table.New(cols...)
	wall := t.decimals()
	for i := range t.Clusters {
		c := &t.Clusters[i]
		row := []string{VariantName(c.Type, c.Variant), strconv.Itoa(c.Count), table.Fixed(c.AvgWallMS, wall),
			table.Fixed(c.AvgSumMS, wall)}
		for _, col := range t.columns {
			row = append(row, table.Pct(c.Share.of(col.match), 1))
		}
		tab.Row(row...)
	}
	p.Table(tab)
}

// VariantName is the name in text of a type of layers with several kinds.
func VariantName(typ profile.LayerType, variant string) string {
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
