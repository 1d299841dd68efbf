package ladder

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

func TestModuleNames(t *testing.T) {
	for name, want := range map[string]string{
		"nn.Module: Qwen3DecoderLayer_17": "Qwen3DecoderLayer 17 true", "nn.Module: Linear": "Linear -1 true",
		"nn.Module: Linear_0": "Linear 0 true", "nn.Module: A_b": "A_b -1 true",
		"nn.Module: A_1_2": "A_1 2 true", "server.py(1): f": " 0 false", "nn.Module: _3": " 3 true",
	} {
		class, index, ok := SplitModule(name)
		if got := fmt.Sprint(class, " ", index, " ", ok); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestSpanAt: both ends of a span are in it.
func TestSpanAt(t *testing.T) {
	spans := []frameSpan{{start: 10, end: 20}, {start: 30, end: 40}}
	for x, want := range map[trace.Time]int{9: -1, 10: 0, 20: 0, 21: -1, 29: -1, 30: 1, 40: 1, 41: -1} {
		if got := SpanAt(spans, x); got != want {
			t.Errorf("at %d: span %d, want %d", x, got, want)
		}
	}
	if SpanAt(nil, 5) != -1 {
		t.Error("no span holds a time")
	}
}

// frame is a module of thread 1, or of another one.
type frame struct {
	name       string
	start, end int64
	thread     int64
}

func framed(frames ...frame) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	for _, f := range frames {
		b.Add(trace.EventData{Kind: event.Module, Name: "nn.Module: " + f.name, Start: f.start,
			Duration: f.end - f.start, Thread: 1 + f.thread, Device: trace.None, Stream: trace.None})
	}
	b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: 0, Duration: 1, Stream: 7})
	return built.Trace(b)
}

// TestRepeatedClass: where no class has the name of a layer, that is one with three instances at least, at the
// shallowest depth, that takes most time.
func TestRepeatedClass(t *testing.T) {
	below := func(class string, n int, from, each int64) (out []frame) {
		for i := range int64(n) {
			out = append(out, frame{fmt.Sprintf("%s_%d", class, i), from + i*each, from + (i+1)*each - 1, 0})
		}
		return out
	}
	model := frame{"Model_0", 0, 1000, 0}
	for _, c := range []struct {
		what   string
		frames []frame
		want   string
	}{
		{"three", append(below("Part", 3, 10, 10), model), "Part"},
		{"two", append(below("Part", 2, 10, 10), model), ""},
		{"roots", below("Part", 4, 10, 10), ""},
		{"the one with most time", slices.Concat([]frame{model}, below("Small", 3, 10, 10), below("Large", 3, 100, 20)),
			"Large"},
		{"of equals by name", slices.Concat([]frame{model}, below("B", 3, 10, 10), below("A", 3, 100, 10)), "A"},
		{"the shallowest", slices.Concat([]frame{model, {"Holder_0", 10, 500, 0}}, below("Deep", 3, 20, 100),
			below("Flat", 3, 600, 10)), "Flat"},
		{"one instance often", []frame{model, {"Part_0", 10, 20, 0}, {"Part_0", 20, 30, 0}, {"Part_0", 30, 40, 0}}, ""},
		{"without numbers", []frame{model, {"Part", 10, 20, 0}, {"Other", 20, 30, 0}, {"Third", 30, 40, 0}}, ""},
	} {
		if got := repeatedClass(framed(c.frames...)); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestStacksOfACall: layers in modules of different classes, one after the other, are stacks of their own; where a
// module holds one layer, or modules take turns, they are one.
func TestStacksOfACall(t *testing.T) {
	for around, want := range map[string]string{"": "[]", "aa": "[]", "aabb": "[2]", "aaabbcc": "[3 5]", "abb": "[]",
		"abbb": "[]", "aab": "[]", "aabbaa": "[]", "aabbb": "[2]"} {
		var layers []frameSpan
		for _, c := range around {
			layers = append(layers, frameSpan{around: string(c)})
		}
		if got := fmt.Sprint(stacksOf(layers)); got != want {
			t.Errorf("%q: %s, want %s", around, got, want)
		}
	}
}

// TestFirstPlaceOfACall: layers of one class that count up have the number they say, if they begin within a stack of
// as many, or their call is not whole.
func TestFirstPlaceOfACall(t *testing.T) {
	for _, c := range []struct {
		indices []int
		joined  bool
		want    int
	}{{[]int{0, 1, 2}, false, 0}, {[]int{2, 3, 4}, false, 2}, {[]int{3, 4, 5}, false, 0}, {[]int{36, 37}, false, 0},
		{[]int{36, 37}, true, 36}, {[]int{1, 0, 2}, true, 0}, {[]int{1, 1}, true, 0}, {[]int{1, 3}, false, 1}} {
		k := call{frameSpan: &frameSpan{joined: c.joined}}
		for _, i := range c.indices {
			k.layers = append(k.layers, frameSpan{class: "L", Index: i})
		}
		if got := k.firstPlace(); got != c.want {
			t.Errorf("%v, joined %v: %d, want %d", c.indices, c.joined, got, c.want)
		}
	}
	if got := (&call{&frameSpan{joined: true}, []frameSpan{{class: "L", Index: 4},
		{class: "M", Index: 5}}}).firstPlace(); got != 0 {
		t.Errorf("of two classes: %d, want 0", got)
	}
}

// TestFramesOfLayers: the layers of each call of a model, numbered in the order of their calls.
func TestFramesOfLayers(t *testing.T) {
	model := func(at int64, class string, indices ...int) []frame {
		out := []frame{{class + "_0", at, at + 100, 0}}
		for i, n := range indices {
			out = append(out, frame{fmt.Sprintf("DecoderLayer_%d", n), at + 5 + 20*int64(i), at + 20 + 20*int64(i), 0})
		}
		return out
	}
	says := func(f *Frames) string {
		if f == nil {
			return "none"
		}
		var out []string
		for _, layers := range f.Layers {
			for _, l := range layers {
				out = append(out, fmt.Sprintf("%d.%d", l.root, l.Index))
			}
		}
		return fmt.Sprint(strings.Join(out, " "), ", ", f.Distinct, " layers")
	}
	for _, c := range []struct {
		what   string
		frames []frame
		want   string
	}{
		{"no frames", nil, "none"},
		{"no layers", []frame{{"Sampler_0", 0, 10, 0}}, ", 0 layers"},
		{"two calls", slices.Concat(model(0, "Model", 0, 1, 2), model(200, "Model", 0, 1, 2)),
			"0.0 0.1 0.2 1.0 1.1 1.2, 3 layers"},
		{"the window shows the last ones first", slices.Concat(model(0, "Model", 9, 10),
			model(200, "Model", 7, 8, 9, 10)), "0.2 0.3 1.0 1.1 1.2 1.3, 4 layers"},
		{"a call that ends with layers of its own", slices.Concat(model(0, "Model", 0, 1, 2),
			model(200, "Model", 2, 3)), "0.0 0.1 0.2 1.2 1.3, 4 layers"},
		{"layers inside a layer", append(model(0, "Model", 0, 1), frame{"DecoderLayer_7", 8, 12, 0}),
			"0.0 0.1, 2 layers"},
		{"layers without a call", []frame{{"DecoderLayer_3", 0, 10, 0}, {"DecoderLayer_4", 20, 30, 0}},
			"0.3 0.4, 2 layers"},
		{"a layer that is called again", []frame{{"DecoderLayer_3", 0, 10, 0}, {"DecoderLayer_4", 20, 30, 0},
			{"DecoderLayer_3", 40, 50, 0}, {"DecoderLayer_4", 60, 70, 0}}, "0.3 0.4 1.3 1.4, 2 layers"},
	} {
		if got := says(ReadFrames(framed(c.frames...))); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// TestModulesAroundLaunches: each kernel's innermost frame, its kind, and the path to it.
func TestModulesAroundLaunches(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	module := func(name string, start, end int64) {
		b.Add(trace.EventData{Kind: event.Module, Name: "nn.Module: " + name, Start: start, Duration: end - start,
			Thread: 1, Device: trace.None, Stream: trace.None})
	}
	launches := []int64{5, 12, 20, 25, 35, 60, 95, 105}
	module("Model_0", 10, 100)
	module("Layer_0", 15, 30)
	module("Linear_0", 20, 25)
	module("Layer_1", 31, 50)
	for i, at := range launches {
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 1, Thread: 1,
			Correlation: uint64(i + 1), Device: trace.None, Stream: trace.None})
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: 1000 + 10*int64(i), Duration: 5, Stream: 7,
			Correlation: uint64(i + 1)})
	}
	rows := make([]int32, len(launches))
	for i := range rows {
		rows[i] = int32(i)
	}
	w := Collect(func() error { return nil }, built.Trace(b), 0, rows)
	m := w.ModulePaths()
	var got []string
	for i := range launches {
		got = append(got, strings.Join(m.Of(int32(i)), "/"))
	}
	if want := []string{"", "Model_0", "Model_0/Layer_0/Linear_0", "Model_0/Layer_0/Linear_0", "Model_0/Layer_1",
		"Model_0", "Model_0", ""}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if w, _ := workOf(act{"k", 7, 0, 10}); w.ModulePaths() != nil || w.ModulePaths().LeafOf(0) != None ||
		w.ModulePaths().Of(0) != nil {
		t.Error("a trace without frames has paths")
	}
}
