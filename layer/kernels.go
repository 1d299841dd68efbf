package layer

import (
	"cmp"
	"slices"
	"sort"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/trace"
)

// none is the pass or layer of a kernel that is outside any.
const none = -1

// Work is the kernels of one GPU and what is found about them. Kernel indices (int32) count the device's activities by start, then
// input order.
type Work struct {
	t      *trace.Trace
	watch  *stop.Watch // every long loop calls it; see sequence
	device trace.DeviceID

	// The only evidence that layers may rest on, where there is to be only one.
	onlyModules, onlyAnchors, onlyRepeats bool
	readStep                              func(name string) (stepNote, bool) // reads a step annotation

	acts   []int32             // rows of the GPU lane: numbers cost the garbage collector nothing, events do
	calls  []int32             // rows of the launch lane: the call behind each activity; −1 for orphans
	at     []trace.Time        // when it was launched, or by External id when its op ran; see known
	thread []trace.ThreadIndex // where; NoThread when unknown
	replay []bool              // a graph launch is behind it
	order  []int32             // kernel indices in launch order

	seq    sequence // by kernel index, not by order
	names  []string // by fine id
	facts  []classify.Facts
	nameOf []trace.NameID
	begins map[uint64]bool // see sequence

	empty  []passSpan             // steps that launched nothing, by start
	models map[string]*modelFacts // by passSpan.model

	pass  []int32
	layer []int32
	half  []int8
}

// collect gathers the launches and the names of a device's activities, which are given as rows of the GPU lane by start.
func collect(watch *stop.Watch, t *trace.Trace, device trace.DeviceID, acts []int32) *Work {
	w := &Work{t: t, watch: watch, device: device, acts: acts}
	n := len(w.acts)
	w.calls = make([]int32, n)
	w.at = make([]trace.Time, n)
	w.thread = make([]trace.ThreadIndex, n)
	w.replay = make([]bool, n)
	w.pass, w.layer = make([]int32, n), make([]int32, n)
	w.half = make([]int8, n)
	for i := range w.acts {
		watch.Row()
		e := w.act(int32(i))
		w.pass[i], w.layer[i], w.half[i], w.calls[i] = none, none, none, none
		w.thread[i], w.replay[i] = trace.NoThread, e.IsReplay()
		if l := e.Launch(); l.Valid() {
			w.calls[i], w.at[i], w.thread[i] = int32(l.Index()), l.Start(), l.Thread()
		} else if op := e.Op(); op.Valid() {
			w.at[i], w.thread[i] = op.Start(), op.Thread()
		}
	}
	w.internNames()
	w.sortByLaunch()
	return w
}

// act is the activity with the given index.
func (w *Work) act(i int32) trace.Event { return w.t.LaneAt(trace.LaneGPU, int(w.acts[i])) }

// call is the call that launched an activity; not valid for orphans.
func (w *Work) call(i int32) trace.Event { return w.t.LaneAt(trace.LaneLaunch, int(w.calls[i])) }

// internNames makes the sequence: dense ids for names and base names, roles once per name.
func (w *Work) internNames() {
	n := len(w.acts)
	w.seq = sequence{ID: make([]int32, n), Base: make([]int32, n), Role: make([]role, n)}
	dense := make(map[trace.NameID]int32)
	bases := newInterner()
	var base []int32
	for i := range w.acts {
		w.watch.Row()
		e := w.act(int32(i))
		id, ok := dense[e.NameID()]
		if !ok {
			id = int32(len(w.names))
			dense[e.NameID()] = id
			w.watch.Rows(rowsPerName)
			f := factsOf(e.Name())
			w.names = append(w.names, e.Name())
			w.facts = append(w.facts, f)
			w.nameOf = append(w.nameOf, e.NameID())
			base = append(base, bases.id(f.Base))
		}
		w.seq.ID[i], w.seq.Base[i] = id, base[id]
	}
	roles := structuralRoles(w.facts)
	for i, id := range w.seq.ID {
		w.watch.Row()
		w.seq.Role[i] = roles[id]
	}
}

// known says whether it is known when kernel i was launched.
func (w *Work) known(i int32) bool { return w.thread[i] != trace.NoThread }

// sortByLaunch orders kernels as the program launched them. Launch order is the program's order even where streams run side
// by side, so a kernel of another stream lands where the code that launched it stands. Kernels of one graph replay share a
// launch and are ordered by start. An orphan stands after the kernel before it on its stream; orphans before the first
// known launch of their stream come first.
func (w *Work) sortByLaunch() {
	w.order = make([]int32, len(w.acts))
	key := make([]trace.Time, len(w.acts))
	last := map[trace.StreamID]trace.Time{}
	const never = trace.Time(-1 << 62)
	anywhere := never
	for i := range w.order {
		w.watch.Row()
		w.order[i] = int32(i)
		s := w.act(int32(i)).Stream()
		if w.known(int32(i)) {
			key[i] = w.at[i]
			if before, ok := last[s]; ok && key[i] < before && w.replayed(int32(i)) {
				key[i] = before // a stream keeps its order: the link of one of them is wrong
			}
			last[s] = key[i]
			anywhere = key[i]
			continue
		}
		key[i] = anywhere
		if k, ok := last[s]; ok {
			key[i] = k
		}
	}
	if slices.IsSortedFunc(w.order, func(a, b int32) int { return cmp.Compare(key[a], key[b]) }) {
		return
	}
	sort.SliceStable(w.order, func(a, b int) bool {
		w.watch.Row()
		return key[w.order[a]] < key[w.order[b]]
	})
}

// sequenceOf returns the sequence of the given kernels.
func (w *Work) sequenceOf(kernels []int32) *sequence {
	s := &sequence{ID: make([]int32, len(kernels)), Base: make([]int32, len(kernels)), Role: make([]role, len(kernels)), Begins: w.begins}
	w.watch.Rows(len(kernels))
	for k, i := range kernels {
		s.ID[k], s.Base[k], s.Role[k] = w.seq.ID[i], w.seq.Base[i], w.seq.Role[i]
	}
	return s
}

// replayed says whether a graph launch is behind kernel i.
func (w *Work) replayed(i int32) bool { return w.replay[i] }

// place notes pass, layer and half of each kernel of the passes.
func (w *Work) place(results []passResult) {
	for p := range results {
		r := &results[p]
		w.watch.Rows(len(r.kernels))
		for k, i := range r.kernels {
			w.pass[i], w.layer[i] = int32(p), r.layer[k]
			if w.layer[i] != none && w.half[i] == none {
				w.half[i] = 0
			}
			if w.layer[i] == none {
				w.half[i] = none
			}
		}
	}
}

// forget takes back what was written about kernels.
func (w *Work) forget() {
	for i := range w.pass {
		w.pass[i], w.layer[i], w.half[i] = none, none, none
	}
}

// rowsPerName is how many rows of a plain loop the classification of a name costs.
const rowsPerName = 256
