package triage

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace"
)

// effort is the coarse kind of work that chains and the exposure ledger tell apart.
type effort uint8

const (
	effortOther    effort = iota
	effortCompute         // what exchanges could hide behind
	effortExchange        // between GPUs
	effortMove            // moves data or works pointwise: may stand between the kernels of a chain
)

// efforts says what kernels of a category do; one that a user's rule names is effortOther.
var efforts = map[classify.Category]effort{
	classify.CategoryCommunication: effortExchange,
	classify.CategoryMemory:        effortMove,
	classify.CategoryKVCache:       effortMove,
	classify.CategoryElementwise:   effortMove,
	classify.CategoryActivation:    effortMove,
	classify.CategoryQuantize:      effortMove,
	classify.CategorySamplingIO:    effortMove,
	classify.CategoryAttention:     effortCompute,
	classify.CategoryMoE:           effortCompute,
	classify.CategoryGEMM:          effortCompute,
	classify.CategoryNorm:          effortCompute,
	classify.CategoryRope:          effortCompute,
	classify.CategorySoftmax:       effortCompute,
	classify.CategoryReduceTopK:    effortCompute,
	classify.CategoryHybridLinear:  effortCompute,
	classify.CategoryOther:         effortOther,
}

// effortOf is what an activity does.
func effortOf(kind trace.Kind, category classify.Category) effort {
	switch kind {
	case trace.KindMemcpy, trace.KindMemset:
		return effortMove
	case trace.KindGraph:
		return effortCompute
	}
	return efforts[category]
}
