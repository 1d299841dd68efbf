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

// efforts says what each kind of work is to chains and to the exposure ledger.
var efforts = map[classify.Work]effort{
	classify.WorkExchange:  effortExchange,
	classify.WorkMemory:    effortMove,
	classify.WorkPointwise: effortMove,
	classify.WorkCompute:   effortCompute,
}

// effortOf is what an activity does.
func effortOf(kind trace.Kind, category classify.Category) effort {
	switch kind {
	case trace.KindMemcpy, trace.KindMemset:
		return effortMove
	case trace.KindGraph:
		return effortCompute
	}
	return efforts[category.Work()]
}
