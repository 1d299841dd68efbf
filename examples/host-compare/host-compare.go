// Host-compare sets two traced runs of the same server against each other and
// names the host operation that became slower; with one trace it breaks a step
// down.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs"
)

func main() { app.Main(programs.HostCompare()) }
