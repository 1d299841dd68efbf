package capture

import "github.com/llmstrata/strata/capture"

// The JSON documents of the program's commands.

// ResultDocument is what `capture`, `capture stop` and `capture collect` say.
type ResultDocument struct {
	*capture.Result
	// Files are the traces that were captured, of all stages and ranks.
	Files []string `json:"files"`
}

// PairDocument is a capture of a mapping server and of a formal one.
type PairDocument struct {
	// Schema is "strata.capture-pair/1".
	Schema string `json:"schema"`
	// Mapping is the capture of the server without graphs, null where it did not begin.
	Mapping *capture.Result `json:"mapping"`
	// Formal is the capture of the server as it serves, null where it did not begin.
	Formal *capture.Result `json:"formal"`
	// Error is why a capture ended early.
	Error string `json:"error,omitempty"`
}

// PlanDocument is what `capture --dry-run` says.
type PlanDocument struct {
	// Schema is "strata.capture-dry-run/1".
	Schema string `json:"schema"`
	*capture.Planned
}

// MatrixDocument is what `capture matrix` says.
type MatrixDocument struct {
	// Schema is "strata.capture-matrix/2".
	Schema string `json:"schema"`
	// Title is that of the plan.
	Title string `json:"title,omitempty"`
	// Entries are the captures of the plan, in its order.
	Entries []capture.Entry `json:"entries"`
	// Reports are the triage reports that were written, by the name of their entry.
	Reports map[string]string `json:"reports"`
}

// ProbeDocument is what `capture probe` says.
type ProbeDocument struct {
	// Schema is "strata.capture-probe/1".
	Schema string `json:"schema"`
	*capture.ProbeReport
	// Error is why the probe ended early.
	Error string `json:"error,omitempty"`
}
