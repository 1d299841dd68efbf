// Command triage reads profiler traces of an LLM server and prints three
// tables: where GPU time goes and from which source line, what runs alone
// although it could overlap, and which known fusion is not used.
package main

import (
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs/triage"
)

func main() { app.Main(triage.Program()) }
