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
	Evidence Rung
	Conf     float64
	Cut      Partial
	Draft    bool // a run of a smaller model between those of the target
	host     HostSpan
	Model    string // class of the outermost module frames, "" when unknown
}

// Subject is what evidence is for.
type Subject string

// The subjects.
const (
	OfPasses Subject = "passes"
	OfLayers Subject = "layers"
)

// Evidence is one finding that passes or layers rest on.
type Evidence struct {
	// For is what rests on it.
	For Subject `json:"for"`
	// Kind is the rung of the ladder.
	Kind Rung `json:"kind"`
	// Detail says what was found, in words and numbers.
	Detail string `json:"detail"`
	// Passes counts the passes that rest on it.
	Passes int `json:"passes"`
	// Confidence of the finding, 0…1.
	Confidence float64 `json:"confidence"`
}

// Step is what a step annotation says.
type Step struct {
	framework.Step
	Name string   // as recorded
	Also []string // further annotations around the same kernels
}

// HostSpan is what the CPU did for a pass.
type HostSpan struct {
	// Thread is the one that launched most of the pass; trace.None when no launch is known.
	Thread trace.ThreadIndex `json:"-"`
	Start  trace.Time        `json:"start_ns"`
	End    trace.Time        `json:"end_ns"`
	// Annotation is the step annotation, trace.None where there is none.
	Annotation trace.EventID `json:"-"`
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
//  1. step annotations that mean one run of the model
//  2. outermost module frames, within profiler steps where there are any
//  3. stretches of kernels that recur, between embeddings, sampling and rests
//  4. names that occur once a pass
//  5. the structure of the kernel sequence
//
// Kernels that no pass claims form runs; a run that holds layers is a pass that the window cut, see looseRuns.
func (w *Work) findPasses(f *Frames, model *Model) (out []Span, evidence []Evidence) {
	steps := w.readSteps()
	if passes, ev := w.passesFromSteps(steps); len(passes) > 0 {
		return passes, []Evidence{ev}
	}
	for _, seg := range w.weakSegments(steps) {
		passes, ev := w.passesIn(seg.Kernels, f, model)
		if len(passes) == 0 {
			continue
		}
		for i := range passes {
			passes[i].Step = seg.Step
		}
		if seg.Step != nil && len(passes) == 1 && ev.Kind != RungModule { // which says more
			by := ""
			if ev.Kind != RungWhole { // which is no evidence
				by = " by " + string(ev.Kind)
			}
			ev = Evidence{For: OfPasses, Kind: RungAnnotation,
				Confidence: max(ev.Confidence, segment.ConfidenceProfilerStep), Passes: 1,
				Detail: fmt.Sprintf("profiler steps (%s), one pass in each%s", seg.Step.Name, by)}
			passes[0].Evidence, passes[0].Kernels = RungAnnotation, seg.Kernels
		}
		out = append(out, passes...)
		if k := slices.IndexFunc(evidence, func(e Evidence) bool { return e.Kind == ev.Kind }); k >= 0 {
			evidence[k].Passes += ev.Passes
		} else {
			evidence = append(evidence, ev)
		}
	}
	return out, evidence
}

// passesIn climbs down from the second rung: the kernels are those of a profiler step, or all.
func (w *Work) passesIn(kernels []int32, f *Frames, model *Model) ([]Span, Evidence) {
	if f != nil && !w.OnlyRepeats {
		if passes, ev := w.passesFromModules(kernels, f); len(passes) > 0 {
			return passes, ev
		}
	}
	first, second := w.withoutHalf(kernels)
	for _, rung := range []func([]int32, *Model) ([]Span, Evidence){w.passesFromVariants, w.passesFromMarks,
		w.passesFromStructure} {
		if passes, ev := rung(first, model); w.Ended() != nil || len(passes) > 0 {
			w.addHalf(passes, second)
			return passes, ev
		}
	}
	return nil, Evidence{}
}

// rung says what passes rest on.
func rung(passes []Span, kind Rung, conf float64, detail string) ([]Span, Evidence) {
	for p := range passes {
		passes[p].Evidence, passes[p].Conf = kind, conf
	}
	return passes, Evidence{For: OfPasses, Kind: kind, Passes: len(passes), Confidence: conf, Detail: detail}
}

// A stepSpan is an annotation that means a step.
type stepSpan struct {
	HostSpan
	step Step
}

// stepSet holds the steps of one dialect per thread, by start, outermost only.
type stepSet struct {
	weak  bool
	spans map[trace.ThreadIndex][]stepSpan

	only map[process]trace.ThreadIndex // by process, see spokesman
}

// readSteps parses every annotation once per name and sorts the steps by dialect.
func (w *Work) readSteps() []*stepSet {
	type parsed struct {
		step Step
		ok   bool
	}
	memo := map[trace.NameID]parsed{}
	var dialects intern.Keys[string]
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
		d := dialects.ID(p.step.Dialect)
		if d == len(sets) {
			sets = append(sets, &stepSet{weak: p.step.Weak,
				spans: map[trace.ThreadIndex][]stepSpan{}})
		}
		set := sets[d]
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

// stepWalk finds the steps of a set that kernels were launched in, on their own thread: kernels that come one after
// the other are mostly of one launch, or of one step. A profiler's step is the whole process's, so that launches of
// threads without steps (backward passes have their own) count where one thread of the process has steps.
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
	if k := sort.Search(len(s.spans), func(k int) bool { return s.spans[k].Start > x }) - 1; k >= 0 &&
		s.spans[k].End >= x {
		s.step = &s.spans[k]
	}
	return s.step
}

// joined groups the device's kernels by the steps of a set, in launch order.
func (w *Work) joined(set *stepSet) (groups []Span, total int) {
	steps := w.stepsOf(set)
	var numbers intern.Keys[*stepSpan]
	var parts []segment.Part
	for from, to := 0, 0; from < len(w.Order); from = to {
		sp := steps.of(w.Order[from])
		for to++; to < len(w.Order) && steps.of(w.Order[to]) == sp; to++ {
		}
		if sp == nil {
			continue
		}
		g := numbers.ID(sp)
		if g == len(groups) {
			step := sp.step
			groups, parts = append(groups, Span{Step: &step, Evidence: RungAnnotation, Conf: 1, host: sp.HostSpan}),
				append(parts, segment.Part{})
		}
		parts[g].Add(w.Order, from, to)
		total += to - from
	}
	for g := range groups {
		groups[g].Kernels = parts[g].List
	}
	return groups, total
}

// sameCover is the share, in percent, of the kernels of one dialect's steps that those of another must hold to cover
// about the same: kernels between an inner step and the end of the outer one are a few of hundreds.
const sameCover = 90

func coversAsMuch(some, of int) bool { return 100*some >= sameCover*of }

// passesFromSteps takes the dialect that most kernels were launched under. Where two dialects cover about the same
// kernels, the finer one counts: an outer mark may span the draft and the verify run of one scheduling step.
func (w *Work) passesFromSteps(sets []*stepSet) ([]Span, Evidence) {
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
		case best == nil, len(groups) > len(best.groups) && coversAsMuch(total, best.total), total > best.total &&
			!coversAsMuch(best.total, total):
			best = c
		}
	}
	if best == nil {
		return nil, Evidence{}
	}
	w.empty = emptySteps(best.set, best.groups)
	for _, p := range best.groups {
		w.mergeSteps(p.Step, p.Kernels, others, best.set)
	}
	return rung(w.adoptOrphans(best.groups), RungAnnotation, 1,
		fmt.Sprintf("step annotations such as %q; %d of %d GPU activities launched inside one",
			clip(best.groups[0].Step.Name, 60), best.total, len(w.Acts)))
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
			st.Stage = o.Stage // by vLLM's counts a verify step looks like a prefill
		}
		if st.Batch < 0 {
			st.Batch = o.Batch
		}
		if st.Tokens < 0 {
			st.Tokens = o.Tokens
		}
	}
}

// adoptOrphans gives activities without a known launch to a pass when the kernels around them on their stream belong
// to it. Between kernels of two passes they are split at the longest pause of the stream.
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
	w.adoptBetween(of)
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
	last    int32 // the last activity whose launch is known
	pass    int32 // of last
	pending []int32
}

// adoptBetween gives orphans the pass of the kernels before and after them on their stream; of is the pass of each
// kernel.
func (w *Work) adoptBetween(of []int32) {
	streams := map[trace.StreamID]*streamSeen{}
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
		st.last, st.pass, st.pending = int32(i), of[i], st.pending[:0]
	}
}

// longestPause returns how many of the activities between before and after, all of one stream, are before its
// longest pause, or where they overlap before the shortest overlap.
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

// weakSegments splits the kernels by profiler steps; what lies outside any step is left to looseRuns.
func (w *Work) weakSegments(sets []*stepSet) []Span {
	for _, set := range sets {
		if !set.weak {
			continue
		}
		// steps that most kernels are not launched under explain nothing
		if groups, total := w.joined(set); 2*total >= len(w.Acts) {
			return w.adoptOrphans(groups)
		}
	}
	return []Span{{Kernels: w.Order}}
}

// A moduleCall is the call of an outermost module.
type moduleCall struct {
	*frameSpan
	kernels []int32 // that it launched
	pass    int     // None: it is none
}

// moduleCalls returns the calls of outermost modules that launched the kernels, by the first of each, and which one
// launched each kernel, None for none.
func (w *Work) moduleCalls(kernels []int32, f *Frames) (calls []moduleCall, of []int) {
	var known intern.Keys[*frameSpan]
	of = slices.Repeat([]int{None}, len(kernels))
	for k, i := range kernels {
		if !w.Known(i) {
			continue
		}
		roots := f.roots[w.thread(i)]
		r := SpanAt(roots, w.at(i))
		if r < 0 {
			continue
		}
		if of[k] = known.ID(&roots[r]); of[k] == len(calls) {
			calls = append(calls, moduleCall{&roots[r], nil, None})
		}
		calls[of[k]].kernels = append(calls[of[k]].kernels, i)
	}
	return calls, of
}

// busiest is the class of outermost modules that launched most kernels, among those that hold layers where any does.
func (f *Frames) busiest(calls []moduleCall) (class string, most int, anyLayers bool) {
	launched := map[string]int{}
	for _, c := range calls {
		launched[c.class] += len(c.kernels)
		anyLayers = anyLayers || f.hasLayers[c.class]
	}
	for c, n := range launched {
		if (!anyLayers || f.hasLayers[c]) && (n > most || n == most && c < class) {
			class, most = c, n
		}
	}
	return class, most, anyLayers
}

// passesFromModules makes a pass of every call of an outermost module that is a model, or, where none is known to be,
// of every one of the class that launched most kernels. Kernels of other outermost modules (logits processor,
// sampler) join the pass before them.
func (w *Work) passesFromModules(kernels []int32, f *Frames) (passes []Span, ev Evidence) {
	calls, of := w.moduleCalls(kernels, f)
	class, most, anyLayers := f.busiest(calls)
	if class == "" || 2*most < len(kernels) && !anyLayers {
		return nil, Evidence{}
	}
	models := w.modelClasses(f, calls)
	models[class] = true
	var classes []string
	current := None
	var before []int32 // the first call
	for k, i := range kernels {
		if of[k] == None {
			continue
		}
		if c := &calls[of[k]]; models[c.class] {
			if c.pass == None {
				c.pass = len(passes)
				passes = append(passes, Span{Model: c.class})
				if c.pass == 0 && c.joined { // its own frame is missing: its other modules lie beside the layers
					passes[0].Kernels = before
				}
				if !slices.Contains(classes, c.class) {
					classes = append(classes, c.class)
				}
			}
			current = c.pass
		}
		if current != None {
			passes[current].Kernels = append(passes[current].Kernels, i)
		} else {
			before = append(before, i)
		}
	}
	return rung(passes, RungModule, 1, "outermost module frames "+strings.Join(classes, ", "))
}

// clip shortens s to n bytes, marking the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n-1] + "…"
}
