package app

import (
	"slices"

	"github.com/llmstrata/strata/internal/gate"
)

// Format is a form in which programs write their results: the value of --format.
type Format string

// The forms of results.
const (
	Text        Format = "text"
	Markdown    Format = Format(gate.Markdown)
	JSON        Format = "json"
	NDJSON      Format = "ndjson" // a JSON document a line
	CSV         Format = "csv"
	Issue       Format = "issue" // 40 lines of Markdown for an issue
	HTML        Format = "html"
	AutoFormat  Format = "auto"         // text on a terminal, Markdown elsewhere
	ComputeFlow Format = "compute-flow" // the operators of a layer, one below the other
)

// The forms of what conditions say, for build servers.
const (
	JUnit      Format = Format(gate.JUnit)
	SARIF      Format = Format(gate.SARIF)
	Benchfmt   Format = Format(gate.Benchfmt)
	Prometheus Format = Format(gate.Prometheus)
)

// parquet is asked for and is no form of ours.
const parquet Format = "parquet"

// document reports whether results in this form are JSON.
func (f Format) document() bool { return f == JSON || f == NDJSON || f == SARIF }

// prose reports whether --width matters.
func (f Format) prose() bool { return f == Text || f == ComputeFlow }

// ofConditions are the forms of what conditions say.
func ofConditions() []Format {
	var all []Format
	for _, f := range gate.Formats() {
		all = append(all, Format(f))
	}
	return all
}

// where says who has a form that a program lacks, "" where nobody does.
func (f Format) where() string {
	switch f {
	case CSV, NDJSON:
		return "strata export has it"
	case parquet:
		return "strata export writes CSV, which docs/export.md turns into it"
	case ComputeFlow:
		return "strata breakdown has it"
	case HTML:
		return "--html FILE writes a page, where the command has it"
	case Text, Markdown:
		return "other commands have it"
	}
	if slices.Contains(ofConditions(), f) {
		return "every command with --fail-on has it"
	}
	return ""
}
