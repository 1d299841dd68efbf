// Layer-timeline shows the forward passes of a trace and, for one of them, what each layer and each type of layer
// costs.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs"
)

func main() { app.Main(programs.LayerTimeline()) }
