// Layer-breakdown shows one layer of one forward pass kernel by kernel, and compares two layers.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs"
)

func main() { app.Main(programs.LayerBreakdown()) }
