package view

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmstrata/strata/classify"
)

// Diff compares the kernels of two layers by kernel name.
type Diff struct {
	A DetailMetadata `json:"a"` // the layer
	B DetailMetadata `json:"b"` // the layer of --compare-layer
	// Common are the kernels that both layers run, OnlyA and OnlyB those of one of them. Each list is ordered by the
	// difference in time, largest first, then by name.
	Common []DiffRow `json:"common"`
	OnlyA  []DiffRow `json:"only_a"`
	OnlyB  []DiffRow `json:"only_b"`
	// DeltaUS is the kernel time of B less that of A in microseconds.
	DeltaUS float64 `json:"delta_us"`
}

// DiffRow is the kernels of one name on both sides; times are in microseconds.
type DiffRow struct {
	Name     string  `json:"name"`     // name of the kernel
	Label    string  `json:"label"`    // see [KernelRow]
	Category string  `json:"category"` // category of the kernels, see docs/categories.md
	CountA   int     `json:"count_a"`  // launches in A
	CountB   int     `json:"count_b"`  // launches in B
	DurUSA   float64 `json:"dur_us_a"` // time in A, µs
	DurUSB   float64 `json:"dur_us_b"` // time in B, µs
	DeltaUS  float64 `json:"delta_us"` // B minus A
}

// DiffOf compares two layers.
func DiffOf(a, b *Detail) *Diff {
	d := &Diff{A: a.Metadata, B: b.Metadata, Common: []DiffRow{}, OnlyA: []DiffRow{}, OnlyB: []DiffRow{},
		DeltaUS: b.Metadata.TotalDurUS - a.Metadata.TotalDurUS}
	index := map[string]int{}
	var rows []DiffRow
	at := func(k *KernelRow) *DiffRow {
		i := slot(index, &rows, k.Name, DiffRow{Name: k.Name, Category: k.Category})
		return &rows[i]
	}
	for i := range a.Kernels {
		r := at(&a.Kernels[i])
		r.CountA++
		r.DurUSA += a.Kernels[i].DurUS
	}
	for i := range b.Kernels {
		r := at(&b.Kernels[i])
		r.CountB++
		r.DurUSB += b.Kernels[i].DurUS
	}
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Name
	}
	for i, label := range classify.Labels(names, nil) {
		r := &rows[i]
		r.Label = label
		r.DeltaUS = r.DurUSB - r.DurUSA
		switch {
		case r.CountB == 0:
			d.OnlyA = append(d.OnlyA, *r)
		case r.CountA == 0:
			d.OnlyB = append(d.OnlyB, *r)
		default:
			d.Common = append(d.Common, *r)
		}
	}
	for _, rows := range [][]DiffRow{d.Common, d.OnlyA, d.OnlyB} {
		slices.SortFunc(rows, func(x, y DiffRow) int {
			return cmp.Or(cmp.Compare(math.Abs(y.DeltaUS), math.Abs(x.DeltaUS)), cmp.Compare(x.Name, y.Name))
		})
	}
	return d
}
