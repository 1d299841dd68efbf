package strata

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// issueFindings is how many findings an issue lists: with three lines each they leave room for the rest in forty.
const issueFindings = 5

// WriteIssue writes the report as at most 40 lines of Markdown for an issue: environment, verdict, findings with
// evidence, how to reproduce them, what is uncertain. It names no file, folder, host, source line or range of the
// program. Version is that of the program that writes it, "" for none.
func (r *Report) WriteIssue(w io.Writer, version string) error {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, table.EscapeMarkdown(table.Clean(value)))
		}
	}
	b.WriteString("### Environment\n\n")
	row("strata", version)
	row("Framework", r.Framework)
	if !strings.ContainsAny(r.Model, `/\`) { // a path is private
		row("Model", r.modelInWords())
	}
	row("GPU", r.GPU)
	row("Window", fmt.Sprintf("%s, %s of GPU time%s", table.Counted(len(r.Passes), "pass", "passes"),
		table.Duration(r.GPUTime), r.stageCounts()))
	fmt.Fprintf(&b, "\n### Verdict\n\n%s\n", table.EscapeMarkdown(r.issueVerdict()))
	b.WriteString("\n### Findings\n\n")
	var shown []finding.Finding
	for _, f := range r.Findings {
		if f.Measure != finding.NoMeasure && len(shown) < issueFindings {
			shown = append(shown, f)
		}
	}
	if len(shown) == 0 {
		b.WriteString("No finding above 1% of step time.\n")
	}
	for i, f := range shown {
		fmt.Fprintf(&b, "%d. **%s** (`%s`): %s\n", i+1, table.EscapeMarkdown(table.Clean(f.Text)), publicID(&f),
			table.EscapeMarkdown(f.Amount()))
		if e := publicEvidence(&f); e != "" {
			fmt.Fprintf(&b, "   - Evidence: %s\n", table.EscapeProse(table.Clean(e)))
		}
		if f.Do != "" {
			fmt.Fprintf(&b, "   - Fix: %s\n", table.EscapeProse(table.Clean(f.Do)))
		}
	}
	if note := finding.Overlapping(shown); note != "" {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	fmt.Fprintf(&b, "\n### Reproduce\n\n    strata report TRACE%s --format issue\n", r.flagText("report", nil, true, publicValue))
	if len(shown) > 0 {
		fmt.Fprintf(&b, "    strata explain %s\n", publicID(&shown[0]))
	}
	b.WriteString("\n### Uncertain\n\n")
	fmt.Fprintf(&b, "- Recording: %s%s\n", r.Health, r.codes())
	fmt.Fprintf(&b, "- Coverage: %s\n", r.coverageText())
	for _, f := range r.Findings {
		if f.Kind == finding.Doubt {
			fmt.Fprintf(&b, "- %s (`%s`)\n", table.EscapeMarkdown(f.Text), f.Code)
		}
	}
	b.WriteString("- \"Up to\" is an upper bound, not a promise.\n")
	_, err := io.WriteString(table.NewCleaner(w), b.String())
	return err
}

// publicID is the name by which `strata explain` knows what a finding says.
func publicID(f *finding.Finding) string {
	if f.Cause != finding.NoCause {
		return f.Cause.String()
	}
	return f.Kind.String()
}

// publicValue is the value of a flag, without the names of files.
func publicValue(f Flag) string {
	if f.File {
		return strings.ToUpper(f.Name)
	}
	return f.Value
}

// publicEvidence is the evidence of a finding unless it may name the program's own code.
func publicEvidence(f *finding.Finding) string {
	if f.Kind == finding.IdleTime || f.Kind.Info().Doubt > 0 {
		return ""
	}
	return f.Evidence
}

// issueVerdict is the verdict; where the recording is in doubt only that it is.
func (r *Report) issueVerdict() string {
	if r.doubtedIdle() != "" {
		return "GPU utilization is unknown: the recording is " + string(r.Health) + "."
	}
	return r.Verdict
}

// stageCounts is how many passes there are of each stage.
func (r *Report) stageCounts() string {
	n := map[finding.Stage]int{}
	for i := range r.Passes {
		n[r.Passes[i].Stage]++
	}
	var out []string
	for _, s := range finding.Stages() {
		switch {
		case n[s] == 0:
		case s == finding.StageUnknown && len(n) > 1:
			out = append(out, fmt.Sprintf("%d of unknown stage", n[s]))
		case s != finding.StageUnknown:
			out = append(out, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// codes are those of the remarks that make the recording what it is.
func (r *Report) codes() string {
	var list []trace.Code
	for _, t := range r.HealthNotes {
		for _, f := range t.Findings {
			if f.Severity != trace.HealthOK && !slices.Contains(list, f.Code) {
				list = append(list, f.Code)
			}
		}
	}
	const most = 6
	var out []string
	for _, c := range list[:min(len(list), most)] {
		out = append(out, "`"+string(c)+"`")
	}
	if len(out) == 0 {
		return ""
	}
	return ", with " + strings.Join(out, ", ")
}
