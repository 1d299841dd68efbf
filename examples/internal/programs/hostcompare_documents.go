package programs

import (
	"github.com/llmstrata/strata/hostoverhead"
)

// HostCompareDocument is the JSON document of a comparison.
type HostCompareDocument struct {
	// Schema is "strata.host-compare/1".
	Schema string `json:"schema"`
	*hostoverhead.Comparison
	// Handoff is the target's verdict and what became slower.
	Handoff *hostoverhead.Handoff `json:"optimization_handoff"`
}

// HostRunDocument is the JSON document of one run.
type HostRunDocument struct {
	// Schema is "strata.host-run/1".
	Schema string `json:"schema"`
	*hostoverhead.Run
	// Host says where the idle time goes.
	Host *hostoverhead.Verdict `json:"host"`
}
