package hostoverhead

import (
	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// The ways in which a kernel gets to the device.
const (
	pathGraph    = iota // replayed from a graph
	pathCompiled        // launched one by one from code that a compiler wrote
	pathEager           // launched one by one
	pathUnknown         // its launch is not in the trace
	numPaths
)

// pathNames are the names of the paths in documents.
var pathNames = [numPaths]string{"graph", "compiled", "eager", "unknown"}

// pathSum is the work of one path, and the idle time before it in launch calls and on the way from them.
type pathSum struct {
	kernels       int
	time, exposed int64
}

type pathSums [numPaths]pathSum

// path is how a kernel, of a library, was launched.
func (c compiledCode) path(e trace.Event, library string) uint8 {
	switch {
	case e.Kind() == event.Graph || e.IsReplay():
		return pathGraph
	case !e.Launch().Valid():
		return pathUnknown
	case library == inductor, c.launched(e):
		return pathCompiled
	}
	return pathEager
}

// inductor is the library of kernels that torch.compile wrote.
const inductor = "inductor"

// compiledCode knows the names of operators and frames of compiled code.
type compiledCode struct{ ops, frames map[trace.NameID]bool }

// compiledNames finds the names of compiled code that a trace uses.
func (w *workload) compiledNames() compiledCode {
	c := compiledCode{ops: map[trace.NameID]bool{}, frames: map[trace.NameID]bool{}}
	if w.t.Len(event.LaneOp)+w.t.Len(event.LanePython) == 0 {
		return c
	}
	for id := range trace.NameID(w.t.NumNames()) {
		switch name := w.t.Name(id); {
		case names.CompiledOp(name):
			c.ops[id] = true
		case names.CompiledFrame(name):
			c.frames[id] = true
		}
	}
	return c
}

// launched reports whether compiled code launched a kernel: an operator around it is compiled code's, or the innermost
// frame is.
func (c compiledCode) launched(e trace.Event) bool {
	if len(c.frames) > 0 {
		if f := e.Frame(); f.Valid() && c.frames[f.NameID()] {
			return true
		}
	}
	if len(c.ops) == 0 {
		return false
	}
	for op := e.Op(); op.Valid(); op = op.Parent() {
		if c.ops[op.NameID()] {
			return true
		}
	}
	return false
}

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
