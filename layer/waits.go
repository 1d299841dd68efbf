package layer

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE: what belongs to a step. A step lasts until the next pass starts, however long that takes: a loader, a grammar
// compiler or another process that keeps the GPU waiting for half a second costs the step half a second. Only time
// that is nobody's doing leaves the steps: the server has no requests, because it waits for them or polls for them;
// the profiler flushes; or nothing was recorded for long. This file finds such times between two steps, by what the
// thread does that launches the next one.
//
// Time in which nothing is recorded is the host's own code where it comes in most steps and takes about as long in
// each. So is a sleep before passes that generate: most of them go on with requests that the one before had.

// HostWait is idle time of a device for which the host's thread that launches next has one reason, between two steps
// or, where no steps are known, between two kernels.
type HostWait struct {
	Start trace.Time // inclusive
	End   trace.Time // exclusive
	// Cause is [finding.NoRequests] where the server waits or polls for requests, [finding.OtherProcess] where it
	// polls while requests wait for another process, [finding.Profiler], [finding.HostCode] where nothing is recorded
	// in most steps for about as long, and [finding.UnknownCause] where nothing is recorded for no visible reason.
	Cause finding.Cause
	// Pause says that the time is no part of a step.
	Pause bool
}

// The numbers of waits.
const (
	// Unnamed is the longest time between two calls of a thread that counts as its own work although nothing was
	// recorded in it: the longest pause between two launches of an eager step in 25 real traces. Longer times are the
	// host's code where they come in most steps and take about as long in each.
	Unnamed = 250 * time.Microsecond
	// equalCycles is how many equal iterations without a launch are a loop that polls.
	equalCycles = 3
	// spreadOfCode is by what factor the unnamed time of most steps may differ from their median and still be the
	// same code.
	spreadOfCode = 1.5
	// fewGaps is how many gaps it takes to say that code comes in most of them.
	fewGaps = 5
	// mostSteps is the share of steps in which code comes that every step runs.
	mostSteps = 2.0 / 3
)

// Waits are the times between steps for which the host has a known reason, in order and disjoint. They lie within
// idle time.
func (d *Device) Waits() []HostWait { return d.waits }

// Pauses are those of [Device.Waits] that are no part of a step.
func (d *Device) Pauses() []HostWait {
	return slices.DeleteFunc(slices.Clone(d.waits), func(w HostWait) bool { return !w.Pause })
}

// gapBetween is idle time between two steps.
type gapBetween struct {
	span   interval.Span
	next   int32 // number of the kernel that ends it
	thread trace.ThreadIndex
	host   interval.Span // the part in which the thread decides
	began  int64         // from here on the thread works on the next step
	silent idleness
	slept  *idleness // before the step that it delays, if that generates
}

// idleness is the time of a gap in which nothing is recorded on the thread, or in which it sleeps before a pass that
// generates. Whether it is code shows in the others of its kind.
type idleness struct {
	kind  idleKind
	spans []interval.Span
	total int64
	off   bool // it was off the CPU: that is no code
}

// idleKind is what idle times have in common: the name of the kernel before which they are, where no steps are known.
type idleKind struct {
	name  trace.NameID
	sleep bool // before passes that generate
}

// waitFinder finds the waits of a device.
type waitFinder struct {
	d       *Device
	t       *trace.Trace
	names   *waits.Names
	threads map[trace.ThreadIndex]*timeline.Thread
	idle    []*idleness
	slept   map[int]*idleness // before passes that generate
	gaps    map[idleKind]int
	whole   bool
	found   []HostWait
}

// findWaits fills in d.waits.
func (d *Device) findWaits() {
	d.waits = nil
	t := d.of.trace
	w := &waitFinder{d: d, t: t, names: waits.NewNames(t), threads: map[trace.ThreadIndex]*timeline.Thread{},
		gaps: map[idleKind]int{}, slept: map[int]*idleness{},
		whole: d.Basis() == finding.OfWindow}
	before := trace.None
	for s := range d.Timeline() {
		if s.Kernel != trace.None {
			before = s.Pass
			continue
		}
		if s.Lost {
			continue
		}
		if w.whole && time.Duration(s.End-s.Start) < Unnamed || !w.whole && before == s.Pass && before != trace.None {
			continue
		}
		g := gapBetween{span: interval.Span{Start: int64(s.Start), End: int64(s.End)}, next: s.Next}
		w.gap(&g)
	}
	w.judge()
	slices.SortFunc(w.found, func(x, y HostWait) int { return cmp.Compare(x.Start, y.Start) })
	for _, f := range w.found { // pieces of one reason become one
		if n := len(d.waits); n > 0 && d.waits[n-1].End == f.Start && d.waits[n-1].Cause == f.Cause &&
			d.waits[n-1].Pause == f.Pause {
			d.waits[n-1].End = f.End
			continue
		}
		d.waits = append(d.waits, f)
	}
}

// add notes a wait.
func (w *waitFinder) add(s interval.Span, c finding.Cause, pause bool) {
	if !s.Empty() {
		w.found = append(w.found, HostWait{trace.Time(s.Start), trace.Time(s.End), c, pause})
	}
}

// gap looks at what the thread that launches next does in a gap.
func (w *waitFinder) gap(g *gapBetween) {
	e := w.d.event(g.next)
	if w.whole {
		g.silent.kind.name = e.NameID()
	}
	g.thread, g.host = trace.None, g.span
	launch, pass := e.Launch(), int(w.d.columns.pass[g.next])
	if w.whole || pass >= 0 { // before an activity of no pass, as a copy of the results, no step begins
		w.gaps[g.silent.kind]++
	}
	g.slept = w.sleptBefore(g)
	if launch.Valid() && launch.Thread() >= 0 {
		g.thread, g.host.End = launch.Thread(), min(g.span.End, int64(launch.End()))
	} else if pass >= 0 {
		g.thread = w.d.Passes[pass].Host.Thread
	}
	if g.thread < 0 {
		if s := g.span; s.Len() > int64(framework.Pause) {
			w.add(s, finding.UnknownCause, true)
		}
		return
	}
	if g.host.Empty() {
		return
	}
	g.began = math.MaxInt64
	if h := w.host(pass); h.End > h.Start {
		g.began = int64(h.Start)
	}
	at := g.host.Start
	for _, c := range w.polls(g) {
		w.moments(g, interval.Span{Start: at, End: int64(c.Start)})
		w.found = append(w.found, c)
		at = int64(c.End)
	}
	w.moments(g, interval.Span{Start: at, End: g.host.End})
	if g.silent.total > 0 {
		w.idle = append(w.idle, &g.silent)
	}
}

func (x *idleness) add(s interval.Span) {
	x.spans = append(x.spans, s)
	x.total += s.Len()
}

// sleptBefore returns where sleeps of a gap are noted, nil where the step that begins after it does not generate.
func (w *waitFinder) sleptBefore(g *gapBetween) *idleness {
	p := sort.Search(len(w.d.Passes), func(p int) bool { return int64(w.d.Passes[p].Start) >= g.span.End })
	if p == len(w.d.Passes) || !w.d.Passes[p].Stage.Info().Generates {
		return nil
	}
	if w.slept[p] == nil {
		x := &idleness{kind: idleKind{sleep: true}}
		w.slept[p], w.idle = x, append(w.idle, x)
		w.gaps[x.kind]++
	}
	return w.slept[p]
}

// host is what the host did for the pass of a kernel; nothing where that is not known.
func (w *waitFinder) host(pass int) HostSpan {
	if pass < 0 || w.whole {
		return HostSpan{}
	}
	return w.d.Passes[pass].Host
}

// resting is time in which a function of another process's messages spins; where it then waits for input, all of it
// was a rest.
type resting struct {
	spans []interval.Span
	input bool
}

// moments adds the waits of a part of a gap.
func (w *waitFinder) moments(g *gapBetween, s interval.Span) {
	if s.Empty() {
		return
	}
	th := w.threads[g.thread]
	if th == nil {
		th = timeline.New(w.t, g.thread, timeline.Timeline{}, timeline.SamplesOf(w.t, g.thread), w.names.HasMeaning)
		w.threads[g.thread] = th
	}
	th.Move([]interval.Span{s})
	var m timeline.Moment
	rests := map[trace.EventID]resting{} // by the call of the function
	moment := func(s interval.Span) {
		if s.Start >= g.began {
			return
		}
		around := m.Around()
		means := w.momentWait(&m, around)
		switch {
		case m[timeline.Over].Valid():
			w.add(s, finding.Profiler, true)
		case m[timeline.Calls].Valid():
		case around.Valid() && w.names.Around(around.Name).Rests:
			r := rests[around.ID]
			rests[around.ID] = resting{append(r.spans, s), r.input || means.For == waits.Input}
		case means.For == waits.Input && means.Sleeps && g.slept != nil:
			g.slept.add(s)
		case means.For == waits.Input:
			w.add(s, finding.NoRequests, true)
		case w.quiet(&m, th, s):
			g.silent.add(s)
			g.silent.off = g.silent.off || m[timeline.Off].Valid()
		}
	}
	th.Now.Stretches(s, &m, func(s interval.Span, code []timeline.Piece) { m.Moments(s, code, moment) })
	for _, r := range rests {
		for _, s := range r.spans {
			if r.input {
				w.add(s, finding.NoRequests, true)
			}
		}
	}
}

// momentWait is what the thread waits for, as its calls, frames and what is around them say.
func (w *waitFinder) momentWait(m *timeline.Moment, around *timeline.Piece) waits.Wait {
	name := ""
	var inner waits.Wait
	rng, code := &m[timeline.Ranges], &m[timeline.Code]
	switch {
	case m[timeline.System].Valid():
		name = w.t.Name(m[timeline.System].Name)
		inner = waits.SystemWait(name)
	case rng.Valid() && (waits.WaitsForGIL(w.t.Name(rng.Name)) || waits.Exchanges(event.Range, w.t.Name(rng.Name))):
		return waits.Wait{}
	case code.Valid() && waits.Exchanges(event.Op, w.t.Name(code.Name)):
		return waits.Wait{}
	case code.Valid() && code.Kind == event.Frame:
		name = w.t.Name(code.Name)
		inner = waits.FrameWait(name)
	}
	if around.Valid() {
		inner = w.names.Around(around.Name).Meaning(inner)
	} else if w.whole && inner.For == waits.Input && waits.PartOf(name) != waits.Receive {
		return waits.Wait{} // a sleep within what may be a step
	}
	return inner
}

// quiet reports whether nothing is recorded at a moment, or only that the thread does not run.
func (w *waitFinder) quiet(m *timeline.Moment, th *timeline.Thread, s interval.Span) bool {
	if m.WithoutCall() <= int64(Unnamed) || m[timeline.System].Valid() || m[timeline.Ranges].Valid() ||
		m[timeline.Code].Valid() {
		return false
	}
	sample := th.Sampled(w.t, s)
	return !sample.Valid()
}

// judge says what the idle times are whose kinds show it.
func (w *waitFinder) judge() {
	w.idle = slices.DeleteFunc(w.idle, func(x *idleness) bool { return x.total == 0 })
	lengths := map[idleKind][]int64{}
	for _, x := range w.idle {
		lengths[x.kind] = append(lengths[x.kind], x.total)
	}
	for _, x := range w.idle {
		code := !x.off && regular(lengths[x.kind], w.gaps[x.kind], x.total)
		for _, span := range x.spans {
			switch {
			case x.kind.sleep && !code:
				w.add(span, finding.NoRequests, true)
			case code && !x.kind.sleep: // what the thread does in the others has a name
				w.add(span, finding.HostCode, false)
			case !code:
				w.add(span, finding.UnknownCause, x.total > int64(framework.Pause))
			}
		}
	}
}

// regular reports whether a length is that of code which comes in most of some gaps.
func regular(lengths []int64, gaps int, length int64) bool {
	if gaps < fewGaps {
		return false
	}
	slices.Sort(lengths) // once sorted this costs a look
	m := float64(lengths[len(lengths)/2])
	low, high := int64(m/spreadOfCode), int64(math.Ceil(m*spreadOfCode))
	n := sort.Search(len(lengths), func(i int) bool { return lengths[i] > high }) - sort.Search(len(lengths),
		func(i int) bool { return lengths[i] >= low })
	return length >= low && length <= high && float64(n) >= mostSteps*float64(gaps)
}

// item is one part of an iteration of an event loop.
type item struct {
	interval.Span
	name trace.NameID
	part waits.Part
	idle bool // an idle part in which nothing is left to do
	busy bool // it waits for another thread or process: that is no look for requests
}

// loopLanes are the lanes in which iterations show.
var loopLanes = []event.Lane{event.LanePython, event.LaneAnnotation, event.LaneSync}

// polls are the iterations of a gap in which the thread looked for requests and launched nothing.
func (w *waitFinder) polls(g *gapBetween) []HostWait {
	for _, lane := range loopLanes {
		if found := w.cycles(w.items(lane, g)); found.Cause != finding.NoCause {
			return []HostWait{found}
		}
	}
	return nil
}

// items are the outermost events that begin within the host's part of a gap.
func (w *waitFinder) items(lane event.Lane, g *gapBetween) (out []item) {
	n := w.t.Len(lane)
	i := sort.Search(n, func(i int) bool {
		e := w.t.LaneAt(lane, i)
		return e.Thread() > g.thread || e.Thread() == g.thread && int64(e.Start()) >= g.host.Start
	})
	for ; i < n && w.t.LaneAt(lane, i).Thread() == g.thread; i++ {
		e := w.t.LaneAt(lane, i)
		span := timeline.SpanOf(e)
		if span.Start >= min(g.host.End, g.began) {
			break
		}
		if lane == event.LaneSync && e.Kind() != event.OSCall {
			continue
		}
		part := w.names.Part(e.NameID())
		n := len(out)
		if n == 0 || span.Start >= out[n-1].End {
			out = append(out, item{Span: span, name: e.NameID(), part: part})
			continue
		}
		switch last := &out[n-1]; { // within the item before
		case w.names.Around(e.NameID()).For == waits.Thread:
			last.busy = true
		case part == waits.Receive && last.part == waits.NoPart:
			last.part = waits.Receive
		case part == waits.Check && last.part == waits.Idle:
			last.idle = true
		}
	}
	return out
}

// cycles finds iterations without a launch among the parts of event loops: from the first look for requests that is
// followed by another one to the last look, with which the iteration begins that launches.
func (w *waitFinder) cycles(items []item) (found HostWait) {
	var heads []int
	for i := range items {
		// Looks at several sockets make one head.
		if items[i].part == waits.Receive && !items[i].busy &&
			(i == 0 || items[i-1].part != waits.Receive || items[i-1].name == items[i].name) {
			heads = append(heads, i)
		}
	}
	idle, parked := false, false
	for i := range items {
		idle = idle || items[i].part == waits.Idle && items[i].idle
		parked = parked || items[i].part == waits.Idle && !items[i].idle
	}
	if len(heads) < 2 {
		return HostWait{}
	}
	equal, most := 1, 1
	for c := 1; c+1 < len(heads); c++ {
		same := slices.EqualFunc(items[heads[c-1]:heads[c]], items[heads[c]:heads[c+1]],
			func(x, y item) bool { return x.name == y.name })
		if equal++; !same {
			equal = 1
		}
		most = max(most, equal)
	}
	first, last := items[heads[0]].Start, items[heads[len(heads)-1]].Start
	switch {
	case idle:
		return HostWait{trace.Time(first), trace.Time(last), finding.NoRequests, true}
	case parked:
		return HostWait{trace.Time(first), trace.Time(last), finding.OtherProcess, false}
	case most >= equalCycles:
		return HostWait{trace.Time(first), trace.Time(last), finding.NoRequests, true}
	}
	return HostWait{}
}
