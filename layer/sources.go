package layer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// A Twin says where a kernel comes from: the launch that ran it, or for a kernel without an eager launch of its own
// (graph replays, orphans) the eager launch that matches it, in Options.Mapping where that is set, else in the
// analysed trace.
type Twin struct {
	// Launch is the launch call that ran, or captured, the same kernel: ask it for Op, Frame and Stack. It is not
	// valid when the kernel has no twin.
	Launch trace.Event
	// Kernel is the GPU activity of that launch; not valid for a launch that was captured into a graph.
	Kernel trace.Event
	// Confidence is 1 for the kernel's own launch, less for an aligned one, 0 for none.
	Confidence float64
	// How says what the match rests on.
	How How
}

// How is what a [Twin] rests on. More may be added.
type How uint8

// The ways a twin is found.
const (
	HowNone    How = iota // no twin
	HowLaunch             // the kernel's own eager launch
	HowName               // the same kernel name in the same place of the same layer
	HowVariant            // a tile variant of it in the same place
	HowRole               // a kernel of the same meaning in the same place
	// HowPosition: neither, but its neighbours match, or a capture recorded as many launches as the layer has kernels.
	HowPosition
	// HowReplay: no twin; the kernel that matches is replayed from a graph, too, and has no launch.
	HowReplay
)

var hows = vocabulary.New[How]("way to find a twin", "", "launch", "name", "variant", "role", "position", "replay")

// howConfidence is the confidence of a twin that is found so.
var howConfidence = [...]float64{HowLaunch: 1, HowName: 0.98, HowVariant: 0.9, HowRole: 0.75, HowPosition: 0.5,
	HowReplay: 0}

// Hows lists all ways to find a twin.
func Hows() []How { return hows.All(HowNone) }

// String returns the way's word, "" for none.
func (h How) String() string { return hows.Word(h) }

// MarshalText returns the way's word.
func (h How) MarshalText() ([]byte, error) { return hows.Text(h) }

// UnmarshalText accepts the word of a way.
func (h *How) UnmarshalText(text []byte) error { return hows.Read(h, text) }

// twinTable holds the twins of a device's kernels, found on first use.
type twinTable struct {
	sync.Mutex
	found bool
	of    []int32 // per kernel: indexes table
	table []Twin  // the distinct ones; [0] is none
	// refused is why the mapping trace is not used, "" where it is.
	refused string
}

// MappingRefused returns why [Options.Mapping] is not used for the device's twins: it is of another model or GPU. ""
// where it is used, or none was given. Where one was it aligns, as [Kernel.Twin] does.
func (a *Device) MappingRefused() string {
	if a.Analysis().opts.Mapping == nil || a.Align(context.Background()) != nil {
		return "" // never: what does not end has no error
	}
	return a.twins.refused
}

// Twin returns where the kernel comes from; see [Twin]. The first call for a kernel without an eager launch aligns
// all of the device. For graphs captured on ROCm load the mapping trace with Args [event.Runtime]: the names of
// captured kernels are in the launch calls' args.
func (k Kernel) Twin() Twin {
	if k.d == nil {
		return Twin{}
	}
	e := k.Event()
	if l := e.Launch(); l.Valid() && !e.IsReplay() {
		return Twin{Launch: l, Kernel: e, Confidence: howConfidence[HowLaunch], How: HowLaunch}
	}
	if k.d.Align(context.Background()) != nil {
		return Twin{} // never: what does not end has no error
	}
	return k.d.twins.table[k.d.twins.of[k.i]]
}

// Align finds the twins of all kernels without an eager launch, if that was not done yet, so that [Kernel.Twin] only
// looks them up. The error is ctx's, when cancelled; nothing is kept then, and the next call begins anew.
func (a *Device) Align(ctx context.Context) error {
	t := a.twins
	if t == nil { // not of an analysis
		return nil
	}
	t.Lock()
	defer t.Unlock()
	if t.found {
		return nil
	}
	if reason := a.foreignMapping(); reason != "" {
		t.found, t.of, t.table, t.refused = true, make([]int32, a.NumKernels()), make([]Twin, 1), reason
		return nil
	}
	of, table, err := a.findTwins(ctx)
	if err != nil {
		return err
	}
	t.found, t.of, t.table = true, of, table
	if reason := a.unlikeMapping(of, table); reason != "" {
		t.of, t.table, t.refused = make([]int32, a.NumKernels()), make([]Twin, 1), reason
		return nil
	}
	t.table = append(table, Twin{How: HowReplay})
	for i, k := range of {
		if k != 0 && !table[k].Launch.Valid() {
			of[i] = int32(len(table)) // it speaks for the likeness of the traces, and gives no source
		}
	}
	return nil
}

// A line is one pass, or one capture, in launch order, with symbols shared by all lines of an alignment.
type line struct {
	seq     ladder.Sequence
	layer   []int32       // per kernel
	launch  []trace.Event // of references
	kernel  []trace.Event // of references; not valid in a capture
	starts  map[int32][2]int
	nameful bool // names are known; a CUDA capture records none
	model   int  // index of the pass's model; trace.None where that is not known, as of a capture or another trace
}

// symbols interns names for several lines. What a name means is found once: traces have few names and many kernels.
type symbols struct {
	fine, base intern.Keys[string]
	bases      []int32       // per fine id
	roles      []ladder.Role // per fine id
}

// add appends a kernel of a name to a line.
func (l *line) add(sym *symbols, name string, layer int32) {
	fine := int32(sym.fine.ID(name))
	if int(fine) == len(sym.roles) {
		f := ladder.FactsOf(name)
		sym.roles = append(sym.roles, ladder.Structural[f.Role])
		sym.bases = append(sym.bases, int32(sym.base.ID(f.Base)))
	}
	l.seq.ID = append(l.seq.ID, fine)
	l.seq.Base = append(l.seq.Base, sym.bases[fine])
	l.seq.Role = append(l.seq.Role, sym.roles[fine])
	l.layer = append(l.layer, layer)
}

// seal notes where each layer begins and ends in the line: prologue −1, epilogue −2.
func (l *line) seal() {
	l.starts = map[int32][2]int{}
	seen := false
	for i, lay := range l.layer {
		key := lay
		switch {
		case lay != trace.None:
			seen = true
		case seen:
			key = epilogueKey
		}
		r, ok := l.starts[key]
		if !ok {
			r[0] = i
		}
		r[1] = i + 1
		l.starts[key] = r
	}
}

const epilogueKey = -2

// inLaunchOrder returns the kernels of the pass.
func (p *ForwardPass) inLaunchOrder() []int32 { return p.of.columns.order[p.from:p.to] }

// lineOf returns the kernels of one pass as a line.
func (a *Device) lineOf(sym *symbols, kernels []int32, model int) *line {
	l := &line{nameful: true, model: model}
	for _, i := range kernels {
		l.add(sym, a.event(i).Name(), int32(a.columns.layer[i]))
	}
	l.seal()
	return l
}

func (a *Device) event(i int32) trace.Event { return a.of.trace.At(a.columns.eventOf(i)) }

// eager says whether kernel i has a launch of its own.
func (a *Device) eager(i int32) bool {
	e := a.event(i)
	return e.Launch().Valid() && !e.IsReplay()
}

// eagerKernels says of each kernel whether it has a launch of its own.
func (a *Device) eagerKernels() []bool {
	eager := make([]bool, a.NumKernels())
	for i := range eager {
		eager[i] = a.eager(int32(i))
	}
	return eager
}

// eagerLines returns the passes that were launched kernel by kernel, as references. With pieces also those with
// only some kernels launched so, as between the graphs of a piecewise capture: all of their kernels are aligned,
// and those that a graph replays have no launch.
func (a *Device) eagerLines(sym *symbols, eager []bool, pieces bool) []*line {
	inLayers := make([]int, len(a.Passes))
	for i, p := range a.columns.pass {
		if p != trace.None && a.columns.layer[i] != trace.None && eager[i] {
			inLayers[p]++
		}
	}
	const most = 64 // references that are tried; more passes of the same kinds add nothing
	var out []*line
	for p := range a.Passes {
		part := 2*inLayers[p] <= a.Passes[p].Kernels
		if part && (!pieces || inLayers[p] == 0) || len(out) == most {
			continue
		}
		var own []int32
		for _, i := range a.Passes[p].inLaunchOrder() {
			if eager[i] || part {
				own = append(own, i)
			}
		}
		l := a.lineOf(sym, own, a.Passes[p].Model)
		for _, i := range own {
			launch := trace.Event{}
			if eager[i] {
				launch = a.event(i).Launch()
			}
			l.kernel, l.launch = append(l.kernel, a.event(i)), append(l.launch, launch)
		}
		out = append(out, l)
	}
	return out
}

// fit is how a pass matches the reference that fits it best.
type fit struct {
	ref   *line
	match []int32
	how   []How
	twin  []int32 // index in the table of twins, 0 when not made yet
}

// bestFit aligns a pass with every reference of its model, or of an unknown one: another model of the trace runs
// kernels of the same names from other lines. The error is ctx's.
func bestFit(ctx context.Context, target *line, refs []*line) (best fit, err error) {
	bestScore := 0.0
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return fit{}, err
		}
		if ref.model != target.model && ref.model != trace.None && target.model != trace.None {
			continue
		}
		match, how := alignLines(target, ref)
		score := 0.0
		for _, x := range how {
			score += howConfidence[x]
		}
		if score > bestScore {
			best, bestScore = fit{ref, match, how, make([]int32, len(match))}, score
		}
	}
	return best, nil
}

// findTwins aligns every pass that has kernels without an eager launch with the reference that fits it best.
func (a *Device) findTwins(ctx context.Context) (of []int32, table []Twin, err error) {
	of, table = make([]int32, a.NumKernels()), make([]Twin, 1)
	eager, need := a.eagerKernels(), make([]bool, len(a.Passes))
	for i, p := range a.columns.pass {
		if p != trace.None && !eager[i] {
			need[p] = true
		}
	}
	if !slices.Contains(need, true) {
		return of, table, nil
	}
	sym := &symbols{}
	refs, err := a.references(ctx, sym, eager)
	if err != nil || len(refs) == 0 {
		return of, table, err
	}
	memo := map[uint64]fit{}
	for p := range a.Passes {
		if !need[p] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		kernels := a.Passes[p].inLaunchOrder()
		target := a.lineOf(sym, kernels, a.Passes[p].Model)
		h := segment.Hash(target.seq.ID) ^ segment.Hash(target.layer)*31 ^ uint64(target.model)
		best, ok := memo[h]
		if !ok || len(best.match) != target.seq.Len() {
			if best, err = bestFit(ctx, target, refs); err != nil {
				return nil, nil, err
			}
			memo[h] = best
		}
		for k, j := range best.match {
			i := kernels[k]
			if j < 0 || eager[i] {
				continue
			}
			if best.twin[k] == 0 {
				best.twin[k] = int32(len(table))
				table = append(table, best.ref.twin(j, best.how[k]))
			}
			of[i] = best.twin[k]
		}
	}
	return of, table, nil
}

// twin is kernel j of a reference as the twin of one that was matched with it.
func (l *line) twin(j int32, how How) Twin {
	conf := howConfidence[how]
	if !l.nameful {
		conf = howConfidence[HowVariant] // equal numbers of launches say as much
	}
	return Twin{Launch: l.launch[j], Kernel: l.kernel[j], Confidence: conf, How: how}
}

// references returns the eager passes and the captures to align with: those of the mapping trace where there is one,
// else the trace's own.
func (a *Device) references(ctx context.Context, sym *symbols, eager []bool) ([]*line, error) {
	from, t := a, a.of.trace
	if m := a.of.opts.Mapping; m != nil {
		from, t = nil, m.trace
		if len(m.Devices) > 0 {
			from = &m.Devices[0]
			eager = from.eagerKernels()
		}
	}
	var out []*line
	if from != nil {
		out = from.eagerLines(sym, eager, from != a)
		for _, l := range out {
			if from != a {
				l.model = trace.None
			}
		}
	}
	return append(out, captureLines(t, sym, a.NumLayers)...), ctx.Err()
}

// alignLines matches the kernels of target with those of ref, layer by layer; match[k] is −1 for none.
func alignLines(target, ref *line) (match []int32, how []How) {
	match, how = make([]int32, target.seq.Len()), make([]How, target.seq.Len())
	for k := range match {
		match[k] = -1
	}
	if !ref.nameful {
		alignByCount(target, ref, match, how)
		return match, how
	}
	if len(target.starts) <= 1 || len(ref.starts) <= 1 { // no layers on one side
		alignRange(target, 0, target.seq.Len(), ref, 0, ref.seq.Len(), match, how)
		return match, how
	}
	for key, r := range target.starts {
		if q, ok := ref.starts[key]; ok {
			alignRange(target, r[0], r[1], ref, q[0], q[1], match, how)
		}
	}
	return match, how
}

// alignRange aligns one layer with its counterpart. Names that occur equally often on both sides are matched in order
// first: streams interleave differently in a replay, and an alignment cannot cross. Outside of layers only equal
// kernels are believed: sampling in one run and batch preparation in another have nothing else in common.
func alignRange(t *line, from, to int, r *line, rfrom, rto int, match []int32, how []How) {
	outside := t.layer[from] == trace.None
	layered := len(t.starts) > 1 && len(r.starts) > 1
	// a stray kernel of another layer in between
	foreign := func(i, j int) bool { return layered && t.layer[i] != r.layer[j] }
	taken := make([]bool, rto-rfrom)
	left, right := map[int32][]int32{}, map[int32][]int32{}
	for i := from; i < to; i++ {
		left[t.seq.ID[i]] = append(left[t.seq.ID[i]], int32(i))
	}
	for j := rfrom; j < rto; j++ {
		right[r.seq.ID[j]] = append(right[r.seq.ID[j]], int32(j))
	}
	for name, is := range left {
		js := right[name]
		if len(is) != len(js) {
			continue
		}
		for k, i := range is {
			if !foreign(int(i), int(js[k])) {
				match[i], how[i] = js[k], HowName
				taken[int(js[k])-rfrom] = true
			}
		}
	}
	segment.AlignPairs(&t.seq, from, to, &r.seq, rfrom, rto, func(i, j int) {
		switch {
		case how[i] != HowNone || taken[j-rfrom] || foreign(i, j):
			return
		case t.seq.ID[i] == r.seq.ID[j]:
			how[i] = HowName
		case t.seq.Base[i] == r.seq.Base[j] && (!outside || t.seq.Role[i] != ladder.RoleOther):
			how[i] = HowVariant
		case outside:
			return
		case t.seq.Role[i] == r.seq.Role[j] && t.seq.Role[i] != ladder.RoleOther:
			how[i] = HowRole
		default:
			how[i] = HowPosition
		}
		match[i] = int32(j)
	})
	dropLonePositions(from, to, match, how)
	if !outside {
		shareTwins(t, from, to, match, how)
	}
}

// dropLonePositions keeps matches by position only between kernels that match better.
func dropLonePositions(from, to int, match []int32, how []How) {
	for i := from; i < to; i++ {
		if how[i] != HowPosition {
			continue
		}
		before := i > from && how[i-1] != HowNone && how[i-1] != HowPosition
		after := i+1 < to && how[i+1] != HowNone && how[i+1] != HowPosition
		if !before || !after {
			match[i], how[i] = -1, HowNone
		}
	}
}

// shareTwins gives a kernel of a layer without a twin that of a neighbour of the same meaning: one op may run several
// kernels in one variant and one in another (split attention and its reduction against one fused kernel).
func shareTwins(t *line, from, to int, match []int32, how []How) {
	for i := from; i < to; i++ {
		if match[i] >= 0 || t.seq.Role[i] == ladder.RoleOther || t.seq.Role[i] == ladder.RoleElementwise {
			continue
		}
		for _, j := range []int{i - 1, i + 1} {
			if j >= from && j < to && match[j] >= 0 && t.seq.Role[j] == t.seq.Role[i] {
				match[i], how[i] = match[j], HowPosition
				break
			}
		}
	}
}

// alignByCount pairs a layer's kernels with as many captured launches one by one.
func alignByCount(target, ref *line, match []int32, how []How) {
	for key, r := range target.starts {
		q, ok := ref.starts[key]
		if !ok || key < 0 || q[1]-q[0] != r[1]-r[0] {
			continue
		}
		for k := range r[1] - r[0] {
			match[r[0]+k], how[r[0]+k] = int32(q[0]+k), HowPosition
		}
	}
}

// captureLines returns the kernel launches that a trace recorded while graphs were captured: they have no GPU
// activity, and each capture ends where a call ends it.
func captureLines(t *trace.Trace, sym *symbols, layers int) []*line {
	// Most traces have no captures.
	frames := sync.OnceValue(func() *ladder.Frames { return ladder.ReadFrames(t) })
	var out []*line
	cur := &line{model: trace.None}
	flush := func() {
		const least = 8 // launches; a few without activities are the window's edge
		if cur.seq.Len() >= least {
			cur.finishCapture(frames(), layers)
			out = append(out, cur)
		}
		cur = &line{model: trace.None}
	}
	type meaning int8 // of a call's name, found once
	const (
		unknown meaning = iota
		border          // of a capture
		launches
		other
	)
	known := make([]meaning, t.NumNames())
	thread := trace.ThreadIndex(trace.None)
	for e := range t.Events(event.LaneLaunch) {
		if e.Thread() != thread {
			flush()
			thread = e.Thread()
		}
		m := &known[e.NameID()]
		if *m == unknown {
			switch name := e.Name(); {
			case kind.BeginsCapture(name), kind.EndsCapture(name), kind.Instantiates(name):
				*m = border
			case kind.IsKernelLaunch(name):
				*m = launches
			default:
				*m = other
			}
		}
		switch {
		case *m == border:
			flush()
		case *m == launches && !hasActivity(e):
			kernel := kernelOfArgs(e.Data().Args)
			cur.nameful = cur.nameful || kernel != ""
			cur.add(sym, kernel, trace.None)
			cur.launch, cur.kernel = append(cur.launch, e), append(cur.kernel, trace.Event{})
		}
	}
	flush()
	return out
}

// finishCapture finds the layers of a capture: by module frames, else by repeats.
func (l *line) finishCapture(f *ladder.Frames, layers int) {
	inside := 0
	if f != nil {
		for i, e := range l.launch {
			if k := ladder.SpanAt(f.Layers[e.Thread()], e.Start()); k >= 0 {
				l.layer[i] = int32(f.Layers[e.Thread()][k].Index)
				inside++
			}
		}
	}
	if inside == 0 && l.nameful && layers >= 2 {
		if st, ok := segment.Best(&l.seq, layers); ok && st.Similarity >= segment.MinSimilarity {
			for lay := range layers {
				for i := st.Starts[lay]; i < st.Starts[lay+1]; i++ {
					l.layer[i] = int32(lay)
				}
			}
		}
	}
	l.seal()
}

// kernelOfArgs reads the kernel's name from the args of a HIP launch call, "" when there is none.
func kernelOfArgs(args json.RawMessage) string {
	var v struct {
		Kernel string `json:"kernel"`
	}
	if json.Unmarshal(args, &v) != nil {
		return ""
	}
	return v.Kernel
}

// minMappingShare is how many of the replayed kernels must find one of the same name, tile variants apart, in the
// same place of the mapping trace, for it to be of the same model. A prefill explains a decode to four fifths and
// more: attention differs, and products may be tuned otherwise; another model of the same server shares single
// kernels, and their order less.
const minMappingShare = 0.6

// foreignMapping says why the mapping trace cannot be of the same model and GPU, "" when it may be.
func (a *Device) foreignMapping() string {
	m := a.of.opts.Mapping
	if m == nil || a.of.opts.ForceMapping || len(m.Devices) == 0 {
		return ""
	}
	d := &m.Devices[0]
	switch {
	case a.GPU != "" && d.GPU != "" && a.GPU != d.GPU:
		return fmt.Sprintf("it ran on %s, this trace on %s: kernels differ", table.Clean(d.GPU), table.Clean(a.GPU))
	case a.NumLayers > 0 && d.NumLayers > 0 && a.NumLayers != d.NumLayers && len(d.Passes) > 0 &&
		d.Passes[0].Partial == whole:
		return fmt.Sprintf("its model has %d layers, this one %d", d.NumLayers, a.NumLayers)
	}
	return ""
}

// unlikeMapping says why the mapping trace is of another model by the kernels that found a twin there, "" when it is
// not.
func (a *Device) unlikeMapping(of []int32, twins []Twin) string {
	if m := a.of.opts.Mapping; m == nil || a.of.opts.ForceMapping {
		return ""
	}
	all, same := 0, 0
	for i, t := range of {
		if a.columns.layer[i] == trace.None || a.eager(int32(i)) {
			continue
		}
		all++
		if h := twins[t].How; h == HowName || h == HowVariant || h != HowNone && !twins[t].Kernel.Valid() {
			same++ // a capture may record no names
		}
	}
	if all == 0 || float64(same) >= minMappingShare*float64(all) {
		return ""
	}
	if len(twins) == 1 {
		return "it launches no pass kernel by kernel and captures none: it has no source lines to give"
	}
	return fmt.Sprintf("only %d of %d replayed kernels have one of the same name in the same place of it: kernel "+
		"sequences do not match", same, all)
}

// hasActivity reports whether a call launched anything on a GPU.
func hasActivity(call trace.Event) bool {
	for range call.Activities() {
		return true
	}
	return false
}
