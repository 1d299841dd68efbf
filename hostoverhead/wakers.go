package hostoverhead

import (
	"cmp"
	"slices"
	"sort"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE: who ended a wait. Exports do not record which thread woke another one, but calls that wake are recorded
// beside those that wait. A wait is explained by a thread where that thread alone, of the same process, made a call
// that ends such waits right before the wait ended, and made none earlier in the wait: a thread that signals all the
// time says nothing. What that thread did meanwhile is then what the launching thread waited for. Where two threads
// signalled, nobody is named.

// wakeCall is one call that wakes.
type wakeCall struct {
	at     int64
	thread trace.ThreadIndex
	family int
}

// wakers finds the threads that ended waits.
type wakers struct {
	calls []wakeCall // by time
	known map[trace.EventID]trace.ThreadIndex
	least int64 // a wait ends within this time of the call that ends it
}

// newWakers looks for calls that wake.
func (l *ledger) newWakers() *wakers {
	w := &wakers{known: map[trace.EventID]trace.ThreadIndex{}, least: int64(l.p.WakeUp)}
	family := names.ByName(l.w.t, func(name string) int {
		_, wakes := waits.WakeFamily(name)
		return wakes
	})
	for e := range l.w.t.Events(event.LaneSync) {
		if e.Kind() == event.OSCall && family(e.NameID()) >= 0 {
			w.calls = append(w.calls, wakeCall{int64(e.Start()), e.Thread(), family(e.NameID())})
		}
	}
	slices.SortStableFunc(w.calls, func(a, b wakeCall) int { return cmp.Compare(a.at, b.at) })
	return w
}

// waker is the thread that ended a wait, None where none or several may have.
func (l *ledger) waker(wait trace.EventID) trace.ThreadIndex {
	if l.wakers == nil {
		l.wakers = l.newWakers()
	}
	w := l.wakers
	if th, ok := w.known[wait]; ok {
		return th
	}
	th := w.find(l.w.t, l.w.t.At(wait))
	w.known[wait] = th
	return th
}

// find looks for the one thread that woke another one.
func (w *wakers) find(t *trace.Trace, wait trace.Event) trace.ThreadIndex {
	family, _ := waits.WakeFamily(wait.Name())
	process := func(th trace.ThreadIndex) trace.Thread {
		x := t.Threads()[th]
		return trace.Thread{Process: x.Process, ProcessLabel: x.ProcessLabel}
	}
	span := timeline.SpanOf(wait)
	early, late := map[trace.ThreadIndex]bool{}, map[trace.ThreadIndex]bool{}
	for i := sort.Search(len(w.calls), func(i int) bool { return w.calls[i].at >= span.Start }); i < len(w.calls) &&
		w.calls[i].at <= span.End; i++ {
		c := &w.calls[i]
		if c.family != family || c.thread < 0 || c.thread == wait.Thread() ||
			process(c.thread) != process(wait.Thread()) {
			continue
		}
		if c.at >= span.End-w.least {
			late[c.thread] = true
		} else {
			early[c.thread] = true
		}
	}
	for th := range late {
		if len(late) == 1 && !early[th] {
			return th
		}
	}
	return trace.None
}

// followWakers moves the timelines of the threads that ended waits of a thread to those waits.
func (l *ledger) followWakers(needs map[trace.ThreadIndex][]interval.Span) {
	wanted := map[trace.ThreadIndex][]interval.Span{}
	for th, spans := range needs {
		if len(spans) == 0 {
			continue
		}
		for _, p := range l.threads[th].Now[timeline.System] {
			if l.name(p.Name).system != waits.WaitForThread(finding.Lock) {
				continue
			}
			if w := l.waker(p.ID); w != trace.None {
				wanted[w] = append(wanted[w], p.Span)
			}
		}
	}
	for th, spans := range wanted {
		if l.waking[th] == nil {
			l.waking[th] = l.newTimeline(th)
		}
		slices.SortFunc(spans, func(a, b interval.Span) int { return cmp.Compare(a.Start, b.Start) })
		l.waking[th].Move(spans)
	}
}

// woken names a wait for another thread by what that thread did meanwhile.
func (l *ledger) woken(m *timeline.Moment, s interval.Span, p idlePiece, emit func(interval.Span, idlePiece)) {
	th, wait := trace.ThreadIndex(trace.None), &m[timeline.System]
	if wait.Valid() && p.cause == finding.Lock {
		th = l.waker(wait.ID)
	}
	if th == trace.None || l.waking[th] == nil {
		emit(s, p)
		return
	}
	var other timeline.Moment
	l.waking[th].Now.Moments(s, &other, []int{timeline.Ranges, timeline.Code}, func(s interval.Span) {
		q := p
		if rng, code := other[timeline.Ranges].Name, other[timeline.Code].Name; cmp.Or(rng, code) != 0 {
			q.detail, q.api, q.rng, q.code, q.step = detailWoken, wait.Name, rng, code, false
		}
		emit(s, q)
	})
}
