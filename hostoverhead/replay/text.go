package replay

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// words are a gain's figures.
func (g *Gain) words() string {
	if g.Refused != "" {
		return "refused: " + g.Refused
	}
	if g.Figure {
		return fmt.Sprintf("%s → %s (%s–%s)", table.Duration(g.Base), table.Duration(g.After), table.Duration(g.Low), table.Duration(g.High))
	}
	return fmt.Sprintf("%s → %s–%s", table.Duration(g.Base), table.Duration(g.Low), table.Duration(g.High))
}

// Report is the answers for one trace.
type Report struct {
	Schema string `json:"schema"`
	Trace  string `json:"trace"`
	Device int    `json:"device"`
	Gains  []Gain `json:"gains"`
}

// Schema names the document that a [Report] is in JSON.
const Schema = "strata.what-if/1"

// WriteText writes a line for each edit.
func (r *Report) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	fmt.Fprintf(b, "What a step would take: %s, device %d\n\n", table.Clean(r.Trace), r.Device)
	table.List(b, "", r.Gains, len(r.Gains), func(g Gain) []string {
		return []string{g.Title, g.words(), fmt.Sprintf("%d of %d", g.Steps, g.All)}
	}, table.Text("edit"), table.Text("step"), table.Number("steps that pass the gates"))
	fmt.Fprint(b, "\nGains are of the steps as recorded, with the profiler's cost for the host in them.\n")
	return b.Flush()
}

// WriteMarkdown writes a table.
func (r *Report) WriteMarkdown(w io.Writer) error {
	b := table.NewWriter(w)
	fmt.Fprint(b, "| edit | step | steps that pass the gates |\n|---|---|---|\n")
	cell := func(s string) string { return strings.ReplaceAll(table.Clean(s), "|", "\\|") }
	for i := range r.Gains {
		g := &r.Gains[i]
		fmt.Fprintf(b, "| %s | %s | %d of %d |\n", cell(g.Title), cell(g.words()), g.Steps, g.All)
	}
	return b.Flush()
}
