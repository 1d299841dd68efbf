package layer

import (
	"sync"

	"github.com/llmstrata/strata/trace"
)

// mappingOnce holds the twins of the analysis's kernels, found on first use.
type mappingOnce struct {
	once  sync.Once
	twins []Twin
	err   error
}

// A Twin says where a kernel comes from: the matching eager launch, in the mapping trace or in the analysed trace itself.
type Twin struct {
	// Trace holds Launch; it is the analysed trace or Options.Mapping. Nil when the kernel has no twin.
	Trace *trace.Trace
	// Launch is the eager launch call that ran, or captured, the same kernel: ask it for Op, Frame and Stack. It is not valid
	// when there is no twin.
	Launch trace.Event
	// Kernel is the GPU activity of that launch; not valid for a launch that was captured into a graph.
	Kernel trace.Event
	// Name is the twin's kernel name; it may be a tile variant of the kernel's own.
	Name string
	// Confidence is 1 for the kernel's own launch, less for an aligned one.
	Confidence float64
	// How says what the match rests on: "own launch", "same name in the same place", "same kind in the same place", …
	How string
}
