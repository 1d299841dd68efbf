package view

import (
	"fmt"
	"io"
	"sort"
	"strconv"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// WriteText prints the layer's category summary and its kernels by duration.
func (d *Detail) WriteText(w io.Writer) error {
	p := &printer{w: w}
	d.title(p)
	sums := append(CategorySums(nil), d.Categories...)
	sort.SliceStable(sums, func(i, j int) bool { return sums[i].DurUS > sums[j].DurUS })
	tab := table.New(table.Text("Category"), table.Number("dur(us)"), table.Number("%"), table.Number("#"))
	for _, c := range sums {
		tab.Row(d.label(c.Key), table.Fixed(c.DurUS, 3), percent(c.DurUS, d.Metadata.TotalDurUS), strconv.Itoa(c.Count))
	}
	p.table(tab)
	p.f("\n")
	halves := false // one half a layer is no news
	for i := range d.Kernels {
		halves = halves || d.Kernels[i].Half != d.Kernels[0].Half
	}
	cols := []table.Column{table.Number("#"), table.Number("dur(us)"), table.Number("%")}
	if halves {
		cols = append(cols, table.Text("Half"))
	}
	tab = table.New(append(cols, table.Text("Category"), table.Text("Kernel"))...)
	for i := range d.Kernels {
		k := &d.Kernels[i]
		row := []string{strconv.Itoa(i + 1), table.Fixed(k.DurUS, 3), percent(k.DurUS, d.Metadata.TotalDurUS)}
		if halves {
			row = append(row, k.Half)
		}
		tab.Row(append(row, d.label(k.Category), k.SimplifiedName)...)
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
	if m.Stage != layer.StageUnknown && m.Stage != "" {
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
