package layer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
)

// lineNames are kernels by letters: n a norm, g and G one product in two tiles, a and A two kinds of attention, e an
// elementwise kernel, others say nothing.
var lineNames = map[rune]string{
	'n': "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)", 'g': "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
	'G': "nvjet_tst_128x64_64x6_1x2_h_bz_coopA_TNT",
	'a': "void flash::flash_fwd_splitkv_kernel<T>(P)", 'A': "kernel_mha",
	'e': "void at::native::elementwise_kernel<128, 4>(int)",
}

// lineBy makes a line of kernels, one letter each, digits set the layer of what follows, - none.
func lineBy(sym *symbols, text string) *line {
	l := &line{nameful: true, model: trace.None}
	at := int32(trace.None)
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			at = c - '0'
			continue
		case c == '-':
			at = trace.None
			continue
		}
		name, ok := lineNames[c]
		if !ok {
			name = "kernel_" + string(c)
		}
		l.add(sym, name, at)
	}
	l.seal()
	return l
}

// TestLinesAreAligned: what a kernel of a pass is matched with, and by what: Name, Variant, Role, Position, - for
// nothing.
func TestLinesAreAligned(t *testing.T) {
	for _, c := range []struct {
		what, target, ref string
		want, match       string
	}{
		{"equal", "0ngan1nga", "0ngan1nga", "NNNNNNN", "0 1 2 3 4 5 6"},
		{"another tile", "0nGan1n", "0ngan1n", "NVNNN", "0 1 2 3 4"},
		{"another kernel of the same meaning", "0nAg1n", "0nag1n", "NRNN", "0 1 2 3"},
		{"between two that match", "0nxg1n", "0nyg1n", "NPNN", "0 1 2 3"},
		{"in front of the first that matches", "0xng1n", "0yng1n", "-NNN", "-1 1 2 3"},
		{"behind the last", "0ngx1n", "0ngy1n", "NN-N", "0 1 -1 3"},
		{"two beside each other", "0nxzg1n", "0nyqg1n", "N--NN", "0 -1 -1 3 4"},
		{"two launches of one kernel", "0naag1n", "0nag1n", "NPNNN,NNPNN", "0 1 1 2 3"},
		{"one of the same meaning behind it", "0naAg1n", "0nag1n", "NNPNN", "0 1 1 2 3"},
		{"one of the same meaning in front of it", "0nAag1n", "0nag1n", "NPNNN", "0 1 1 2 3"},
		{"a stray kernel of another layer", "0na1x0g", "0naxg1y", "NN-N", "0 1 -1 3"},
		{"two elementwise ones", "0neeg1n", "0neg1n", "N-NNN,NN-NN", ""},
		{"in another order", "0gn1n", "0ng1n", "NNN", "1 0 2"},
		{"a layer more", "0ng1ng", "0ng1ng2ng", "NNNN", "0 1 2 3"},
		{"a layer less", "0ng1ng2ng", "0ng1ng", "NNNN--", "0 1 2 3 -1 -1"},
		{"outside the layers equal names alone", "-nx0ng1ng-xn", "-ny0ng1ng-yn", "N-NNNN-N", "0 -1 2 3 4 5 -1 7"},
		{"outside the layers another tile", "-nG0ng1ng", "-ng0ng1ng", "NVNNNN", "0 1 2 3 4 5"},
		{"in front of one layer", "-x0nAg", "-x0nag", "NNRN", "0 1 2 3"},
		{"no layers in the reference", "0ng1ng", "-ngng", "NNNN", "0 1 2 3"},
		{"no layers in the pass", "-nga", "0ng1a", "NNN", "0 1 2"},
		{"one layer only", "0nxg", "0nyg", "NPN", "0 1 2"},
	} {
		sym := &symbols{}
		match, how := alignLines(lineBy(sym, c.target), lineBy(sym, c.ref))
		var got []string
		for _, h := range how {
			got = append(got, map[How]string{HowNone: "-", HowName: "N", HowVariant: "V", HowRole: "R",
				HowPosition: "P"}[h])
		}
		places := strings.Trim(fmt.Sprint(match), "[]")
		if s := strings.Join(got, ""); !strings.Contains(","+c.want+",", ","+s+",") || c.match != "" &&
			places != c.match {
			t.Errorf("%s: %s at %s, want %s at %s", c.what, s, places, c.want, c.match)
		}
	}
}

// TestCapturesWithoutNames: a layer's kernels are paired with as many launches of a capture, in order; what is
// around the layers is not.
func TestCapturesWithoutNames(t *testing.T) {
	for _, c := range []struct{ target, ref, want string }{
		{"0nga1ng", "0xxx1xx", "0 1 2 3 4"}, {"0nga1ng", "0xx1xx", "-1 -1 -1 2 3"}, {"-n0ng-n", "-x0xx-x", "-1 1 2 -1"},
		{"1ng", "0xx", "-1 -1"}, {"0n1g", "0x1x", "0 1"},
	} {
		sym := &symbols{}
		ref := lineBy(sym, c.ref)
		ref.nameful = false
		match, how := alignLines(lineBy(sym, c.target), ref)
		if got := strings.Trim(fmt.Sprint(match), "[]"); got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.target, c.ref, got, c.want)
		}
		for k, m := range match {
			if (how[k] == HowPosition) != (m >= 0) {
				t.Errorf("%s with %s: kernel %d is matched by %q with %d", c.target, c.ref, k, how[k], m)
			}
		}
	}
}

// TestTwinsAreAsSureAsTheirMatch: a name says more than a variant, that more than a role and that more than a
// position; of two references the better one is that with two variants rather than a name and a role, two roles
// rather than a name and a position, and a name and a variant rather than two variants. A capture without names says
// as much as a variant does.
func TestTwinsAreAsSureAsTheirMatch(t *testing.T) {
	sure := func(hows ...How) (sum float64) {
		for _, h := range hows {
			sum += (&line{nameful: true, launch: make([]trace.Event, 1), kernel: make([]trace.Event, 1)}).twin(0,
				h).Confidence
		}
		return sum
	}
	last := 1.0
	for _, h := range []How{HowName, HowVariant, HowRole, HowPosition} {
		if c := sure(h); c >= last || c <= 0 {
			t.Errorf("by %s: %v, want less than %v", h, c, last)
		}
		last = sure(h)
	}
	for _, c := range [][2][]How{{{HowVariant, HowVariant}, {HowName, HowRole}},
		{{HowRole, HowRole}, {HowName, HowPosition}}, {{HowName, HowVariant}, {HowVariant, HowVariant}},
		{{HowName}, {HowPosition}}, {{HowPosition, HowPosition}, {HowName}},
		{{HowRole, HowVariant}, {HowPosition, HowName}}} {
		if sure(c[0]...) <= sure(c[1]...) {
			t.Errorf("%v is worth %v, %v %v; want more", c[0], sure(c[0]...), c[1], sure(c[1]...))
		}
	}
	unnamed := (&line{launch: make([]trace.Event, 1), kernel: make([]trace.Event, 1)}).twin(0, HowPosition).Confidence
	if unnamed != sure(HowVariant) {
		t.Errorf("without names: %v, want as much as a variant, %v", unnamed, sure(HowVariant))
	}
	sym := &symbols{}
	target := lineBy(sym, "0nga1nga")
	refs := []*line{lineBy(sym, "0nxy1nxy"), lineBy(sym, "0nGa1nGa"), lineBy(sym, "0nga1nGa"), lineBy(sym, "0nga1nGa")}
	if best, err := bestFit(t.Context(), target, refs); err != nil || best.ref != refs[2] {
		t.Errorf("not the first of the best references: %v", err)
	}
	if best, err := bestFit(t.Context(), lineBy(sym, "0n1y"), []*line{lineBy(sym, "0n1q")}); err != nil ||
		best.ref == nil {
		t.Errorf("a reference with one kernel in common is not taken: %v", err)
	}
	if best, err := bestFit(t.Context(), lineBy(sym, "0x1y"), []*line{lineBy(sym, "0z1q")}); err != nil ||
		best.ref != nil {
		t.Errorf("a reference with nothing in common is taken: %v", err)
	}
}

// TestLayersOfLines: before the layers is not after them.
func TestLayersOfLines(t *testing.T) {
	for text, want := range map[string]string{
		"-x0ng1n-yz": "map[-2:[4 6] -1:[0 1] 0:[1 3] 1:[3 4]]", "-xy": "map[-1:[0 2]]",
		"0n-x1g": "map[-2:[1 2] 0:[0 1] 1:[2 3]]",
	} {
		if got := fmt.Sprint(lineBy(&symbols{}, text).starts); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestLayersOfCaptures: where no frames show the layers of a capture, its names do by their repeats; without names,
// or where there is one layer, nothing does.
func TestLayersOfCaptures(t *testing.T) {
	for _, c := range []struct {
		name    string
		layers  int
		nameful bool
		want    string
	}{
		{"four layers", 4, true, "-0000111122223333-"}, {"two of two", 2, true, "-0000000011111111-"},
		{"no names", 4, false, "------------------"}, {"one layer", 1, true, "------------------"},
		{"not known", 0, true, "------------------"},
	} {
		l := lineBy(&symbols{}, "-xnagenagenagenagey")
		l.nameful = c.nameful
		l.finishCapture(nil, c.layers)
		got := ""
		for _, at := range l.layer {
			got += strings.ReplaceAll(fmt.Sprint(at), "-1", "-")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := kernelOfArgs([]byte(`{"kernel":"k","other":1}`)) + kernelOfArgs(nil) + kernelOfArgs([]byte(`{`)) +
		kernelOfArgs([]byte(`{}`)); got != "k" {
		t.Errorf("kernels of args: %q", got)
	}
}

// TestWaysToFindATwin: every way has a word of its own, which is read back, and a confidence.
func TestWaysToFindATwin(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range Hows() {
		text, err := h.MarshalText()
		back := How(99)
		if err != nil || back.UnmarshalText(text) != nil || back != h || seen[h.String()] {
			t.Errorf("%v: %q is read as %v, %v", h, text, back, err)
		}
		seen[h.String()] = true
		if (howConfidence[h] > 0) != (h != HowNone && h != HowReplay) {
			t.Errorf("%v: confidence %v", h, howConfidence[h])
		}
	}
	if h := HowRole; len(seen) != len(howConfidence) || h.UnmarshalText([]byte("luck")) == nil || h != HowRole {
		t.Errorf("%d ways of %d; an unknown word is read as %v", len(seen), len(howConfidence), h)
	}
}
