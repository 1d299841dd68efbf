package hostoverhead

import (
	"cmp"
	"sort"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/trace"
)

// NOTE: A timeline answers what a CPU thread was doing at each moment, as
// disjoint pieces in order. Each lane is flattened once: its nested events
// become the sequence of the innermost ones. Invariants: pieces are non-empty,
// disjoint, sorted, and inside an event that covers them.

// piece is a span in which one event is the innermost of its lane.
type piece struct {
	span interval.Span
	id   trace.EventID
}

// timeline is what one thread did.
type timeline struct {
	calls  []piece // API calls, outermost: what is called inside a call belongs to it
	over   []piece // profiler overhead
	ranges []piece // annotations and NVTX ranges
	code   []piece // Python frames and ops, the innermost of both
}

// timelineOf builds a thread's timeline on first use.
func (l *ledger) timelineOf(th trace.ThreadIndex) *timeline {
	if tl, ok := l.timelines[th]; ok {
		return tl
	}
	w := l.w
	tl := &timeline{calls: outermost(w, trace.LaneLaunch, th, nil)}
	tl.over = outermost(w, trace.LaneSync, th, func(e trace.Event) bool { return e.Kind() == trace.KindOverhead && isProfilerOverhead(e.Name()) })
	tl.ranges = flatten(w, trace.LaneAnnotation, th, func(e trace.Event) bool {
		return (e.Kind() == trace.KindAnnotation || e.Kind() == trace.KindRange) && e.Duration() > 0
	})
	frames := flatten(w, trace.LanePython, th, func(e trace.Event) bool { return e.Duration() > 0 })
	ops := flatten(w, trace.LaneOp, th, func(e trace.Event) bool { return e.Duration() > 0 })
	tl.code = overlay(w.stop, frames, ops)
	l.timelines[th] = tl
	return tl
}

// outermost lists the events of a lane that lie inside no other, cut where one
// begins before the one before it ends.
func outermost(w *workload, lane trace.Lane, th trace.ThreadIndex, keep func(trace.Event) bool) []piece {
	var out []piece
	end := int64(-1 << 62)
	for e := range w.onThread(lane, th) {
		s := spanOf(e)
		s.Start = max(s.Start, end)
		if s.Empty() || keep != nil && !keep(e) {
			continue
		}
		out = append(out, piece{s, e.ID()})
		end = s.End
	}
	return out
}

// flatten turns the nested events of one thread into pieces of the innermost
// one. The lane is sorted by start, longest first, so an event comes after
// those around it. Events that overlap without nesting are cut at the end of
// the one that began first.
func flatten(w *workload, lane trace.Lane, th trace.ThreadIndex, keep func(trace.Event) bool) []piece {
	var out []piece
	var stack []piece // open events, outermost first; ends do not increase
	at := int64(-1 << 62)
	emit := func(to int64) {
		for len(stack) > 0 {
			top := stack[len(stack)-1]
			end := min(to, top.span.End)
			if s := (interval.Span{Start: max(at, top.span.Start), End: end}); !s.Empty() {
				out = append(out, piece{s, top.id})
			}
			at = max(at, end)
			if top.span.End > to {
				return
			}
			stack = stack[:len(stack)-1]
		}
	}
	for e := range w.onThread(lane, th) {
		if !keep(e) {
			continue
		}
		s := spanOf(e)
		emit(s.Start)
		at = max(at, s.Start)
		if n := len(stack); n > 0 {
			s.End = min(s.End, stack[n-1].span.End)
		}
		stack = append(stack, piece{s, e.ID()})
	}
	emit(1 << 62)
	return out
}

// overlay puts the pieces of top over those of bottom.
func overlay(watch *stop.Watch, bottom, top []piece) []piece {
	if len(top) == 0 {
		return bottom
	}
	if len(bottom) == 0 {
		return top
	}
	var out []piece
	i := 0
	for _, b := range bottom {
		if watch.Over() {
			return nil
		}
		at := b.span.Start
		for i > 0 && top[i-1].span.End > b.span.Start {
			i--
		}
		for ; i < len(top) && top[i].span.Start < b.span.End; i++ {
			if watch.Over() {
				return nil
			}
			cut := top[i].span.Clip(b.span)
			if cut.Empty() {
				continue
			}
			if cut.Start > at {
				out = append(out, piece{interval.Span{Start: at, End: cut.Start}, b.id})
			}
			out = append(out, piece{cut, top[i].id})
			at = cut.End
			if top[i].span.End > b.span.End {
				break
			}
		}
		if at < b.span.End {
			out = append(out, piece{interval.Span{Start: at, End: b.span.End}, b.id})
		}
	}
	return addUncovered(watch, out, bottom, top)
}

// addUncovered adds the parts of top that lie outside every piece of bottom.
func addUncovered(watch *stop.Watch, out, bottom, top []piece) []piece {
	under := make([]interval.Span, len(bottom))
	for i, p := range bottom {
		under[i] = p.span
	}
	under = interval.UnionInPlace(under)
	n := len(out)
	for _, p := range top {
		if watch.Over() {
			return nil
		}
		for _, g := range interval.Gaps(under, p.span) {
			out = append(out, piece{g, p.id})
		}
	}
	if len(out) > n {
		stop.Sort(watch, out, func(a, b piece) int { return cmp.Compare(a.span.Start, b.span.Start) })
	}
	return out
}

// cutBy splits span by pieces: f gets every part with the piece that covers
// it, or nil where none does. It ends early with the context.
func cutBy(watch *stop.Watch, pieces []piece, span interval.Span, f func(interval.Span, *piece)) {
	if span.Empty() {
		return
	}
	at := span.Start
	i := sort.Search(len(pieces), func(i int) bool { return pieces[i].span.End > span.Start })
	for ; i < len(pieces) && pieces[i].span.Start < span.End; i++ {
		if watch.Over() {
			return
		}
		cut := pieces[i].span.Clip(span)
		if cut.Start > at {
			f(interval.Span{Start: at, End: cut.Start}, nil)
		}
		f(cut, &pieces[i])
		at = cut.End
	}
	if at < span.End {
		f(interval.Span{Start: at, End: span.End}, nil)
	}
}
