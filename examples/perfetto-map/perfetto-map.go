// Perfetto-map says where the forward passes of a trace, and the layers of one
// of them, are in the Perfetto UI. It can draw them into a copy of the trace,
// cut a shareable piece out of it, and open the UI at a layer.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs/perfettomap"
)

func main() { app.Main(perfettomap.Program()) }
