package ladder

import (
	"strings"
	"testing"
)

// splitNames are kernels by letters: s samples, e looks up an embedding, others are what their place says.
var splitNames = map[rune]string{
	's': "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)",
	'e': "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)",
}

// TestPassesAreSplitBetweenStacks: what lies between two stacks of layers (L) is split where names after
// the last one give way to names before the first; where names do not decide, sampling ends a pass and
// an embedding begins one; else the longest pause (a blank), the first of equals.
func TestPassesAreSplitBetweenStacks(t *testing.T) {
	for _, want := range []string{
		"hhLLLtt|hhLLLtt|hhLLLtt",
		"hLLt|hLLt",
		"LLt|LLt",
		"hLL|hLL",
		"hLLt|xhLLt",   // a name that is nowhere else, and no pause: the first place
		"hLLt| x hLLt", // the second pause is as long as the first one
		"hLLt|  xhLLt", // the longer pause wins
		"hLLtx|  hLLt",
		"aLLx| xxLLb",
		"aLLxx|  xLLb",
		"aLL|  xxxLLb",
		"aLLxs|xxLLb",
		"aLL|xexLLb",
		"aLLx| exLLb",
		"aLLxs|exLLb",
		"aLLss|eeLLb",
		"tLL|thLL|thLLt", // a name on both ends shows nothing
		"LL|LL",
		"aLLx| xL   LLb", // a pause within the next stack is none between passes
	} {
		var acts []act
		var spans [][2]int
		var begins []int
		at, stack := int64(0), false
		for _, c := range want {
			switch c {
			case '|':
				begins = append(begins, len(acts))
				continue
			case ' ':
				at += 50
				continue
			}
			if c == 'L' && (!stack || len(begins) > 0 && begins[len(begins)-1] == len(acts)) {
				spans = append(spans, [2]int{len(acts), len(acts)})
			}
			if stack = c == 'L'; stack {
				spans[len(spans)-1][1] = len(acts) + 1
			}
			name := "kernel_" + string(c)
			if n, ok := splitNames[c]; ok {
				name = n
			}
			acts = append(acts, act{name, 7, at, 10})
			at += 10
		}
		w, kernels := workOf(acts...)
		got, k := &strings.Builder{}, 0
		passes := w.splitBetween(kernels, spans)
		for p := range passes {
			if p > 0 {
				got.WriteByte('|')
			}
			for range passes[p].Kernels {
				got.WriteByte(strings.NewReplacer("|", "", " ", "").Replace(want)[k])
				k++
			}
		}
		if plain := strings.ReplaceAll(want, " ", ""); got.String() != plain {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestClippedNames(t *testing.T) {
	for name, want := range map[string]string{"": "", "abc": "abc", "abcd": "abcd", "abcde": "abc…"} {
		if got := clip(name, 4); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
