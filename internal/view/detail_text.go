package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
)

// WriteText prints the layer's category summary and its kernels by duration.
func (d *Detail) WriteText(w io.Writer) error {
	p := &printer{w: table.NewCleaner(w)}
	d.title(p)
	sums := slices.Clone(d.Categories)
	slices.SortStableFunc(sums, func(x, y CategorySum) int { return cmp.Compare(y.DurUS, x.DurUS) })
	tab := table.New(table.Text("Category"), table.Number("dur(us)"), table.Number("%"), table.Number("#"))
	for _, c := range sums {
		tab.Row(d.label(c.Key), table.Fixed(c.DurUS, 3), percent(c.DurUS, d.Metadata.TotalDurUS), strconv.Itoa(c.Count))
	}
	p.table(tab)
	p.f("\n")
	d.kernelTable(p)
	d.difference(p)
	return p.err
}

// difference prints how another layer differs, where that was asked for.
func (d *Detail) difference(p *printer) {
	if d.Diff != nil {
		p.f("\n")
		d.Diff.write(p)
	}
}

// kernelTable prints the kernels: by operator with a subtotal each where operators are known, else by duration.
func (d *Detail) kernelTable(p *printer) {
	// one half a layer is no news
	halves := slices.ContainsFunc(d.Kernels, func(k KernelRow) bool { return k.Half != d.Kernels[0].Half })
	rows, operators := d.byOperator()
	lines := slices.ContainsFunc(rows, func(k *KernelRow) bool { return k.ModelLine != "" })
	tab := table.New(slices.Concat([]table.Column{table.Number("#"), table.Number("dur(us)"), table.Number("%")},
		cells(halves, table.Text("Half")),
		cells(operators, table.Text("Operator")), cells(lines, table.Text("Model line").Limit(maxModelLine)),
		[]table.Column{table.Text("Category"), table.Text("Kernel")})...)
	line := func(number, dur, share, half, operator, model, category, kernel string) {
		tab.Row(slices.Concat([]string{number, dur, share}, cells(halves, half), cells(operators, operator),
			cells(lines, model), []string{category, kernel})...)
	}
	for i := range rows {
		k := rows[i]
		own := "  " + k.Part
		if n, sum := sumOf(rows, k.Operator); n == 1 {
			own = string(k.Operator)
		} else if operators && (i == 0 || rows[i-1].Operator != k.Operator) {
			line("", table.Fixed(sum, 3), percent(sum, d.Metadata.TotalDurUS), "", string(k.Operator), "", "",
				strconv.Itoa(n)+" kernels")
		}
		line(strconv.Itoa(i+1), table.Fixed(k.DurUS, 3), percent(k.DurUS, d.Metadata.TotalDurUS), k.Half, own,
			k.ModelLine, d.label(k.Category), k.Label)
	}
	p.table(tab)
}

// maxModelLine is how many characters of a model line a table shows.
const maxModelLine = 84

// sumOf counts and adds up the kernels of an operator. A layer has a few dozen kernels: looking at all of them for
// each is cheap.
func sumOf(rows []*KernelRow, op profile.Operator) (n int, us float64) {
	for _, r := range rows {
		if r.Operator == op {
			n, us = n+1, us+r.DurUS
		}
	}
	return n, us
}

// byOperator returns the rows in the order in which a model runs its operators, those of one operator by start; and
// whether enough operators are known. If not, the order is that of d.Kernels.
func (d *Detail) byOperator() ([]*KernelRow, bool) {
	rows := make([]*KernelRow, len(d.Kernels))
	known := 0.0
	for i := range d.Kernels {
		rows[i] = &d.Kernels[i]
		if rows[i].OperatorConfidence > 0 {
			known += rows[i].DurUS
		}
	}
	if len(rows) == 0 || known < minOperatorShare*d.Metadata.TotalDurUS {
		return rows, false
	}
	slices.SortFunc(rows, func(x, y *KernelRow) int {
		return cmp.Or(compareOperators(string(x.Operator), string(y.Operator)), x.Index-y.Index)
	})
	return rows, true
}

func (d *Detail) title(p *printer) {
	m := &d.Metadata
	p.f("Layer %d of forward pass %d", m.LayerID, m.FwdPass)
	p.when(m.LayerID < 0, " (counted from the end, N unknown)")
	p.when(m.Type != "", ", %s", m.Type)
	p.when(m.CompressRatio >= 0, ", compress ratio %d", m.CompressRatio)
	p.when(m.Hash, ", hash layer")
	p.when(m.Stage != layer.StageUnknown && m.Stage != "", ", %s", m.Stage)
	p.f("\nWall %s us, kernels %s us in %d kernels; boundaries by %s, confidence %.2f\n\n", table.Fixed(m.WallUS, 3),
		table.Fixed(m.TotalDurUS, 3),
		m.NumKernels, m.Evidence, m.Confidence)
}

// percent is part of whole, [table.None] where that is 0.
func percent(part, whole float64) string { return table.Pct(100*part/whole, 1) }

// cells are what a table shows of some things: all or nothing.
func cells[T any](show bool, things ...T) []T {
	if show {
		return things
	}
	return nil
}

// WriteText prints the comparison.
func (d *Diff) WriteText(w io.Writer) error {
	p := &printer{w: table.NewCleaner(w)}
	d.write(p)
	return p.err
}

func (d *Diff) write(p *printer) {
	p.f("Layer %d (%s) against layer %d (%s): kernel time %s us against %s us, %s us\n", d.A.LayerID, d.A.Type,
		d.B.LayerID, d.B.Type,
		table.Fixed(d.A.TotalDurUS, 3), table.Fixed(d.B.TotalDurUS, 3), signed(d.DeltaUS))
	for _, part := range []struct {
		title string
		rows  []DiffRow
	}{{"In both", d.Common}, {fmt.Sprintf("Only in layer %d", d.A.LayerID), d.OnlyA},
		{fmt.Sprintf("Only in layer %d", d.B.LayerID), d.OnlyB}} {
		p.f("\n%s: %d\n", part.title, len(part.rows))
		if len(part.rows) == 0 {
			continue
		}
		p.f("\n")
		tab := table.New(table.Number(fmt.Sprintf("L%d #", d.A.LayerID)),
			table.Number(fmt.Sprintf("L%d us", d.A.LayerID)),
			table.Number(fmt.Sprintf("L%d #", d.B.LayerID)), table.Number(fmt.Sprintf("L%d us", d.B.LayerID)),
			table.Number("delta us"),
			table.Text("Category"), table.Text("Kernel"))
		for _, r := range part.rows {
			tab.Row(strconv.Itoa(r.CountA), table.Fixed(r.DurUSA, 3), strconv.Itoa(r.CountB), table.Fixed(r.DurUSB, 3),
				signed(r.DeltaUS), r.Category, r.Label)
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
