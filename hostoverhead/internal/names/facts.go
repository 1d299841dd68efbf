package names

import (
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// ByName asks a question about names of a trace, once about each. The answers are for one goroutine.
func ByName[T any](t *trace.Trace, ask func(name string) T) func(trace.NameID) T {
	known := map[trace.NameID]T{}
	return func(id trace.NameID) T {
		v, ok := known[id]
		if !ok {
			v = ask(t.Name(id))
			known[id] = v
		}
		return v
	}
}

// The phases of a step.
const (
	Context    = "context"    // some context (prefill) requests
	Generation = "generation" // generation (decode) requests only
)

// Phase puts the stages into the two phases that thresholds are known for:
// context requests make a context step, generation requests alone a generation
// step.
func Phase(s layer.Stage) string {
	switch {
	case s == layer.StagePrefill, s == layer.StageMixed:
		return Context
	case s.Info().Generates:
		return Generation
	}
	return ""
}
