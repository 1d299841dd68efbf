// Kernel-export writes one row for each GPU activity of a trace, with the pass,
// layer and category it belongs to and where it was launched from, as CSV or
// newline-delimited JSON for spreadsheets and data frames.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs"
)

func main() { app.Main(programs.KernelExport()) }
