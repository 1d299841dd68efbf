// Host-detect says whether the CPU is the bottleneck of a traced inference run,
// YES or NO, with the metrics and thresholds behind the answer and where the
// GPU's idle time goes.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs"
)

func main() { app.Main(programs.HostDetect()) }
