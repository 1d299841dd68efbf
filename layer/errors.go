package layer

import "errors"

// The errors of this package; those that are returned say what was found and wrap one of these.
var (
	// ErrNoKernels: the trace has no GPU activities to analyse.
	ErrNoKernels = errors.New("layer: no GPU kernels")
	// ErrNoEvidence: what the asked-for mode needs is not in the trace.
	ErrNoEvidence = errNoEvidence
	// ErrContradiction: config or flags say one thing, the trace another.
	ErrContradiction = errContradiction
	// ErrRange: a pass, layer or device that does not exist was asked for.
	ErrRange = errors.New("layer: out of range")
)
