package triage

import (
	"cmp"
	"sync"

	"github.com/llmstrata/strata/internal/fusion"
)

// Options change what [Analyze] computes. The zero value is the default.
type Options struct {
	// MinSharePct hides rows below this percent of their stage's GPU time.
	// 0: 1. −1: all rows are shown.
	MinSharePct float64
	// KernelLimit is how many kernel rows a stage lists at most. 0: no limit.
	KernelLimit int
	// OverlapLimit is how many rows of the overlap table a stage lists at
	// most. 0: five. −1: no limit.
	OverlapLimit int
	// Framework is the server that made the traces. "": found out.
	Framework string
	// Model is the model that was served. "": what the server said.
	Model string
	// TPSize is the number of tensor-parallel ranks. 0: what the server said.
	TPSize int
	// Process keeps only activities that were launched by a process whose id,
	// label or name contains this text, for files into which several ranks were
	// merged. "": all.
	Process string
}

// defaultMinSharePct is the bar below which rows are hidden (the reference's).
const defaultMinSharePct = 1.0

// defaultOverlapLimit is how many rows a stage lists (the reference's).
const defaultOverlapLimit = 5

// defaultRegistry is read once; analyses only read it.
var defaultRegistry = sync.OnceValue(fusion.Load)

// complete fills in the defaults.
func (o Options) complete() Options {
	switch {
	case o.MinSharePct == 0:
		o.MinSharePct = defaultMinSharePct
	case o.MinSharePct < 0:
		o.MinSharePct = 0
	}
	o.OverlapLimit = cmp.Or(o.OverlapLimit, defaultOverlapLimit)
	return o
}
