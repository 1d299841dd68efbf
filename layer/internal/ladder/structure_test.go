package ladder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/internal/segment"
)

// letters are kernels by letters: what a layer runs, and what precedes and after layers.
var letters = map[rune]string{
	'e': splitNames['e'], 's': splitNames['s'], 'n': "rms_norm_kernel", 'q': "nvjet_qkv", 'm': "flash_fwd_kernel",
	'o': "nvjet_o", 'g': "nvjet_gate", 'a': "silu_and_mul_kernel", 'd': "nvjet_down", 'h': "nvjet_head",
}

// lettered collects kernels that no call launched, one after the other; a blank is a pause.
func lettered(text string) (*Work, []int32) {
	var acts []act
	at := int64(0)
	for _, c := range text {
		if at += 10; c == ' ' {
			at += 90
			continue
		}
		name, ok := letters[c]
		if !ok {
			name = "kernel_" + string(c)
		}
		acts = append(acts, act{name, 7, at, 10})
	}
	return workOf(acts...)
}

// spell writes the passes of kernels, a bar between them.
func spell(text string, passes []Span) string {
	text = strings.ReplaceAll(text, " ", "")
	var out []string
	for _, p := range passes {
		s := ""
		for _, i := range p.Kernels {
			s += string(text[i])
		}
		out = append(out, s)
	}
	return strings.Join(out, "|")
}

// TestPassesWithoutMarks: stacks of layers with something else between them are passes, found by the layers of each
// that are in the window.
func TestPassesWithoutMarks(t *testing.T) {
	const layer = "nqmongad"
	rep := strings.Repeat
	three := func(pass string) string { return pass + "|" + pass + "|" + pass }
	for _, c := range []struct {
		name, want string // the kernels, a bar between passes
		n          int    // layers that are given
		evidence   string
		conf       float64
		cut        string // of each pass
	}{
		{"no kernels", "", 0, "", 0, ""},
		{"one kernel", "x", 0, "whole", segment.ConfidenceWhole, "-"},
		{"nothing repeats", "exyz", 0, "whole", segment.ConfidenceWhole, "-"},
		{"one stack", "e" + rep(layer, 8) + "hs", 0, "whole", segment.ConfidenceOneStack, "-"},
		{"one stack of as many as are given", "e" + rep(layer, 8) + "hs", 8, "whole", segment.ConfidenceOneStack, "-"},
		{"one stack of fewer than are given", "e" + rep(layer, 8) + "hs", 9, "whole", segment.ConfidenceOneStack, ">"},
		{"as many as a model may have", "e" + rep("nqm", segment.MaxLayers) + "hs", 0, "whole", segment.ConfidenceOneStack, "-"},
		{"more", "e" + rep("nqm", segment.MaxLayers+1) + "hs", 0, "whole", segment.ConfidenceWhole, "-"},
		{"two layers that are given", "xabcabcy", 2, "whole", segment.ConfidenceOneStack, "-"},
		{"two layers that nobody gave", "xabcabcy", 0, "whole", segment.ConfidenceWhole, "-"},
		{"two passes", "ex" + rep(layer, 8) + "iyh|ex" + rep(layer, 8) + "iyh", 8, "structure",
			segment.ConfidenceStructure, "--"},
		{"three passes", three("ex" + rep(layer, 8) + "iyh"), 0, "structure", segment.ConfidenceStructure, "---"},
		{"three of a number that is given", three("ex" + rep(layer, 8) + "iyh"), 8, "structure",
			segment.ConfidenceStructure, "---"},
		{"nothing between them", three(rep(layer, 8)), 8, "structure", segment.ConfidenceStructure, "---"},
		{"nothing between them but a pause within a layer", rep("aabbd", 8) + "|a abbd" + rep("aabbd", 7), 8,
			"structure", segment.ConfidenceStructure, "--"},
		{"another stack in front of the one that is given", three("exi" + rep("vwzmo", 2) + rep(layer, 8) + "hxs"), 8,
			"structure", segment.ConfidenceStructure, "---"},
		{"the window cuts the first and the last", rep(layer, 5) + "|iyhfx" + rep(layer, 8) + "|iyhfx" + rep(layer, 4) +
			"nqmo", 8, "structure", segment.ConfidenceStructure, "<->"},
		{"one layer of the last pass", rep("aabbd", 8) + "|" + rep("aabbd", 8) + "|aabbd", 8, "structure",
			segment.ConfidenceStructure, "-->"},
		{"last layers without a feed-forward part", "e" + rep(layer, 7) + "nqmoen|" + rep(layer, 7)[1:] + "nqmo|e" +
			rep(layer, 7) + "nqmo", 8, "structure", segment.ConfidenceStructure, "---"},
		{"it begins and ends at mixers", rep(layer, 5)[3:] + "|iyhfx" + rep(layer, 8) + "|iyhfx" + rep(layer, 4) +
			"nqm", 8, "structure", segment.ConfidenceStructure, "<->"},
	} {
		plain := strings.ReplaceAll(c.want, "|", "")
		w, kernels := lettered(plain)
		passes, f := w.passesFromStructure(kernels, &Model{Layers: c.n})
		if got, want := spell(plain, passes), strings.ReplaceAll(c.want, " ", ""); got != want {
			t.Errorf("%s: %s\nwant %s", c.name, got, want)
		}
		cut := ""
		for _, p := range passes {
			cut += map[Partial]string{Uncut: "-", CutAtStart: "<", CutAtEnd: ">"}[p.Cut]
			if p.Evidence != Rung(c.evidence) || p.Conf != c.conf {
				t.Errorf("%s: evidence %s, %v, want %s, %v", c.name, p.Evidence, p.Conf, c.evidence, c.conf)
			}
		}
		if cut != c.cut || f.Kind != Rung(c.evidence) || f.Passes != len(passes) || f.Confidence != c.conf {
			t.Errorf("%s: cut %q, want %q; %d passes rest on %+v", c.name, cut, c.cut, len(passes), f)
		}
	}
}

// TestPassesByAnchors: names that are given as anchors make passes where they are in two layers at least.
func TestPassesByAnchors(t *testing.T) {
	for _, c := range []struct {
		kernels string
		blocks  int
		want    string
	}{{"xAyAyz", 1, "anchor"}, {"xAyyyz", 1, ""}, {"xAyAyAyAz", 2, "anchor"}, {"xAyAyAyz", 2, ""}} {
		w, kernels := lettered(c.kernels)
		m := &Model{UseAnchors: true, Blocks: c.blocks, Layers: 2}
		m.IsAnchor, _ = w.FindAnchors("kernel_A")
		if _, per, kind := w.longComb(kernels, w.sequenceOf(kernels), m); (kind == RungAnchor) != (c.want != "") ||
			kind == RungAnchor && per != 2*c.blocks {
			t.Errorf("%s, %d in a layer: %q, %d a pass, want %q", c.kernels, c.blocks, kind, per, c.want)
		}
	}
}

// TestNamesAreClipped: names of kernels in sentences have 48 bytes at most.
func TestNamesAreClipped(t *testing.T) {
	for n, want := range map[int]string{48: strings.Repeat("x", 48), 49: strings.Repeat("x", 47) + "…"} {
		w, kernels := workOf(act{strings.Repeat("x", n), 7, 0, 10})
		if got := w.nameAt(kernels, 0); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
}

// TestRoundsOfConvolutions: a model of convolutions that runs back to back, without a mark between its passes, shows
// them by running the same again, wherever the window begins and whatever stages of blocks its passes have.
func TestRoundsOfConvolutions(t *testing.T) {
	pass := "xCn" + strings.Repeat("CnaCy", 3) + "nCb" + strings.Repeat("CnaCz", 9) + "nCc" + strings.Repeat("CnaCw", 3) +
		"pnd"
	k := len(pass)
	if k < 2*smallPass {
		t.Fatal("a pass of too few kernels to cut it in two")
	}
	for _, c := range []struct {
		name, kernels string
		want          string
	}{
		{"one pass", pass, fmt.Sprint([]int{k})},
		{"three", strings.Repeat(pass, 3), fmt.Sprint([]int{k, k, k})},
		{"an input before them", "i" + strings.Repeat(pass, 3), fmt.Sprint([]int{k + 1, k, k})},
		{"a mixer in each", strings.Repeat(pass+"m", 3), fmt.Sprint([]int{3 * (k + 1)})},
	} {
		w, all := workOfLetters(c.kernels, "")
		passes, _ := w.passesIn(all, nil, &Model{})
		var got []int
		for _, p := range passes {
			got = append(got, len(p.Kernels))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: passes of %v kernels, want %s", c.name, got, c.want)
		}
	}
}
