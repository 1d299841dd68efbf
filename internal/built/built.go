package built

import (
	"context"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Trace finishes a trace that is put together by hand, which nothing can interrupt.
func Trace(b *trace.Builder) *trace.Trace {
	t, err := b.Finish(context.Background())
	if err != nil {
		panic(err)
	}
	return t
}

// Kernels is a trace of kernels of one GPU that start and end at these times, each on a stream of its own.
func Kernels(spans ...[2]int64) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	for i, s := range spans {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Stream: trace.StreamID(i), Start: s[0], Duration: s[1] - s[0]})
	}
	return Trace(b)
}
