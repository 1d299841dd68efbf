package ladder

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// stackLayers is the least number of layers that two modules of one model hold, for each to be a stack of its own: a
// vision tower and a language model, an encoder and a decoder. A single layer beside a stack is a part of it.
const stackLayers = 2

// sameInstant is how far times may lie apart that a recorder or a script cut at one instant, in nanoseconds: both are
// rounded to a nanosecond by most, after a sum. A call of a function takes Python longer.
const sameInstant = 2

// settle makes calls of models of the frames as they were recorded: calls whose own frame is not in the trace, calls
// that hold several stacks of layers. It numbers layers by the order in which they are called.
func (f *Frames) settle() {
	names := f.modelsOfLayers()
	for thread := range f.roots {
		f.joinBare(thread, names)
		f.splitStacks(thread)
	}
	f.number()
}

// modelsOfLayers says which class of outermost modules holds layers of a class, "" where several do.
func (f *Frames) modelsOfLayers() map[string]string {
	names := map[string]string{}
	for thread, layers := range f.Layers {
		for k := range layers {
			root := &f.roots[thread][layers[k].root]
			if name, seen := names[layers[k].class]; !root.layer && (!seen || name == root.class) {
				names[layers[k].class] = root.class
			} else if !root.layer {
				names[layers[k].class] = ""
			}
		}
	}
	return names
}

// joinBare makes one call of layers that are outermost modules one after the other: the frame of the call that they
// belong to began before the window, ended after it, or was not recorded. Where a layer is called that was called
// before, another call begins. Small modules lie between them, other calls of models do not. One layer by itself, of
// a class that no call holds, stays a model of one layer.
func (f *Frames) joinBare(thread trace.ThreadIndex, names map[string]string) {
	var out []frameSpan
	run := -1                  // the last call of such layers, where it may go on
	called := map[string]int{} // by class, its last layer
	layers := f.Layers[thread] // that are still to come
	for r, call := range f.roots[thread] {
		held := 0
		for held < len(layers) && int(layers[held].root) == r {
			held++
		}
		last, again := called[call.class]
		switch {
		case !call.layer:
			if held > 0 || call.inner >= modelModules {
				run = -1
			}
			out = append(out, call)
		case run >= 0 && (!again || call.Index > last):
			for _, small := range out[run+1:] {
				out[run].inner += small.inner + 1
			}
			out[run].inner += call.inner + 1
			out[run].end, out[run].joined = call.end, true
			out = out[:run+1]
		default:
			clear(called)
			run = len(out)
			out = append(out, call)
			if name := names[call.class]; name != "" {
				out[run].class, out[run].joined = name, true
			}
		}
		if call.layer {
			called[call.class] = call.Index
		}
		for k := range layers[:held] {
			layers[k].root = int32(len(out) - 1)
		}
		layers = layers[held:]
	}
	f.roots[thread] = out
}

// splitStacks makes calls of their own of the stacks in a call: the layers of an encoder, or of a vision tower, lie
// in another module than those that run after them, and are numbered by themselves.
func (f *Frames) splitStacks(thread trace.ThreadIndex) {
	layers := f.Layers[thread]
	var out []frameSpan
	for r, rest := range f.roots[thread] {
		held := 0
		for held < len(layers) && int(layers[held].root) == r {
			held++
		}
		ends := stacksOf(layers[:held])
		for k := range layers[:held] {
			if len(ends) > 0 && k == ends[0] {
				part := rest
				// the whole model may be what is around the first stack
				part.class, part.end = layers[k-1].around, min(layers[k-1].aroundEnd, layers[k].start-1)
				if rest.start = part.end + 1; rest.class == part.class {
					rest.class = layers[k].around
				}
				out, ends = append(out, part), ends[1:]
			}
			layers[k].root = int32(len(out))
		}
		out, layers = append(out, rest), layers[held:]
	}
	f.roots[thread] = out
}

// stacksOf returns where each stack of a call but the first begins: stacks lie in modules of different classes, one
// after the other. It returns nothing where layers of two modules take turns, or where one holds a single layer.
func stacksOf(layers []frameSpan) (begins []int) {
	seen := map[string]bool{}
	at := 0
	for stack := range runs(layers, func(a, b *frameSpan) bool { return a.around == b.around }) {
		if seen[stack[0].around] || len(stack) < stackLayers {
			return nil
		}
		seen[stack[0].around] = true
		at += len(stack)
		begins = append(begins, at)
	}
	return begins[:max(0, len(begins)-1)]
}

// runs returns the parts of a list whose elements are like the one before.
func runs[T any](list []T, like func(before, of *T) bool) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for from, k := 0, 1; k <= len(list); k++ {
			if k < len(list) && like(&list[k-1], &list[k]) {
				continue
			}
			if !yield(list[from:k]) {
				return
			}
			from = k
		}
	}
}

// layerID names a layer of the recording: the profiler numbers the modules of each class in the order in which it
// first sees them.
type layerID struct {
	class string
	index int
}

func (s *frameSpan) id() layerID { return layerID{s.class, s.Index} }

// number gives each layer its place in the order in which its model calls them, by the call with most of them: the
// profiler numbers modules of each class by themselves, and from the one that the window shows first.
func (f *Frames) number() {
	calls := f.calls()
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(len(b.layers), len(a.layers)) })
	place := map[layerID]int{}
	for _, c := range calls {
		at := c.firstPlace()
		for k := range c.layers {
			id := c.layers[k].id()
			if p, known := place[id]; known {
				at = p
			}
			place[id] = at
			at++
		}
	}
	distinct := map[int]bool{}
	for thread, layers := range f.Layers {
		for k := range layers {
			l := &layers[k]
			l.Index = max(None, place[l.id()])
			distinct[l.Index] = true
			root := &f.roots[thread][l.root]
			if f.hasLayers[root.class] = true; root.layers == 0 {
				root.first = l.Index
			}
			root.first, root.layers = min(root.first, l.Index), max(root.layers, l.Index+1)
			root.fromLayer = root.fromLayer || l.start-root.start <= sameInstant
			root.toLayer = root.end-l.end <= sameInstant
		}
	}
	f.Distinct = len(distinct)
}

// call is a call of a model.
type call struct {
	*frameSpan
	layers []frameSpan
}

// calls are the calls that hold layers, by thread and time.
func (f *Frames) calls() (calls []call) {
	for _, thread := range slices.Sorted(maps.Keys(f.Layers)) {
		for layers := range runs(f.Layers[thread], func(a, b *frameSpan) bool { return a.root == b.root }) {
			calls = append(calls, call{&f.roots[thread][layers[0].root], layers})
		}
	}
	return calls
}

// firstPlace is the place of the first layer of a call that no other call explains: its number, where the layers of
// one class are numbered in the order of their calls and begin within a stack. A second instance of a class goes on
// with the first one's numbers: {36…71} are the layers 0…35 of that model.
func (c *call) firstPlace() int {
	for k := range c.layers {
		if c.layers[k].class != c.layers[0].class || k > 0 && c.layers[k].Index <= c.layers[k-1].Index {
			return 0
		}
	}
	if first := c.layers[0].Index; c.joined || first < len(c.layers) {
		return first
	}
	return 0
}

// cutFramed looks at the first and the last pass, if frames show their layers: the window may cut them.
func (w *Work) cutFramed(results []*Result, m *Model) {
	for p, r := range results {
		if r.LayerEvidence == RungModule && r.Cut == Uncut {
			r.Cut = partialOf(segment.Cuts{Start: p == 0 && w.beginsWithin(r), End: p == len(results)-1 &&
				w.endsWithin(r, m, len(results) == 1)})
			if r.Cut != Uncut {
				r.doubtFramed(m)
			}
		}
	}
}

// beginsWithin says that the window does not hold the beginning of a pass: frames of layers whose kernels are not in
// the trace, a call whose own frame is missing and whose layers are not the first ones, or one that began with a
// layer, before which nothing was launched.
func (w *Work) beginsWithin(r *Result) bool {
	first := slices.Index(w.Order, r.Kernels[0])
	return r.First > r.framed.first || r.First > 0 && r.framed.joined ||
		r.framed.fromLayer && r.Layer[0] != None && !slices.ContainsFunc(w.Order[:first], w.Known)
}

// endsWithin says the same of its end. only says that no other pass of the model shows whether calls have a frame of
// their own.
func (w *Work) endsWithin(r *Result, m *Model, only bool) bool {
	next := r.First + r.Count
	if next < r.framed.layers || r.framed.joined && (next < m.Layers || only && r.First == 0) {
		return true
	}
	last := len(r.Kernels) - 1
	return r.Layer[last] != None && r.Kernels[last] == w.Order[len(w.Order)-1] && (next < m.Layers || r.framed.toLayer)
}

// doubtFramed notes which layers of a cut pass are cut, and that nothing shows which layers these are, or how many
// the model has, where no other pass and no config shows it.
func (r *Result) doubtFramed(m *Model) {
	ends := r.Cut.ends()
	if layers := r.byLayer(); r.Count > 1 {
		n := r.Count
		r.CutFirst, r.CutLast = ends.Start && len(layers[0].List) < len(layers[1].List), ends.End &&
			len(layers[n-1].List) < len(layers[n-2].List)
	}
	if m.Source != FromModules || m.Layers > r.framed.layers {
		return
	}
	r.FromEnd = ends.Start && r.First == 0
	if r.FromEnd || r.framed.joined || r.framed.toLayer {
		r.LayerConf = min(r.LayerConf, segment.CapBack)
	}
}
