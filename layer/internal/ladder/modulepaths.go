package ladder

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// ModulePaths holds the module frames around each kernel's launch: a tree of frames, and each kernel's leaf. nil:
// there are none.
type ModulePaths struct {
	leaf  []int32 // per kernel, −1 none
	nodes []pathNode
	paths [][]string // per node, made when asked for
}

type pathNode struct {
	parent int32
	name   string
}

// LeafOf returns the innermost module around kernel i: equal numbers are equal paths. −1 for none.
func (m *ModulePaths) LeafOf(i int32) int32 {
	if m == nil {
		return -1
	}
	return m.leaf[i]
}

// MaxModules is how many modules around a kernel are looked at; models have ten.
const MaxModules = 64

// Of returns the innermost modules around kernel i, outermost first; nil for none.
func (m *ModulePaths) Of(i int32) []string {
	n := m.LeafOf(i)
	if n < 0 {
		return nil
	}
	if m.paths[n] == nil {
		for at := n; at >= 0 && len(m.paths[n]) < MaxModules; at = m.nodes[at].parent {
			m.paths[n] = append(m.paths[n], m.nodes[at].name)
		}
		slices.Reverse(m.paths[n])
	}
	return m.paths[n]
}

// ModulePaths walks the module frames once, beside the launches of each thread in order of time; nil where there are
// none.
func (w *Work) ModulePaths() *ModulePaths {
	if w.Trace.Len(event.LanePython) == 0 {
		return nil
	}
	m := &ModulePaths{leaf: slices.Repeat([]int32{-1}, len(w.Acts))}
	all := map[trace.ThreadIndex]segment.Part{} // the launches of each thread, by time
	for k, i := range w.Order {
		if w.Known(i) && !w.Replayed(i) {
			of := all[w.thread(i)]
			of.Add(w.Order, k, k+1)
			all[w.thread(i)] = of
		}
	}
	type edge struct { // from a node to a child
		parent int32
		name   trace.NameID
	}
	type frame struct { // that has begun
		end  trace.Time
		node int32
	}
	var children intern.Keys[edge]
	var launches []int32 // of the thread that are still to come
	stack := []frame{{endOfTime, -1}}
	leave := func(t trace.Time) int32 { // closes the frames that end before a time
		for len(stack) > 1 && stack[len(stack)-1].end < t {
			stack = stack[:len(stack)-1]
		}
		return stack[len(stack)-1].node
	}
	until := func(t trace.Time) { // gives the launches before a time to the frames that are open then
		for ; len(launches) > 0 && w.at(launches[0]) < t; launches = launches[1:] {
			m.leaf[launches[0]] = leave(w.at(launches[0]))
		}
	}
	thread := trace.ThreadIndex(trace.None)
	for e := range w.Trace.OfKind(event.Module) {
		if e.Thread() != thread {
			until(endOfTime)
			thread = e.Thread()
			launches, stack = all[thread].List, stack[:1]
		}
		until(e.Start())
		parent := leave(e.End())
		node := children.ID(edge{parent, e.NameID()})
		if node == len(m.nodes) {
			m.nodes = append(m.nodes, pathNode{parent, strings.TrimPrefix(e.Name(), ModulePrefix)})
		}
		stack = append(stack, frame{e.End(), int32(node)})
	}
	until(endOfTime)
	if len(m.nodes) == 0 {
		return nil
	}
	m.paths = make([][]string, len(m.nodes))
	return m
}

// endOfTime is after every time of a trace.
const endOfTime = trace.Time(1 << 62)
