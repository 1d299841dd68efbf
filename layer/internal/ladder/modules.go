package ladder

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// A frameSpan is a module frame on a thread.
type frameSpan struct {
	start, end trace.Time
	class      string
	Index      int
	layer      bool       // a layer, or inside one
	until      trace.Time // when it ends, or what is around it
	// Of a layer: its place in frames.roots, the class of the module that calls it, and when that ends.
	root      int32
	around    string
	aroundEnd trace.Time
	// Of a root: how many modules are inside, the first layer and the one after the last that frames show, whether
	// its own frame was not recorded, and whether it begins and ends at the very instants at which layers do: then
	// the window shows nothing around them.
	inner, first, layers       int
	joined, fromLayer, toLayer bool
}

// Frames are the module frames that matter: the outermost ones and the outermost layer in each.
type Frames struct {
	roots  map[trace.ThreadIndex][]frameSpan // per thread, by start, disjoint
	Layers map[trace.ThreadIndex][]frameSpan
	// passClass says which root classes hold layers, or failing that most kernels.
	hasLayers map[string]bool
	Distinct  int // distinct layer indices
}

// ModulePrefix opens the names of module frames.
const ModulePrefix = "nn.Module: "

// layerClass matches the classes that frameworks give decoder layers: Qwen3DecoderLayer, TransformerBlock, BertLayer,
// GPT2Block, EncoderLayer. A module inside such a layer (MoE block, LayerNorm's layer) does not count: the outermost
// wins.
var layerClass = regexp.MustCompile(`^\w*(?:DecoderLayer|TransformerBlock|Block|EncoderLayer|Layer)$`)

// SplitModule takes "nn.Module: Qwen3DecoderLayer_17" apart.
func SplitModule(name string) (class string, index int, ok bool) {
	s, ok := strings.CutPrefix(name, ModulePrefix)
	if !ok {
		return "", 0, false
	}
	i := strings.LastIndexByte(s, '_')
	if i < 0 {
		return s, -1, true
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil {
		return s, -1, true
	}
	return s[:i], n, true
}

// ReadFrames walks the module frames once. It returns nil when the trace has none.
func ReadFrames(t *trace.Trace) *Frames {
	f := collectFrames(t, layerClass.MatchString)
	if f != nil && f.Distinct == 0 {
		// No class is named like a layer. A class with many instances directly below one module is one all the same.
		if class := repeatedClass(t); class != "" {
			return collectFrames(t, func(c string) bool { return c == class })
		}
	}
	return f
}

// modules returns the module frames of one thread after the other, by start, and with each those that it lies in:
// outermost first, itself last.
func modules(t *trace.Trace, isLayer func(class string) bool) iter.Seq2[trace.ThreadIndex, []frameSpan] {
	return func(yield func(trace.ThreadIndex, []frameSpan) bool) {
		memo := map[trace.NameID]*frameSpan{}
		thread := trace.ThreadIndex(trace.None)
		var open []frameSpan
		for e := range t.OfKind(event.Module) {
			if e.Thread() != thread {
				thread, open = e.Thread(), open[:0]
			}
			for len(open) > 0 && e.Start() >= open[len(open)-1].until {
				open = open[:len(open)-1]
			}
			known := memo[e.NameID()]
			if known == nil {
				known = &frameSpan{}
				known.class, known.Index, _ = SplitModule(e.Name())
				known.layer = known.Index >= 0 && known.Index <= math.MaxInt16 && isLayer(known.class)
				memo[e.NameID()] = known
			}
			open = append(open, *known)
			n := len(open) - 1
			span := &open[n]
			if span.start, span.end, span.until = e.Start(), e.End(), e.End(); n > 0 {
				span.layer, span.until = span.layer || open[n-1].layer, min(span.until, open[n-1].until)
			}
			if !yield(thread, open) {
				return
			}
		}
	}
}

// collectFrames keeps the outermost modules, and the outermost layers in them; it returns nil where there are no
// modules.
func collectFrames(t *trace.Trace, isLayer func(class string) bool) *Frames {
	f := &Frames{roots: map[trace.ThreadIndex][]frameSpan{}, Layers: map[trace.ThreadIndex][]frameSpan{},
		hasLayers: map[string]bool{}}
	for thread, open := range modules(t, isLayer) {
		span, outer := &open[len(open)-1], open[:len(open)-1]
		if len(outer) == 0 {
			f.roots[thread] = append(f.roots[thread], *span)
		} else {
			f.roots[thread][len(f.roots[thread])-1].inner++
		}
		if !span.layer || len(outer) > 0 && outer[len(outer)-1].layer {
			continue
		}
		span.root = int32(len(f.roots[thread]) - 1)
		if n := len(outer); n > 0 {
			span.around, span.aroundEnd = outer[n-1].class, outer[n-1].end
		}
		f.Layers[thread] = append(f.Layers[thread], *span)
	}
	if len(f.roots) == 0 {
		return nil
	}
	f.settle()
	return f
}

// repeatedClass finds the class of modules with the most time among those that occur with at least three indices at the
// shallowest depth where any does.
func repeatedClass(t *trace.Trace) string {
	type key struct {
		depth int
		class string
	}
	indices := map[key]map[int]bool{}
	spent := map[key]trace.Time{}
	for _, open := range modules(t, func(string) bool { return false }) {
		s := &open[len(open)-1]
		if k := (key{len(open), s.class}); k.depth > 1 && s.Index >= 0 { // a root is a pass, not a layer
			if indices[k] == nil {
				indices[k] = map[int]bool{}
			}
			indices[k][s.Index] = true
			spent[k] += s.end - s.start
		}
	}
	maps.DeleteFunc(indices, func(_ key, numbers map[int]bool) bool { return len(numbers) < 3 })
	if len(indices) == 0 {
		return ""
	}
	return slices.MinFunc(slices.Collect(maps.Keys(indices)), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(spent[b], spent[a]), cmp.Compare(a.class, b.class))
	}).class
}

// SpanAt returns the span that holds x, −1 for none. Spans are disjoint and sorted; ends are inclusive, as a launch
// call may start on the last tick of its frame.
func SpanAt(spans []frameSpan, x trace.Time) int {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].start > x }) - 1
	if i >= 0 && spans[i].end >= x {
		return i
	}
	return -1
}

// layerOf returns the frame of the layer that launched kernel i, nil outside layers; known is false where the frames
// say nothing: no launch, or a graph launch, whose kernels the frames around it do not distinguish.
func (w *Work) layerOf(f *Frames, i int32) (layer *frameSpan, known bool) {
	if !w.Known(i) || w.Replayed(i) {
		return nil, false
	}
	spans := f.Layers[w.thread(i)]
	if k := SpanAt(spans, w.at(i)); k >= 0 {
		return &spans[k], true
	}
	return nil, true
}
