package ladder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// span is something that the CPU did on thread 1.
func span(kind event.Kind, name string, start, end int64) trace.EventData {
	return trace.EventData{Kind: kind, Name: name, Start: start, Duration: end - start, Thread: 1, Device: trace.None,
		Stream: trace.None}
}

func annotation(name string, start, end int64) trace.EventData {
	return span(event.Annotation, name, start, end)
}

func module(name string, start, end int64) trace.EventData {
	return span(event.Module, ModulePrefix+name, start, end)
}

// launched are kernels by letters, launched one after the other on thread 1 from a time on, 10 ns apart.
func launched(text string, from int64) (out []run) {
	for k, c := range text {
		name, ok := letters[c]
		if !ok {
			name = "kernel_" + string(c)
		}
		out = append(out, run{name, 7, from + 10*int64(k), 5, from + 10*int64(k), 0, 0})
	}
	return out
}

// stepsOf reads annotations "dialect" or "dialect batch tokens"; a dialect that begins with w is a profiler's.
func stepsOf(name string) (Step, bool) {
	s := Step{Name: name, Step: framework.Step{Batch: -1, Tokens: -1}}
	n, _ := fmt.Sscan(name, &s.Dialect, &s.Batch, &s.Tokens)
	s.Weak = strings.HasPrefix(s.Dialect, "w")
	return s, n == 1 || n == 3
}

// TestProfilerSteps: a profiler's steps under which half of the kernels were launched are searched for passes one by
// one; where each holds one pass, it is the complete step, with more confidence.
func TestProfilerSteps(t *testing.T) {
	const layer = "nqmongad"
	pass := "x" + strings.Repeat(layer, 8) + "iyh"
	for _, c := range []struct {
		name, kernels string
		steps         [][2]int // kernels of each
		want          string
		evidence      string
		conf          float64
	}{
		{"one pass in each", pass + pass, [][2]int{{0, 68}, {68, 136}}, pass + "|" + pass, "annotation",
			max(segment.ConfidenceOneStack, segment.ConfidenceProfilerStep)},
		{"one without layers in each", "abcdef", [][2]int{{0, 3}, {3, 6}}, "abc|def", "annotation",
			segment.ConfidenceProfilerStep},
		{"two passes in one", pass + pass, [][2]int{{0, 136}}, pass + "|" + pass, "structure",
			segment.ConfidenceStructure},
		{"of half of the kernels", "abcdef", [][2]int{{1, 4}}, "bcd", "annotation", segment.ConfidenceProfilerStep},
		{"of two in five", "abcde", [][2]int{{1, 3}}, "abcde", "whole", segment.ConfidenceWhole},
		{"no steps", "abcde", nil, "abcde", "whole", segment.ConfidenceWhole},
		{"no kernels", "", nil, "", "", 0},
	} {
		var more []trace.EventData
		for _, s := range c.steps {
			more = append(more, annotation("w", 1000+10*int64(s[0]), 1000+10*int64(s[1])-1))
		}
		w, _ := workOfAll(more, launched(c.kernels, 1000)...)
		w.ReadStep = stepsOf
		passes, found := w.findPasses(nil, &Model{})
		if got := spell(c.kernels, passes); got != c.want {
			t.Errorf("%s: passes %s, want %s", c.name, got, c.want)
		}
		if c.want == "" && len(found) == 0 {
			continue
		}
		if len(found) != 1 || found[0].Kind != Rung(c.evidence) || found[0].Passes != len(passes) ||
			found[0].Confidence != c.conf {
			t.Errorf("%s: %d passes rest on %+v, want %s, %v", c.name, len(passes), found, c.evidence, c.conf)
		}
	}
}

// TestStepsOfAServer: the dialect under which most kernels were launched has the passes; of two that cover about as
// many, the finer one.
func TestStepsOfAServer(t *testing.T) {
	const kernels = 40
	for _, c := range []struct {
		name  string
		steps string // a line for each dialect, a letter for each step, blank outside of any
		want  string // passes by dialect and number of kernels
	}{
		{"none", "", "none"},
		{"nothing launched in it", "a:" + strings.Repeat(" ", kernels) + "x", "none"},
		{"one kernel", "a:x", "a1"},
		{"two steps", "a:" + strings.Repeat("x", 20) + strings.Repeat("y", 20), "a20 a20"},
		{"the finer one of two", "a:" + strings.Repeat("x", 40) + "\nb:" + strings.Repeat("x", 18) +
			strings.Repeat("y", 18), "b18 b18"},
		{"the finer one holds less", "a:" + strings.Repeat("x", 40) + "\nb:" + strings.Repeat("x", 18) +
			strings.Repeat("y", 17), "a40"},
		{"more kernels in as many steps", "a:" + strings.Repeat("x", 39) + "\nb:" + strings.Repeat("x", 40), "b40"},
		{"more kernels in fewer steps", "a:" + strings.Repeat("x", 15) + strings.Repeat("y", 15) + "\nb:" +
			strings.Repeat("x", 40), "b40"},
		{"a few more in fewer", "a:" + strings.Repeat("x", 18) + strings.Repeat("y", 18) + "\nb:" +
			strings.Repeat("x", 40), "a18 a18"},
	} {
		var more []trace.EventData
		for _, line := range strings.Fields(strings.ReplaceAll(c.steps, " ", "_")) {
			dialect, steps, _ := strings.Cut(line, ":")
			for from := 0; from < len(steps); {
				to := from + 1
				for to < len(steps) && steps[to] == steps[from] {
					to++
				}
				if steps[from] != '_' {
					more = append(more, annotation(dialect, 1000+10*int64(from), 1000+10*int64(to)-1))
				}
				from = to
			}
		}
		w, _ := workOfAll(more, launched(strings.Repeat("k", kernels), 1000)...)
		w.ReadStep = stepsOf
		passes, found := w.passesFromSteps(w.readSteps())
		var got []string
		for _, p := range passes {
			got = append(got, fmt.Sprint(p.Step.Dialect, len(p.Kernels)))
			if p.Evidence != RungAnnotation || p.Conf != 1 {
				t.Errorf("%s: %s, %v", c.name, p.Evidence, p.Conf)
			}
		}
		if len(passes) == 0 {
			got = []string{"none"}
		} else if found.Passes != len(passes) || found.Confidence != 1 {
			t.Errorf("%s: %d passes rest on %+v", c.name, len(passes), found)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// TestStepsInSteps: a step within one of its dialect is none; what another dialect says counts where the step's own
// does not say it, and a batch of none is said.
func TestStepsInSteps(t *testing.T) {
	for _, c := range []struct{ own, other, want string }{
		{"a -1 -1", "b 3 7", "3 7"}, {"a 0 0", "b 3 7", "0 0"}, {"a 2 5", "b 3 7", "2 5"}, {"a -1 5", "b 3 -1", "3 5"},
	} {
		w, _ := workOfAll([]trace.EventData{annotation(c.own, 1000, 1049), annotation("a 9 9", 1010, 1019),
			annotation(c.own, 1050, 1099), annotation("a 9 9", 1060, 1069), annotation(c.other, 1000, 1099)},
			launched("kkkkkkkkkk", 1000)...)
		w.ReadStep = stepsOf
		passes, _ := w.passesFromSteps(w.readSteps())
		if len(passes) != 2 {
			t.Fatalf("%s: %d passes, want 2", c.own, len(passes))
		}
		for _, p := range passes {
			if got := fmt.Sprint(p.Step.Batch, p.Step.Tokens); got != c.want {
				t.Errorf("%s with %s: batch and tokens %s, want %s", c.own, c.other, got, c.want)
			}
		}
	}
	for n, want := range map[int]string{60: strings.Repeat("x", 60), 61: strings.Repeat("x", 59) + "…"} {
		w, _ := workOfAll([]trace.EventData{annotation(strings.Repeat("x", n), 1000, 1099)}, launched("kkk", 1000)...)
		w.ReadStep = stepsOf
		if _, found := w.passesFromSteps(w.readSteps()); !strings.Contains(found.Detail, `"`+want+`"`) {
			t.Errorf("a name of %d bytes: %s", n, found.Detail)
		}
	}
}

// TestCallsOfModulesArePasses: calls of the outermost modules that hold layers are passes, or of those that launched
// most, if half of the kernels are theirs; what smaller modules launch is of the pass before, and of the first one
// where that has lost its own frame.
func TestCallsOfModulesArePasses(t *testing.T) {
	for _, c := range []struct {
		name    string
		kernels string
		modules []trace.EventData
		want    string
	}{
		{"none", "abcd", nil, ""},
		{"a call with layers", "abcdef", []trace.EventData{module("Model_0", 1000, 1039),
			module("DecoderLayer_0", 1000, 1019), module("DecoderLayer_1", 1020, 1039)}, "abcd"},
		{"two calls", "abcdef", []trace.EventData{module("Model_0", 1000, 1029), module("DecoderLayer_0", 1000, 1009),
			module("Model_0", 1030, 1059), module("DecoderLayer_0", 1030, 1049)}, "abc|def"},
		{"a sampler behind each", "abcdef", []trace.EventData{module("Model_0", 1000, 1009),
			module("DecoderLayer_0", 1000, 1009), module("Sampler_0", 1010, 1029), module("Model_0", 1030, 1049),
			module("DecoderLayer_0", 1030, 1049), module("Sampler_0", 1050, 1059)}, "abc|def"},
		{"a sampler in front", "abcdef", []trace.EventData{module("Sampler_0", 1000, 1009),
			module("Model_0", 1010, 1059), module("DecoderLayer_0", 1010, 1049)}, "bcdef"},
		{"an embedding in front of layers without a call", "abcdef",
			[]trace.EventData{module("Embedding_0", 1000, 1009), module("DecoderLayer_0", 1010, 1029),
				module("DecoderLayer_1", 1030, 1059)}, "abcdef"},
		{"and in front of those behind", "abcdef", []trace.EventData{module("DecoderLayer_0", 1000, 1009),
			module("DecoderLayer_1", 1010, 1019), module("Embedding_0", 1020, 1029),
			module("DecoderLayer_0", 1030, 1039), module("DecoderLayer_1", 1040, 1059)}, "abc|def"},
		{"no layers, half of the kernels", "abcdef", []trace.EventData{module("Model_0", 1010, 1039)}, "bcd"},
		{"no layers, two of five kernels", "abcde", []trace.EventData{module("Model_0", 1010, 1029)}, ""},
		{"layers, one of five", "abcde", []trace.EventData{module("Model_0", 1010, 1019),
			module("DecoderLayer_0", 1010, 1019)}, "b"},
	} {
		w, kernels := workOfAll(c.modules, launched(c.kernels, 1000)...)
		f := ReadFrames(w.Trace)
		if f == nil {
			f = &Frames{}
		}
		passes, found := w.passesFromModules(kernels, f)
		if got := spell(c.kernels, passes); got != c.want || len(passes) > 0 != (c.want != "") {
			t.Errorf("%s: %d passes %s, want %s", c.name, len(passes), got, c.want)
		}
		for _, p := range passes {
			if p.Evidence != RungModule || p.Conf != 1 || found.Confidence != 1 || found.Passes != len(passes) {
				t.Errorf("%s: %s, %v; %d passes rest on %+v", c.name, p.Evidence, p.Conf, len(passes), found)
			}
		}
	}
}

// TestModelsByTheirModules: an outermost module that calls 32 modules is a model beside those that hold layers, one
// that calls 31 is a part of the pass before.
func TestModelsByTheirModules(t *testing.T) {
	for n, want := range map[int]string{32: "ab|cd", 31: "abcd"} {
		modules := []trace.EventData{module("Model_0", 1000, 1019), module("DecoderLayer_0", 1000, 1009),
			module("DecoderLayer_1", 1010, 1019), module("Decoder_0", 1020, 1100)}
		for i := range n {
			modules = append(modules, module(fmt.Sprintf("Conv_%d", i), 1021+int64(i), 1022+int64(i)))
		}
		w, kernels := workOfAll(modules, launched("abcd", 1000)...)
		passes, _ := w.passesFromModules(kernels, ReadFrames(w.Trace))
		if got := spell("abcd", passes); got != want {
			t.Errorf("%d modules: %s, want %s", n, got, want)
		}
	}
}
