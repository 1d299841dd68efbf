package ladder

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// A Span is a pass before its layers are known.
type Span struct {
	Kernels  []int32 // in launch order
	Step     *Step
	Evidence string
	Conf     float64
	Cut      Partial
	Draft    bool // a run of a smaller model between those of the target
	host     HostSpan
	Model    string // class of the outermost module frames, "" when unknown
}

// Finding says what passes or layers rest on: For is "passes" or "layers", Kind the rung of the ladder, Detail words and numbers,
// Passes how many rest on it, Confidence 0…1.
type Finding struct {
	For, Kind, Detail string
	Passes            int
	Confidence        float64
}

// Step is what a step annotation says.
type Step struct {
	framework.Step
	Name string   // as recorded
	Also []string // further annotations around the same kernels
}

// HostSpan is what the CPU did for a pass: on Thread, from Start to End, under Annotation, trace.None where there is none.
type HostSpan struct {
	Thread     trace.ThreadIndex
	Start, End trace.Time
	Annotation trace.EventID
}

// Partial says which end of a pass the window cuts off.
type Partial string

// The ways a pass can be cut.
const (
	Uncut      Partial = ""
	CutAtStart Partial = "start"
	CutAtEnd   Partial = "end"
	CutAtBoth  Partial = "both"
)

// ends says which ends of a pass the window cuts off.
func (p Partial) ends() segment.Cuts {
	return segment.Cuts{Start: p == CutAtStart || p == CutAtBoth, End: p == CutAtEnd || p == CutAtBoth}
}

// partialOf is the inverse of ends.
func partialOf(c segment.Cuts) Partial {
	switch {
	case c.Start && c.End:
		return CutAtBoth
	case c.Start:
		return CutAtStart
	case c.End:
		return CutAtEnd
	}
	return Uncut
}

// findPasses climbs down the ladder of pass evidence and returns the passes in launch order, and what they rest on.
//
//  1. step annotations that stand for one run of the model
//  2. outermost module frames, within profiler steps where there are any
//  3. full graph replays; where names tell embedding or sampling kernels, these say which replays are full
//  4. the structure of the kernel sequence
//
// Kernels that no pass claims form runs; a run that holds layers is a pass that the window cut, see looseRuns.
func (w *Work) findPasses(f *Frames, model *Model) ([]Span, []Finding) {
	steps := w.readSteps()
	if passes, ev, ok := w.passesFromSteps(steps); ok {
		return passes, ev
	}
	segments := w.weakSegments(steps)
	var out []Span
	var evidence []Finding
	note := func(e Finding) {
		for i := range evidence {
			if evidence[i].Kind == e.Kind {
				evidence[i].Passes += e.Passes
				return
			}
		}
		evidence = append(evidence, e)
	}
	for _, seg := range segments {
		var passes []Span
		var ev Finding
		whole, ok := seg.kernels, false
		if f != nil && !w.OnlyRepeats {
			passes, ev, ok = w.passesFromModules(seg, f)
		}
		var second []int32
		if !ok {
			seg.kernels, second = w.withoutHalf(seg.kernels)
			passes, ev, ok = w.passesFromMarks(seg, model)
		}
		if !ok {
			passes, ev, ok = w.passesFromGraphs(seg, model)
		}
		if w.Ended() != nil {
			return nil, nil
		}
		if !ok {
			passes, ev = w.passesFromStructure(seg, model)
		}
		w.addHalf(passes, second)
		for i := range passes {
			if passes[i].Step == nil {
				passes[i].Step = seg.step
			}
		}
		if seg.step != nil && len(passes) == 1 && ev.Kind != "module" { // which says more
			ev = Finding{For: "passes", Kind: "annotation", Confidence: max(ev.Confidence, params.ConfidenceProfilerStep), Passes: 1,
				Detail: fmt.Sprintf("profiler steps (%s), one pass in each by %s", seg.step.Name, ev.Kind)}
			passes[0].Evidence, passes[0].Kernels = "annotation", whole
		}
		out = append(out, passes...)
		if len(passes) > 0 {
			note(ev)
		}
	}
	return out, evidence
}

// A stepSpan is an annotation that stands for a step.
type stepSpan struct {
	HostSpan
	step Step
}

// stepSet holds the steps of one dialect per thread, by start, outermost only.
type stepSet struct {
	dialect string
	weak    bool
	spans   map[trace.ThreadIndex][]stepSpan

	only map[process]trace.ThreadIndex // by process, see spokesman
}

// readSteps parses every annotation once per name and sorts the steps by dialect.
func (w *Work) readSteps() []*stepSet {
	type parsed struct {
		step Step
		ok   bool
	}
	memo := map[trace.NameID]parsed{}
	byDialect := map[string]*stepSet{}
	var sets []*stepSet
	for e := range w.Trace.Events(event.LaneAnnotation) {
		if k := e.Kind(); k != event.Annotation && k != event.Range {
			continue
		}
		if e.Thread() == trace.None {
			continue
		}
		p, seen := memo[e.NameID()]
		if !seen {
			p.step, p.ok = w.ReadStep(e.Name())
			memo[e.NameID()] = p
		}
		if !p.ok {
			continue
		}
		set := byDialect[p.step.Dialect]
		if set == nil {
			set = &stepSet{dialect: p.step.Dialect, weak: p.step.Weak, spans: map[trace.ThreadIndex][]stepSpan{}}
			byDialect[p.step.Dialect] = set
			sets = append(sets, set)
		}
		spans := set.spans[e.Thread()]
		if n := len(spans); n > 0 && e.Start() < spans[n-1].End {
			continue // nested in a step of the same dialect
		}
		set.spans[e.Thread()] = append(spans, stepSpan{HostSpan{e.Thread(), e.Start(), e.End(), e.ID()}, p.step})
	}
	return sets
}

// process is a process of the trace: its number, or its name where it is text.
type process struct {
	id    int64
	label string
}

func processOf(t *trace.Trace, thread trace.ThreadIndex) process {
	th := t.Thread(thread)
	return process{th.Process, th.ProcessLabel}
}

// spokesman returns the one thread of a thread's process that has steps, [trace.None] where none or several have.
func (set *stepSet) spokesman(t *trace.Trace, thread trace.ThreadIndex) trace.ThreadIndex {
	if set.only == nil {
		set.only = map[process]trace.ThreadIndex{}
		for th := range set.spans {
			p := processOf(t, th)
			if _, several := set.only[p]; several {
				set.only[p] = trace.None
			} else {
				set.only[p] = th
			}
		}
	}
	if th, ok := set.only[processOf(t, thread)]; ok {
		return th
	}
	return trace.None
}

// stepWalk finds the steps of a set that kernels were launched in, on their own thread: kernels that come one behind the other are mostly
// of one launch, or of one step. A profiler's step is the whole process's, so that launches of threads without steps (backward passes
// have their own) count where one thread of the process has steps.
type stepWalk struct {
	w      *Work
	set    *stepSet
	origin trace.EventID // the launch asked for last, its thread and its step
	thread trace.ThreadIndex
	spans  []stepSpan // of the thread
	step   *stepSpan  // nil: none
}

func (w *Work) stepsOf(set *stepSet) *stepWalk {
	return &stepWalk{w: w, set: set, origin: trace.None, thread: trace.None}
}

// of returns the step of kernel i, nil for none.
func (s *stepWalk) of(i int32) *stepSpan {
	from := s.w.origin[i]
	switch from {
	case trace.None:
		return nil
	case s.origin:
		return s.step
	}
	call := s.w.Trace.At(from)
	s.origin = from
	if th := call.Thread(); th != s.thread {
		spans, own := s.set.spans[th]
		if s.set.weak && !own {
			spans = s.set.spans[s.set.spokesman(s.w.Trace, th)]
		}
		s.thread, s.spans, s.step = th, spans, nil
	}
	x := call.Start()
	if sp := s.step; sp != nil && sp.Start <= x && x < sp.End {
		return sp
	}
	s.step = nil
	if k := sort.Search(len(s.spans), func(k int) bool { return s.spans[k].Start > x }) - 1; k >= 0 && s.spans[k].End >= x {
		s.step = &s.spans[k]
	}
	return s.step
}

// joined groups the device's kernels by the steps of a set, in launch order.
func (w *Work) joined(set *stepSet) (groups []Span, total int) {
	steps := w.stepsOf(set)
	var numbers intern.Keys[*stepSpan]
	var parts []segment.Part
	for k, i := range w.Order {
		sp := steps.of(i)
		if sp == nil {
			continue
		}
		g := numbers.ID(sp)
		if g == len(groups) {
			step := sp.step
			groups, parts = append(groups, Span{Step: &step, Evidence: "annotation", Conf: 1, host: sp.HostSpan}), append(parts, segment.Part{})
		}
		parts[g].Add(w.Order, k)
		total++
	}
	for g := range groups {
		groups[g].Kernels = parts[g].List
	}
	return groups, total
}

// sameCover is the share, in percent, of the kernels of one dialect's steps that those of another must hold to cover about the same: kernels
// between an inner step and the end of the outer one are a few of hundreds.
const sameCover = 90

func coversAsMuch(some, of int) bool { return 100*some >= sameCover*of }

// passesFromSteps takes the dialect that most kernels were launched under. Where two dialects cover about the same kernels,
// the finer one counts: an outer mark may span the draft and the verify run of one scheduling step.
func (w *Work) passesFromSteps(sets []*stepSet) ([]Span, []Finding, bool) {
	type candidate struct {
		set    *stepSet
		groups []Span
		total  int
	}
	var best *candidate
	var others []*stepSet
	for _, set := range sets {
		if set.weak {
			continue
		}
		others = append(others, set)
		groups, total := w.joined(set)
		c := &candidate{set, groups, total}
		switch {
		case total == 0:
		case best == nil, len(groups) > len(best.groups) && coversAsMuch(total, best.total), total > best.total && !coversAsMuch(best.total, total),
			len(groups) == len(best.groups) && total > best.total:
			best = c
		}
	}
	if best == nil {
		return nil, nil, false
	}
	passes := best.groups
	w.empty = emptySteps(best.set, passes)
	for p := range passes {
		w.mergeSteps(passes[p].Step, passes[p].Kernels, others, best.set)
	}
	passes = w.adoptOrphans(passes)
	ev := Finding{For: "passes", Kind: "annotation", Passes: len(passes), Confidence: 1,
		Detail: fmt.Sprintf("step annotations of %s (%q); %d of %d GPU activities launched inside one", best.set.dialect,
			clip(passes[0].Step.Name, 60), best.total, len(w.Acts))}
	return passes, []Finding{ev}, true
}

// mergeSteps completes a step with what the other dialects' annotations around the same kernels say.
func (w *Work) mergeSteps(st *Step, kernels []int32, sets []*stepSet, own *stepSet) {
	for _, set := range sets {
		if set == own {
			continue
		}
		var other *stepSpan // of the last kernel that has one
		for steps, k := w.stepsOf(set), len(kernels)-1; k >= 0 && other == nil; k-- {
			other = steps.of(kernels[k])
		}
		if other == nil {
			continue
		}
		o := &other.step
		st.Also = append(st.Also, o.Name)
		if o.Stage == framework.Verify || o.Stage == framework.Draft || st.Stage == framework.Unknown {
			st.Stage = o.Stage // vLLM's counts cannot tell a verify step from a prefill
		}
		if st.Batch < 0 {
			st.Batch = o.Batch
		}
		if st.Tokens < 0 {
			st.Tokens = o.Tokens
		}
	}
}

// adoptOrphans gives activities without a known launch to a pass when the kernels around them on their stream belong to it.
// Between kernels of two passes they are split at the longest pause of the stream.
func (w *Work) adoptOrphans(passes []Span) []Span {
	if !slices.Contains(w.origin, trace.None) {
		return passes
	}
	of := slices.Repeat([]int32{None}, len(w.Acts))
	for p := range passes {
		for _, i := range passes[p].Kernels {
			of[i] = int32(p)
		}
	}
	streams, between := w.adoptBetween(of)
	if byTime := w.adoptByTime(passes, of, streams); !between && !byTime {
		return passes
	}
	for p := range passes {
		passes[p].Kernels = passes[p].Kernels[:0:0]
	}
	for _, i := range w.Order {
		if of[i] != None {
			passes[of[i]].Kernels = append(passes[of[i]].Kernels, i)
		}
	}
	return passes
}

// streamSeen is what was seen of a stream so far.
type streamSeen struct {
	known   bool  // whether any launch is
	last    int32 // the last activity whose launch is known
	pass    int32 // of last
	pending []int32
}

// adoptBetween gives orphans the pass of the kernels before and behind them on their stream; of is the pass of each kernel.
func (w *Work) adoptBetween(of []int32) (streams map[trace.StreamID]*streamSeen, adopted bool) {
	streams = map[trace.StreamID]*streamSeen{}
	for i := range w.Acts {
		s := w.Act(int32(i)).Stream()
		st := streams[s]
		if st == nil {
			st = &streamSeen{pass: None}
			streams[s] = st
		}
		if !w.Known(int32(i)) {
			st.pending = append(st.pending, int32(i))
			continue
		}
		if of[i] != None && st.pass != None && len(st.pending) > 0 {
			adopted = true
			cut := len(st.pending)
			if of[i] != st.pass {
				cut = w.longestPause(st.last, st.pending, int32(i))
			}
			for k, o := range st.pending {
				of[o] = st.pass
				if k >= cut {
					of[o] = of[i]
				}
			}
		}
		st.known, st.last, st.pass, st.pending = true, int32(i), of[i], st.pending[:0]
	}
	return streams, adopted
}

// adoptByTime gives activities of streams on which no launch is known at all to the pass that runs at their time: nothing stands
// around them.
func (w *Work) adoptByTime(passes []Span, of []int32, streams map[trace.StreamID]*streamSeen) (adopted bool) {
	ends := make([]trace.Time, len(passes))
	for p := range passes {
		for _, i := range passes[p].Kernels {
			ends[p] = max(ends[p], w.Act(i).End())
		}
	}
	for i := range w.Acts {
		if w.Known(int32(i)) || of[i] != None || streams[w.Act(int32(i)).Stream()].known {
			continue
		}
		if p := passAt(w, passes, ends, w.Act(int32(i)).Start()); p != None {
			of[i] = p
			adopted = true
		}
	}
	return adopted
}

// longestPause returns how many of the activities between before and after, all of one stream, stand before its longest pause, or where they
// overlap before the shortest overlap.
func (w *Work) longestPause(before int32, between []int32, after int32) (at int) {
	end, longest := w.Act(before).End(), trace.Time(math.MinInt64)
	for k := 0; k <= len(between); k++ {
		next := after
		if k < len(between) {
			next = between[k]
		}
		if pause := w.Act(next).Start() - end; pause > longest {
			longest, at = pause, k
		}
		end = max(end, w.Act(next).End())
	}
	return at
}

// passAt returns the pass whose kernels run at x: the last one that began before, if it has not ended. ends holds the end of
// each pass.
func passAt(w *Work, passes []Span, ends []trace.Time, x trace.Time) int32 {
	k := sort.Search(len(passes), func(k int) bool { return w.Act(passes[k].Kernels[0]).Start() > x }) - 1
	if k < 0 || ends[k] < x {
		return None
	}
	return int32(k)
}

// A stretch of kernels to search for passes: a profiler step, or everything.
type stretch struct {
	kernels []int32
	step    *Step
}

// weakSegments splits the kernels by profiler steps; what lies outside any step is left to looseRuns.
func (w *Work) weakSegments(sets []*stepSet) []stretch {
	for _, set := range sets {
		if !set.weak {
			continue
		}
		groups, total := w.joined(set)
		if 2*total < len(w.Acts) {
			continue // steps that most kernels are not launched under explain nothing
		}
		groups = w.adoptOrphans(groups)
		segs := make([]stretch, len(groups))
		for i, g := range groups {
			segs[i] = stretch{g.Kernels, g.Step}
		}
		return segs
	}
	return []stretch{{kernels: w.Order}}
}

// busiest is the class of outermost modules that launched most kernels, among those that hold layers where any does.
func (f *Frames) busiest(counts map[string]int) (class string, most int, anyLayers bool) {
	for c := range counts {
		anyLayers = anyLayers || f.hasLayers[c]
	}
	for c, n := range counts {
		if (!anyLayers || f.hasLayers[c]) && (n > most || n == most && c < class) {
			class, most = c, n
		}
	}
	return class, most, anyLayers
}

// passesFromModules makes a pass of every call of an outermost module that is a model, or, where none is known to be, of every
// one of the class that launched most kernels. Kernels of other outermost modules (logits processor, sampler) join the pass
// before them.
func (w *Work) passesFromModules(seg stretch, f *Frames) ([]Span, Finding, bool) {
	byRoot := map[rootKey][]int32{}
	counts := map[string]int{}
	rootOf := make([]rootKey, len(seg.kernels))
	for k, i := range seg.kernels {
		rootOf[k] = rootKey{root: -1}
		if !w.Known(i) {
			continue
		}
		th := w.thread(i)
		if r := SpanAt(f.roots[th], w.at(i)); r >= 0 {
			rootOf[k] = rootKey{th, r}
			byRoot[rootOf[k]] = append(byRoot[rootOf[k]], i)
			counts[f.roots[th][r].class]++
		}
	}
	class, most, anyLayers := f.busiest(counts)
	if class == "" || 2*most < len(seg.kernels) && !anyLayers {
		return nil, Finding{}, false
	}
	models := w.modelClasses(f, byRoot)
	models[class] = true
	var passes []Span
	var classes []string
	index := map[rootKey]int{}
	current := -1
	var before []int32 // the first call
	for k, i := range seg.kernels {
		r := rootOf[k]
		if r.root < 0 {
			continue
		}
		if c := f.roots[r.thread][r.root].class; models[c] {
			p, seen := index[r]
			if !seen {
				p = len(passes)
				index[r] = p
				passes = append(passes, Span{Evidence: "module", Conf: 1, Model: c})
				if p == 0 && f.roots[r.thread][r.root].joined { // its own frame is missing: its other modules lie beside the layers
					passes[p].Kernels = before
				}
				if !slices.Contains(classes, c) {
					classes = append(classes, c)
				}
			}
			current = p
		}
		if current >= 0 {
			passes[current].Kernels = append(passes[current].Kernels, i)
		} else {
			before = append(before, i)
		}
	}
	ev := Finding{For: "passes", Kind: "module", Passes: len(passes), Confidence: 1,
		Detail: "outermost module frames " + strings.Join(classes, ", ")}
	return passes, ev, len(passes) > 0
}

// clip shortens s to n bytes, marking the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n-1] + "…"
}
