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
	p := table.NewWriter(w)
	d.title(p)
	sums := slices.Clone(d.Categories)
	slices.SortStableFunc(sums, func(x, y CategorySum) int { return cmp.Compare(y.DurUS, x.DurUS) })
	tab := table.New(table.Text("Category"), table.Number("µs"), table.Number("%"), table.Number("#"))
	for _, c := range sums {
		tab.Row(d.label(c.Key), table.Fixed(c.DurUS, 3), percent(c.DurUS, d.Metadata.TotalDurUS), strconv.Itoa(c.Count))
	}
	p.Table(tab)
	d.kernelTable(p)
	d.difference(p)
	return p.Flush()
}

// difference prints how another layer differs, where that was asked for.
func (d *Detail) difference(p *table.Writer) {
	if d.Diff != nil {
		d.Diff.write(p)
	}
}

// kernelTable prints the kernels: by operator with a subtotal each where operators are known, else by duration.
func (d *Detail) kernelTable(p *table.Writer) {
	// one half a layer is no news
	halves := slices.ContainsFunc(d.Kernels, func(k KernelRow) bool { return k.Half != d.Kernels[0].Half })
	rows, operators := d.byOperator()
	starts := make([]int, len(rows))
	for i, k := range rows {
		starts[i] = k.Index
	}
	slices.Sort(starts) // a kernel's number is its place among the layer's
	lines := slices.ContainsFunc(rows, func(k *KernelRow) bool { return k.ModelLine != "" })
	tab := table.New(slices.Concat([]table.Column{table.Number("#"), table.Number("µs"), table.Number("%")},
		cells(halves, table.Text("Half")),
		cells(operators, table.Text("Operator")), cells(lines, table.Text("Model line").Limit(maxModelLine)),
		[]table.Column{table.Text("Category"), table.Code("Kernel")})...)
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
		number, _ := slices.BinarySearch(starts, k.Index)
		line(strconv.Itoa(number+1), table.Fixed(k.DurUS, 3), percent(k.DurUS, d.Metadata.TotalDurUS), k.Half, own,
			k.ModelLine, d.label(k.Category), k.Label)
	}
	p.Heading(2, "Kernels")
	p.Table(tab)
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

// byOperator returns the rows by start, but those of one operator together, where its first one runs; and whether
// enough operators are known. If not, the order is that of d.Kernels.
func (d *Detail) byOperator() ([]*KernelRow, bool) {
	rows := make([]*KernelRow, len(d.Kernels))
	known, first := 0.0, map[profile.Operator]int{}
	for i := range d.Kernels {
		k := &d.Kernels[i]
		rows[i] = k
		if k.OperatorConfidence > 0 {
			known += k.DurUS
		}
		if at, ok := first[k.Operator]; !ok || k.Index < at {
			first[k.Operator] = k.Index
		}
	}
	if len(rows) == 0 || known < minOperatorShare*d.Metadata.TotalDurUS {
		return rows, false
	}
	slices.SortFunc(rows, func(x, y *KernelRow) int {
		return cmp.Or(first[x.Operator]-first[y.Operator], x.Index-y.Index)
	})
	return rows, true
}

func (d *Detail) title(p *table.Writer) {
	m := &d.Metadata
	of := fmt.Sprintf("Layer %d of forward pass %d", m.LayerID, m.FwdPass)
	for _, more := range slices.Concat(cells(m.LayerID < 0, "counted from the end"), cells(m.Type != "", string(m.Type)),
		cells(m.CompressRatio >= 0, "compress ratio "+strconv.Itoa(m.CompressRatio)), cells(m.Hash, "hash layer"),
		cells(m.Stage != layer.StageUnknown && m.Stage != "", string(m.Stage))) {
		of += ", " + more
	}
	p.Heading(1, "%s", of)
	p.Say("Wall time %s µs, kernels %s µs in %s. Boundaries by %s, confidence %.2f.", table.Fixed(m.WallUS, 3),
		table.Fixed(m.TotalDurUS, 3), table.Counted(m.NumKernels, "kernel", "kernels"), m.Evidence, m.Confidence)
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
	p := table.NewWriter(w)
	d.write(p)
	return p.Flush()
}

func (d *Diff) write(p *table.Writer) {
	p.Heading(2, "Layer %d (%s) against layer %d (%s): kernel time %s µs against %s µs, %s µs", d.A.LayerID, d.A.Type,
		d.B.LayerID, d.B.Type, table.Fixed(d.A.TotalDurUS, 3), table.Fixed(d.B.TotalDurUS, 3), signed(d.DeltaUS))
	for _, part := range []struct {
		title string
		rows  []DiffRow
	}{{"In both", d.Common}, {fmt.Sprintf("Only in layer %d", d.A.LayerID), d.OnlyA},
		{fmt.Sprintf("Only in layer %d", d.B.LayerID), d.OnlyB}} {
		if len(part.rows) == 0 {
			p.Say("%s: no kernel.", part.title)
			continue
		}
		table.List(p, fmt.Sprintf("%s: %s", part.title, table.Counted(len(part.rows), "kernel", "kernels")), part.rows,
			len(part.rows), func(r DiffRow) []string {
				return []string{strconv.Itoa(r.CountA), table.Fixed(r.DurUSA, 3), strconv.Itoa(r.CountB),
					table.Fixed(r.DurUSB, 3), signed(r.DeltaUS), r.Category, r.Label}
			}, table.Number(fmt.Sprintf("L%d #", d.A.LayerID)), table.Number(fmt.Sprintf("L%d µs", d.A.LayerID)),
			table.Number(fmt.Sprintf("L%d #", d.B.LayerID)), table.Number(fmt.Sprintf("L%d µs", d.B.LayerID)),
			table.Number("Δ µs"), table.Text("Category"), table.Code("Kernel"))
	}
}

func signed(v float64) string {
	s := table.Fixed(v, 3)
	if v > 0 && s[0] != '-' {
		return "+" + s
	}
	return s
}
