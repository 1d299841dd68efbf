package layer

import (
	"sync"

	"github.com/llmstrata/strata/trace"
)

// mappingOnce holds the twins of the analysis's kernels, found on first use.
type mappingOnce struct {
	once  sync.Once
	twins []Twin
}

// A Twin says where a kernel comes from: the launch that ran it, or for a graph replay the eager launch that matches it, in
// the mapping trace or in the analysed trace itself.
type Twin struct {
	// Launch is the launch call that ran, or captured, the same kernel: ask it for Op, Frame and Stack. It is not valid when
	// the kernel has no twin.
	Launch trace.Event
	// Kernel is the GPU activity of that launch; not valid for a launch that was captured into a graph.
	Kernel trace.Event
	// Confidence is 1 for the kernel's own launch, less for an aligned one, 0 for none.
	Confidence float64
	// How says what the match rests on, see the How constants.
	How How
}

// How says what a twin rests on.
type How string

// The ways a twin is found. More may be added.
const (
	HowNone     How = ""         // no twin
	HowLaunch   How = "launch"   // the kernel's own eager launch
	HowName     How = "name"     // the same kernel name in the same place of the same layer
	HowVariant  How = "variant"  // a tile variant in the same place of the same layer
	HowRole     How = "role"     // a kernel of the same meaning in the same place of the same layer
	HowPosition How = "position" // only its neighbours match
)

// Source returns where kernel i comes from; see [Twin].
func (a *Analysis) Source(i int) Twin {
	if i < 0 || i >= len(a.Kernels) {
		return Twin{}
	}
	if l := a.Event(i).Launch(); l.Valid() && !a.Kernels[i].Replay {
		return Twin{Launch: l, Kernel: a.Event(i), Confidence: 1, How: HowLaunch}
	}
	return a.twins()[i]
}

func (a *Analysis) twins() []Twin {
	a.mapping.once.Do(func() { a.mapping.twins = make([]Twin, len(a.Kernels)) })
	return a.mapping.twins
}
