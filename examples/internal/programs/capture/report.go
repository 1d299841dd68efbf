package capture

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/internal/table"
)

// writeText prints a result for people.
func writeText(w io.Writer, r *capture.Result) error {
	b := table.NewWriter(w)
	head := fmt.Sprintf("%s at %s", r.Framework.Title(), r.Server)
	var about []string
	if r.Info.Model != "" {
		about = append(about, r.Info.Model)
	}
	for _, p := range []struct {
		name string
		n    int
	}{{"TP", r.Info.TP}, {"PP", r.Info.PP}, {"DP", r.Info.DP}, {"EP", r.Info.EP}} {
		if p.n > 0 {
			about = append(about, fmt.Sprintf("%s %d", p.name, p.n))
		}
	}
	if len(about) > 0 {
		head += " (" + strings.Join(about, ", ") + ")"
	}
	b.Heading(1, "%s", head)
	for _, s := range r.Stages {
		steps := fmt.Sprintf("%d steps asked", s.StepsAsked)
		if s.StepsFound >= 0 {
			steps += fmt.Sprintf(", %d found", s.StepsFound)
		}
		b.Heading(2, "%s: %s; %s; %s; requests %.1f s, traces %.1f s", s.Stage, s.Verdict,
			table.Counted(len(s.Traces), "trace", "traces"), steps, s.Load.ElapsedS, s.Timings.StopS+s.Timings.TracesS)
		for _, t := range s.Traces {
			line := fmt.Sprintf("%s: %s", t.Path, table.Bytes(t.Bytes))
			if t.Found != nil {
				line += fmt.Sprintf(", %d GPU events", t.Found.GPUEvents)
				if t.Found.Note != "" {
					line += ", " + t.Found.Note
				}
			}
			b.Item("%s", line)
		}
		for _, c := range s.Checks {
			b.Item("%s: %s %s", c.Name, c.Outcome, c.Detail)
			if c.Fix != "" {
				b.Below("%s", c.Fix)
			}
		}
		if s.ServerArgs != "" {
			b.Item("%s", s.ServerArgs)
		}
	}
	b.Heading(2, "Verdict: %s", r.Verdict)
	return b.Flush()
}
