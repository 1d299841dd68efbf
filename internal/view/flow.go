package view

import (
	"io"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/profile"
)

// WriteComputeFlow prints the model's summary (nil: none) and the layer's kernels with the shapes they were called
// with. In trace is since the trace's first event, as timeline viewers show it; In layer is since the layer's start.
func (d *Detail) WriteComputeFlow(w io.Writer, arch *profile.ArchSummary) error {
	p := table.NewWriter(w)
	d.title(p)
	model(p, arch)
	p.Heading(2, "Kernels in order; the layer begins at %s ms of the trace",
		table.Fixed(float64(d.Metadata.StartNS)/1e6, 3))
	tab := table.New(table.Number("#"), table.Text("Half"), table.Text("Operator"), table.Text("Category"),
		table.Code("Kernel"), table.Number("µs"),
		table.Number("%"), table.Number("In trace (ms)"), table.Number("In layer (µs)"), table.Text("Input shapes"))
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
	p.Table(tab)
	if carried > 0 {
		p.Say("? shapes of the eager kernel in the same place of the same layer, %s",
			table.Counted(carried, "kernel", "kernels"))
	}
	d.difference(p)
	return p.Flush()
}
