package layer

import "github.com/llmstrata/strata/trace"

// outward finds what events that enclose each other say together. It remembers that of the events around the last one
// of each thread, which are most of those around the next one. The zero value is ready; it is for one goroutine.
type outward[V any] struct {
	threads map[trace.ThreadIndex][]known[V]
	path    []trace.Event
}

// known is what an event and those around it say.
type known[V any] struct {
	event trace.Event
	says  V
}

// of is what an event and those around it, as far as they are looked at, say together; the zero value for none. inside
// is what an event says within others that say something; it is asked from the outermost inwards.
func (m *outward[V]) of(e trace.Event, inside func(around V, e trace.Event) V) (says V) {
	if m.threads == nil {
		m.threads = map[trace.ThreadIndex][]known[V]{}
	}
	stack, path, kept := m.threads[e.Thread()], m.path[:0], 0
	at := len(stack)
	for f := range e.Enclosing() {
		for at > 0 && stack[at-1].event.ID() > f.ID() { // what encloses an event has a lower one
			at--
		}
		if at > 0 && stack[at-1].event == f && at+len(path) <= trace.MaxEnclosing {
			says, kept = stack[at-1].says, at
			break
		}
		path = append(path, f)
	}
	stack = stack[:kept]
	for i := len(path) - 1; i >= 0; i-- {
		says = inside(says, path[i])
		stack = append(stack, known[V]{path[i], says})
	}
	if kept == 0 && len(path) == trace.MaxEnclosing && path[len(path)-1].Parent().Valid() { // others look further out
		stack = stack[:0]
	}
	m.threads[e.Thread()], m.path = stack, path
	return says
}
