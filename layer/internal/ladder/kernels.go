package ladder

import (
	"cmp"
	"slices"
	"sort"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace"
)

// None is the pass or layer of a kernel that is outside any.
const None = -1

// Work is the kernels of one GPU and what is found about them. Kernel indices (int32) count the device's activities by start, then
// input order.
type Work struct {
	Trace  *trace.Trace // that the kernels are of
	Ended  func() error // of the caller's context: what is found after its end is not used
	Device trace.DeviceID

	// The only evidence that layers may rest on, where there is to be only one.
	OnlyModules, OnlyAnchors, OnlyRepeats bool
	ReadStep                              func(name string) (Step, bool) // reads a step annotation

	Acts   []int32             // rows of the GPU lane: numbers cost the garbage collector nothing, events do
	calls  []int32             // rows of the launch lane: the call behind each activity; −1 for orphans
	At     []trace.Time        // when it was launched, or by External id when its op ran; see known
	Thread []trace.ThreadIndex // where; trace.None when unknown
	replay []bool              // a graph launch is behind it
	Order  []int32             // kernel indices in launch order

	Seq    Sequence // by kernel index, not by order
	Names  []string // by fine id
	Facts  []classify.Facts
	NameOf []trace.NameID
	begins map[uint64]bool // see sequence
	steps  []normStep      // by fine id, nil where no norm is written out

	empty  []Span            // steps that launched nothing, by start
	Models map[string]*Model // by Span.model

	Pass  []int32 // by kernel, as Layer and Half; None outside of any
	Layer []int32 // by kernel
	Half  []int8  // by kernel: the block of its layer
}

// Collect gathers the launches and the names of a device's activities, which are given as rows of the GPU lane by start.
func Collect(ended func() error, t *trace.Trace, device trace.DeviceID, acts []int32) *Work {
	w := &Work{Trace: t, Ended: ended, Device: device, Acts: acts}
	n := len(w.Acts)
	w.calls = make([]int32, n)
	w.At = make([]trace.Time, n)
	w.Thread = make([]trace.ThreadIndex, n)
	w.replay = make([]bool, n)
	w.Pass, w.Layer = make([]int32, n), make([]int32, n)
	w.Half = make([]int8, n)
	for i := range w.Acts {
		e := w.Act(int32(i))
		w.Pass[i], w.Layer[i], w.Half[i], w.calls[i] = None, None, None, None
		w.Thread[i], w.replay[i] = trace.None, e.IsReplay()
		if l := e.Launch(); l.Valid() {
			w.calls[i], w.At[i], w.Thread[i] = int32(l.Index()), l.Start(), l.Thread()
		} else if op := e.Op(); op.Valid() {
			w.At[i], w.Thread[i] = op.Start(), op.Thread()
		}
	}
	w.internNames()
	w.sortByLaunch()
	return w
}

// Act is the activity with the given index.
func (w *Work) Act(i int32) trace.Event { return w.Trace.LaneAt(trace.LaneGPU, int(w.Acts[i])) }

// call is the call that launched an activity; not valid for orphans.
func (w *Work) call(i int32) trace.Event { return w.Trace.LaneAt(trace.LaneLaunch, int(w.calls[i])) }

// internNames makes the sequence: dense ids for names and base names, roles once per name.
func (w *Work) internNames() {
	n := len(w.Acts)
	w.Seq = Sequence{ID: make([]int32, n), Base: make([]int32, n), Role: make([]Role, n)}
	dense := make(map[trace.NameID]int32)
	bases := NewInterner()
	var base []int32
	for i := range w.Acts {
		e := w.Act(int32(i))
		id, ok := dense[e.NameID()]
		if !ok {
			id = int32(len(w.Names))
			dense[e.NameID()] = id
			f := FactsOf(e.Name())
			w.Names = append(w.Names, e.Name())
			w.Facts = append(w.Facts, f)
			w.NameOf = append(w.NameOf, e.NameID())
			base = append(base, bases.ID(f.Base))
		}
		w.Seq.ID[i], w.Seq.Base[i] = id, base[id]
	}
	w.steps = normSteps(w.Names, w.Facts)
	roles := structuralRoles(w.Facts)
	for i, id := range w.Seq.ID {
		w.Seq.Role[i] = roles[id]
	}
}

// Known says whether it is known when kernel i was launched.
func (w *Work) Known(i int32) bool { return w.Thread[i] != trace.None }

// sortByLaunch orders kernels as the program launched them. Launch order is the program's order even where streams run side
// by side, so a kernel of another stream lands where the code that launched it stands. Kernels of one graph replay share a
// launch and are ordered by start. An orphan stands after the kernel before it on its stream; orphans before the first
// known launch of their stream come first.
func (w *Work) sortByLaunch() {
	w.Order = make([]int32, len(w.Acts))
	key := make([]trace.Time, len(w.Acts))
	last := map[trace.StreamID]trace.Time{}
	const never = trace.Time(-1 << 62)
	anywhere := never
	for i := range w.Order {
		w.Order[i] = int32(i)
		s := w.Act(int32(i)).Stream()
		if w.Known(int32(i)) {
			key[i] = w.At[i]
			if before, ok := last[s]; ok && key[i] < before && w.Replayed(int32(i)) {
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
	if slices.IsSortedFunc(w.Order, func(a, b int32) int { return cmp.Compare(key[a], key[b]) }) {
		return
	}
	sort.SliceStable(w.Order, func(a, b int) bool {
		return key[w.Order[a]] < key[w.Order[b]]
	})
}

// sequenceOf returns the sequence of the given kernels.
func (w *Work) sequenceOf(kernels []int32) *Sequence {
	s := &Sequence{ID: make([]int32, len(kernels)), Base: make([]int32, len(kernels)), Role: make([]Role, len(kernels)), Begins: w.begins}
	for k, i := range kernels {
		s.ID[k], s.Base[k], s.Role[k] = w.Seq.ID[i], w.Seq.Base[i], w.Seq.Role[i]
	}
	if w.steps != nil {
		writtenNorms(s, w.steps)
	}
	return s
}

// Replayed says whether a graph launch is behind kernel i.
func (w *Work) Replayed(i int32) bool { return w.replay[i] }

// Place notes pass, layer and half of each kernel of the passes.
func (w *Work) Place(results []Result) {
	for p := range results {
		r := &results[p]
		for k, i := range r.Kernels {
			w.Pass[i], w.Layer[i] = int32(p), r.Layer[k]
			if w.Layer[i] != None && w.Half[i] == None {
				w.Half[i] = 0
			}
			if w.Layer[i] == None {
				w.Half[i] = None
			}
		}
	}
}

// Forget takes back what was written about kernels.
func (w *Work) Forget() {
	for i := range w.Pass {
		w.Pass[i], w.Layer[i], w.Half[i] = None, None, None
	}
}
