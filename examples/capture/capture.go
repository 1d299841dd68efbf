// Capture records GPU profiler traces from a running LLM server.
//
//	capture --url URL --output-dir DIR      warm up, profile prefill and decode, wait for complete traces
//	capture stop --output-dir DIR           stop the profiler that a killed run has left on
//	capture collect --output-dir DIR        take the traces of a run that was cut off
//	capture doctor --url URL                can it be profiled, and how is it launched
//	capture probe --url URL                 latency and sample answers of a few short requests
//	capture matrix --plan FILE              one model on several servers, resumable, with reports
package main

import (
	"os"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs/capture"
)

func main() {
	p, args := capture.Choose(os.Args[1:])
	os.Args = append(os.Args[:1:1], args...)
	app.Main(p)
}
