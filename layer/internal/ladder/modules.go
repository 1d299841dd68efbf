package ladder

import (
	"math"
	"regexp"
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
	root       int32      // index into frames.roots
	around     *frameSpan // of a layer: the module that calls it, with class and end
	// Of a root: how many modules are inside, the first layer and the one behind the last that frames show, whether its own frame was not recorded,
	// and whether it begins and ends at the very instants at which layers do: then the window shows nothing around them.
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
// GPT2Block, EncoderLayer. A module inside such a layer (MoE block, LayerNorm's layer) does not count: the outermost wins.
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
	if f == nil {
		return nil
	}
	if f.Distinct == 0 {
		// No class is named like a layer. A class with many instances directly below one module is one all the same.
		if class := repeatedClass(t); class != "" {
			return collectFrames(t, func(c string) bool { return c == class })
		}
	}
	return f
}

func collectFrames(t *trace.Trace, isLayer func(class string) bool) *Frames {
	f := &Frames{roots: map[trace.ThreadIndex][]frameSpan{}, Layers: map[trace.ThreadIndex][]frameSpan{}, hasLayers: map[string]bool{}}
	type parsed struct {
		class string
		index int
		layer bool
	}
	memo := map[trace.NameID]parsed{}
	any := false
	var rootEnd, layerEnd trace.Time
	var open []frameSpan // modules around the event
	thread := trace.ThreadIndex(trace.None)
	for e := range t.Events(event.LanePython) {
		if e.Kind() != event.Module {
			continue
		}
		any = true
		if e.Thread() != thread {
			thread, rootEnd, layerEnd, open = e.Thread(), math.MinInt64, math.MinInt64, open[:0]
		}
		p, ok := memo[e.NameID()]
		if !ok {
			p.class, p.index, _ = SplitModule(e.Name())
			p.layer = p.index >= 0 && p.index <= math.MaxInt16 && isLayer(p.class)
			memo[e.NameID()] = p
		}
		span := frameSpan{start: e.Start(), end: e.End(), class: p.class, Index: p.index}
		for len(open) > 0 && span.start >= open[len(open)-1].end {
			open = open[:len(open)-1]
		}
		if e.Start() >= rootEnd {
			rootEnd = e.End()
			f.roots[thread] = append(f.roots[thread], span)
		} else {
			f.roots[thread][len(f.roots[thread])-1].inner++
		}
		if p.layer && e.Start() >= layerEnd {
			layerEnd = e.End()
			span.root, span.around = int32(len(f.roots[thread])-1), &frameSpan{}
			if n := len(open); n > 0 {
				*span.around = open[n-1]
			}
			f.Layers[thread] = append(f.Layers[thread], span)
			f.hasLayers[f.roots[thread][span.root].class] = true
		}
		open = append(open, span)
	}
	if !any {
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
	spent := map[key]int64{}
	var ends []trace.Time
	thread := trace.ThreadIndex(trace.None)
	for e := range t.Events(event.LanePython) {
		if e.Kind() != event.Module {
			continue
		}
		if e.Thread() != thread {
			thread, ends = e.Thread(), ends[:0]
		}
		for len(ends) > 0 && e.Start() >= ends[len(ends)-1] {
			ends = ends[:len(ends)-1]
		}
		class, index, _ := SplitModule(e.Name())
		if len(ends) > 0 && index >= 0 { // a root is a pass, not a layer
			k := key{len(ends), class}
			if indices[k] == nil {
				indices[k] = map[int]bool{}
			}
			indices[k][index] = true
			spent[k] += int64(e.Duration())
		}
		ends = append(ends, e.End())
	}
	var keys []key
	for k, m := range indices {
		if len(m) >= 3 {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		switch {
		case a.depth != b.depth:
			return a.depth < b.depth
		case spent[a] != spent[b]:
			return spent[a] > spent[b]
		}
		return a.class < b.class
	})
	return keys[0].class
}

// SpanAt returns the span that holds x, −1 for none. Spans are disjoint and sorted; ends are inclusive, as a launch call may
// start on the last tick of its frame.
func SpanAt(spans []frameSpan, x trace.Time) int {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].start > x }) - 1
	if i >= 0 && spans[i].end >= x {
		return i
	}
	return -1
}

// layerOf returns the frame of the layer that launched kernel i, nil outside layers; told is false where the frames say nothing: no launch,
// or a graph launch, whose kernels the frames around it do not distinguish.
func (w *Work) layerOf(f *Frames, i int32) (layer *frameSpan, told bool) {
	if !w.Known(i) || w.Replayed(i) {
		return nil, false
	}
	spans := f.Layers[w.thread(i)]
	if k := SpanAt(spans, w.at(i)); k >= 0 {
		return &spans[k], true
	}
	return nil, true
}
