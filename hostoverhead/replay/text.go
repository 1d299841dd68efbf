package replay

import (
	"fmt"
	"io"
	"slices"

	"github.com/llmstrata/strata/internal/table"
)

// editWidth is how wide the names of edits may be in text, in letters.
const editWidth = 60

// Report is the answers for one trace.
type Report struct {
	// Schema is [Schema].
	Schema string `json:"schema"`
	// Trace is the file, Device the GPU.
	Trace  string `json:"trace"`
	Device int    `json:"device"`
	// Gains are the answers, in the order of the edits.
	Gains []Gain `json:"gains"`
}

// Schema names the document that a [Report] is in JSON.
const Schema = "strata.what-if/1"

// WriteText writes a line for each edit.
func (r *Report) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	b.Heading(1, "Predicted step time: %s, device %d", r.Trace, r.Device)
	if len(r.Gains) == 0 {
		b.Say("No edit follows from the findings. Name one with `--edit`.")
		return b.Flush()
	}
	if why := r.Gains[0].Refused; why != "" &&
		!slices.ContainsFunc(r.Gains, func(g Gain) bool { return g.Refused != why }) {
		b.Say("No prediction for %s: %s.", table.Counted(len(r.Gains), "edit", "edits"), why)
		return b.Flush()
	}
	table.List(b, "", r.Gains, len(r.Gains), func(g Gain) []string {
		if g.Refused != "" {
			return []string{g.Title, "refused: " + g.Refused, table.None}
		}
		return []string{g.Title, g.Step(), fmt.Sprintf("%d of %d", g.Steps, g.All)}
	}, table.Code("edit").Limit(editWidth), table.Text("step time"), table.Number("steps that pass"))
	b.Say("Gains are of the steps as recorded, with the profiler's cost for the host in them. A range is for the mean " +
		"step of another run: it includes how much steps differ.")
	return b.Flush()
}
