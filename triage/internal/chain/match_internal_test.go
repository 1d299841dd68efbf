package chain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// stream is a window of kernels, one letter each: a…c do a step of that letter, . is a small kernel, x another one.
func stream(letters string) (q *sequence, window []int32, sorts []runSort) {
	q = &sequence{Trace: &activity.Trace{}}
	for i, c := range letters {
		s := runSort{word: wordNorm}
		switch {
		case c >= 'a' && c <= 'c':
			s.steps = 1 << (c - 'a')
		case c == '.':
			s.word = wordCopy
		}
		q.Kernels, window, sorts = append(q.Kernels, Kernel{int32(i), int32(i)}), append(window, int32(i)),
			append(sorts, s)
	}
	return q, window, sorts
}

// TestChainsAreFound: a chain is written as its letters, ? after an optional one, a capital for one that must follow.
func TestChainsAreFound(t *testing.T) {
	for _, c := range []struct{ what, chain, stream, want string }{
		{"side by side", "ab", "xabxab", "ab ab"},
		{"not in another order", "ab", "ba", ""},
		{"cut by another kernel", "ab", "axb", ""},
		{"a small kernel between", "ab", "a.b", "a.b"},
		{"two", "ab", "a..b", "a..b"},
		{"three", "ab", "a...b", ""},
		{"none before", "ab", ".ab", "ab"},
		{"cut by the end", "ab", "a.", ""},
		{"optional and there", "aa?b", "aab", "aab"},
		{"optional and not there", "aa?b", "ab", "ab"},
		{"not thrice", "aa?b", "aaab", "aab"},
		{"followed", "aB", "acab", "a"},
		{"followed after a small one", "aB", "a.b", "a"},
		{"not followed", "aB", "a", ""},
		{"no kernel twice", "aa", "aaa", "aa"},
	} {
		chain := compiled{}
		for _, l := range c.chain {
			if l == '?' {
				chain.steps[len(chain.steps)-1].optional = true
				continue
			}
			chain.steps = append(chain.steps, compiledStep{any: 1 << (l&^' ' - 'A'), beyond: l < 'a'})
		}
		q, window, sorts := stream(c.stream)
		var got []string
		for i := 0; i < len(window); {
			end := chain.match(q, window, i, sorts)
			if end > i {
				got = append(got, c.stream[i:end])
			}
			i = max(end, i+1)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s, %s in %s: %q, want %q", c.what, c.chain, c.stream, text, c.want)
		}
	}
	q, window, sorts := stream("ab")
	chain := compiled{steps: []compiledStep{{any: 1}, {any: 2, without: 2}}}
	if end := chain.match(q, window, 0, sorts); end != 0 {
		t.Error("a kernel that does a step it must not do is taken")
	}
	if chain.possible(1) || !chain.possible(3) {
		t.Error("a chain needs each of its steps")
	}
}

// ran are kernels that start and end at these times.
func ran(t *testing.T, spans ...[2]int64) *activity.Trace {
	t.Helper()
	an, err := layer.Analyze(t.Context(), built.Kernels(spans...), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return activity.NewPool().Collect(t.Context(), an, "", "")
}

// TestPriceOfAFewKernels: of several kernels one launch and one pass over the data stay; an exchange keeps its work.
func TestPriceOfAFewKernels(t *testing.T) {
	w := ran(t, [2]int64{0, 10}, [2]int64{100, 120}, [2]int64{200, 230}, [2]int64{300, 340}, [2]int64{400, 450})
	p := &Pricer{sorts: []runSort{{moves: moves{1, 1}}, {border: true}},
		sortOf: map[*activity.Trace][]int32{w: {0, 0, 1, 0, 1}}, launch: 10}
	for _, c := range []struct {
		what string
		acts []int32
		want Price
	}{
		{"one", []int32{0}, Price{}},
		{"an exchange and one", []int32{2, 3}, Price{Low: 10, GPU: 25, High: 40, Gaps: 70, Launches: 1}},
		{"two of which neither is bound by memory", []int32{2, 4},
			Price{Low: 10, GPU: 16, High: 30, Gaps: 130, Launches: 1}},
	} {
		if got := p.price(w, c.acts); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
	for gap, want := range map[int64]int64{-1: 0, 0: 0, 1: 1, 4999: 4999, 5000: 5000, 5001: 5000} {
		w := ran(t, [2]int64{0, 10_000}, [2]int64{10_000 + gap, 20_000})
		if got := gaps(w, []int32{0, 1}); got != want {
			t.Errorf("a gap of %d ns counts %d, want %d", gap, got, want)
		}
	}
}

// TestStepIsNotShorterByHiddenTime: of two kernels of 10 µs a long one of another stream covers the second. Of 4 to 15
// µs that a fused kernel saves the step sees none at least, and 10 at most, and the 2 µs in which nothing runs between.
func TestStepIsNotShorterByHiddenTime(t *testing.T) {
	w := ran(t, [2]int64{0, 10_000}, [2]int64{12_000, 90_000}, [2]int64{13_000, 23_000})
	o := Occurrence{Trace: w, Acts: []int32{0, 2}}
	o.Price = Price{Low: 4000, High: 15_000, Gaps: gaps(w, o.Acts)}
	if low, high := o.Step(); low != 0 || high != 12_000 {
		t.Errorf("%d to %d ns, want 0 to 12000", low, high)
	}
	o.Acts = []int32{0} // nothing runs beside it
	o.Price = Price{Low: 4000, High: 9000}
	if low, high := o.Step(); low != 4000 || high != 9000 {
		t.Errorf("alone: %d to %d ns, want 4000 to 9000", low, high)
	}
}

// TestPriceFollowsTheModel: kernels take a launch and what their bytes take. One kernel in place of a chain of n that
// each read and write one tensor reads and writes one, whatever a launch and a tensor take.
func TestPriceFollowsTheModel(t *testing.T) {
	for _, launch := range []int64{0, 1500, 4000} {
		for _, tensor := range []int64{100, 1000, 50_000} { // ns to move it once
			for n := 2; n < 9; n++ {
				at := int64(0)
				var spans [][2]int64
				var acts, sorts []int32
				for i := range n {
					spans = append(spans, [2]int64{at, at + launch + 2*tensor})
					at += launch + 2*tensor + 1000
					acts, sorts = append(acts, int32(i)), append(sorts, 0)
				}
				w := ran(t, spans...)
				p := &Pricer{sorts: []runSort{{moves: moves{1, 1}}}, sortOf: map[*activity.Trace][]int32{w: sorts},
					launch: launch + 1}
				want := int64(n)*(launch+2*tensor) - (launch + 2*tensor)
				got := p.price(w, acts)
				if r := float64(got.GPU) / float64(want); r < 1/1.3 || r > 1.3 || got.Low > got.GPU ||
					got.High < got.GPU {
					t.Errorf("launch %d, tensor %d, %d kernels: %+v, want %d", launch, tensor, n, got, want)
				}
			}
		}
	}
}

// TestPriceOfExperts: what runs between the products of the experts may be saved, likely half of it, and the launches.
func TestPriceOfExperts(t *testing.T) {
	w := ran(t, [2]int64{0, 10}, [2]int64{100, 120}, [2]int64{200, 230})
	p := activity.NewPool()
	p.Facts = []activity.Kernel{{Facts: &classify.Facts{Role: classify.RoleExperts}},
		{Facts: &classify.Facts{Role: classify.RoleActivation}}}
	q := &sequence{Trace: w}
	for i := range w.Acts {
		w.Acts[i].Kernel = int32(i % 2)
		q.Kernels = append(q.Kernels, Kernel{Act: int32(i)})
	}
	var c Candidate
	NewRecogniser(made(t, written, ""), p).addExperts(&c, q, []int32{0, 1, 2})
	if want := (Price{GPU: 10, High: 20, Gaps: 170, Launches: 2}); len(c.At) != 1 || c.At[0].Price != want || c.NS != 60 {
		t.Errorf("%+v, %d ns; want %+v", c.At, c.NS, want)
	}
}

// TestTrafficOfSteps: a tensor that one kernel writes and the next one reads is moved twice, one that two write or read
// is moved as often. Each kernel takes 10 ns for each tensor of its size that it reads or writes; what a residual sum
// writes is read again later, so that only reading it is saved, and what follows a mean reads again what that read.
func TestTrafficOfSteps(t *testing.T) {
	does := map[string]moves{"residual_norm": {2, 2}, "norm": {1, 1}, "rope kv_write": {1, 1}, "kv_write": {1, 1},
		"rope": {1, 1}, "softmax": {1, 1}, "act_quant": {2, 0.5}, "gated_act": {2, 1}, "quant": {1, 0.5},
		"plain_act": {1, 1}, "pad": {1, 1}, "residual_add": {2, 1}, "divide": {1, 1}, "mean": {1, 0}, "": {1, 1}}
	var steps []string
	for name := range does {
		if name != "" && !strings.Contains(name, " ") {
			steps = append(steps, fmt.Sprintf(`{"step": %q, "names": [%q]}`, name, name))
		}
	}
	reg := made(t, strings.Join(steps, ", "), "")
	r := NewRecogniser(reg, activity.NewPool())
	sort := func(name string) runSort {
		return r.runSort(&activity.Kernel{Kind: event.Kernel, Facts: &classify.Facts{},
			Shown: activity.Class{Category: classify.CategoryElementwise}}, reg.Set(strings.Fields(name)...), "")
	}
	for one, a := range does {
		for other, b := range does {
			first, second := int64(10*(a.reads+a.writes)), int64(10*(b.reads+b.writes))
			w := ran(t, [2]int64{0, first}, [2]int64{100, 100 + second})
			p := &Pricer{sorts: []runSort{sort(one), sort(other)}, sortOf: map[*activity.Trace][]int32{w: {0, 1}}}
			want := 20 * min(a.writes, b.reads)
			switch one {
			case "residual_add":
				want /= 2
			case "mean":
				want = 10
			}
			if got := p.passed(w, []int32{0, 1}, 0); got != want {
				t.Errorf("%q and %q: %v ns of traffic are saved, want %v", one, other, got, want)
			}
		}
	}
}

func TestOftenEnough(t *testing.T) {
	known := &fusion.Chain{}
	for _, c := range []struct {
		chain     *fusion.Chain
		attention bool
		n, steps  int
		want      bool
	}{
		{nil, false, 3, 1, false}, {nil, false, 4, 0, true}, {nil, true, 1, 0, true}, {known, false, 3, 0, false},
		{known, false, 1, 1, true}, {known, false, 1, 2, false},
	} {
		m := Candidate{Chain: c.chain, Attention: c.attention, At: make([]Occurrence, c.n)}
		if got := m.Repeats(c.steps); got != c.want {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
}

func TestCandidatesThatSayTheSame(t *testing.T) {
	made := func(name string, part int32, acts ...int32) *Candidate {
		w := &activity.Trace{Part: part, Acts: make([]activity.Activity, 10)}
		for i := range 3 {
			w.Acts[i].Queue = 1 // after the rest, in the order of streams
		}
		c := &Candidate{Name: name}
		for _, act := range acts {
			c.At = append(c.At, Occurrence{Trace: w, Acts: []int32{act}})
		}
		return c
	}
	names := func(list []*Candidate) (out []string) {
		for _, c := range list {
			out = append(out, c.Name)
		}
		return out
	}
	var got []string
	for _, c := range Prune([]*Candidate{made("first", 0, 3, 1, 2), made("same", 0, 3, 1, 2), made("within", 0, 1),
		made("near", 0, 3, 4), made("apart", 0, 5), made("other trace", 1, 3, 1, 2), made("more", 0, 3, 4, 1, 2)}) {
		got = append(got, fmt.Sprint(c.Name, names(c.Also), names(c.Near)))
	}
	if s, want := strings.Join(got, "; "), "first[same within] []; near[] [first]; apart[] []; other trace[] []; more[] [first near]"; s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}

// TestBridge: a multiplication after a product belongs to the activation before it where the product does not read
// the activation.
func TestBridge(t *testing.T) {
	for down, want := range map[bool]int{false: 1, true: 2} {
		sorts := []runSort{{act: true}, {border: true, product: true, down: down}, {times: true}}
		q := &sequence{&activity.Trace{Acts: make([]activity.Activity, 3)}, []Kernel{{0, 0}, {1, 1}, {2, 2}}}
		if got := runsOf(q, sorts); len(got) != want {
			t.Errorf("a product that reads the activation: %v; %d runs, want %d", down, len(got), want)
		}
	}
}
