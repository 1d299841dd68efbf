package ladder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
)

// passesOfLetters makes a pass of each text of letters, one after the other.
func passesOfLetters(passes ...string) (*Work, []*Result) {
	w, all := workOfLetters(strings.Join(passes, ""), "")
	var results []*Result
	for _, p := range passes {
		results, all = append(results, w.prepare(Span{Kernels: all[:len(p)], Evidence: "structure"})), all[len(p):]
	}
	markEdges(results)
	return w, results
}

// wholePass is a pass of n layers; lastLayers one that begins within the layer before the last n, firstLayers one
// that ends within the layer after the first n.
func wholePass(n int) string   { return "e" + strings.Repeat(letterLayer, n) + "hs" }
func lastLayers(n int) string  { return letterLayer[3:] + strings.Repeat(letterLayer, n) + "hs" }
func firstLayers(n int) string { return "e" + strings.Repeat(letterLayer, n) + letterLayer[:5] }

// TestVotesForLayers: passes vote for the number of layers; those at the edges that the window cuts there, in whose
// numbers the layer that is cut counts, do where no other votes.
func TestVotesForLayers(t *testing.T) {
	w4, first, last := wholePass(4), firstLayers(12), lastLayers(12)
	for _, c := range []struct {
		name   string
		passes []string
		want   int
	}{
		{"none", nil, 0},
		{"no layers", []string{"abcdefg"}, 0},
		{"one pass", []string{w4}, 4},
		{"two layers", []string{wholePass(2)}, 2},
		{"kernels without layers do not vote", []string{wholePass(12), strings.Repeat("x", 300)}, 12},
		{"most kernels", []string{w4, wholePass(12), w4}, 12},
		{"the first is cut in front", []string{last, w4, w4}, 4},
		{"the last is cut behind", []string{w4, w4, first}, 4},
		{"the first ends within a layer", []string{first, w4, w4}, 13},
		{"the last begins within a layer", []string{w4, w4, last}, 13},
		{"one in between", []string{w4, last, w4}, 13},
		{"nothing but a cut one", []string{last}, 13},
		{"two cut ones", []string{last, first}, 13},
		{"of near numbers the one that explains most of both", []string{wholePass(5), w4}, 4},
	} {
		_, results := passesOfLetters(c.passes...)
		if got := voteLayers(results); got != c.want {
			t.Errorf("%s: %d layers, want %d", c.name, got, c.want)
		}
	}
}

// says writes what was found of passes: their evidence and cut, the first layer, and how many.
func says(results []*Result) string {
	var out []string
	for _, r := range results {
		s := string(r.LayerEvidence)
		if r.Count > 0 {
			s += fmt.Sprintf(" %d+%d", r.First, r.Count)
		}
		if r.Cut != Uncut {
			s += " cut at " + string(r.Cut)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// TestLayersOfPasses: the layers of whole passes by their repeats, of those at the edges that the window cuts by
// them, or where none is whole by themselves.
func TestLayersOfPasses(t *testing.T) {
	whole, front, behind := wholePass(8), lastLayers(4), firstLayers(4)
	for _, c := range []struct {
		name   string
		passes []string
		layers int
		want   string
	}{
		{"by votes", []string{whole, whole}, 0, "8 by repeats: repeat 0+8, repeat 0+8"},
		{"as asked for", []string{whole}, 8, "8 by flag: repeat 0+8"},
		{"nothing repeats", []string{"abcdefg"}, 0, "0 by : none"},
		{"one layer", []string{whole}, 1, "1 by flag: none"},
		{"cut at both ends", []string{front, whole, behind}, 8,
			"8 by flag: repeat 3+5 cut at start, repeat 0+8, repeat 0+5 cut at end"},
		{"one in between is not cut", []string{whole, front, whole}, 8, "8 by flag: repeat 0+8, none, repeat 0+8"},
		{"none is whole", []string{front, behind}, 8, "8 by flag: repeat 3+5 cut at start, repeat 0+5 cut at end"},
		{"none is whole, one in between", []string{front, front, behind}, 8,
			"8 by flag: repeat 3+5 cut at start, none, repeat 0+5 cut at end"},
	} {
		w, results := passesOfLetters(c.passes...)
		m := &Model{Layers: c.layers, Blocks: 1}
		if c.layers > 0 {
			m.Source = "flag"
		}
		w.assignLayers(results, nil, m)
		if got := fmt.Sprintf("%d by %s: %s", m.Layers, m.Source, says(results)); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestPassesOfAnotherModel: a tower that the window begins with, whose layers are of other kernels than those of the
// whole passes after it, is no pass that lacks its beginning.
func TestPassesOfAnotherModel(t *testing.T) {
	whole := wholePass(8)
	for name, c := range map[string]struct{ first, want string }{
		"a tower":        {"e" + strings.Repeat("nuvwmxyzz", 6) + "xy", "repeat 0+6"},
		"a pass cut off": {lastLayers(4), "repeat 3+5 cut at start"},
	} {
		w, results := passesOfLetters(c.first, whole, whole)
		for _, r := range results[1:] {
			w.byRepeats(r, 8)
		}
		w.assignCut(results, 8)
		if got := says(results[:1]); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestIdlePieces: what samples and prepares the next batch, with one product at most, is no pass, however many fills and
// copies it launches, and is of the pass before it, unless it looks up an embedding; what decodes an image has several
// products.
func TestIdlePieces(t *testing.T) {
	whole, fills := wholePass(8), strings.Repeat("f", 2*smallPass)
	for name, c := range map[string]struct{ between, want string }{
		"sampling":  {"h" + fills + "s", "[147]"},
		"decoding":  {strings.Repeat("CCf", smallPass), "[65 185]"},
		"products":  {"hh" + fills, "[65 147]"},
		"few fills": {"fff", "[68]"},
		"lookups":   {"fef" + fills, "[65]"},
	} {
		pass := whole[:len(whole)-2]
		w, all := workOfLetters(pass+c.between+pass, "")
		bounds := []int{len(pass), len(pass) + len(c.between)}
		got := w.joinIdle(all, w.sequenceOf(all).Role, bounds)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: bounds at %v, want %s", name, got, c.want)
		}
	}
}

// TestRunsOfPasses: what no pass claims is a pass where it holds layers: one that the window cuts, or between two
// others one whose launches were lost.
func TestRunsOfPasses(t *testing.T) {
	whole, front, behind := wholePass(8), lastLayers(4), firstLayers(4)
	sorting := strings.Repeat("nqoo", 9) // has the kernel that the comb counts, and nothing else of a layer
	for _, c := range []struct {
		name    string
		parts   []string
		claimed string // digit for passes in their order, - for no pass
		want    string
	}{
		{"in front and behind", []string{front, whole, behind}, "-0-",
			"repeat 3+5 cut at start, repeat 0+8, repeat 0+5 cut at end"},
		{"in front", []string{front, whole}, "-0", "repeat 3+5 cut at start, repeat 0+8"},
		{"behind", []string{whole, behind}, "0-", "repeat 0+8, repeat 0+5 cut at end"},
		{"between", []string{whole, front, whole}, "0-0", "repeat 0+8, repeat 3+5 cut at start, repeat 0+8"},
		{"between, and behind", []string{whole, front, whole, behind}, "0-0-",
			"repeat 0+8, repeat 3+5 cut at start, repeat 0+8, repeat 0+5 cut at end"},
		{"a whole pass between", []string{whole, whole, whole}, "0-0", "repeat 0+8, repeat 0+8, repeat 0+8"},
		{"sampling between", []string{whole, "xyz", whole}, "0-0", "repeat 0+8, repeat 0+8"},
		{"sorting between", []string{whole, sorting, whole}, "0-0", "repeat 0+8, repeat 0+8"},
		{"sorting behind", []string{whole, whole, sorting}, "00-", "repeat 0+8, repeat 0+8"},
		{"without layers", []string{"xyz", whole, "xyz"}, "-0-", "repeat 0+8"},
		{"no pass holds layers", []string{"xyz", front}, "0-", "none"},
	} {
		w, results := passesOfLetters(c.parts...)
		var passes []*Result
		for p := range results {
			if c.claimed[p] == '0' {
				passes = append(passes, results[p])
			}
		}
		m := &Model{Layers: 8, Blocks: 1}
		for _, r := range passes {
			w.byRepeats(r, 8)
		}
		got := w.addLoose(passes, m)
		if says(got) != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, says(got), c.want)
		}
	}
}

// TestRunsInFrontOfFrames: a run before a pass under frames that the window cuts there is of that pass; where
// all are cut no other tells a run's layers.
func TestRunsInFrontOfFrames(t *testing.T) {
	for cut, want := range map[Partial]int{CutAtEnd: 54, CutAtStart: 93} {
		w, results := passesOfLetters(lastLayers(4), firstLayers(6))
		pass := results[1]
		if !w.byRepeats(pass, 6) {
			t.Fatal("six layers do not repeat")
		}
		pass.LayerEvidence, pass.Cut = "module", cut
		if got := w.addLoose([]*Result{pass}, &Model{Layers: 6, Blocks: 1}); len(got) != 1 ||
			len(got[0].Kernels) != want {
			t.Errorf("a pass cut at %s: %s, of %d kernels; want one of %d", cut, says(got), len(pass.Kernels), want)
		}
	}
	if w, _ := passesOfLetters(wholePass(4)); len(w.addLoose(nil, &Model{})) != 0 {
		t.Error("a run is a pass where there is no other")
	}
}

// TestWhoTellsLayers: module frames show the number of layers before anchors do, and these before repeats; what was
// asked for stands.
func TestWhoTellsLayers(t *testing.T) {
	for _, c := range []struct {
		name            string
		frames, anchors bool
		layers          int
		want            string
	}{
		{"repeats", false, false, 0, "4 by repeats: repeat 0+4"},
		{"anchors", false, true, 0, "4 by anchors: anchor 0+4"},
		{"frames", true, true, 0, "4 by modules: module 0+4"},
		{"asked for, by frames", true, false, 4, "4 by flag: module 0+4"},
		{"one asked for, by frames", true, false, 1, "1 by flag: module 0+4"},
		{"asked for, by anchors", false, true, 4, "4 by flag: anchor 0+4"},
	} {
		w, results := passesOfLetters(wholePass(4))
		kernels, f := results[0].Kernels, (*Frames)(nil)
		if c.frames {
			thread := w.thread(kernels[0])
			f = &Frames{roots: map[trace.ThreadIndex][]frameSpan{thread: {{start: w.at(kernels[0]),
				end: w.at(kernels[34]), class: "Model", layers: 4}}}, Layers: map[trace.ThreadIndex][]frameSpan{}}
			for l := range 4 {
				f.Layers[thread] = append(f.Layers[thread],
					frameSpan{start: w.at(kernels[1+8*l]), end: w.at(kernels[8+8*l]), Index: l})
			}
		}
		m := &Model{Layers: c.layers, Blocks: 1, UseAnchors: c.anchors}
		if m.IsAnchor, _ = w.FindAnchors("nvjet_down"); c.layers > 0 {
			m.Source = "flag"
		}
		w.assignLayers(results, f, m)
		if got := fmt.Sprintf("%d by %s: %s", m.Layers, m.Source, says(results)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
