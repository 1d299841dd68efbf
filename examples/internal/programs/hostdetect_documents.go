package programs

import (
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/trace"
)

// HostDetectDocument is the program's JSON document.
type HostDetectDocument struct {
	*hostoverhead.Verdict
	// Handoff is what the published skill hands on to whoever optimizes, with --handoff.
	Handoff *hostoverhead.Handoff `json:"optimization_handoff,omitempty"`
}

// PublishedHostDocument is the document with --comparable: the published detector's figures.
type PublishedHostDocument struct {
	// Schema is "strata.host-published/1".
	Schema string `json:"schema"`
	*published.HostReport
}

// HostErrorDocument replaces the verdict of a trace without kernels; the exit code is 1.
type HostErrorDocument struct {
	// Schema is that of the document that it replaces.
	Schema string `json:"schema"`
	// Error says why there is no verdict.
	Error string `json:"error"`
	// Health is what is wrong with the trace.
	Health trace.Health `json:"health"`
}
