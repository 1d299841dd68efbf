// Command triage-bundle joins Markdown triage reports into one document.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs/triagebundle"
)

func main() { app.Main(triagebundle.Program()) }
