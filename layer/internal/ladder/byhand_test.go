package ladder

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// act is a kernel: its name, stream, start and duration.
type act struct {
	name       string
	stream     trace.StreamID
	start, dur int64
}

// workOf collects kernels that no call launched.
func workOf(acts ...act) (*Work, []int32) {
	b := trace.NewBuilder(trace.Options{})
	for _, a := range acts {
		b.Add(trace.EventData{Kind: event.Kernel, Name: a.name, Stream: a.stream, Start: a.start, Duration: a.dur})
	}
	rows, kernels := make([]int32, len(acts)), make([]int32, len(acts))
	for i := range rows {
		rows[i], kernels[i] = int32(i), int32(i)
	}
	w := Collect(func() error { return nil }, built.Trace(b), 0, rows)
	return w, kernels
}

// TestStraysAreDropped: at most one kernel in twenty at either end of a pass, outside of layers, with a pause longer
// than the rest's work.
func TestStraysAreDropped(t *testing.T) {
	run := func(n, strays int, pause int64, inLayer bool, behind bool) (kept int, notes []string) {
		var acts []act
		at := int64(0)
		add := func(k int) {
			for range k {
				acts = append(acts, act{"k", 7, at, 10})
				at += 10
			}
		}
		first := strays
		if behind {
			first = n - strays
		}
		add(first)
		at += pause
		add(n - first)
		w, kernels := workOf(acts...)
		r := &Result{Span: Span{Kernels: kernels}, Layer: make([]int32, n)}
		for k := range r.Layer {
			if stray := (k < strays) != behind && (k < strays || k >= n-strays); stray && !inLayer || behind &&
				k >= n-strays && !inLayer {
				r.Layer[k] = None
			}
		}
		results := []*Result{r}
		notes = w.dropStrays(results)
		return len(results[0].Kernels), notes
	}
	for _, c := range []struct {
		name    string
		n       int
		strays  int
		pause   int64
		inLayer bool
		behind  bool
		want    int
	}{
		{"one of twenty", 20, 1, 191, false, false, 19},
		{"a shorter pause", 20, 1, 190, false, false, 20},
		{"one of nineteen", 19, 1, 1000, false, false, 19},
		{"two of forty", 40, 2, 381, false, false, 38},
		{"two of thirty-nine", 39, 2, 1000, false, false, 39},
		{"in a layer", 20, 1, 1000, true, false, 20},
		{"behind", 20, 1, 191, false, true, 19},
		{"behind, a shorter pause", 20, 1, 190, false, true, 20},
		{"behind, two of forty", 40, 2, 381, false, true, 38},
		{"behind, in a layer", 20, 1, 1000, true, true, 20},
		{"none", 20, 0, 0, false, false, 20},
	} {
		kept, notes := run(c.n, c.strays, c.pause, c.inLayer, c.behind)
		if kept != c.want || (len(notes) > 0) != (c.want < c.n) {
			t.Errorf("%s: %d of %d are kept, want %d (%q)", c.name, kept, c.n, c.want, notes)
		}
	}
	if _, notes := run(20, 1, 191_000, false, false); !slices.Equal(notes,
		[]string{"1 GPU activity (first k) lies 191 µs before the pass that launched it, and belongs to no pass"}) {
		t.Errorf("%q", notes)
	}
	s := strays{where: "after", passes: 2, kernels: 3, first: "k", pause: 5000}
	if got, want := s.note(), "3 GPU activities (first k) lie up to 5.00 µs after the 2 passes that launched them, and "+
		"belong to no pass"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestProgress(t *testing.T) {
	w, kernels := workOf(act{"a", 7, 10, 10}, act{"b", 8, 15, 10}, act{"c", 7, 20, 2}, act{"d", 7, 40, 5})
	end, work := w.progress(nil, kernels)
	for k := range end {
		end[k] -= w.Act(0).Start()
	}
	if got, want := fmt.Sprint(end, work), fmt.Sprint([]trace.Time{10, 15, 15, 35}, time.Duration(27)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDoubtIsShared: a pass is worth at most the mean of its own confidence and the least of the whole ones.
func TestDoubtIsShared(t *testing.T) {
	results := []*Result{
		{LayerEvidence: "repeat", LayerConf: 0.9}, {LayerEvidence: "repeat", LayerConf: 0.5},
		{LayerEvidence: "module", LayerConf: 1}, {LayerEvidence: "repeat", LayerConf: 0.1, Span: Span{Cut: CutAtEnd}},
		{LayerEvidence: "none", LayerConf: 0},
	}
	shareDoubt(results)
	for i, want := range []float64{0.7, 0.5, 1, 0.1, 0} {
		if got := results[i].LayerConf; got != want {
			t.Errorf("pass %d: %v, want %v", i, got, want)
		}
	}
	alone := []*Result{{LayerEvidence: "repeat", LayerConf: 0.9}}
	if shareDoubt(alone); alone[0].LayerConf != 0.9 {
		t.Errorf("one pass: %v, want 0.9", alone[0].LayerConf)
	}
}

// TestEndsOfPasses: kernels are before the first layer, and two after the last one.
func TestEndsOfPasses(t *testing.T) {
	for _, c := range []struct {
		layers []int32
		first  int
		want   bool
	}{
		{[]int32{None, 0, 1, None, None}, 0, true}, {[]int32{None, 0, 1, None}, 0, false},
		{[]int32{0, 1, None, None}, 0, false}, {[]int32{None, 1, 2, None, None}, 1, false},
		{[]int32{None, 0, None, 1, None}, 0, false},
	} {
		if got := hasBothEnds(&Result{Layer: c.layers, First: c.first}); got != c.want {
			t.Errorf("%v from %d: %v, want %v", c.layers, c.first, got, c.want)
		}
	}
	r := Result{Span: Span{Kernels: []int32{5, 3, 8, 1}}, Layer: []int32{50, 30, 80, 10}}
	r.keep(3, 5)
	if fmt.Sprint(r.Kernels, r.Layer) != "[5 3] [50 30]" {
		t.Errorf("%v, %v", r.Kernels, r.Layer)
	}
}

// TestWholePassesToReadBy: of whole passes the one with most kernels in common, then the surest, then the first.
func TestWholePassesToReadBy(t *testing.T) {
	pass := func(conf float64, cut Partial, names ...string) *Result {
		return &Result{Span: Span{Cut: cut}, LayerConf: conf, Seq: sequenceFrom(names),
			st: &segment.Cut{Starts: []int{0, len(names)}}}
	}
	asked := sequenceFrom([]string{"a", "b"})
	for _, c := range []struct {
		name    string
		results []*Result
		want    int
	}{
		{"most in common", []*Result{pass(0.9, Uncut, "a"), pass(0.5, Uncut, "a", "b")}, 1},
		{"the surest of equals", []*Result{pass(0.5, Uncut, "a"), pass(0.9, Uncut, "a")}, 1},
		{"the first of equals", []*Result{pass(0.5, Uncut, "a"), pass(0.5, Uncut, "a")}, 0},
		{"none in common", []*Result{pass(0.5, Uncut, "x"), pass(0.9, Uncut, "y")}, 1},
		{"cut ones are none", []*Result{pass(0.9, CutAtEnd, "a", "b"), pass(0.5, Uncut, "a")}, 1},
		{"none", []*Result{pass(0.9, CutAtEnd, "a")}, -1},
	} {
		got := nearestPasses(wholePasses(c.results), asked)
		if (c.want < 0) != (len(got) == 0) || c.want >= 0 && got[0] != c.results[c.want] {
			t.Errorf("%s: %+v, want pass %d first", c.name, got, c.want)
		}
	}
	// One of each structure, unless a later one is surer.
	first, other := pass(0.5, Uncut, "a"), pass(0.5, Uncut, "a")
	again, surer := *first, *first
	surer.LayerConf = 0.9
	for _, c := range []struct {
		results []*Result
		want    string
	}{{[]*Result{first, &again}, "[0.5]"}, {[]*Result{first, other}, "[0.5 0.5]"},
		{[]*Result{first, &surer, &again}, "[0.9 0.5]"}} {
		var got []float64
		if n := len(wholePasses(append(c.results, c.results...))); n != len(wholePasses(c.results)) {
			t.Errorf("passes repeated are read by %d, want by those that are not", n)
		}
		for _, r := range nearestPasses(wholePasses(c.results), asked) {
			got = append(got, r.LayerConf)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%d passes to read by: %v, want %s", len(c.results), got, c.want)
		}
	}
}

// TestLayersInWords: lengths by how often they occur, three of them, and what is open.
func TestLayersInWords(t *testing.T) {
	w, _ := workOf(act{"anchor_kernel", 7, 0, 1}, act{strings.Repeat("a", 49), 7, 1, 1})
	seq := sequenceFrom([]string{"x", "y", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x"})
	for _, c := range []struct {
		cut    segment.Cut
		doubts segment.Doubts
		want   string
	}{
		{segment.Cut{Starts: []int{0, 2, 4}}, segment.Doubts{}, "2 layers of 2 kernels; layers start at one kernel only"},
		{segment.Cut{Starts: []int{0, 2, 4, 7}}, segment.Doubts{},
			"2 layers of 2 kernels, 1 of 3; layers start at one kernel only"},
		{segment.Cut{Starts: []int{0, 1, 3}}, segment.Doubts{Lost: true, Nameless: true},
			"1 layer of 1 kernel, 1 of 2; layers start at one kernel only; in doubt: " +
				"nothing shows where the pass begins or ends: there may be more layers, no kernel is known to mix tokens"},
		{segment.Cut{Starts: []int{0, 1, 3, 6, 10}, Lo: 1, Hi: 2}, segment.Doubts{},
			"1 layer of 1 kernel, 1 of 2, 1 of 3, … 4 lengths; repetition alone leaves their start open by up to 1 kernel"},
		{segment.Cut{Starts: []int{0, 2}, Lo: 3, Hi: 1, ByRole: true}, segment.Doubts{},
			"1 layer of 2 kernels; repetition alone leaves their start open by up to 2 kernels, set at the input norm"},
		{segment.Cut{Starts: []int{0, 2}, Comb: segment.Comb{Pos: []int{0}}}, segment.Doubts{},
			"1 layer of 2 kernels; anchor anchor_kernel; layers start at one kernel only"},
		{segment.Cut{Starts: []int{0, 2}, Comb: segment.Comb{Pos: []int{1}}}, segment.Doubts{},
			"1 layer of 2 kernels; anchor " + strings.Repeat("a", 47) + "…; layers start at one kernel only"},
	} {
		if got := w.Describe(&Result{Seq: seq, st: &c.cut, doubts: c.doubts}); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	if got := w.Describe(&Result{}); got != "" {
		t.Errorf("no cut: %q", got)
	}
}

// TestPlacesOfLayers: kernels before the first layer and after the last one have none; places of a line are those of its
// kernels among all.
func TestPlacesOfLayers(t *testing.T) {
	layers := make([]int32, 8)
	for _, c := range []struct {
		starts []int
		want   string
	}{{[]int{0, 4, 8}, "[0 0 0 0 1 1 1 1]"}, {[]int{2, 4, 7}, "[-1 -1 0 0 1 1 1 -1]"},
		{[]int{2, 4, 4, 6}, "[-1 -1 0 0 2 2 -1 -1]"},
		{[]int{3, 9}, "[-1 -1 -1 0 0 0 0 0]"}} {
		if layersBetween(c.starts, layers); fmt.Sprint(layers) != c.want {
			t.Errorf("layers at %v: %v, want %s", c.starts, layers, c.want)
		}
	}
	if got := placesIn([]int32{3, 5, 6, 9}, []int32{5, 9}); !slices.Equal(got, []int32{1, 3}) {
		t.Errorf("places %v, want 1 and 3", got)
	}
	if got := placesIn([]int32{3, 5}, nil); len(got) != 0 {
		t.Errorf("places of none: %v", got)
	}
}

// TestLongestPause: the first of equals; of kernels that overlap the shortest overlap.
func TestLongestPause(t *testing.T) {
	for _, c := range []struct {
		spans [][2]int64 // the first is before the others, the last after them
		want  int
	}{{[][2]int64{{0, 10}, {12, 20}, {30, 40}, {45, 50}}, 1}, {[][2]int64{{0, 10}, {15, 20}, {25, 40}, {45, 50}}, 0},
		{[][2]int64{{0, 10}, {5, 15}, {8, 20}}, 0}, {[][2]int64{{0, 10}, {2, 15}, {13, 20}}, 1}, {[][2]int64{{0, 10},
			{12, 20}}, 0},
		{[][2]int64{{0, 100}, {10, 20}, {90, 95}, {120, 130}}, 2}} {
		var acts []act
		for _, s := range c.spans {
			acts = append(acts, act{"k", 7, s[0], s[1] - s[0]})
		}
		w, all := workOf(acts...)
		last := len(all) - 1
		if got := w.longestPause(all[0], all[1:last], all[last]); got != c.want {
			t.Errorf("%v: %d kernels are before the longest pause, want %d", c.spans, got, c.want)
		}
	}
}

// TestModelThatIsMeant: the one with most GPU time, unless another one shows the number of layers that is given.
func TestModelThatIsMeant(t *testing.T) {
	key := func(n int) ModelKey { return ModelKey{Instance: n} }
	shows := func(n int) []*Result { return []*Result{{}, {variant: &variant{n: n}}} }
	groups := map[ModelKey][]*Result{key(1): shows(10), key(2): shows(20), key(3): shows(20), key(4): {{}}}
	names := []ModelKey{key(1), key(2), key(3), key(4)}
	for _, c := range []struct{ main, n, want int }{{1, 0, 1}, {1, 10, 1}, {1, 20, 2}, {3, 20, 3}, {1, 30, 1},
		{4, 10, 1}, {4, 0, 4}} {
		if got := likelier(groups, names, key(c.main), c.n); got != key(c.want) {
			t.Errorf("%d layers, most time in %d: model %d, want %d", c.n, c.main, got.Instance, c.want)
		}
	}
	a, b := &Sequence{Base: []int32{1, 2, 3, 4}, ID: make([]int32, 4)}, &Sequence{Base: []int32{1, 2, 9},
		ID: make([]int32, 3)}
	if got := kin(a, b); got != 2./3 || kin(b, a) != got || kin(a, &Sequence{}) != 0 {
		t.Errorf("%v of the shorter one's kernels are in common, want two thirds", got)
	}
}

// TestModelsOfConvolutions: more convolutions than products, and nothing that mixes tokens.
func TestModelsOfConvolutions(t *testing.T) {
	for passes, want := range map[string]bool{"CC CC": true, "Cq CC": true, "Cq Cq": false, "Cq qq": false,
		"CC CCm": false,
		"x x":    false, "CCq q": false, "CCCq q": true} {
		w, results := passesOfLetters(strings.Fields(passes)...)
		if got := w.convolves(results); got != want {
			t.Errorf("%s: %v, want %v", passes, got, want)
		}
	}
}

// TestLostRecords: between which kernels of a pass records are missing; before the first and after the last one is none.
func TestLostRecords(t *testing.T) {
	for before, want := range map[int]Loss{0: {None, 7, 3, false, false}, 1: {7, 8, 3, false, false},
		2: {8, 9, 3, true, false},
		3: {9, None, 3, false, false}} {
		r := Result{line: []int32{7, 8, 9}, Missing: []segment.Gap{{Before: before, From: 2, To: 5,
			Doubtful: want.Unsure}}}
		if got := r.Lost(); len(got) != 1 || got[0] != want {
			t.Errorf("before kernel %d: %+v, want %+v", before, got, want)
		}
	}
	v, one, two := vote{map[int]int{}, map[int]*Sequence{}}, &Sequence{ID: make([]int32, 4)},
		&Sequence{ID: make([]int32, 6)}
	v.add(3, one, 1)
	v.add(3, two, 2)
	if v.kernels[3] != 16 || v.shows[3] != one {
		t.Errorf("%d kernels vote, want 16 and the first pass", v.kernels[3])
	}
	w, all := workOfLetters("mqCn", "")
	for i, want := range [][2]int{{1, 0}, {0, 1}, {0, 1}, {0, 0}} {
		if mixes, product := w.works(all[i], w.RoleOf(all[i])); mixes != want[0] || product != want[1] {
			t.Errorf("kernel %d mixes %d and is a product %d, want %v", i, mixes, product, want)
		}
	}
}
