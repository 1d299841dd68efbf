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
	walk := w.newPathWalk()
	thread := trace.ThreadIndex(trace.None)
	for e := range w.Trace.Events(event.LanePython) {
		if e.Kind() != event.Module {
			continue
		}
		if e.Thread() != thread {
			walk.until(endOfTime)
			thread = e.Thread()
			walk.launches, walk.stack = walk.all[thread].List, walk.stack[:0]
		}
		walk.enter(e)
	}
	walk.until(endOfTime)
	if len(walk.to.nodes) == 0 {
		return nil
	}
	walk.to.paths = make([][]string, len(walk.to.nodes))
	return walk.to
}

// pathWalk is the walk through the frames and the launches of one thread after the other.
type pathWalk struct {
	w        *Work
	to       *ModulePaths
	all      map[trace.ThreadIndex]segment.Part // the launches of each thread, by time
	launches []int32                            // those of the thread that are still to come
	stack    []openFrame
	children intern.Keys[pathEdge]
}

// openFrame is a frame that has begun.
type openFrame struct {
	end  trace.Time
	node int32
}

// pathEdge leads from a node to a child.
type pathEdge struct {
	parent int32
	name   trace.NameID
}

func (w *Work) newPathWalk() *pathWalk {
	p := &pathWalk{w: w, to: &ModulePaths{leaf: slices.Repeat([]int32{-1}, len(w.Acts))},
		all: map[trace.ThreadIndex]segment.Part{}}
	for k, i := range w.Order {
		if w.Known(i) && !w.Replayed(i) {
			all := p.all[w.thread(i)]
			all.Add(w.Order, k, k+1)
			p.all[w.thread(i)] = all
		}
	}
	return p
}

// until gives the launches before a time to the frames that are open then.
func (p *pathWalk) until(t trace.Time) {
	for ; len(p.launches) > 0 && p.w.at(p.launches[0]) < t; p.launches = p.launches[1:] {
		i := p.launches[0]
		p.leave(p.w.at(i))
		if n := len(p.stack); n > 0 {
			p.to.leaf[i] = p.stack[n-1].node
		}
	}
}

// leave closes the frames that end before a time.
func (p *pathWalk) leave(t trace.Time) {
	for n := len(p.stack); n > 0 && p.stack[n-1].end < t; n = len(p.stack) {
		p.stack = p.stack[:n-1]
	}
}

// enter opens a frame.
func (p *pathWalk) enter(e trace.Event) {
	p.until(e.Start())
	p.leave(e.End())
	parent := int32(-1)
	if n := len(p.stack); n > 0 {
		parent = p.stack[n-1].node
	}
	node := p.children.ID(pathEdge{parent, e.NameID()})
	if node == len(p.to.nodes) {
		p.to.nodes = append(p.to.nodes, pathNode{parent, strings.TrimPrefix(e.Name(), ModulePrefix)})
	}
	p.stack = append(p.stack, openFrame{e.End(), int32(node)})
}

// endOfTime is after every time of a trace.
const endOfTime = trace.Time(1 << 62)
