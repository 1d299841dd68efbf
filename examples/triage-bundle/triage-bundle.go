// Command triage-bundle joins Markdown triage reports into one document.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs"
)

func main() { app.Main(programs.TriageBundle()) }
