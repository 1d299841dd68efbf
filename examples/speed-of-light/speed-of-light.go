// Speed-of-light says what each forward pass should take on its GPU, and where the rest of its time goes; without a
// trace it plans.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs"
)

func main() { app.Main(programs.SpeedOfLight()) }
