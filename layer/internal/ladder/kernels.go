package ladder

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// None is the pass or layer of a kernel that is outside any.
const None = -1

// Work is the kernels of one GPU and what is found about them. Kernel indices (int32) count the device's activities
// by start, then input order.
type Work struct {
	Trace  *trace.Trace // that the kernels are of
	Ended  func() error // of the caller's context: what is found after its end is not used
	Device trace.DeviceID

	// The only evidence that layers may rest on, where there is to be only one.
	OnlyModules, OnlyAnchors, OnlyRepeats bool
	ReadStep                              func(name string) (Step, bool) // reads a step annotation

	Acts []int32 // rows of the GPU lane: numbers cost the garbage collector nothing, events do
	// the call that launched each activity, or by External id its op; trace.None where no thread is known
	origin []trace.EventID
	replay []bool  // launched by a graph
	Order  []int32 // kernel indices in launch order

	oneStream bool // all run on one stream

	ID     []int32 // of each kernel's name; what follows is by that
	Names  []string
	Facts  []classify.Facts
	NameOf []trace.NameID
	base   []int32 // of the name without its tile variants
	roles  []Role  // in the structure
	steps  []step  // by name, of what is written out
	shared map[seqKey][]*Sequence
	ids    []int32 // of the pass that was asked for last

	empty    []Span // steps that launched nothing, by start
	Models   map[ModelKey]*Model
	variants []*variant

	// By kernel, None outside of any: the block of its layer, and once they are placed its pass and layer.
	Half  []int8
	Pass  []int32
	Layer []int16
}

// Collect gathers the launches and the names of a device's activities, which are given as rows of the GPU lane by
// start.
func Collect(ended func() error, t *trace.Trace, device trace.DeviceID, acts []int32) *Work {
	n := len(acts)
	w := &Work{Trace: t, Ended: ended, Device: device, Acts: acts, origin: make([]trace.EventID, n),
		replay: make([]bool, n), Half: make([]int8, n)}
	// of the kernel before, mostly those of this one, too
	call, origin, graph := trace.Event{}, trace.EventID(trace.None), false
	for i := range acts {
		e := w.Act(int32(i))
		from := e.Launch()
		launched := from.Valid()
		if !launched {
			from = e.Op()
		}
		same := from == call
		if !same {
			call, origin = from, trace.None
			if from.Thread() != trace.None {
				origin = from.ID()
			}
		}
		replay := same && graph || e.IsReplay()
		graph = replay && launched && (same && graph || kind.IsGraphLaunch(from.Name()))
		w.Half[i], w.replay[i], w.origin[i] = None, replay, origin
	}
	w.internNames()
	w.sortByLaunch()
	return w
}

// Act is the activity with the given index.
func (w *Work) Act(i int32) trace.Event { return w.Trace.LaneAt(event.LaneGPU, int(w.Acts[i])) }

// call is the call that launched an activity; not valid for orphans.
func (w *Work) call(i int32) trace.Event { return w.Act(i).Launch() }

// at is when an activity was launched, or by External id when its op ran; see Known.
func (w *Work) at(i int32) trace.Time { return w.Trace.At(w.origin[i]).Start() }

// thread is the one that launched an activity, or by External id ran its op; trace.None where it is not known.
func (w *Work) thread(i int32) trace.ThreadIndex { return w.Trace.At(w.origin[i]).Thread() }

// base is the kernel's name without its tile variants.
func (w *Work) baseOf(i int32) int32 { return w.base[w.ID[i]] }

// RoleOf is the role of a kernel in the structure.
func (w *Work) RoleOf(i int32) Role { return w.roles[w.ID[i]] }

// internNames gives names dense ids, base names and roles.
func (w *Work) internNames() {
	w.ID = make([]int32, len(w.Acts))
	known := make([]int32, w.Trace.NumNames()) // ids + 1 by name of the trace
	for i := range w.Acts {
		name := w.Act(int32(i)).NameID()
		if known[name] == 0 {
			w.NameOf = append(w.NameOf, name)
			known[name] = int32(len(w.NameOf))
		}
		w.ID[i] = known[name] - 1
	}
	n := len(w.NameOf)
	w.Names, w.Facts, w.base = make([]string, n), make([]classify.Facts, n), make([]int32, n)
	var bases intern.Keys[string]
	for id, name := range w.NameOf {
		w.Names[id] = w.Trace.Name(name)
		w.Facts[id] = FactsOf(w.Names[id])
		w.base[id] = int32(bases.ID(w.Facts[id].Base))
	}
	w.steps = writtenSteps(w.Facts)
	w.roles = structuralRoles(w.Facts, w.ID)
}

// Known says whether it is known when kernel i was launched.
func (w *Work) Known(i int32) bool { return w.origin[i] != trace.None }

// sortByLaunch orders kernels as the program launched them. Launch order is the program's order even where streams
// run side by side, so a kernel of another stream lands where the code that launched it is. Kernels of one graph
// replay share a launch and are ordered by start. An orphan comes after the kernel before it on its stream; orphans
// before the first known launch of their stream come first.
func (w *Work) sortByLaunch() {
	at := w.launchTimes()
	w.Order = make([]int32, len(w.Acts))
	for i := range w.Order {
		w.Order[i] = int32(i)
	}
	if !slices.IsSorted(at) {
		slices.SortStableFunc(w.Order, func(a, b int32) int { return cmp.Compare(at[a], at[b]) })
	}
}

// never is before every time of a trace.
const never = trace.Time(-1 << 62)

// launchTimes returns the time that each kernel is sorted by.
func (w *Work) launchTimes() []trace.Time {
	out := make([]trace.Time, len(w.Acts))
	var streams intern.Keys[trace.StreamID]
	var last []trace.Time // by stream, never where none is known
	anywhere := never
	origin, begun := trace.EventID(trace.None), never // of the kernel before
	for i := range w.Acts {
		s := streams.ID(w.Act(int32(i)).Stream())
		if s == len(last) {
			last = append(last, never)
		}
		switch {
		case w.Known(int32(i)):
			if w.origin[i] != origin {
				origin, begun = w.origin[i], w.at(int32(i))
			}
			at := begun
			if w.Replayed(int32(i)) {
				at = max(at, last[s]) // a stream keeps its order: the link of one of them is wrong
			}
			last[s], anywhere, out[i] = at, at, at
		case last[s] != never:
			out[i] = last[s]
		default:
			out[i] = anywhere
		}
	}
	w.oneStream = len(last) < 2
	return out
}

// sequenceOf returns the sequence of the given kernels.
func (w *Work) sequenceOf(kernels []int32) *Sequence {
	return w.sequence(w.appendIDs(make([]int32, 0, len(kernels)), kernels))
}

// appendIDs appends the ids of the names of kernels.
func (w *Work) appendIDs(ids, kernels []int32) []int32 {
	for _, i := range kernels {
		ids = append(ids, w.ID[i])
	}
	return ids
}

// sequence returns the sequence of kernels of the given names.
func (w *Work) sequence(ids []int32) *Sequence {
	s := &Sequence{ID: ids, Base: make([]int32, len(ids)), Role: make([]Role, len(ids))}
	for k, id := range ids {
		s.Base[k], s.Role[k] = w.base[id], w.roles[id]
	}
	writtenParts(s, w.steps)
	layerLookups(s)
	return s
}

// seqKey is the hash of the names of a pass, and its model: see learnBegins.
type seqKey struct {
	names uint64
	model string
}

// sharedSequence returns the sequence of the kernels of a pass of a model: most passes run what another one ran.
func (w *Work) sharedSequence(kernels []int32, model string) *Sequence {
	w.ids = w.appendIDs(w.ids[:0], kernels)
	key := seqKey{segment.Hash(w.ids), model}
	for _, known := range w.shared[key] {
		if slices.Equal(known.ID, w.ids) {
			return known
		}
	}
	s := w.sequence(slices.Clone(w.ids))
	if w.shared == nil {
		w.shared = map[seqKey][]*Sequence{}
	}
	w.shared[key] = append(w.shared[key], s)
	return s
}

// Training says whether this is a training run, and how many kernels compute gradients or update weights.
func (w *Work) Training() (kernels int, ok bool) {
	roles := make([]Role, len(w.ID))
	for i, id := range w.ID {
		roles[i] = w.roles[id]
	}
	return segment.Training(&Sequence{ID: w.ID, Role: roles})
}

// Replayed reports whether a graph launch started kernel i.
func (w *Work) Replayed(i int32) bool { return w.replay[i] }

// Place notes pass, layer and half of each kernel of the passes.
func (w *Work) Place(results []Result) {
	w.Pass, w.Layer = slices.Repeat([]int32{None}, len(w.Acts)), slices.Repeat([]int16{None}, len(w.Acts))
	for p := range results {
		r := &results[p]
		for k, i := range r.Kernels {
			w.Pass[i], w.Layer[i] = int32(p), int16(r.Layer[k])
			if w.Half[i] = max(0, w.Half[i]); w.Layer[i] == None {
				w.Half[i] = None
			}
		}
	}
}

// Forget takes back what was written about kernels.
func (w *Work) Forget() {
	w.Half = slices.Repeat([]int8{None}, len(w.Acts))
	w.Place(nil)
}
