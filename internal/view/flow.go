package view

import (
	"io"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/profile"
)

// WriteComputeFlow prints the model's summary (nil: none) and the layer's kernels with the shapes they were called
// with. ts_rel is since the trace's first event, as timeline viewers show it; "in layer" is since the layer's start.
func (d *Detail) WriteComputeFlow(w io.Writer, arch *profile.ArchSummary) error {
	p := &printer{w: table.NewCleaner(w)}
	if arch != nil {
		p.lines(arch.Lines()...)
		p.f("\n")
	}
	d.title(p)
	p.f("The layer begins at %s ms of the trace\n\n", table.Fixed(float64(d.Metadata.StartNS)/1e6, 3))
	tab := table.New(table.Number("#"), table.Text("Half"), table.Text("Operator"), table.Text("Category"),
		table.Text("Simplified Name"), table.Number("dur(us)"),
		table.Number("%"), table.Number("ts_rel(ms)"), table.Number("in layer(us)"), table.Text("Input Dims"))
	carried := 0
	for i := range d.Kernels {
		k := &d.Kernels[i]
		dims := "-"
		if k.InputDims != nil {
			dims = strings.ReplaceAll(string(k.InputDims), " ", "")
			if k.SourceConfidence < 1 {
				dims += " ?"
				carried++
			}
		}
		tab.Row(strconv.Itoa(i+1), k.Half, string(k.Operator), d.label(k.Category), k.Label, table.Fixed(k.DurUS, 3),
			percent(k.DurUS, d.Metadata.TotalDurUS),
			table.Fixed(float64(k.StartNS)/1e6, 3), table.Fixed(float64(k.OffsetNS)/1e3, 3), dims)
	}
	p.table(tab)
	p.when(carried > 0, "\n? shapes of the eager kernel in the same place of the same layer, %d kernels\n", carried)
	d.difference(p)
	return p.err
}
