package hostoverhead

import (
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// The ways in which a kernel gets to the device.
const (
	pathGraph   = iota // replayed from a graph
	pathEager          // launched one by one
	pathUnknown        // its launch is not in the trace
	numPaths
)

// pathNames are the names of the paths in documents.
var pathNames = [numPaths]string{"graph", "eager", "unknown"}

// pathSum is the work of one path, and the idle time before it in launch calls and on the way from them.
type pathSum struct {
	kernels       int
	time, exposed int64
}

type pathSums [numPaths]pathSum

// pathOf is how a kernel was launched.
func pathOf(e trace.Event) uint8 {
	switch {
	case e.Kind() == event.Graph || e.IsReplay():
		return pathGraph
	case !e.Launch().Valid():
		return pathUnknown
	}
	return pathEager
}

// inductor is the library of kernels that torch.compile wrote.
const inductor = "inductor"

// measurePaths sums the kernels of each step by path.
func (a *account) measurePaths() {
	at := 0
	for i, e := range a.l.w.kernelsOf(a.d) {
		for at < len(a.steps) && a.steps[at].span.End <= int64(e.Start()) {
			at++
		}
		if at == len(a.steps) {
			return
		}
		if a.steps[at].span.Contains(int64(e.Start())) {
			p := &a.steps[at].paths[a.d.path[i]]
			p.kernels++
			p.time += int64(e.Duration())
		}
	}
}
