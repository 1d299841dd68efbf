package activity

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace/event"
)

// Effort is the coarse kind of work that chains and the exposure ledger separate.
type Effort uint8

const (
	effortOther    Effort = iota
	EffortCompute         // what exchanges could overlap
	EffortExchange        // between GPUs
	EffortMove            // moves data or works pointwise: may be between the kernels of a chain
)

// efforts says what each kind of work is to chains and to the exposure ledger.
var efforts = map[classify.Work]Effort{
	classify.WorkExchange:  EffortExchange,
	classify.WorkMemory:    EffortMove,
	classify.WorkPointwise: EffortMove,
	classify.WorkCompute:   EffortCompute,
}

// EffortOf is what an activity does.
func EffortOf(kind event.Kind, category classify.Category) Effort {
	switch kind {
	case event.Memcpy, event.Memset:
		return EffortMove
	case event.Graph:
		return EffortCompute
	}
	return efforts[category.Work()]
}
