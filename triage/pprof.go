package triage

import (
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"github.com/llmstrata/strata/trace"
)

// WriteProfile writes the GPU time of the formal traces as a gzipped
// profile.proto for go tool pprof: one sample per stage, Python stack, cpu op
// and kernel, with GPU time in nanoseconds and the number of launches. The sum
// of all samples is the report's GPU time. Kernels whose source was found
// elsewhere have that one line as their stack.
func (r *Report) WriteProfile(w io.Writer) error {
	a := r.from
	if a == nil {
		return fmt.Errorf("triage: %w: the report was not made by Analyze", ErrNoTrace)
	}
	b := newProfileBuilder(a.pool)
	for _, wk := range a.formal {
		b.add(wk)
	}
	p := b.profile(a)
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
	site  int32 // pool.sites
}

type sampleKey struct {
	stage  int8
	stack  stackID
	op     int32
	kernel int32
}

type profileBuilder struct {
	p      *pool
	ids    map[stackNode]stackID
	stacks []stackNode
	at     map[sampleKey]int
	keys   []sampleKey
	values [][2]int64 // launches, ns

	out       *profile.Profile
	locations map[string]*profile.Location
}

func newProfileBuilder(p *pool) *profileBuilder {
	return &profileBuilder{p: p, ids: map[stackNode]stackID{}, at: map[sampleKey]int{}}
}

func (b *profileBuilder) stack(outer stackID, site int32) stackID {
	n := stackNode{outer, site}
	if id, ok := b.ids[n]; ok {
		return id
	}
	id := stackID(len(b.stacks))
	b.ids[n] = id
	b.stacks = append(b.stacks, n)
	return id
}

// add counts the activities of one trace.
func (b *profileBuilder) add(w *work) {
	f := newSiteFinder(b.p, w.t)
	byFrame := make([]stackID, w.t.LaneLen(trace.LanePython)) // stack + 2, 0 not asked yet
	for i := range w.acts {
		act := &w.acts[i]
		id := noStack
		switch act.from {
		case fromOp, fromLaunch:
			id = b.stackOf(f, byFrame, f.innermost(w.t.LaneAt(trace.LaneGPU, int(act.event)), act.from))
		default:
			if act.site != siteUnresolved {
				id = b.stack(noStack, act.site)
			}
		}
		k := sampleKey{act.stage, id, act.op, act.kernel}
		n, ok := b.at[k]
		if !ok {
			n = len(b.keys)
			b.at[k] = n
			b.keys = append(b.keys, k)
			b.values = append(b.values, [2]int64{})
		}
		b.values[n][0]++
		b.values[n][1] += act.end - act.start
	}
}

// stackOf returns the stack from a frame outwards without frames that tell
// nothing. Each frame of the trace is visited once.
func (b *profileBuilder) stackOf(f *siteFinder, memo []stackID, e trace.Event) stackID {
	var path []trace.Event
	outer := noStack
	for ; e.Valid(); e = e.Parent() {
		if m := memo[e.Index()]; m != 0 {
			outer = m - 2
			break
		}
		path = append(path, e)
	}
	for i := len(path) - 1; i >= 0; i-- {
		if f.rank(path[i]) > rankNoSignal {
			outer = b.stack(outer, f.site(path[i]))
		}
		memo[path[i].Index()] = outer + 2
	}
	return outer
}

// profile renders what was counted.
func (b *profileBuilder) profile(a *analysis) *profile.Profile {
	b.out = &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "launches", Unit: "count"}, {Type: "gpu_time", Unit: "nanoseconds"}},
		DefaultSampleType: "gpu_time",
		PeriodType:        &profile.ValueType{Type: "gpu_time", Unit: "nanoseconds"},
		Period:            1,
	}
	b.locations = map[string]*profile.Location{}
	for _, w := range a.formal {
		b.out.Comments = append(b.out.Comments, "trace: "+w.path)
	}
	var first, last int64
	for n, w := range a.formal {
		for i := range w.acts {
			if n == 0 && i == 0 {
				first = w.acts[i].start
			}
			first, last = min(first, w.acts[i].start), max(last, w.acts[i].end)
		}
		if t, ok := w.t.Epoch(); ok && b.out.TimeNanos == 0 {
			b.out.TimeNanos = t.UnixNano()
		}
	}
	b.out.DurationNanos = last - first
	for n, k := range b.keys {
		// Leaf first: kernel, op, frames from the innermost out, stage.
		locs := []*profile.Location{b.location(b.p.name(k.kernel), "", "")}
		if op := b.p.ops.texts[k.op]; op != "" {
			locs = append(locs, b.location(op, "", ""))
		}
		for s := k.stack; s >= 0; s = b.stacks[s].outer {
			site := b.p.sites.texts[b.stacks[s].site]
			path, line, fn := locationParts(site)
			if fn == "" {
				fn = site
			}
			locs = append(locs, b.location(fn, path, line))
		}
		locs = append(locs, b.location(stageTitle(stageOrder[k.stage]), "", ""))
		b.out.Sample = append(b.out.Sample, &profile.Sample{Location: locs, Value: []int64{b.values[n][0], b.values[n][1]},
			Label: map[string][]string{"stage": {stageOrder[k.stage]}, "category": {string(b.p.facts[k.kernel].result.Category)}}})
	}
	return b.out
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
	number := int64(0)
	for i := 0; i < len(line) && i < 9; i++ {
		number = number*10 + int64(line[i]-'0')
	}
	// No system name: go tool pprof shortens a name that equals it, templates would
	// go, and different kernels become one.
	f := &profile.Function{ID: uint64(len(b.out.Function) + 1), Name: name, Filename: path, StartLine: number}
	b.out.Function = append(b.out.Function, f)
	l := &profile.Location{ID: uint64(len(b.out.Location) + 1), Line: []profile.Line{{Function: f, Line: number}}}
	b.out.Location = append(b.out.Location, l)
	b.locations[key] = l
	return l
}
