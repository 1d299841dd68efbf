package hostoverhead

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE: how idle time gets its cause.
//
// A gap ends because a kernel starts; the call that launched that kernel and the thread it was made on are known unless
// the kernel is an orphan. The gap is cut at the beginning and the end of that call:
//
//	        idle gap
//	|------------------------|
//	   host code   call  way   kernel
//
// Up to the end of the call the thread's timeline decides, piece by piece. After it the launch has not reached the
// device. A kernel that was launched before the gap began, or by the same graph launch as the one before the gap, was
// queued: its dispatch is the device's time, or, if that took too long, a dependency. Copies are taken out first.
//
// Where the gap opened while the thread was in a call that waits for the device, that call emptied the queue: without
// it the host would have been ahead by as long as it waited. What the host needs to catch up again within a step, up
// to that time, is therefore booked on the call. Between two steps it keeps its name, and the call is noted beside
// it.
//
// All cuts are exact and every piece gets one cause, so the ledger adds up to the idle time to the nanosecond.

// The details of pieces.
const (
	detailNone uint8 = iota
	detailOnItsWay
	detailCatchUp
	detailQueued
	detailInGraph
	detailLate
	detailLateCollective
	detailStalled
	detailFirst
	detailBefore
	detailOrphan
	detailUnnamed
	detailQuiet
	detailOffCPU
	detailSampled
	detailDoubted
)

var details = [...]string{
	detailNone:           "",
	detailOnItsWay:       "launch latency",
	detailCatchUp:        "the host catches up after it",
	detailQueued:         "gap between queued kernels",
	detailInGraph:        "between kernels of a graph replay",
	detailLate:           "queued, then likely waited for an event or a signal",
	detailLateCollective: "a queued collective started late",
	detailStalled:        "queued, and late without a recorded wait",
	detailFirst:          "first call",
	detailBefore:         "queued, likely after work from before the recording",
	detailOrphan:         "the next kernel's launch is not in the trace",
	detailUnnamed:        "unattributed host time",
	detailQuiet:          "nothing recorded on the launching thread",
	detailOffCPU:         "off the CPU between two steps, for an unrecorded reason",
	detailSampled:        "found running by samples",
	detailDoubted:        "launch calls are not to be trusted (see the health)",
}

// idlePiece is a piece of idle time with one cause. Names are ids: a trace has millions of pieces.
type idlePiece struct {
	span   interval.Span
	cause  finding.Cause
	detail uint8        // place in details
	api    trace.NameID // call the thread was in; 0: none
	rng    trace.NameID // innermost range
	code   trace.NameID // innermost op or frame
	drain  trace.NameID // the call that emptied the queue before a step
	step   bool         // rng is a step's annotation, or encloses several
	gap    *gap         // it is a part of
}

// gap is a span in which nothing runs on the device, and what is known about its ends.
type gap struct {
	d       *deviceWork
	span    interval.Span
	bucket  int         // class of its length, negative if rounding makes it
	next    int         // place of the activity that ends it
	kernel  trace.Event // it
	launch  trace.Event // its launch call, may be invalid
	graph   bool        // the kernel is of a graph replay
	replay  bool        // the kernel before the gap is of the same graph replay
	between bool        // the kernels on both sides are of different steps
	began   int64       // from here on the host worked on the step of kernel
	drain   drain
}

// drain is the call that had emptied the queue when a gap opened.
type drain struct {
	cause finding.Cause
	name  trace.NameID
	end   int64 // of the call
	lead  int64 // how far ahead the host would have been
}

// ledger explains the idle time of a workload, one device after the other: what it needs for a device it uses again
// for the next one, as many devices may wait for the same thread.
type ledger struct {
	w        *workload
	p        *params
	threads  map[trace.ThreadIndex]*timeline.Thread // of the device at hand
	spare    []timeline.Timeline                    // of devices before
	samples  map[trace.ThreadIndex][]trace.EventID  // moments at which a thread was found running
	meanings *waits.Names                           // what waits within functions mean
	doubted  bool                                   // launches do not show what the GPUs wait for
	events   bool                                   // streams wait for events
	first    map[trace.EventID]bool                 // see [firstCalls]
	names    []hostName                             // by name, as far as they were asked for
	cache    [cachedNames]cachedName                // of the account at hand
	work     []interval.Span                        // of the host on the passes of the device at hand
	piece    idlePiece                              // at hand
	emit     func(*idlePiece)                       // what walk calls
	account  *account                               // at hand; nil: each piece is asked for
	outer    outer                                  // of the round at hand
	round    uint32                                 // see [summed]
}

func newLedger(w *workload, p *params) *ledger {
	l := &ledger{w: w, p: p, events: awaitsEvents(w.t), first: firstCalls(w.t, p.BlockedLaunch)}
	l.doubted = slices.ContainsFunc(w.layers.Health.Findings, func(f trace.Remark) bool {
		return f.Severity != trace.HealthOK && slices.Contains(f.Affects, trace.AffectsIdle) &&
			slices.Contains(f.Affects, trace.AffectsAttribution)
	})
	return l
}

// beside is a ledger of the same workload for another goroutine: what one of them remembers is its own.
func (l *ledger) beside() *ledger {
	return &ledger{w: l.w, p: l.p, doubted: l.doubted, events: l.events, first: l.first, meanings: waits.NewNames(l.w.t),
		names: make([]hostName, l.w.t.NumNames()), samples: map[trace.ThreadIndex][]trace.EventID{}}
}

// forget drops what only walking needs.
func (l *ledger) forget() {
	*l = ledger{w: l.w, p: l.p, doubted: l.doubted}
}

// gapsAtOnce is how many gaps are explained with one piece of every thread's timeline: enough that moving on costs
// nothing per gap, few enough that a trace of millions of frames needs no more memory for it.
const gapsAtOnce = 64

// idlePart is the idle time of a device between two of its taken spans, or of all of it.
type idlePart struct {
	d        *deviceWork
	from, to int // gaps, by the taken spans that end them
}

// leastGaps is how many gaps a part has at least: to find its beginning takes about as long as to explain some hundred.
const leastGaps = 1 << 12

// mostParts limits the parts of a device: each needs room for what it remembers of names.
const mostParts = 8

// partsOf cuts the idle time of devices so that n goroutines have one each, as far as there is enough of it.
func partsOf(devices []*deviceWork, n int) (parts []idlePart) {
	for _, d := range devices {
		parts = append(parts, d.parts(min(n/len(devices), len(d.taken())/leastGaps, mostParts))...)
	}
	return parts
}

// parts cuts the idle time of a device into n parts of as many gaps, into one where n is less.
func (d *deviceWork) parts(n int) (parts []idlePart) {
	n = max(n, 1)
	gaps := len(d.taken()) - 1
	for i := range n {
		parts = append(parts, idlePart{d, 1 + i*gaps/n, 1 + (i+1)*gaps/n})
	}
	return parts
}

// walk calls f with every piece of idle time of a part in order. The piece is valid during the call. The error is
// ctx's.
func (l *ledger) walk(ctx context.Context, part idlePart, f func(*idlePiece)) error {
	d := part.d
	for _, s := range l.threads {
		l.spare = append(l.spare, s.Now)
	}
	l.threads, l.work, l.emit = map[trace.ThreadIndex]*timeline.Thread{}, workOf(d), f
	w := l.walker(part)
	needs := map[trace.ThreadIndex][]interval.Span{}
	for gaps := w.gaps(nil); len(gaps) > 0; gaps = w.gaps(gaps[:0]) {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.collectNeeds(gaps, needs)
		for i := range gaps {
			l.explain(&gaps[i])
		}
	}
	return nil
}

// collectNeeds moves the timelines of the threads to where gaps ask for them.
func (l *ledger) collectNeeds(gaps []gap, needs map[trace.ThreadIndex][]interval.Span) {
	for th := range needs {
		needs[th] = needs[th][:0]
	}
	for i := range gaps {
		if th, part := l.hostPart(&gaps[i]); !part.Empty() {
			needs[th] = append(needs[th], part)
		}
	}
	for th, spans := range needs {
		if len(spans) == 0 {
			continue
		}
		if l.threads[th] == nil {
			l.threads[th] = l.newTimeline(th)
		}
		l.threads[th].Move(spans)
	}
}

// gapWalker lists the gaps of a part.
type gapWalker struct {
	l            *ledger
	idlePart         // what is left of it
	kernel, last int // the first kernel not looked at yet, and the one that ended last before it
	lastEnd      int64
}

// walker begins with the kernels of the busy span before the first gap: those before them ended earlier.
func (l *ledger) walker(part idlePart) gapWalker {
	w := gapWalker{l: l, idlePart: part, lastEnd: math.MinInt64}
	if part.from < part.to {
		w.kernel, _ = slices.BinarySearchFunc(part.d.acts, part.d.taken()[part.from-1].Start, func(row int32, t int64) int {
			return cmp.Compare(int64(l.w.t.LaneAt(event.LaneGPU, int(row)).Start()), t)
		})
	}
	return w
}

// gaps appends the next ones, none at the end.
func (w *gapWalker) gaps(out []gap) []gap {
	d := w.d
	at := func(i int) trace.Event { return w.l.w.t.LaneAt(event.LaneGPU, int(d.acts[i])) }
	for ; w.from < w.to && len(out) < gapsAtOnce; w.from++ {
		g := gap{d: d, span: interval.Span{Start: d.taken()[w.from-1].End, End: d.taken()[w.from].Start}, bucket: none}
		if g.span.Len() > rounding {
			g.bucket = bucketOf(g.span.Len())
		}
		for ; w.kernel < len(d.acts); w.kernel++ { // the kernel that ends the gap: the first that starts at its end
			e := at(w.kernel)
			if int64(e.Start()) >= g.span.End {
				g.kernel = e
				break
			}
			if end := int64(e.End()); end >= w.lastEnd {
				w.last, w.lastEnd = w.kernel, end
			}
		}
		g.next, g.launch = w.kernel, g.kernel.Launch()
		w.l.sides(&g, at(w.last), w.last)
		out = append(out, g)
	}
	return out
}

// sides looks at the kernels on both sides of a gap.
func (l *ledger) sides(g *gap, before trace.Event, last int) {
	g.graph = g.d.path[g.next] == pathGraph
	g.replay = g.launch.Valid() && g.graph && before.Launch().ID() == g.launch.ID()
	g.began = math.MaxInt64
	if g.d.pass == nil {
		return
	}
	p, q := g.d.pass[last], g.d.pass[g.next]
	g.between = p != q
	if q >= 0 {
		if h := &g.d.layers.Passes[q].Host; h.End > h.Start {
			g.began = int64(h.Start)
		}
	}
}

// hostPart is the part of a gap in which a thread decides, empty where none does.
func (l *ledger) hostPart(g *gap) (trace.ThreadIndex, interval.Span) {
	switch th := g.launch.Thread(); {
	case g.replay:
	case th >= 0:
		return th, interval.Span{Start: g.span.Start, End: min(g.span.End, int64(g.launch.End()))}
	case l.orphanThread(g) >= 0:
		return l.orphanThread(g), g.span
	}
	return trace.None, interval.Span{}
}

// orphanThread is the thread that must have launched a kernel whose launch is not in the trace: the only one that works
// for the device.
func (l *ledger) orphanThread(g *gap) trace.ThreadIndex {
	if g.graph && g.span.Len() <= int64(l.p.QueuedLimit) || len(g.d.threads) != 1 || l.w.t.Len(event.LaneLaunch) == 0 {
		return trace.None
	}
	return g.d.threads[0]
}

// explain gives every part of a gap its cause.
func (l *ledger) explain(g *gap) {
	p, s := &l.piece, g.span
	if l.doubted && !g.replay {
		*p = idlePiece{span: s, cause: finding.UnknownCause, detail: detailDoubted, gap: g}
		l.drained(g)
		return
	}
	th, part := l.hostPart(g)
	if !part.Empty() {
		l.findDrain(g, th)
		l.host(g, th, part)
	}
	way := interval.Span{Start: max(s.Start, part.End), End: s.End} // of the kernel to the device
	launched, soon := g.launch.Thread() >= 0, way.Len() <= int64(l.p.QueuedLimit)
	c := finding.Dependency
	*p = idlePiece{span: way, detail: detailLate, gap: g}
	switch {
	case soon && (g.replay || !launched && g.graph):
		c, p.detail = finding.GPUDispatch, detailInGraph
	case !launched:
		c, p.detail = finding.UnknownCause, detailOrphan
	case soon && int64(g.launch.End()) <= s.Start:
		c, p.detail = finding.GPUDispatch, detailQueued
	case soon:
		c, p.detail, p.api = finding.LaunchCall, detailOnItsWay, g.launch.NameID()
		if kind.IsGraphLaunch(g.launch.Name()) {
			c = finding.GraphLaunch
		}
	case l.w.layers.Of(g.kernel.ID()).Facts().Collective != classify.NotCollective:
		c, p.detail = finding.OtherRanks, detailLateCollective
	case int(g.d.heads[g.kernel.Stream()]) == g.next:
		c, p.detail = finding.UnknownCause, detailBefore
	case !l.events:
		p.detail = detailStalled
	}
	p.cause = c
	l.drained(g)
}

// findDrain looks for the call that had emptied the queue when the gap opened.
func (l *ledger) findDrain(g *gap, th trace.ThreadIndex) {
	calls := l.threads[th].Now[timeline.Calls]
	i, _ := slices.BinarySearchFunc(calls, g.span.Start, func(p timeline.Piece, t int64) int {
		if p.Span.End <= t {
			return -1
		}
		return 1
	})
	if i == len(calls) {
		return
	}
	e := l.w.t.At(calls[i].ID)
	if c := l.p.callCause(e, l.name(e.NameID()).callName); waitsForDevice(c) && int64(e.Start()) < g.span.Start {
		g.drain = drain{cause: c, name: e.NameID(), end: int64(e.End()), lead: g.span.Start - int64(e.Start())}
	}
}

// drained gives out the piece at hand: host work after the call that emptied the queue is booked on that call.
func (l *ledger) drained(g *gap) {
	p := &l.piece
	s := p.span
	switch {
	case s.Empty():
		return
	case g.drain.lead == 0 || s.Start < g.drain.end || p.cause.Group() != finding.HostWork:
	case g.between:
		p.drain = g.drain.name
	default:
		on := *p
		on.span = s.Clip(interval.Span{Start: s.Start, End: g.drain.end + g.drain.lead})
		on.cause, on.api, on.detail = g.drain.cause, g.drain.name, detailCatchUp
		if !on.span.Empty() {
			l.emit(&on)
		}
		if p.span.Start = max(s.Start, on.span.End); p.span.Empty() {
			return
		}
	}
	l.emit(p)
}
