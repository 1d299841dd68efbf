package demo

import _ "embed" // for the trace

// packed is the trace as a profiler would leave it; `go test ./internal/demo -update` writes it.
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
