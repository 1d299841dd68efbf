package segment

import (
	"cmp"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
)

// A labelled name is a kernel with the layer it is of, −1 outside of any.
type labelled struct {
	name  string
	layer int
}

// labels writes out a pass of so many layers at most.
func labels(o families.Order, layers int) []labelled {
	var out []labelled
	add := func(names []string, layer int) {
		for _, n := range names {
			out = append(out, labelled{n, layer})
		}
	}
	add(o.Prologue, -1)
	for l, names := range o.Layers[:min(layers, len(o.Layers))] {
		add(names, l)
	}
	add(o.Epilogue, -1)
	return out
}

// sequenceOfLabels are the kernels, and where layers begin and the last one ends.
func sequenceOfLabels(in []labelled) (s *Sequence, starts []int) {
	var names []string
	last, end := -1, 0
	for i, k := range in {
		names = append(names, k.name)
		if k.layer >= 0 {
			if end = i + 1; k.layer != last {
				starts, last = append(starts, i), k.layer
			}
		}
	}
	return sequenceOf(names), append(starts, end)
}

// damages are what may have become of a pass.
var damages = []struct {
	name string
	make func(r *rand.Rand, in []labelled) []labelled
}{
	{"whole", func(_ *rand.Rand, in []labelled) []labelled { return in }},
	{"hidden", func(_ *rand.Rand, in []labelled) []labelled {
		out := slices.Clone(in)
		for i := range out {
			out[i].name = hidden([]string{out[i].name})[0]
		}
		return out
	}},
	{"lost", func(r *rand.Rand, in []labelled) []labelled {
		var out []labelled
		for _, k := range in {
			if r.Float64() >= 0.02 {
				out = append(out, k)
			}
		}
		return out
	}},
	{"noisy", func(r *rand.Rand, in []labelled) []labelled {
		var out []labelled
		for _, k := range in {
			if r.Intn(25) == 0 && k.layer >= 0 {
				out = append(out, labelled{"Memset (Device)", k.layer})
			}
			out = append(out, k)
		}
		return out
	}},
	{"tuned", func(r *rand.Rand, in []labelled) []labelled {
		out := slices.Clone(in)
		for i := range out {
			out[i].name = tuned(r, []string{out[i].name})[0]
		}
		return out
	}},
}

// TestFamiliesOfFewLayers: of passes of eleven layers of all families, whole and damaged, so many are cut into their
// layers to the kernel: whole, as many as are asked for and as many as they show; without a doubt; and where the
// window cuts them, by the whole pass and by themselves. The others are passes whose names say nothing, layers of
// which kernels were lost, and stacks too short to show a pattern.
func TestFamiliesOfFewLayers(t *testing.T) {
	least := map[string]int{"layers": 150, "numbers": 156, "right and sure": 58, "wrong and in doubt": 15,
		"by the whole pass": 287, "by themselves": 236}
	right, wrong := map[string]int{}, map[string][]string{}
	note := func(what, name string, ok bool) {
		if ok {
			right[what]++
		} else {
			wrong[what] = append(wrong[what], name)
		}
	}
	for fi, f := range allFamilies {
		for di, d := range damages {
			name := f.Name + ", " + d.name
			o := []families.Order{f.Prefill, f.Decode}[(fi+di)%2]
			n := min(11, len(o.Layers))
			s, starts := sequenceOfLabels(d.make(rand.New(rand.NewSource(1)), labels(o, n)))
			c, ok := Layers(s, n)
			note("layers", name, ok && slices.Equal(c.Starts, starts))
			note("numbers", name, Number(s) == n)
			sure := ok && Words(Doubt(s, c, true)) == ""
			if !ok || !slices.Equal(c.Starts, starts) {
				note("wrong and in doubt", name, !sure)
				continue
			}
			note("right and sure", name, sure)
			// within layers 3 and 8
			begin, end := starts[3]+1+fi%(starts[4]-starts[3]-1), starts[8]+1+fi%(starts[9]-starts[8]-1)
			front := Fitted{Cut: &Cut{Starts: []int{0}}, First: 3, CutFirst: true}
			for _, x := range starts[4:] {
				front.Starts = append(front.Starts, x-begin)
			}
			behind := Fitted{Cut: &Cut{Starts: append(slices.Clone(starts[:9]), end)}}
			for _, w := range []struct {
				s    *Sequence
				cut  Cuts
				want Fitted
			}{{s.Slice(begin, s.Len()), Cuts{Start: true}, front}, {s.Slice(0, end), Cuts{End: true}, behind}} {
				equal := func(f *Fitted) bool {
					return slices.Equal(f.Starts, w.want.Starts) && f.First == w.want.First &&
						f.CutFirst == w.want.CutFirst
				}
				fit, ok := Fit(w.s, c, n, w.cut)
				note("by the whole pass", name, ok && equal(fit))
				fit, cut, _, ok := Fragment(w.s, n, Cuts{})
				note("by themselves", name, ok && cut == w.cut && equal(fit))
			}
		}
	}
	for what, want := range least {
		if right[what] < want {
			t.Errorf("%s: %d are right, want %d; others:\n%s", what, right[what], want, strings.Join(wrong[what], "\n"))
		}
	}
}

// TestLimitsAscend: the gravest doubt is the first, as [Judge] takes the first one that holds.
func TestLimitsAscend(t *testing.T) {
	if !slices.IsSortedFunc(Limits, func(a, b Limit) int { return cmp.Compare(a.Most, b.Most) }) {
		t.Error("a doubt leaves less than one above it")
	}
	if got := Judge(0.9, Doubts{Nameless: true, Endless: true}); got != Contradicted {
		t.Errorf("the gravest of two doubts leaves %v", got)
	}
	if got := Judge(0.3, Doubts{Nameless: true}); got != 0.3 {
		t.Errorf("a doubt raises 0.3 to %v", got)
	}
}
