package layer

import (
	"fmt"
	"io"
	"sort"
	"strconv"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/profile"
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

// WriteText prints the header, the model's summary, the tables of all passes, of the layers and of the clusters, and the
// one-line summary.
func (t *Timeline) WriteText(w io.Writer, o TextOptions) error {
	p := &printer{w: w}
	t.header(p, o)
	p.f("\n")
	t.passTable(p, o.MaxPasses)
	if t.SteadyPass != None {
		p.f("Steady state: pass %d, %s\n", t.SteadyPass, t.SteadyReason)
	}
	if t.FwdPass != None {
		p.f("\nForward pass #%d, per layer (ms)\n\n", t.FwdPass)
		t.layerTable(p)
		if len(t.Clusters) > 0 {
			p.f("\nBy layer type\n\n")
			t.clusterTable(p)
		}
	}
	p.f("\n%s\n", t.Summary)
	for _, n := range t.Notes {
		p.f("Note: %s\n", n)
	}
	return p.err
}

func (t *Timeline) header(p *printer, o TextOptions) {
	p.f("Trace: %s\n", table.Clean(t.Trace))
	if t.Config != "" {
		p.f("Config: %s\n", table.Clean(t.Config))
	}
	anchor := t.Anchor
	if anchor == "" {
		anchor = "none"
	}
	p.f("Profile: %s, anchor: %s, blocks/layer: %d, boundaries: %s\n", t.Profile, table.Clean(anchor), t.BlocksPerLayer, t.Boundaries)
	if t.GPU != "" {
		p.f("GPU: %s, device %d\n", table.Clean(t.GPU), t.Device)
	}
	p.f("GPU kernels: %d, anchor blocks: %d\n", t.NumKernels, t.NumAnchors)
	from := ""
	if t.LayerSource != "" {
		from = " (from " + t.LayerSource + ")"
	}
	p.f("Detected: %d layers%s, %d blocks/pass, %d forward passes\n", t.NumLayers, from, t.NumLayers*t.BlocksPerLayer, len(t.Passes))
	for _, e := range t.Evidence {
		p.f("Evidence for %s: %s (%s; %d passes, confidence %.2f)\n", e.For, e.Kind, table.Clean(e.Detail), e.Passes, e.Confidence)
	}
	for _, l := range o.Lines {
		p.f("%s\n", table.Clean(l))
	}
	if o.Arch != nil {
		p.f("\n")
		for _, l := range o.Arch.Lines() {
			p.f("%s\n", table.Clean(l))
		}
	}
}

func (t *Timeline) passTable(p *printer, most int) {
	tab := table.New(table.Number("Fwd#"), table.Number("Start(s)"), table.Number("End(s)"), table.Number("Duration(ms)"), table.Number("Avg Layer(ms)"),
		table.Number("First Layer(ms)"), table.Text("Stage"), table.Number("Batch"), table.Number("Tokens"), table.Number("Layers"), table.Text("Notes"))
	for i := range t.Passes {
		if most > 0 && i == most {
			break
		}
		r := &t.Passes[i]
		note := r.Note
		if r.Partial {
			note = join("partial: cut at "+string(r.Cut), note)
		}
		tab.Row(strconv.Itoa(r.Index), table.Fixed(r.StartS, 3), table.Fixed(r.EndS, 3), table.Fixed(r.DurationMS, 1), table.Fixed(r.AvgLayerMS, 2),
			table.Fixed(r.FirstLayerMS, 2), string(r.Stage), known(int64(r.Batch)), known(r.Tokens), strconv.Itoa(r.Layers), note)
	}
	p.table(tab)
	if most > 0 && len(t.Passes) > most {
		p.f("… %d more passes; --show-all-passes prints them\n", len(t.Passes)-most)
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
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func (t *Timeline) layerTable(p *printer) {
	cols := []table.Column{table.Number("L"), table.Number("c_r"), table.Text("Type"), table.Number("Wall(ms)"), table.Number("SumDur(ms)")}
	for _, c := range t.columns {
		cols = append(cols, table.Number(c.title))
	}
	cols = append(cols, table.Number("AR#"), table.Number("K#"))
	tab := table.New(cols...)
	decimals := t.decimals()
	for i := range t.Layers {
		l := &t.Layers[i]
		typ := l.Type
		if l.Hash && typ != string(profile.TypeHash) {
			typ += " +hash"
		}
		if l.Partial {
			typ += " (cut)"
		}
		row := []string{strconv.Itoa(l.Index), known(int64(l.CompressRatio)), typ, table.Fixed(l.WallMS, 2), table.Fixed(l.SumMS, 2)}
		for _, c := range t.columns {
			row = append(row, table.Fixed(l.Categories.of(c.match), decimals))
		}
		tab.Row(append(row, strconv.Itoa(l.ARCount), strconv.Itoa(l.Kernels))...)
	}
	p.table(tab)
}

// decimals is how many decimals the category columns need: one, as in the published tables, unless every layer is so short
// that it would print zeros.
func (t *Timeline) decimals() int {
	if t.Boundaries == BoundariesAnchorOpens {
		return 1
	}
	for i := range t.Layers {
		if t.Layers[i].SumMS >= 10 {
			return 1
		}
	}
	return 3
}

func (t *Timeline) clusterTable(p *printer) {
	cols := []table.Column{table.Text("Cluster"), table.Number("#"), table.Number("Avg Wall(ms)"), table.Number("Avg Sum(ms)")}
	for _, c := range t.columns {
		cols = append(cols, table.Number(c.title+"%"))
	}
	tab := table.New(cols...)
	for i := range t.Clusters {
		c := &t.Clusters[i]
		row := []string{c.Type, strconv.Itoa(c.Count), table.Fixed(c.AvgWallMS, 2), table.Fixed(c.AvgSumMS, 2)}
		for _, col := range t.columns {
			row = append(row, table.Fixed(c.Share.of(col.match), 1)+"%")
		}
		tab.Row(row...)
	}
	p.table(tab)
}

// WriteText prints the layer's category summary and its kernels by duration.
func (d *Detail) WriteText(w io.Writer, label func(string) string) error {
	p := &printer{w: w}
	d.title(p)
	sums := append(CategorySums(nil), d.Categories...)
	sort.SliceStable(sums, func(i, j int) bool { return sums[i].DurUS > sums[j].DurUS })
	tab := table.New(table.Text("Category"), table.Number("dur(us)"), table.Number("%"), table.Number("#"))
	for _, c := range sums {
		tab.Row(label(c.Key), table.Fixed(c.DurUS, 3), percent(c.DurUS, d.Metadata.TotalDurUS), strconv.Itoa(c.Count))
	}
	p.table(tab)
	p.f("\n")
	tab = table.New(table.Number("#"), table.Number("dur(us)"), table.Number("%"), table.Text("Half"), table.Text("Category"), table.Text("Kernel"))
	for i := range d.Kernels {
		k := &d.Kernels[i]
		tab.Row(strconv.Itoa(i+1), table.Fixed(k.DurUS, 3), percent(k.DurUS, d.Metadata.TotalDurUS), k.Half, label(k.Category), k.SimplifiedName)
	}
	p.table(tab)
	if d.Diff != nil {
		p.f("\n")
		d.Diff.write(p)
	}
	return p.err
}

func (d *Detail) title(p *printer) {
	m := &d.Metadata
	p.f("Layer %d of forward pass %d", m.LayerID, m.FwdPass)
	if m.Type != "" {
		p.f(", %s", m.Type)
	}
	if m.CompressRatio >= 0 {
		p.f(", compress ratio %d", m.CompressRatio)
	}
	if m.Hash {
		p.f(", hash layer")
	}
	if m.Stage != StageUnknown && m.Stage != "" {
		p.f(", %s", m.Stage)
	}
	p.f("\nWall %s us, kernels %s us in %d kernels; boundaries by %s, confidence %.2f\n\n", table.Fixed(m.WallUS, 3), table.Fixed(m.TotalDurUS, 3),
		m.NumKernels, m.Evidence, m.Confidence)
}

func percent(part, whole float64) string {
	if whole <= 0 {
		return "-"
	}
	return table.Fixed(100*part/whole, 1) + "%"
}

// WriteText prints the comparison.
func (d *Diff) WriteText(w io.Writer) error {
	p := &printer{w: w}
	d.write(p)
	return p.err
}

func (d *Diff) write(p *printer) {
	p.f("Layer %d (%s) against layer %d (%s): kernel time %s us against %s us, %s us\n", d.A.LayerID, d.A.Type, d.B.LayerID, d.B.Type,
		table.Fixed(d.A.TotalDurUS, 3), table.Fixed(d.B.TotalDurUS, 3), signed(d.DeltaUS))
	for _, part := range []struct {
		title string
		rows  []DiffRow
	}{{"Common kernel types", d.Common}, {fmt.Sprintf("Only in layer %d", d.A.LayerID), d.OnlyA}, {fmt.Sprintf("Only in layer %d", d.B.LayerID), d.OnlyB}} {
		p.f("\n%s: %d\n", part.title, len(part.rows))
		if len(part.rows) == 0 {
			continue
		}
		p.f("\n")
		tab := table.New(table.Number(fmt.Sprintf("L%d #", d.A.LayerID)), table.Number(fmt.Sprintf("L%d us", d.A.LayerID)),
			table.Number(fmt.Sprintf("L%d #", d.B.LayerID)), table.Number(fmt.Sprintf("L%d us", d.B.LayerID)), table.Number("delta us"),
			table.Text("Category"), table.Text("Kernel"))
		for _, r := range part.rows {
			tab.Row(strconv.Itoa(r.CountA), table.Fixed(r.DurUSA, 3), strconv.Itoa(r.CountB), table.Fixed(r.DurUSB, 3), signed(r.DeltaUS), r.Category, r.Name)
		}
		p.table(tab)
	}
}

func signed(v float64) string {
	s := table.Fixed(v, 3)
	if v > 0 && s[0] != '-' {
		return "+" + s
	}
	return s
}
