package demo

import (
	_ "embed" // for the trace

	"github.com/llmstrata/strata/internal/gen"
)

//go:generate go run ../gen/cmd/demogen demo.trace.json.gz

// packed is the trace as a profiler would leave it.
//
//go:embed demo.trace.json.gz
var packed string

// model is the config.json of the model that the trace shows.
//
//go:embed config.json
var model string

// Config returns the model's config.json.
func Config() string { return model }

// Name is what programs call the demo trace where they would print a path.
const Name = "built-in demo (TP-0)"

// Trace returns the demo trace, torch-profiler JSON in gzip. Each call returns
// a copy.
func Trace() []byte { return []byte(packed) }

// Truth returns what is known about the activities of the demo trace, in the
// order of its file. It runs the generator, which takes some milliseconds.
func Truth() ([]gen.Truth, error) { return gen.Truths(gen.Demo()) }
