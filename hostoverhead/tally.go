package hostoverhead

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// tally sums operations over the steady steps.
type tally struct {
	w       *recording
	kind    compare.OperationKind
	windows []interval.Span // of the steady steps, in order, disjoint
	tp      int
	last    int // the step that was found last: most events follow one of the same
	byName  map[string]*tallied
	spans   map[trace.ThreadIndex][]interval.Span // for union, see cover; nil: nobody asks for it
	waits   map[trace.ThreadIndex]waitSums        // nil: they are not looked for
	own     *waitSums                             // of the thread at hand: events of a thread come together
	thread  trace.ThreadIndex
}

type tallied struct {
	ns     []int64
	waits  []int64 // for the GPU; nil unless the tally knows the waits
	count  int
	source string
	place  string            // inside which operation it first occurred
	around string            // inside which one it took longest
	most   trace.Time        // how long that was
	thread trace.ThreadIndex // of the outermost occurrence so far
	until  trace.Time        // its end
}

func newTally(w *recording, kind compare.OperationKind, windows []interval.Span, tp int) *tally {
	return &tally{w: w, kind: kind, windows: windows, tp: tp, byName: map[string]*tallied{}}
}

// at is the steady step that holds a time, or none.
func (t *tally) at(x trace.Time) int {
	if t.windows[t.last].Contains(int64(x)) {
		return t.last
	}
	if i := interval.From(t.windows, int64(x)); i < len(t.windows) && t.windows[i].Contains(int64(x)) {
		t.last = i
		return i
	}
	return none
}

// of is the operation of a name; source and place are those where it first occurred.
func (t *tally) of(name, source, place string) *tallied {
	o := t.byName[name]
	if o == nil {
		o = &tallied{ns: make([]int64, len(t.windows)), source: source, place: place, thread: trace.None}
		if t.waits != nil {
			o.waits = make([]int64, len(t.windows))
		}
		t.byName[name] = o
	}
	return o
}

// add counts an occurrence in a step.
func (t *tally) add(o *tallied, step int, e trace.Event) {
	o.ns[step] += int64(e.Duration())
	o.count++
	if o.waits != nil {
		if th := e.Thread(); t.own == nil || th != t.thread {
			w := t.waits[th]
			t.thread, t.own = th, &w
		}
		o.waits[step] += t.own.within(timeline.SpanOf(e))
	}
}

// waitSums are the calls of a thread that wait for the GPU, in order and disjoint, and for how long those before each
// last.
type waitSums struct {
	calls  []interval.Span
	before []int64
}

// within is how much of a span the calls take that end in it.
func (w *waitSums) within(s interval.Span) int64 {
	from, to := interval.From(w.calls, s.Start), interval.From(w.calls, s.End)
	if from == to {
		return 0
	}
	return w.before[to] - w.before[from] - max(0, s.Start-w.calls[from].Start)
}

// findWaits notes which calls wait for the GPU, as the ledger of idle time has it.
func (t *tally) findWaits() {
	t.waits = map[trace.ThreadIndex]waitSums{}
	p, call := defaultParams(), names.ByName(t.w.t, callNamed)
	for e := range t.w.events(event.LaneLaunch) {
		if !waitsForDevice(p.callCause(e, call(e.NameID()))) {
			continue
		}
		w, s := t.waits[e.Thread()], timeline.SpanOf(e)
		if n := len(w.calls); n == 0 {
			w.before = []int64{0}
		} else if s.Start = max(s.Start, w.calls[n-1].End); s.Empty() { // inside the one before it
			continue
		}
		w.calls = append(w.calls, s)
		w.before = append(w.before, w.before[len(w.before)-1]+s.Len())
		t.waits[e.Thread()] = w
	}
}

// outermost reports whether an occurrence is inside no other of its name on its thread. Those of a thread come together
// and by start.
func (o *tallied) outermost(e trace.Event) bool {
	th := e.Thread()
	if o.thread == th && e.Start() < o.until {
		return false
	}
	o.thread, o.until = th, e.End()
	return true
}

// addRanges adds the annotations that start in a steady step, steps themselves
// apart; where there are none, the Python frames.
func (t *tally) addRanges() {
	open := map[trace.ThreadIndex][]openRange{}
	frames := t.w.t.Len(event.LanePython) > 0
	for e := range t.w.events(event.LaneAnnotation) {
		if e.Kind() != event.Annotation && e.Kind() != event.Range || t.w.step(e.NameID()) {
			continue
		}
		if i := t.at(e.Start()); i >= 0 {
			name := t.w.general(e.NameID())
			source := ""
			if frames && t.byName[name] == nil {
				source = opener(e)
			}
			around := enter(open, e, name)
			o := t.of(name, source, around)
			if o.longer(e) {
				o.around = around
			}
			t.add(o, i, e)
			t.cover(e)
		}
	}
	if len(t.byName) > 0 {
		return
	}
	t.addFrames()
}

// addFrames adds the Python frames that start in a steady step, without the profiler's own and what these call, which
// are no work of the program. There are millions, of a few hundred names, and each name is read once.
func (t *tally) addFrames() {
	byID := make([]*tallied, t.w.t.NumNames())
	ofProfiler := names.ByName(t.w.t, names.OfProfiler)
	profiled := map[trace.ThreadIndex]trace.Time{} // up to here
	for e := range t.w.events(event.LanePython) {
		if ofProfiler(e.NameID()) {
			profiled[e.Thread()] = max(profiled[e.Thread()], e.End())
		}
		i := t.at(e.Start())
		if i < 0 || e.Start() < profiled[e.Thread()] {
			continue
		}
		o := byID[e.NameID()]
		if o == nil {
			source, _ := names.SplitFrame(e.Name())
			o = t.of(names.WithoutLine(e.Name()), source, caller(e))
			byID[e.NameID()] = o
		}
		if !o.outermost(e) {
			continue
		}
		if o.longer(e) {
			o.around = outside(e)
		}
		t.add(o, i, e)
		t.cover(e)
	}
}

// caller is the operation of the frame that a frame was called in, "" for none.
func caller(e trace.Event) string {
	if p := e.Parent(); p.Valid() {
		return names.WithoutLine(p.Name())
	}
	return ""
}

// outside is the innermost operation around a frame: a frame inside another one of its name counts with that.
func outside(e trace.Event) string {
	for p := e.Parent(); p.Valid(); p = p.Parent() {
		name := names.WithoutLine(p.Name())
		again := p.Parent()
		for again.Valid() && names.WithoutLine(again.Name()) != name {
			again = again.Parent()
		}
		if !again.Valid() {
			return name
		}
	}
	return ""
}

// longer reports whether an occurrence is the longest so far.
func (o *tallied) longer(e trace.Event) bool {
	d := trace.Time(e.Duration())
	if d <= o.most {
		return false
	}
	o.most = d
	return true
}

// cover notes the time of a range for the union. Ranges come by start, and most lie inside another one.
func (t *tally) cover(e trace.Event) {
	if t.spans == nil {
		return
	}
	s, list := timeline.SpanOf(e), t.spans[e.Thread()]
	if n := len(list); n > 0 && s.Start >= list[n-1].Start && s.Start <= list[n-1].End {
		list[n-1].End = max(list[n-1].End, s.End)
		return
	}
	t.spans[e.Thread()] = append(list, s)
}

// opener is the innermost frame around all of a range: what opens it, not the library's function that does.
func opener(e trace.Event) string {
	for f := e.Frame(); f.Valid(); f = f.Parent() {
		if f.End() >= e.End() {
			return f.Name()
		}
	}
	return ""
}

// addKernels adds the kernels of each steady step: those whose launch lies in
// it, or that start in it when their launch is unknown.
func (t *tally) addKernels() {
	for e := range t.w.kernels() {
		at := e.Start()
		if l := e.Launch(); l.Valid() {
			at = l.Start()
		}
		if i := t.at(at); i >= 0 {
			t.add(t.of(e.Name(), "", ""), i, e)
		}
	}
}

// openRange is a range of a thread that has begun.
type openRange struct {
	name string
	end  trace.Time
}

// enter opens a range, of that name, and returns the name of the one around it, "" for none. Ranges come by start;
// open are those of each thread, the innermost last.
func enter(open map[trace.ThreadIndex][]openRange, e trace.Event, name string) (around string) {
	list := open[e.Thread()]
	for len(list) > 0 && list[len(list)-1].end < e.End() {
		list = list[:len(list)-1]
	}
	if len(list) > 0 {
		around = list[len(list)-1].name
	}
	open[e.Thread()] = append(list, openRange{name, e.End()})
	return around
}

// addCalls adds the API calls and returns the launches of each step.
func (t *tally) addCalls() (launches []float64) {
	launches = make([]float64, len(t.windows))
	for e := range t.w.events(event.LaneLaunch) {
		i := t.at(e.Start())
		if i < 0 {
			continue
		}
		t.add(t.of(e.Name(), "", ""), i, e)
		if kind.IsKernelLaunch(e.Name()) || kind.IsGraphLaunch(e.Name()) {
			launches[i] += 1 / float64(t.tp)
		}
	}
	return launches
}

// operations lists the sums, largest first.
func (t *tally) operations() []Operation {
	out := make([]Operation, 0, len(t.byName))
	n := float64(len(t.windows))
	for name, o := range t.byName {
		op := Operation{Kind: t.kind, Name: name, Source: o.source, place: o.place, around: o.around,
			CountPerStep: float64(o.count) / n / float64(t.tp), perStep: make([]float64, len(o.ns))}
		for i, ns := range o.ns {
			op.perStep[i] = us(ns) / float64(t.tp)
		}
		for _, ns := range o.waits {
			op.waits = append(op.waits, us(ns)/float64(t.tp))
		}
		op.US = stat.Mean(op.perStep)
		out = append(out, op)
	}
	slices.SortFunc(out, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(b.US, a.US), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// totals are the sums over all operations, before any list is cut: a step's mean, and of each step in µs, divided by
// the TP size.
func (t *tally) totals() (usPerStep, countPerStep float64, steps []float64) {
	ns, all, count := make([]int64, len(t.windows)), int64(0), 0
	for _, o := range t.byName {
		count += o.count
		for i, x := range o.ns {
			ns[i], all = ns[i]+x, all+x
		}
	}
	for _, x := range ns {
		steps = append(steps, us(x)/float64(t.tp))
	}
	n := float64(len(t.windows)) * float64(t.tp)
	return us(all) / n, float64(count) / n, steps
}

// union is the time per step during which any of the ranges runs on its
// thread: nested ranges count once.
func (t *tally) union() float64 {
	var ns int64
	for _, s := range t.spans {
		ns += interval.Total(interval.UnionInPlace(s))
	}
	return us(ns) / float64(len(t.windows)) / float64(t.tp)
}
