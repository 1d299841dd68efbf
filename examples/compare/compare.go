// Compare says what differs between two runs, by operator, and judges gates.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs/compare"
)

func main() { app.Main(compare.Program()) }
