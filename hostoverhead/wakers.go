package hostoverhead

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/trace"
)

// NOTE: who ended a wait. Exports do not record which thread woke another one, but calls that wake are recorded beside those
// that wait. A wait is explained by a thread where that thread alone, of the same process, made a call that ends such waits
// right before the wait ended, and made none earlier in the wait: a thread that signals all the time says nothing. What that
// thread did meanwhile is then what the launching thread waited for. Where two threads signalled, nobody is named.

// wakeCalls are calls that let other threads go on, by the calls in which those wait.
var wakeCalls = []struct{ wait, wake []string }{
	{[]string{"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait"}, []string{"pthread_cond_signal", "pthread_cond_broadcast"}},
	{[]string{"sem_wait", "sem_timedwait", "sem_clockwait"}, []string{"sem_post"}},
	{[]string{"pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock"}, []string{"pthread_mutex_unlock"}},
	{[]string{"pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_timed"}, []string{"pthread_rwlock_unlock"}},
}

// wakeFamily is the place in wakeCalls of a call that waits, or of one that wakes, −1 for others.
func wakeFamily(name string) (waits, wakes int) {
	name = strings.ToLower(name)
	waits, wakes = -1, -1
	for i, c := range wakeCalls {
		if names.ContainsAny(name, c.wait) {
			waits = i
		}
		if names.ContainsAny(name, c.wake) {
			wakes = i
		}
	}
	return waits, wakes
}

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
	families := map[trace.NameID]int{}
	for e := range l.w.t.Events(trace.LaneSync) {
		if e.Kind() != trace.KindOSCall {
			continue
		}
		family, ok := families[e.NameID()]
		if !ok {
			_, family = wakeFamily(e.Name())
			families[e.NameID()] = family
		}
		if family >= 0 {
			w.calls = append(w.calls, wakeCall{int64(e.Start()), e.Thread(), family})
		}
	}
	slices.SortStableFunc(w.calls, func(a, b wakeCall) int { return cmp.Compare(a.at, b.at) })
	return w
}

// waker is the thread that ended a wait, NoThread where none or several may have.
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
	family, _ := wakeFamily(wait.Name())
	if family < 0 || len(w.calls) == 0 {
		return trace.NoThread
	}
	threads := t.Threads()
	process := func(th trace.ThreadIndex) (trace.ProcessID, string) {
		return threads[th].Process, threads[th].ProcessLabel
	}
	id, label := process(wait.Thread())
	span := spanOf(wait)
	early, late := map[trace.ThreadIndex]bool{}, map[trace.ThreadIndex]bool{}
	for i := sort.Search(len(w.calls), func(i int) bool { return w.calls[i].at >= span.Start }); i < len(w.calls) && w.calls[i].at <= span.End; i++ {
		c := &w.calls[i]
		if c.family != family || c.thread < 0 || c.thread == wait.Thread() {
			continue
		}
		if p, l := process(c.thread); p != id || l != label {
			continue
		}
		if c.at >= span.End-w.least {
			late[c.thread] = true
		} else {
			early[c.thread] = true
		}
	}
	if len(late) != 1 {
		return trace.NoThread
	}
	for th := range late {
		if !early[th] {
			return th
		}
	}
	return trace.NoThread
}

// followWakers moves the timelines of the threads that ended waits of a thread to those waits.
func (l *ledger) followWakers(needs map[trace.ThreadIndex][]interval.Span) {
	wanted := map[trace.ThreadIndex][]interval.Span{}
	for th, spans := range needs {
		if len(spans) == 0 {
			continue
		}
		for _, p := range l.threads[th].now.system {
			if l.name(p.name).system != CauseLock {
				continue
			}
			if w := l.waker(p.id); w != trace.NoThread {
				wanted[w] = append(wanted[w], p.span)
			}
		}
	}
	for th, spans := range wanted {
		if l.waking[th] == nil {
			l.waking[th] = l.newStreams(th)
		}
		slices.SortFunc(spans, func(a, b interval.Span) int { return cmp.Compare(a.Start, b.Start) })
		l.waking[th].move(spans)
	}
}

// woken names a wait for another thread by what that thread did meanwhile.
func (l *ledger) woken(m *moment, s interval.Span, p idlePiece, emit func(interval.Span, idlePiece)) {
	th := trace.NoThread
	if m.system.valid() && causes[p.cause].cause == CauseLock {
		th = l.waker(m.system.id)
	}
	if th == trace.NoThread || l.waking[th] == nil {
		emit(s, p)
		return
	}
	tl := &l.waking[th].now
	cutBy(tl.ranges, s, func(s interval.Span, r timelinePiece) {
		cutBy(tl.code, s, func(s interval.Span, c timelinePiece) {
			q := p
			if r.valid() || c.valid() {
				q.detail, q.rng, q.code, q.step = detailWoken, trace.NoName, trace.NoName, false
				if q.api = m.system.name; r.valid() {
					q.rng = r.name
				}
				if c.valid() {
					q.code = c.name
				}
			}
			emit(s, q)
		})
	})
}
