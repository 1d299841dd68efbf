package ladder

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// TestJudgedPasses: what speaks against layers lowers their confidence; the only pass, whose layers nobody gave, is
// cut where nothing shows its beginning or its end.
func TestJudgedPasses(t *testing.T) {
	whole, front, behind := wholePass(8), lastLayers(8), firstLayers(8)
	bare := func(pass string) string { return strings.ReplaceAll(pass, "n", "") }
	const (
		noFront = "the window cuts off the first layers: they count from the end"
		noEnd   = "nothing shows where the pass ends: there may be more layers"
		noEnds  = "nothing shows where the pass begins or ends: there may be more layers"
		noNorm  = "layers that do not begin with a norm"
		noBegin = "nothing shows where the pass begins"
		rest    = "kernels like those of layers outside of them"
	)
	for _, c := range []struct {
		name     string
		passes   []string
		source   string
		evidence string
		cut      Partial // of the first one
		want     string  // of the first one
	}{
		{"whole", []string{whole}, "repeats", "structure", Uncut, "0+8 0.99: "},
		{"begins within a layer", []string{front}, "repeats", "structure", Uncut,
			"0+9 from the end, cut at start 0.98: " + rest + ", " + noFront},
		{"begins with a layer", []string{front[5:]}, "repeats", "structure", Uncut,
			"0+8 from the end, cut at start 0.99: " + noFront},
		{"begins within one, and their number was given", []string{front}, "flag", "structure", Uncut,
			"0+8 0.75: " + noBegin + ", " + rest},
		{"begins within one, in front of another", []string{front, whole}, "repeats", "structure", Uncut,
			"0+8 0.75: " + noBegin + ", " + rest},
		{"begins within one, and a graph launch ran it", []string{front}, "repeats", "graph", Uncut,
			"0+8 0.98: " + rest},
		{"ends within a layer", []string{behind}, "repeats", "structure", Uncut,
			"0+8 cut at end 0.98: " + rest + ", " + noEnd},
		{"ends with a layer", []string{behind[:len(behind)-5]}, "repeats", "structure", Uncut,
			"0+8 cut at end 0.99: " + noEnd},
		{"ends within one, and their number was given", []string{behind}, "flag", "structure", Uncut,
			"0+8 0.98: " + rest},
		{"ends within one, in front of another", []string{behind, whole}, "repeats", "structure", Uncut,
			"0+8 0.98: " + rest},
		{"ends within one, and a graph launch ran it", []string{behind}, "repeats", "graph", Uncut,
			"0+8 0.98: " + rest},
		{"no norm", []string{bare(whole)}, "flag", "structure", Uncut, "0+8 0.94: " + noNorm},
		{"begins and ends within one", []string{front[:len(front)-5]}, "repeats", "structure", Uncut,
			"0+8 from the end, cut at both 0.1: " + noEnds + ", several norms that uneven or cut layers may begin with, " +
				rest},
	} {
		w, results := passesOfLetters(c.passes...)
		for p, r := range results {
			if r.Evidence = Rung(c.evidence); !w.byRepeats(r, 8) {
				t.Fatalf("%s: pass %d does not repeat", c.name, p)
			}
		}
		results[0].Cut = c.cut
		w.judge(results, &Model{Layers: 8, Source: Source(c.source)})
		r := results[0]
		got := fmt.Sprintf("%d+%d", r.First, r.Count)
		if r.FromEnd {
			got += " from the end,"
		}
		if r.Cut != Uncut {
			got += " cut at " + string(r.Cut)
		}
		got += fmt.Sprintf(" %.2g: %s", float64(int(100*r.LayerConf))/100, segment.Words(r.doubts))
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
	second, results := passesOfLetters(whole, front)
	for _, r := range results {
		second.byRepeats(r, 8)
	}
	if second.judge(results, &Model{Layers: 8, Source: "repeats"}); results[1].doubts.Front {
		t.Errorf("a second pass that begins within a layer is in doubt: %s", segment.Words(results[1].doubts))
	}
}

// TestPassesWithoutLayers: a pass found by its structure that holds no layers has little confidence; one of an annotation is.
func TestPassesWithoutLayers(t *testing.T) {
	for _, c := range []struct {
		evidence string
		layers   int
		want     float64
	}{{"structure", 0, 0.3}, {"whole", 0, 0.3}, {"graph", 0, 0.3}, {"annotation", 0, 0.9}, {"module", 0, 0.9},
		{"structure", 1, 0.9}} {
		w, results := passesOfLetters("abc")
		r := results[0]
		r.Evidence, r.Conf, r.Count = Rung(c.evidence), 0.9, c.layers
		if w.judge(results, &Model{Source: "flag"}); r.Conf != c.want {
			t.Errorf("%s, %d layers: %v, want %v", c.evidence, c.layers, r.Conf, c.want)
		}
	}
}

// TestCutBetween: a pass between two others that was read as a cut one contradicts the number of layers, if it is no
// draft and was read by repeats.
func TestCutBetween(t *testing.T) {
	cut, whole := &Result{LayerEvidence: "repeat", Span: Span{Cut: CutAtStart}}, &Result{LayerEvidence: "repeat"}
	draft, framed := *cut, *cut
	draft.Draft, framed.LayerEvidence = true, "module"
	for _, c := range []struct {
		passes []*Result
		want   bool
	}{{nil, false}, {[]*Result{cut}, false}, {[]*Result{cut, cut}, false}, {[]*Result{whole, cut, whole}, true},
		{[]*Result{cut, whole, cut}, false}, {[]*Result{whole, &draft, &framed, whole}, false},
		{[]*Result{whole, whole, cut, whole}, true}} {
		if got := cutBetween(c.passes); got != c.want {
			t.Errorf("%s: %v, want %v", says(c.passes), got, c.want)
		}
	}
}

// TestDoubtOfScrambledRecords: layers of a replay are worth half where the trace says that its records are scrambled.
func TestDoubtOfScrambledRecords(t *testing.T) {
	for _, c := range []struct {
		name   string
		graphs string
		layers int
		want   bool
	}{{"layers", "1111", 2, true}, {"one layer", "1111", 1, true}, {"one of a replay", "---1", 2, true},
		{"no layers", "1111", 0, false}, {"no replay", "----", 2, false}} {
		w, all := workOfLetters("abab", c.graphs)
		results := []*Result{{Span: Span{Kernels: all}, Count: c.layers, LayerConf: 0.9, Layer: []int32{0, 0, 1, 1}}}
		w.doubtScrambled(results)
		if r := results[0]; r.Scrambled != c.want || (r.LayerConf == segment.Scrambled) != c.want ||
			r.doubts.Scrambled != c.want {
			t.Errorf("%s: scrambled %v with %v, want %v", c.name, r.Scrambled, r.LayerConf, c.want)
		}
	}
}

// TestContradictions: a number of layers that somebody gave is held against what module frames and repeats show.
func TestContradictions(t *testing.T) {
	eight, kinds := wholePass(8), "e"+strings.Repeat(letterLayer+"nqmongrd", 4)+"hs"
	framed := func(first int, cut Partial, layers ...int32) func(*Work, *Result) {
		return func(_ *Work, r *Result) {
			last := first
			for _, l := range layers {
				last = max(last, int(l))
			}
			r.LayerEvidence, r.Layer, r.First, r.Count, r.Cut = "module", layers, first, last+1-first, cut
		}
	}
	repeats := func(n int) func(*Work, *Result) {
		return func(w *Work, r *Result) {
			c, _ := segment.Best(r.Seq, n)
			w.byStructure(r, c, "repeat", 0.9)
		}
	}
	nothing := func(*Work, *Result) {}
	const given = "4 layers were asked for"
	for _, c := range []struct {
		name, pass string
		find       func(*Work, *Result)
		layers     int
		source     string
		only       bool
		want       string // of the error
	}{
		{"as many frames", "abcdefgh", framed(0, Uncut, None, 0, 1, 2, 3, 3, None, None), 4, "flag", false, ""},
		{"fewer frames in a whole pass", "abcdefgh", framed(0, Uncut, None, 0, 1, 2, 2, 2, None, None), 4, "flag",
			false, "contradicts: " + given + ", the module frames of pass 0 show 3"},
		{"fewer frames, and the window cuts it", "abcdefgh", framed(0, CutAtEnd, None, 0, 1, 2, 2, 2, None, None), 4,
			"flag", false, ""},
		{"fewer frames, and nothing behind them", "abcdefgh", framed(0, Uncut, None, 0, 1, 2, 2, 2, 2, None), 4, "flag",
			false, ""},
		{"more frames", "abcdefgh", framed(3, CutAtStart, None, 3, 4, 4, 4, 4, None, None), 4, "config", false,
			"contradicts: the config says 4 layers, the module frames of pass 0 show 5"},
		{"more frames than were guessed", "abcdefgh", framed(0, Uncut, 0, 1, 2, 3, 4, 5, 6, 7), 4, "repeats", false,
			""},
		{"one layer of frames, which repeats inside", eight, framed(0, Uncut, make([]int32, len(eight))...), 1, "flag",
			true, ""},
		{"repeats as often", eight, repeats(8), 8, "flag", false, ""},
		{"repeats eight times, and five were read", eight, repeats(5), 5, "flag", false,
			"contradicts: 5 layers were asked for, the kernels repeat 8 times a pass (a pipeline rank"},
		{"every second one was read", eight, repeats(4), 4, "flag", false,
			"contradicts: " + given + ", the kernels repeat 8 times a pass"},
		{"every second one is of another kind", kinds, repeats(4), 4, "flag", false, ""},
		{"nothing was found, and eight repeat", eight, nothing, 13, "flag", false,
			"contradicts: 13 layers were asked for, the kernels repeat 8 times a pass (a pipeline rank"},
		{"nothing was found, and nothing repeats", "abcdefgh", nothing, 13, "flag", false, ""},
		{"nothing was found, and repeats were asked for", "abcdefgh", nothing, 13, "flag", true,
			"evidence: 13 layers were asked for, and no kernel repeats that often in any of 1 passes"},
	} {
		w, results := passesOfLetters(c.pass)
		w.OnlyRepeats = c.only
		c.find(w, results[0])
		err := w.checkAgainst(results, nil, &Model{Layers: c.layers, Source: Source(c.source)})
		got := ""
		switch {
		case errors.Is(err, ErrContradiction):
			got = strings.Replace(err.Error(), ErrContradiction.Error(), "contradicts", 1)
		case errors.Is(err, ErrNoEvidence):
			got = strings.Replace(err.Error(), ErrNoEvidence.Error(), "evidence", 1)
		}
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestLayersByFrames: kernels have the layer of the frame that they were launched in; where more of a pass were
// launched by nobody knows what, frames do not decide.
func TestLayersByFrames(t *testing.T) {
	for _, c := range []struct {
		launched string // the layer of each kernel, - for none, . where no launch is known
		want     string
	}{
		{"-0011-", "0+2 -0011-"}, {"-2233-", "2+2 -2233-"}, {"00", "0+1 00"}, {"0", "0+1 0"}, {"0.", "0+1 0-"},
		{"0..", "none ---"}, {"0011....", "0+2 0011----"}, {"0011.....", "none ---------"},
		{"0011-----", "0+2 0011-----"}, {"----", "none ----"}, {"22..33", "2+2 22--33"},
	} {
		var runs []run
		for i, l := range c.launched {
			r := run{"k", 7, int64(10 * i), 5, int64(10 * i), 0, 0}
			if l == '.' {
				r.launch = -1
			}
			runs = append(runs, r)
		}
		w, all := workOfRuns(runs...)
		var thread trace.ThreadIndex
		var layers, roots []frameSpan
		for i, l := range c.launched {
			if l == '.' || l == '-' {
				continue
			}
			at, index := w.at(all[i]), int(l-'0')
			thread = w.thread(all[i])
			layers = append(layers, frameSpan{start: at, end: at, Index: index, root: int32(len(roots))})
			roots = append(roots, frameSpan{class: "Model", first: index, layers: index + 1, inner: i})
		}
		f := &Frames{roots: map[trace.ThreadIndex][]frameSpan{thread: roots},
			Layers: map[trace.ThreadIndex][]frameSpan{thread: layers}}
		r := &Result{Span: Span{Kernels: all}, Layer: slices.Repeat([]int32{None}, len(all))}
		got := "none "
		if w.byModules(r, f) {
			got = fmt.Sprintf("%d+%d ", r.First, r.Count)
			if want := strings.IndexAny(c.launched, "0123"); r.LayerConf != 1 || r.LayerEvidence != RungModule ||
				r.framed.inner != want || r.framed.first != r.First || r.framed.layers != r.First+r.Count {
				t.Errorf("%s: %v by %s, frames %+v; want those of the call of kernel %d", c.launched, r.LayerConf,
					r.LayerEvidence, r.framed, want)
			}
		}
		if got += inLetters(r.Layer); got != c.want {
			t.Errorf("%s: %s, want %s", c.launched, got, c.want)
		}
	}
}

// TestStructureUnderFrames: a pass with layers from frames has a structure to read cut passes by, whose boundary is
// where the frames say that layer 1 begins.
func TestStructureUnderFrames(t *testing.T) {
	_, results := passesOfLetters(wholePass(2))
	r := results[0]
	for k := range r.Layer { // layers begin one kernel later than norms say
		if r.Layer[k] = None; k > 1 && k < 18 {
			r.Layer[k] = int32((k - 2) / 8)
		}
	}
	known := map[*Sequence]*segment.Cut{}
	cut, _ := segment.Best(r.Seq, 2)
	r.shadow(2, known)
	if want, ok := cut.BeginningAt(10); !ok || r.st == nil || r.st.At != want.At || r.st.At == cut.At {
		t.Errorf("layers begin at %+v of the unit, want %+v; by structure %d", r.st, want, cut.At)
	}
	if r.shadow(13, map[*Sequence]*segment.Cut{}); r.st != nil {
		t.Errorf("a structure of 13 layers: %+v", r.st)
	}
}
