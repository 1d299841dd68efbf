package ladder

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// stackLayers is the least number of layers that two modules of one model hold, for each to be a stack of its own: a vision tower and a
// language model, an encoder and a decoder. A single layer beside a stack is a part of it.
const stackLayers = 2

// sameInstant is how far times may lie apart that a recorder or a script cut at one instant, in nanoseconds: both are rounded to a nanosecond
// by most, after a sum. A call of a function takes Python longer.
const sameInstant = 2

// settle makes calls of models of the frames as they were recorded: calls whose own frame is not in the trace, calls that hold several
// stacks of layers. It numbers layers by the order in which they are called.
func (f *Frames) settle() {
	names := f.modelsOfLayers()
	for thread := range f.roots {
		f.joinBare(thread, names)
		f.splitStacks(thread)
	}
	f.number()
	for thread, layers := range f.Layers {
		for k := range layers {
			layers[k].around = nil // there are many, and stacks are told
		}
		f.Layers[thread] = slices.Clip(layers)
	}
}

// modelsOfLayers says which class of outermost modules holds layers of a class, "" where several do.
func (f *Frames) modelsOfLayers() map[string]string {
	names := map[string]string{}
	for thread, layers := range f.Layers {
		for k := range layers {
			root := &f.roots[thread][layers[k].root]
			if layers[k].is(root) {
				continue
			}
			if name, seen := names[layers[k].class]; !seen {
				names[layers[k].class] = root.class
			} else if name != root.class {
				names[layers[k].class] = ""
			}
		}
	}
	return names
}

// is reports whether two frames are one.
func (s *frameSpan) is(other *frameSpan) bool {
	return s.start == other.start && s.end == other.end && s.class == other.class && s.Index == other.Index
}

// joinBare makes one call of layers that are outermost modules one behind the other: the frame of the call that they belong to began before
// the window, ended behind it, or was not recorded. Where a layer is called that was called before, another call begins. One layer by
// itself, of a class that no call holds, stays a model of one layer.
func (f *Frames) joinBare(thread trace.ThreadIndex, names map[string]string) {
	roots, layers := f.roots[thread], f.Layers[thread]
	var out []frameSpan
	to := make([]int32, len(roots)) // the new place of each
	runs := f.bareRuns(roots, layers)
	for r := 0; r < len(roots); r++ {
		call, last := roots[r], r
		if len(runs) > 0 && runs[0][0] == r {
			name := names[call.class]
			if last = runs[0][1]; last > r || name != "" {
				call.joined = true
				call.class, call.end = cmp.Or(name, call.class), roots[last].end
				for _, inside := range roots[r+1 : last+1] {
					call.inner += inside.inner + 1
				}
				f.hasLayers[call.class] = true
			}
			runs = runs[1:]
		}
		for ; r <= last; r++ {
			to[r] = int32(len(out))
		}
		r = last
		out = append(out, call)
	}
	f.roots[thread] = out
	for k := range layers {
		layers[k].root = to[layers[k].root]
	}
}

// bareRuns returns the first and the last outermost module of each run of layers that are outermost modules themselves. Small modules lie
// between them, other calls of models do not.
func (f *Frames) bareRuns(roots, layers []frameSpan) (runs [][2]int) {
	called := map[string]int{} // by class, the last layer of the run
	open, l := false, 0
	for r := range roots {
		for l < len(layers) && int(layers[l].root) < r {
			l++
		}
		holds := l < len(layers) && int(layers[l].root) == r
		if !holds || !layers[l].is(&roots[r]) {
			open = open && !holds && roots[r].inner < modelModules
			continue
		}
		if last, again := called[roots[r].class]; open && (!again || roots[r].Index > last) {
			runs[len(runs)-1][1] = r
		} else {
			clear(called)
			runs = append(runs, [2]int{r, r})
		}
		open, called[roots[r].class] = true, roots[r].Index
	}
	return runs
}

// splitStacks makes calls of their own of the stacks in a call: the layers of an encoder, or of a vision tower, lie in another module than
// those that run behind them, and are numbered by themselves.
func (f *Frames) splitStacks(thread trace.ThreadIndex) {
	roots, layers := f.roots[thread], f.Layers[thread]
	var out []frameSpan
	l := 0
	for r := range roots {
		from := l
		for l < len(layers) && int(layers[l].root) == r {
			l++
		}
		rest := roots[r]
		for _, end := range stacksOf(layers[from:l]) {
			part, tower := rest, layers[from].around
			for last := from + end; from < last; from++ {
				layers[from].root = int32(len(out))
			}
			part.class, part.end = tower.class, min(tower.end, layers[from].start-1) // the whole model may be what is around the first stack
			rest.start = part.end + 1
			if rest.class == part.class {
				rest.class = layers[from].around.class
			}
			out = append(out, part)
			f.hasLayers[part.class], f.hasLayers[rest.class] = true, true
		}
		for k := from; k < l; k++ {
			layers[k].root = int32(len(out))
		}
		out = append(out, rest)
	}
	f.roots[thread] = out
}

// stacksOf returns the number of layers in each stack of a call but the last one: stacks lie in modules of different classes, one behind the
// other. It returns nothing where layers of two modules take turns, or where one holds a single layer.
func stacksOf(layers []frameSpan) (ends []int) {
	seen := map[string]bool{}
	from := 0
	for k := 1; k <= len(layers); k++ {
		if k < len(layers) && layers[k].around.class == layers[from].around.class {
			continue
		}
		class := layers[from].around.class
		if seen[class] || k-from < stackLayers {
			return nil
		}
		seen[class] = true
		if k < len(layers) {
			ends = append(ends, k-from)
		}
		from = k
	}
	return ends
}

// layerID names a layer of the recording: the profiler numbers the modules of each class in the order in which it first sees them.
type layerID struct {
	class string
	index int
}

func (s *frameSpan) id() layerID { return layerID{s.class, s.Index} }

// number gives each layer its place in the order in which its model calls them, by the call with most of them: the profiler numbers modules
// of each class by themselves, and from the one that the window shows first.
func (f *Frames) number() {
	calls := f.calls()
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(len(b.layers), len(a.layers)) })
	place := map[layerID]int{}
	for _, c := range calls {
		layers := c.layers
		known := slices.IndexFunc(layers, func(s frameSpan) bool { _, ok := place[s.id()]; return ok })
		at := c.firstPlace()
		if known >= 0 {
			at = place[layers[known].id()] - known
		}
		for k := range layers {
			if p, ok := place[layers[k].id()]; ok {
				at = p + 1
			} else {
				place[layers[k].id()] = at
				at++
			}
		}
	}
	distinct := map[int]bool{}
	for thread, layers := range f.Layers {
		for k := range layers {
			l := &layers[k]
			l.Index = max(None, place[l.id()])
			distinct[l.Index] = true
			root := &f.roots[thread][l.root]
			if root.layers == 0 {
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
	threads := make([]trace.ThreadIndex, 0, len(f.Layers))
	for thread := range f.Layers {
		threads = append(threads, thread)
	}
	slices.Sort(threads)
	for _, thread := range threads {
		layers := f.Layers[thread]
		for from, k := 0, 1; k <= len(layers); k++ {
			if k == len(layers) || layers[k].root != layers[from].root {
				calls = append(calls, call{&f.roots[thread][layers[from].root], layers[from:k]})
				from = k
			}
		}
	}
	return calls
}

// firstPlace is the place of the first layer of a call that no other call explains: its number, where the layers of one class are numbered in
// the order of their calls and begin within a stack. A second instance of a class goes on with the first one's numbers: {36…71} are
// the layers 0…35 of that model.
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

// cutFramed looks at the first and the last pass, if frames tell their layers: the window may cut them.
func (w *Work) cutFramed(results []*Result, m *Model) {
	for p, r := range results {
		if r.LayerEvidence == "module" && r.Cut == Uncut {
			r.Cut = partialOf(segment.Cuts{Start: p == 0 && w.beginsWithin(r), End: p == len(results)-1 && w.endsWithin(r, m, len(results) == 1)})
			r.doubtFramed(m)
		}
	}
}

// beginsWithin says that the window does not hold the beginning of a pass: frames of layers whose kernels are not in the trace, a call whose
// own frame is missing and whose layers are not the first ones, or one that began with a layer, before which nothing was launched.
func (w *Work) beginsWithin(r *Result) bool {
	first := slices.Index(w.Order, r.Kernels[0])
	return r.First > r.framed.first || r.First > 0 && r.framed.joined ||
		r.framed.fromLayer && r.Layer[0] != None && !slices.ContainsFunc(w.Order[:first], w.Known)
}

// endsWithin says the same of its end. only says that no other pass of the model shows whether calls have a frame of their own.
func (w *Work) endsWithin(r *Result, m *Model, only bool) bool {
	next := r.First + r.Count
	if next < r.framed.layers || r.framed.joined && (next < m.Layers || only && r.First == 0) {
		return true
	}
	last := len(r.Kernels) - 1
	return r.Layer[last] != None && r.Kernels[last] == w.Order[len(w.Order)-1] && (next < m.Layers || r.framed.toLayer)
}

// doubtFramed notes which layers of a cut pass are cut, and that nothing tells which layers these are, or how many the model has, where no
// other pass and no config shows it.
func (r *Result) doubtFramed(m *Model) {
	ends := r.Cut.ends()
	size := make([]int, r.Count)
	for _, l := range r.Layer {
		if l != None {
			size[int(l)-r.First]++
		}
	}
	n := r.Count
	r.CutFirst, r.CutLast = ends.Start && n > 1 && size[0] < size[1], ends.End && n > 1 && size[n-1] < size[n-2]
	if r.Cut == Uncut || m.Source != "modules" || m.Layers > r.framed.layers {
		return
	}
	r.FromEnd = ends.Start && r.First == 0
	if r.FromEnd || r.framed.joined || r.framed.toLayer {
		r.LayerConf = min(r.LayerConf, params.CapBack)
	}
}
