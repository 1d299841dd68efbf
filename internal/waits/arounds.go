package waits

import "github.com/llmstrata/strata/trace"

// Names answers what the names of a trace's events mean, each asked once. It is for one goroutine.
type Names struct {
	t       *trace.Trace
	arounds map[trace.NameID]Around
	none    []bool // names without a meaning
	asked   []bool
	parts   []Part // plus one; 0: not asked yet
}

// NewNames is asked about the names of a trace.
func NewNames(t *trace.Trace) *Names {
	n := t.NumNames()
	return &Names{t: t, arounds: map[trace.NameID]Around{}, none: make([]bool, n), asked: make([]bool, n),
		parts: make([]Part, n)}
}

// Around is what waits within a range or frame mean.
func (n *Names) Around(id trace.NameID) Around {
	if !n.asked[id] {
		n.asked[id] = true
		if a := AroundOf(n.t.Name(id)); a != (Around{}) {
			n.arounds[id] = a
		} else {
			n.none[id] = true
		}
	}
	if n.none[id] {
		return Around{}
	}
	return n.arounds[id]
}

// HasMeaning reports whether waits within a range or frame have a meaning of their own.
func (n *Names) HasMeaning(id trace.NameID) bool { return !n.none[id] && n.Around(id) != Around{} }

// Part is what a range, frame or call is in an event loop.
func (n *Names) Part(id trace.NameID) Part {
	if n.parts[id] == 0 {
		n.parts[id] = PartOf(n.t.Name(id)) + 1
	}
	return n.parts[id] - 1
}
