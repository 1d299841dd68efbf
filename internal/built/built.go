package built

import (
	"context"

	"github.com/llmstrata/strata/trace"
)

// Trace finishes a trace that is put together by hand, which nothing can interrupt.
func Trace(b *trace.Builder) *trace.Trace {
	t, err := b.Finish(context.Background())
	if err != nil {
		panic(err)
	}
	return t
}
