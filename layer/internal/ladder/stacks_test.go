package ladder

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// roots writes the calls of models of thread 1: class, from when to when, how many modules are inside; then the
// layers that it holds, if any, and what was seen of the call itself.
func roots(f *Frames) string {
	var out []string
	for _, thread := range []trace.ThreadIndex{0, 1, 2} {
		for _, r := range f.roots[thread] {
			s := fmt.Sprintf("%s %d-%d %d inside", r.class, r.start, r.end, r.inner)
			if r.layers > 0 {
				s += fmt.Sprintf(" layers %d-%d", r.first, r.layers-1)
			}
			if r.joined {
				s += " joined"
			}
			if r.fromLayer {
				s += " from"
			}
			if r.toLayer {
				s += " to"
			}
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}

// TestCallsOfModels: which calls of models frames show, how long they are, what they hold.
func TestCallsOfModels(t *testing.T) {
	f := func(name string, start, end int64) frame { return frame{name, start, end, 0} }
	for _, c := range []struct {
		name   string
		frames []frame
		want   []string
	}{
		{"a call", []frame{f("Model_0", 0, 100), f("DecoderLayer_0", 10, 40), f("DecoderLayer_1", 50, 90)},
			[]string{"Model 0-100 2 inside layers 0-1"}},
		{"layers at its ends, to a rounding", []frame{f("Model_0", 0, 100), f("DecoderLayer_0", 2, 40),
			f("DecoderLayer_1", 50, 98)}, []string{"Model 0-100 2 inside layers 0-1 from to"}},
		{"a little further apart", []frame{f("Model_0", 0, 100), f("DecoderLayer_0", 3, 40),
			f("DecoderLayer_1", 50, 97)}, []string{"Model 0-100 2 inside layers 0-1"}},
		{"the window shows the last layers of the first call",
			[]frame{f("Model_0", 0, 100), f("DecoderLayer_2", 10, 40), f("DecoderLayer_3", 50, 90),
				f("Model_0", 200, 300), f("DecoderLayer_0", 210, 220), f("DecoderLayer_1", 230, 240),
				f("DecoderLayer_2", 250, 260), f("DecoderLayer_3", 270, 280)},
			[]string{"Model 0-100 2 inside layers 2-3", "Model 200-300 4 inside layers 0-3"}},
		{"layers whose call has no frame", []frame{f("DecoderLayer_3", 0, 10), f("Linear_0", 2, 4),
			f("DecoderLayer_4", 20, 30), f("DecoderLayer_5", 40, 50), f("Linear_1", 42, 44), f("Linear_2", 45, 46)},
			[]string{"DecoderLayer 0-50 5 inside layers 3-5 joined from to"}},
		{"small modules between them", []frame{f("DecoderLayer_3", 0, 10), f("Embedding_0", 12, 14),
			f("DecoderLayer_4", 20, 30)}, []string{"DecoderLayer 0-30 2 inside layers 3-4 joined from to"}},
		{"small modules behind them", []frame{f("DecoderLayer_3", 0, 10), f("DecoderLayer_4", 20, 30),
			f("Sampler_0", 42, 44)}, []string{"DecoderLayer 0-30 1 inside layers 3-4 joined from to",
			"Sampler 42-44 0 inside"}},
		{"layers that are called again", []frame{f("DecoderLayer_0", 0, 10), f("DecoderLayer_1", 20, 30),
			f("DecoderLayer_0", 40, 50), f("DecoderLayer_1", 60, 70)},
			[]string{"DecoderLayer 0-30 1 inside layers 0-1 joined from to",
				"DecoderLayer 40-70 1 inside layers 0-1 joined from to"}},
		{"one layer of a class that no call holds", []frame{f("EncoderLayer_0", 0, 10)},
			[]string{"EncoderLayer 0-10 0 inside layers 0-0 from to"}},
		{"one layer of a class that a call holds", []frame{f("DecoderLayer_1", 0, 10), f("Model_0", 100, 200),
			f("DecoderLayer_0", 110, 120), f("DecoderLayer_1", 130, 140)},
			[]string{"Model 0-10 0 inside layers 1-1 joined from to", "Model 100-200 2 inside layers 0-1"}},
		{"a layer within a layer whose call has no frame",
			[]frame{f("DecoderLayer_0", 0, 40), f("ExpertLayer_0", 10, 20), f("DecoderLayer_1", 50, 90)},
			[]string{"DecoderLayer 0-90 2 inside layers 0-1 joined from to"}},
		{"a layer that ends behind its call", []frame{f("Model_0", 0, 100), f("DecoderLayer_0", 10, 101),
			f("Model_0", 100, 200), f("DecoderLayer_0", 110, 190)},
			[]string{"Model 0-100 1 inside layers 0-0 to", "Model 100-200 1 inside layers 0-0"}},
		{"two stacks in a call", []frame{f("Model_0", 0, 200), f("Vision_0", 10, 90), f("VisionBlock_0", 20, 40),
			f("VisionBlock_1", 50, 70), f("Text_0", 100, 190), f("DecoderLayer_0", 110, 120),
			f("DecoderLayer_1", 130, 140)},
			[]string{"Vision 0-90 6 inside layers 0-1", "Model 91-200 6 inside layers 0-1"}},
		{"the first stack in the model itself", []frame{f("Model_0", 0, 200), f("VisionBlock_0", 20, 40),
			f("VisionBlock_1", 50, 70), f("Text_0", 100, 190), f("DecoderLayer_0", 110, 120),
			f("DecoderLayer_1", 130, 140)},
			[]string{"Model 0-109 5 inside layers 0-1", "Text 110-200 5 inside layers 0-1 from"}},
		{"layers of several classes in turns", []frame{f("Model_0", 0, 100), f("AttentionLayer_0", 10, 20),
			f("MambaLayer_0", 30, 40), f("AttentionLayer_1", 50, 60), f("MambaLayer_1", 70, 80)},
			[]string{"Model 0-100 4 inside layers 0-3"}},
	} {
		tr := framed(c.frames...)
		if got, want := roots(ReadFrames(tr)), strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// TestRunsOfBareLayers: a call of 32 modules between layers ends their run, one of 31 does not.
func TestRunsOfBareLayers(t *testing.T) {
	for inner, want := range map[int]string{31: "DecoderLayer 0-50 33 inside joined",
		32: "DecoderLayer 0-10 0 inside\nOther 20-30 32 inside\nDecoderLayer 40-50 0 inside"} {
		calls := []frameSpan{{class: "DecoderLayer", start: 0, end: 10, layer: true},
			{class: "Other", start: 20, end: 30, inner: inner},
			{class: "DecoderLayer", start: 40, end: 50, Index: 1, layer: true}}
		layers := []frameSpan{calls[0], calls[2]}
		layers[1].root = 2
		f := &Frames{roots: map[trace.ThreadIndex][]frameSpan{1: calls},
			Layers: map[trace.ThreadIndex][]frameSpan{1: layers}}
		if f.joinBare(1, nil); roots(f) != want {
			t.Errorf("%d modules: %s, want %s", inner, roots(f), want)
		}
	}
}

// TestLayersOfOtherNames: where no class is named like a layer, the one called with three numbers at least is
// one.
func TestLayersOfOtherNames(t *testing.T) {
	model := frame{"Model_0", 0, 100, 0}
	for _, c := range []struct {
		frames []frame
		want   int
	}{
		{[]frame{model, {"Part_0", 10, 20, 0}, {"Part_1", 30, 40, 0}, {"Part_2", 50, 60, 0}}, 3},
		{[]frame{model, {"Part_0", 10, 20, 0}, {"Part_1", 30, 40, 0}}, 0},
		{[]frame{model, {"DecoderLayer_32767", 10, 20, 0}}, 1},
		{[]frame{model, {"DecoderLayer_32768", 10, 20, 0}}, 0},
		{[]frame{model, {"DecoderLayer_0", 5, 8, 0}, {"Part_0", 10, 20, 0}, {"Part_1", 30, 40, 0},
			{"Part_2", 50, 60, 0}}, 1},
	} {
		if f := ReadFrames(framed(c.frames...)); f.Distinct != c.want {
			t.Errorf("%v: %d layers, want %d", c.frames, f.Distinct, c.want)
		}
	}
}

// TestPassesThatTheWindowCuts: of passes under frames the first one may begin within its call, and the last one end
// within it. The only call whose own frame is missing (j) may go on, of several the others show that it does not.
func TestPassesThatTheWindowCuts(t *testing.T) {
	for want, passes := range map[string][]string{"-": {"01"}, "<": {"1"}, ">": {"0"}, "- -": {"01", "01"},
		"< -": {"1", "01"}, "- >": {"01", "0"}, "- - >": {"01", "01", "0"}, "< - -": {"1", "01", "01"},
		"- - -": {"01", "0", "01"}, "-  - -": {"01", "1", "01"}, " >": {"j01"}, " - -": {"j01", "j01"}} {
		w, kernels := lettered(strings.Repeat("xky", 2*len(passes)))
		var results []*Result
		for p, layers := range passes {
			layers, joined := strings.CutPrefix(layers, "j")
			r := &Result{Span: Span{Kernels: kernels[6*p : 6*p+6]}, LayerEvidence: "module", LayerConf: 1,
				First: int(layers[0] - '0'), Count: len(layers), framed: frameSpan{layers: 2, joined: joined}}
			r.Layer = slices.Repeat([]int32{None}, 6)
			for k, l := range layers {
				r.Layer[1+k] = l - '0'
			}
			results = append(results, r)
		}
		w.cutFramed(results, &Model{Layers: 2, Source: "modules"})
		var got []string
		for _, r := range results {
			got = append(got, map[Partial]string{Uncut: "-", CutAtStart: "<", CutAtEnd: ">"}[r.Cut])
		}
		if s := strings.Join(got, " "); s != strings.Join(strings.Fields(want), " ") {
			t.Errorf("layers %v: %s, want %s", passes, s, want)
		}
	}
}

// TestDeepPaths: of a path of more than 64 modules the innermost ones are named.
func TestDeepPaths(t *testing.T) {
	for deep, want := range map[int]string{1: "M_0", 64: "M_0", 65: "M_1", 700: "M_636"} {
		var modules []trace.EventData
		for i := range deep {
			modules = append(modules, module(fmt.Sprintf("M_%d", i), int64(i), 9000-int64(i)))
		}
		w, _ := workOfAll(modules, launched("k", 2000)...)
		path := w.ModulePaths().Of(0)
		if len(path) != min(deep, MaxModules) || path[0] != want || path[len(path)-1] != fmt.Sprintf("M_%d", deep-1) {
			t.Errorf("%d modules: %d from %s, want %s", deep, len(path), path[0], want)
		}
	}
	w, _ := workOfAll([]trace.EventData{span(event.Frame, "server.py(1): serve", 0, 9000)}, launched("k", 2000)...)
	if w.ModulePaths() != nil {
		t.Error("functions are modules")
	}
}
