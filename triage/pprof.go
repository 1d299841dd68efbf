package triage

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// WriteProfile writes the GPU time of the formal traces as a gzipped profile.proto for go tool pprof: samples by
// Python stack, cpu op and kernel, with GPU time in nanoseconds and the number of launches, and the labels stage,
// pass, layer, operator, category, model_line, module and device. The sum of all samples is the report's GPU time. A
// kernel replayed from a graph has the stack of the launch that it replays; where none is known, its operator and
// what is known instead of a stack.
func (r *Report) WriteProfile(w io.Writer) error {
	a := r.from
	if a == nil {
		return fmt.Errorf("%w: the report was not made by Analyze", errNoTrace)
	}
	b := &profileBuilder{a: a, own: activity.NewPool(),
		traces: map[*activity.Trace]*traceStacks{}, twins: map[[2]trace.Event]stackID{}}
	for _, wk := range a.formal {
		b.add(wk)
	}
	p := b.profile()
	if err := p.CheckValid(); err != nil {
		return err
	}
	return p.Write(w)
}

// stackID is a stack of frames: an entry of profileBuilder.stacks, or noStack.
type stackID int32

const noStack = stackID(-1)

// stackNode is the innermost frame of a stack and the stack around it.
type stackNode struct {
	outer stackID
	site  int32 // profileBuilder.own.sites
}

// sampleKey identifies a sample.
type sampleKey struct {
	stage                int8
	stack                stackID
	op, kernel, operator int32
	model                int32
	pass, layer          int32
	device               trace.DeviceID
}

// maxSamples is how many samples separate passes and layers; further ones are summed over them. A profile of so
// many takes about 100 MB, and go tool pprof a minute to read.
const maxSamples = 1 << 20

type profileBuilder struct {
	a      *analysis      // not changed
	own    *activity.Pool // the texts of frames
	stacks intern.Keys[stackNode]
	keys   intern.Keys[sampleKey]
	values [][2]int64 // by key: launches, ns
	traces map[*activity.Trace]*traceStacks
	twins  map[[2]trace.Event]stackID

	out       *profile.Profile
	locations map[string]*profile.Location
}

// traceStacks are the stacks of one trace.
type traceStacks struct {
	finder *activity.Sites
	memo   []stackID // per Python frame: stack + 2, 0 not asked yet
	shown  []bool    // per name: a frame with a source line that not every call goes through
}

func (b *profileBuilder) stacksOf(w *activity.Trace) *traceStacks {
	s := b.traces[w]
	if s == nil {
		s = &traceStacks{activity.NewSites(b.own, w.Analysis), make([]stackID, w.Trace.Len(event.LanePython)),
			make([]bool, w.Trace.NumNames())}
		for i := range s.shown {
			_, s.shown[i] = shownFrame(w.Trace.Name(trace.NameID(i)))
		}
		b.traces[w] = s
	}
	return s
}

// shownFrame takes the name of a frame apart if it has a source line that not every call goes through.
func shownFrame(name string) (framework.Frame, bool) {
	fr, ok := framework.ParseFrame(name)
	return fr, ok && fr.Rank(false) > framework.RankNoSignal
}

func (b *profileBuilder) stack(outer stackID, site int32) stackID {
	return stackID(b.stacks.ID(stackNode{outer, site}))
}

// add counts the activities of one trace.
func (b *profileBuilder) add(w *activity.Trace) {
	for i := range w.Acts {
		act := &w.Acts[i]
		e := w.Event(act)
		k := w.Analysis.Of(e.ID())
		key := sampleKey{act.Stage, b.stackFor(w, act, e, k), act.Op, act.Kernel, act.Operator, act.Model, trace.None,
			trace.None, e.Device()}
		if len(b.values) < maxSamples {
			key.pass, key.layer = int32(k.Place().Pass), int32(k.Place().Layer)
			if key.pass != trace.None && k.Device().Passes[key.pass].FromEnd {
				key.layer = trace.None // which one it is cannot be known
			}
		}
		n := b.keys.ID(key)
		if n == len(b.values) {
			b.values = append(b.values, [2]int64{})
		}
		b.values[n][0]++
		b.values[n][1] += act.End - act.Start
	}
}

// stackFor returns the stack of an activity: its own, its twin's, the one line that was found for it, else a node
// that says what is known instead, with the operator below it.
func (b *profileBuilder) stackFor(w *activity.Trace, act *activity.Activity, e trace.Event, k layer.Kernel) stackID {
	id := noStack
	switch {
	case act.From == activity.FromOp || act.From == activity.FromLaunch:
		id = b.launchStack(b.stacksOf(w), e, act.From)
	case act.From == activity.FromAlignment && act.Site > activity.SiteFromPrefill:
		id = b.twinStack(w, k)
		if act.Stage == activity.StageDecode {
			id = b.withoutPrefill(id)
		}
	}
	if id != noStack {
		return id
	}
	id = b.stack(noStack, b.own.Sites.ID(b.a.pool.Sites.Texts[act.Site]))
	if act.Site <= activity.SiteFromPrefill && act.Operator != 0 {
		id = b.stack(id, b.own.Sites.ID("operator "+b.a.pool.Operators.Texts[act.Operator]))
	}
	return id
}

// twinStack returns the stack of the launch that a replayed kernel repeats.
func (b *profileBuilder) twinStack(w *activity.Trace, k layer.Kernel) stackID {
	tw := k.Twin()
	if !tw.Launch.Valid() {
		return noStack
	}
	key := [2]trace.Event{tw.Launch, tw.Kernel}
	id, ok := b.twins[key]
	if !ok {
		s := b.stacksOf(w.Owner(tw.Launch, b.a.mapping))
		if tw.Kernel.Valid() {
			_, _, from := s.finder.Of(tw.Kernel)
			id = b.launchStack(s, tw.Kernel, from)
		} else {
			id = b.stackOf(s, tw.Launch.Frame())
		}
		b.twins[key] = id
	}
	return id
}

// withoutPrefill is a stack without the functions that the server has for prefills: those of a decode's twin.
func (b *profileBuilder) withoutPrefill(id stackID) stackID {
	if id == noStack {
		return id
	}
	n := b.stacks.Key(int(id))
	outer := b.withoutPrefill(n.outer)
	_, _, fn := activity.SplitLocation(b.own.Sites.Texts[n.site])
	if framework.StageOfFunction(fn) == framework.Prefill {
		return outer
	}
	return b.stack(outer, n.site)
}

// launchStack returns the stack around the launch of an activity.
func (b *profileBuilder) launchStack(s *traceStacks, act trace.Event, from activity.Origin) stackID {
	if e := s.finder.Innermost(act, from); e.Valid() {
		return b.stackOf(s, e)
	}
	// Of older profilers the stack is a text, the innermost frame first.
	id := noStack
	frames := strings.Split(s.finder.CallStack(act.ExternalID(), act.Launch()), ";")
	slices.Reverse(frames)
	for _, name := range frames {
		if fr, ok := shownFrame(name); ok {
			id = b.stack(id, b.own.Sites.ID(fr.Location()))
		}
	}
	return id
}

// stackOf returns the stack from a frame outwards without uninformative
// frames. Each frame of the trace is visited once.
func (b *profileBuilder) stackOf(s *traceStacks, e trace.Event) stackID {
	var path []trace.Event
	outer := noStack
	at := e
	for ; at.Valid(); at = at.Parent() {
		if m := s.memo[at.Index()]; m != 0 {
			outer = m - 2
			break
		}
		path = append(path, at)
	}
	class := s.classAround(at)
	for i := len(path) - 1; i >= 0; i-- {
		e := path[i]
		switch {
		case e.Kind() == event.Module:
			class = activity.ModuleClass(e.Name())
		case s.shown[e.NameID()]:
			outer = b.stack(outer, b.frameOf(e, class))
			class = ""
		}
		s.memo[e.Index()] = outer + 2
	}
	return outer
}

// classAround is the class whose call encloses a frame directly: that of the nearest module, with only uninformative
// frames between.
func (s *traceStacks) classAround(e trace.Event) string {
	for ; e.Valid(); e = e.Parent() {
		if e.Kind() == event.Module {
			return activity.ModuleClass(e.Name())
		}
		if s.shown[e.NameID()] {
			break
		}
	}
	return ""
}

// frameOf is the text of a frame, its function qualified by the class whose call it is.
func (b *profileBuilder) frameOf(e trace.Event, class string) int32 {
	fr, _ := framework.ParseFrame(e.Name())
	if class != "" {
		fr.Func = class + "." + fr.Func
	}
	return b.own.Sites.ID(fr.Location())
}

// profile renders what was counted.
func (b *profileBuilder) profile() *profile.Profile {
	b.out = &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "launches", Unit: "count"},
			{Type: "gpu_time", Unit: "nanoseconds"}},
		DefaultSampleType: "gpu_time",
		PeriodType:        &profile.ValueType{Type: "gpu_time", Unit: "nanoseconds"},
		Period:            1,
	}
	b.locations = map[string]*profile.Location{}
	b.head()
	p := b.a.pool
	for n := range b.values {
		k := b.keys.Key(n)
		// Leaf first: kernel, op, frames from the innermost out, stage.
		locs := []*profile.Location{b.location(classify.Canonical(p.Facts[k.kernel].Parsed.Demangled), "", "")}
		if op := p.Ops.Texts[k.op]; op != "" {
			locs = append(locs, b.location(op, "", ""))
		}
		for s := k.stack; s >= 0; s = b.stacks.Key(int(s)).outer {
			site := b.own.Sites.Texts[b.stacks.Key(int(s)).site]
			path, line, fn := activity.SplitLocation(site)
			fn = cmp.Or(fn, site)
			locs = append(locs, b.location(fn, path, line))
		}
		locs = append(locs, b.location(stageTitle(stageOrder[k.stage]), "", ""))
		labels := map[string][]string{"stage": {stageWord(stageOrder[k.stage])},
			"category": {string(p.Facts[k.kernel].Shown.Category)},
			"operator": {p.Operators.Texts[k.operator]}, "device": {strconv.Itoa(int(k.device))}}
		m := p.Models[k.model]
		for name, v := range map[string]string{"model_line": m.String(), "module": m.Module} {
			if v != "" {
				labels[name] = []string{v}
			}
		}
		for name, v := range map[string]int32{"pass": k.pass, "layer": k.layer} {
			if v != trace.None {
				labels[name] = []string{strconv.Itoa(int(v))}
			}
		}
		b.out.Sample = append(b.out.Sample, &profile.Sample{Location: locs,
			Value: []int64{b.values[n][0], b.values[n][1]}, Label: labels})
	}
	return b.out
}

// head fills in the traces and the time they span.
func (b *profileBuilder) head() {
	var first, last int64
	for n, w := range b.a.formal {
		b.out.Comments = append(b.out.Comments, "trace: "+w.Path)
		for i := range w.Acts {
			if n == 0 && i == 0 {
				first = w.Acts[i].Start
			}
			first, last = min(first, w.Acts[i].Start), max(last, w.Acts[i].End)
		}
		if t, ok := w.Trace.Epoch(); ok && b.out.TimeNanos == 0 {
			b.out.TimeNanos = t.UnixNano()
		}
	}
	b.out.DurationNanos = last - first
}

// location returns the location of a function, made on first use. Functions of
// Python code are named with their file: half of a model's are called forward.
func (b *profileBuilder) location(fn, path, line string) *profile.Location {
	key := fn + "\x00" + path + "\x00" + line
	if l, ok := b.locations[key]; ok {
		return l
	}
	name := fn
	if path != "" {
		name = path + " " + fn
	}
	number, _ := strconv.ParseInt(line, 10, 32) // 0 for none
	// No system name: go tool pprof shortens a name that equals it, templates would
	// go, and different kernels become one.
	f := &profile.Function{ID: uint64(len(b.out.Function) + 1), Name: name, Filename: path, StartLine: number}
	b.out.Function = append(b.out.Function, f)
	l := &profile.Location{ID: uint64(len(b.out.Location) + 1), Line: []profile.Line{{Function: f, Line: number}}}
	b.out.Location = append(b.out.Location, l)
	b.locations[key] = l
	return l
}
