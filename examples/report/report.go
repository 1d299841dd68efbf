// Report says everything at once about a trace, what matters first.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/command"
	"github.com/llmstrata/strata/examples/internal/programs"
)

func main() {
	p := programs.Report()
	p.Next = command.Next
	app.Main(p)
}
