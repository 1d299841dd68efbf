package ladder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// TestStacks: four layers that repeat are a stack.
func TestStacks(t *testing.T) {
	for _, c := range []struct {
		kernels string
		want    bool
	}{
		{strings.Repeat(letterLayer, 4), true}, {strings.Repeat(letterLayer, 3), false},
		{strings.Repeat(letterLayer, 2), false}, {"abcdefgh", false}, {strings.Repeat(letterLayer, 12), true},
	} {
		w, all := workOfLetters(c.kernels, "")
		if got := segment.Number(w.sequenceOf(all)) >= segment.StackLayers; got != c.want {
			t.Errorf("%s: %v, want %v", c.kernels, got, c.want)
		}
	}
}

// TestHalvesJoinPasses: a kernel of the second half is of the pass that was launched last before it; what is launched
// before the first pass is of that one.
func TestHalvesJoinPasses(t *testing.T) {
	for _, c := range []struct{ kernels, want string }{ // digits are passes, s the second half
		{"00s0s11s1", "000001111"}, {"s00s11", "000011"}, {"00s", "000"}, {"0s", "00"}, {"00ss11s", "0000111"},
		{"0011", "0011"}, {"ss", "--"},
	} {
		w, all := workOfLetters(c.kernels, "")
		var passes []Span
		var second []int32
		for i, k := range c.kernels {
			switch {
			case k == 's':
				second = append(second, all[i])
				continue
			case int(k-'0') == len(passes):
				passes = append(passes, Span{})
			}
			passes[k-'0'].Kernels = append(passes[k-'0'].Kernels, all[i])
		}
		w.addHalf(passes, second)
		got := []byte(strings.Repeat("-", len(all)))
		for p := range passes {
			last := int32(-1)
			for _, i := range passes[p].Kernels {
				if i < last {
					t.Errorf("%s: the kernels of pass %d are not in launch order: %v", c.kernels, p, passes[p].Kernels)
				}
				got[i], last = byte('0'+p), i
			}
		}
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.kernels, got, c.want)
		}
	}
}

// TestLayersOfSecondHalves: the second half has the layers of the first one, by the same kernel, else by its own
// repeats, or none.
func TestLayersOfSecondHalves(t *testing.T) {
	stack := strings.Repeat(letterLayer, 4)
	for _, c := range []struct{ name, second, want string }{
		{"the same", "e" + stack + "hs", "-00000000111111112222222233333333--"},
		{"another mixer", "e" + strings.ReplaceAll(stack, "m", "z") + "hs", "-00000000111111112222222233333333--"},
		{"nothing that repeats", "x", "-"},
		{"none", "", ""},
	} {
		w, all := workOfLetters("e"+stack+"hs"+c.second, "")
		r := w.prepare(Span{Kernels: all[:35]})
		cut, ok := segment.Best(r.Seq, 4)
		if !ok {
			t.Fatal("no layers in the first half")
		}
		r.Second, r.st = all[35:], cut
		layerOf := map[int32]int32{}
		for _, i := range r.Second {
			layerOf[i] = 7
		}
		w.assignHalf(r, layerOf)
		var got []int32
		for _, i := range r.Second {
			got = append(got, layerOf[i])
		}
		if inLetters(got) != c.want {
			t.Errorf("%s: layers %s, want %s", c.name, inLetters(got), c.want)
		}
	}
}

// TestEmptySteps: steps that launched nothing are passes without kernels where the thread launched steps before and
// after them, in the order of the CPU.
func TestEmptySteps(t *testing.T) {
	at := func(start int64, id int) stepSpan {
		return stepSpan{HostSpan{Thread: 1, Start: trace.Time(start), End: trace.Time(start + 5),
			Annotation: trace.EventID(id)}, Step{Name: fmt.Sprint(id)}}
	}
	set := &stepSet{spans: map[trace.ThreadIndex][]stepSpan{1: {at(0, 1), at(10, 2), at(20, 3), at(30, 4), at(40, 5),
		at(50, 6)}}}
	passes := []Span{{host: set.spans[1][1].HostSpan}, {host: set.spans[1][4].HostSpan}}
	empty := emptySteps(set, passes)
	got := ""
	for _, s := range empty {
		got += fmt.Sprint(s.Step.Name, " ", s.Evidence, " ", s.Conf, " ", s.host.Start, "; ")
	}
	if want := "3 annotation 1 20; 4 annotation 1 30; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	w, all := workOf(act{"k", 7, 100, 10}, act{"k", 7, 200, 10})
	results := []*Result{w.prepare(Span{Kernels: all[:1], host: passes[0].host}),
		w.prepare(Span{Kernels: all[1:], host: passes[1].host})}
	for _, c := range []struct {
		empty []Span
		want  string
	}{{nil, "10 40"}, {empty[:1], "10 20 40"}, {empty, "10 20 30 40"},
		{[]Span{{host: set.spans[1][0].HostSpan}, {host: set.spans[1][5].HostSpan}}, "0 10 40 50"}} {
		w.empty = c.empty
		var starts []string
		for _, r := range w.withEmpty(results) {
			starts = append(starts, fmt.Sprint(r.host.Start))
		}
		if got := strings.Join(starts, " "); got != c.want {
			t.Errorf("%d empty steps: passes at %s, want %s", len(c.empty), got, c.want)
		}
	}
}

// TestLaunchOrder: a kernel without a launch follows the one before it on its stream, which may be the first of
// all; names may be empty.
func TestLaunchOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []run
		want string
	}{
		{"behind the first of all", []run{{"", 7, 0, 5, 0, 0, 0}, {"b", 8, 10, 5, 100, 0, 0},
			{"c", 7, 20, 5, -1, 0, 0}}, ", c, b"},
		{"on a stream of which no launch is known", []run{{"", 7, 0, 5, 0, 0, 0}, {"b", 8, 10, 5, 100, 0, 0},
			{"c", 9, 20, 5, -1, 0, 0}}, ", b, c"},
		{"as launched", []run{{"a", 7, 0, 5, 200, 0, 0}, {"", 8, 10, 5, 100, 0, 0}, {"", 8, 20, 5, 300, 0, 0}},
			", a, "},
	} {
		w, _ := workOfRuns(c.runs...)
		var got []string
		for _, i := range w.Order {
			got = append(got, w.Names[w.ID[i]])
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

// TestPlacesOfKernels: pass, layer and half are noted by kernel; in a layer without known halves a kernel is in the
// first one.
func TestPlacesOfKernels(t *testing.T) {
	w, all := workOfLetters("abcde", "")
	w.Half[2], w.Half[3] = 1, 1
	w.Place([]Result{{Span: Span{Kernels: all[1:4]}, Layer: []int32{4, 5, None}}})
	if got, want := inLetters(w.Pass)+" "+fmt.Sprint(w.Layer)+" "+inLetters(w.Half),
		"-000- [-1 4 5 -1 -1] -01--"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	w.Forget()
	if got, want := inLetters(w.Pass)+" "+fmt.Sprint(w.Layer)+" "+inLetters(w.Half),
		"----- [-1 -1 -1 -1 -1] -----"; got != want {
		t.Errorf("forgotten: %s, want %s", got, want)
	}
	r := Result{Span: Span{Kernels: all}, Layer: []int32{0, 1, 2, 3, 4}}
	if r.line = all; inLetters(r.layersOfLine()) != "01234" {
		t.Errorf("layers of the line %v", r.layersOfLine())
	}
	if r.line = all[1:4]; inLetters(r.layersOfLine()) != "123" {
		t.Errorf("layers of the line %v, want 1 to 3", r.layersOfLine())
	}
}
