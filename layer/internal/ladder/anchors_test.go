package ladder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/profile"
)

// inLetters writes layers or halves as a digit each, - for none.
func inLetters[T int8 | int32](values []T) string {
	out := ""
	for _, v := range values {
		out += strings.ReplaceAll(fmt.Sprint(v), "-1", "-")
	}
	return out
}

// anchored collects kernels of a letter each; A is an anchor.
func anchored(kernels string, m *Model) (*Work, []int32) {
	var acts []act
	for i, k := range kernels {
		acts = append(acts, act{"kernel_" + string(k), 7, int64(10 * i), 5})
	}
	w, all := workOf(acts...)
	m.IsAnchor, _ = w.FindAnchors("kernel_A")
	return w, all
}

// TestBlocksOfLayers: anchors that close or open blocks number them within each layer; in a first layer that the
// window cuts they count from its last one.
func TestBlocksOfLayers(t *testing.T) {
	for _, c := range []struct {
		name, kernels, position string
		blocks, n               int
		cut                     Partial
		layers, halves          string
	}{
		{"one block", "exyAxyAz", profile.AnchorCloses, 1, 0, Uncut, "-000111-", "--------"},
		{"closes", "exAyAxAyAz", profile.AnchorCloses, 2, 0, Uncut, "-00001111-", "-00110011-"},
		{"opens", "eAxAyAxAyz", profile.AnchorOpens, 2, 0, Uncut, "-00001111-", "-00110011-"},
		{"three blocks, closes", "exAyAzAxAyAzA", profile.AnchorCloses, 3, 0, Uncut, "-000000111111", "-001122001122"},
		{"three blocks, opens", "eAxAyAzAxAyAz", profile.AnchorOpens, 3, 0, Uncut, "-000000111111", "-001122001122"},
		{"closes, the second block of a layer first", "yAxAyAxAyA", profile.AnchorCloses, 2, 5, CutAtStart,
			"2233334444", "1100110011"},
		{"opens, the second block of a layer first", "AyAxAyAxAy", profile.AnchorOpens, 2, 5, CutAtStart, "2233334444",
			"1100110011"},
		{"opens, the end of a first block first", "xAyAxAyAxAy", profile.AnchorOpens, 2, 5, CutAtStart, "22233334444",
			"01100110011"},
		{"closes, a whole layer first", "xAyAxAyA", profile.AnchorCloses, 2, 5, CutAtStart, "33334444", "00110011"},
		{"closes, the last layer is half one", "exAyAxAyAxA", profile.AnchorCloses, 2, 5, CutAtEnd, "-0000111122",
			"-0011001100"},
		{"cut, and nobody knows of how many", "yAxAyAxAyA", profile.AnchorCloses, 2, 0, CutAtStart, "--00001111",
			"--00110011"},
		{"asked for one layer", "exyAxyAz", profile.AnchorCloses, 1, 1, Uncut, "--------", "--------"},
	} {
		m := &Model{Position: c.position, Blocks: c.blocks, Layers: c.n}
		w, kernels := anchored(c.kernels, m)
		r := w.prepare(Span{Kernels: kernels, Cut: c.cut})
		w.byAnchors(r, m)
		if layers, halves := inLetters(r.Layer), inLetters(w.Half); layers != c.layers || halves != c.halves {
			t.Errorf("%s: %s\nlayers %s, want %s\nhalves %s, want %s", c.name, c.kernels, layers, c.layers, halves,
				c.halves)
		}
	}
}

// TestNoAnchor: without one no name is an anchor; the number of layers is the most frequent one of whole passes.
func TestNoAnchor(t *testing.T) {
	w, _ := anchored("xAyA", &Model{})
	if is, n := w.FindAnchors(""); n != 0 || is[0] || is[1] {
		t.Errorf("no anchor: %v, %d", is, n)
	}
	if is, n := w.FindAnchors("kernel_A"); n != 2 || is[0] || !is[1] {
		t.Errorf("%v, %d, want two anchors", is, n)
	}
	for _, c := range []struct {
		passes string
		blocks int
		want   int
	}{{"xAyA", 1, 2}, {"xAyA", 2, 1}, {"xAyAA", 2, 0}, {"xyz", 2, 0}, {"xAAAA xAA xAA", 1, 4}, {"xAAA xAA xAA", 1, 2}} {
		m := &Model{Blocks: c.blocks}
		w, kernels := anchored(strings.ReplaceAll(c.passes, " ", ""), m)
		var results []*Result
		for _, p := range strings.Fields(c.passes) {
			results, kernels = append(results, &Result{line: kernels[:len(p)]}), kernels[len(p):]
		}
		if got := w.layersByAnchors(results, m); got != c.want {
			t.Errorf("%s, %d blocks a layer: %d layers, want %d", c.passes, c.blocks, got, c.want)
		}
	}
}

// TestCutPassesByAnchoredOnes: a pass with fewer anchors than two layers have is read by one that was cut at anchors.
func TestCutPassesByAnchoredOnes(t *testing.T) {
	for _, c := range []struct {
		name, whole, cut string
		position         string
		at               Partial
		want             string
	}{
		{"closes, cut behind", "exAyAxAyAxAyAz", "exAyAx", profile.AnchorCloses, CutAtEnd, "-00001"},
		{"closes, cut in front", "exAyAxAyAxAyAz", "yAxAyAz", profile.AnchorCloses, CutAtStart, "112222-"},
		{"opens, cut behind", "eAxAyAxAyAxAyz", "eAxAyAx", profile.AnchorOpens, CutAtEnd, "-000011"},
	} {
		m := &Model{Position: c.position, Blocks: 2, Layers: 3, UseAnchors: true}
		w, kernels := anchored(c.whole+c.cut, m)
		n := len(c.whole)
		results := []*Result{w.prepare(Span{Kernels: kernels[:n]}), w.prepare(Span{Kernels: kernels[n:], Cut: c.at})}
		w.assignLayers(results, nil, m)
		if got := inLetters(results[1].Layer); got != c.want {
			t.Errorf("%s: %s by %s, want %s", c.name, got, results[1].LayerEvidence, c.want)
		}
	}
}
