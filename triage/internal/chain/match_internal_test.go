package chain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// stream is a sequence of kernels, one letter each: a…c do a step of that letter, . is a filler, n a norm that does none, x
// another kernel. Kernel i runs from 100·i to 100·i + 10·(i+1) ns.
func stream(letters string) (*activity.Pool, *sequence) {
	p := &activity.Pool{Facts: []activity.Kernel{{}, {Shown: activity.Class{Category: classify.CategoryNorm}}}}
	q := &sequence{Trace: &activity.Trace{}, sets: make([]fusion.Set, len(letters))} // each kernel is a sort of its own
	for i, c := range letters {
		k := Kernel{Act: int32(i), Sort: int32(i), filler: c == '.'}
		act := activity.Activity{Start: int64(100 * i), End: int64(100*i + 10*(i+1))}
		switch {
		case c >= 'a' && c <= 'c':
			q.sets[i] = 1 << (c - 'a')
		case c == 'n':
			act.Kernel = 1
		}
		q.Kernels = append(q.Kernels, k)
		q.Trace.Acts = append(q.Trace.Acts, act)
	}
	return p, q
}

// step is a step of a chain, written as its letter, how often, and what must follow.
func step(letter byte, least, most int) compiledStep {
	return compiledStep{any: 1 << (letter - 'a'), min: least, max: most}
}

func TestChainsAreFound(t *testing.T) {
	through := step('b', 1, 1)
	through.through = []classify.Category{classify.CategoryNorm}
	before := step('a', 1, 1)
	before.before = 1 << 1
	without := step('a', 1, 1)
	without.without = 1 << 0
	for _, c := range []struct {
		name    string
		steps   []compiledStep
		fillers int
		stream  string
		want    string // members, then fillers, then what it reaches through
	}{
		{"side by side", []compiledStep{step('a', 1, 1), step('b', 1, 1)}, 0, "xabxab", "12// 45//"},
		{"not in another order", []compiledStep{step('a', 1, 1), step('b', 1, 1)}, 0, "ba", ""},
		{"cut by another kernel", []compiledStep{step('a', 1, 1), step('b', 1, 1)}, 1, "axb", ""},
		{"no filler", []compiledStep{step('a', 1, 1), step('b', 1, 1)}, 0, "a.b", ""},
		{"one filler", []compiledStep{step('a', 1, 1), step('b', 1, 1)}, 1, "a.b", "02/1/"},
		{"one filler too many", []compiledStep{step('a', 1, 1), step('b', 1, 1)}, 1, "a..b", ""},
		{"two fillers", []compiledStep{step('a', 1, 1), step('b', 1, 1)}, 2, "a..b", "03/12/"},
		{"none in front", []compiledStep{step('a', 1, 1), step('b', 1, 1)}, 2, ".ab", "12//"},
		{"at the end", []compiledStep{step('a', 1, 1), step('b', 1, 1)}, 2, "a.", ""},
		{"twice", []compiledStep{step('a', 2, 2), step('b', 1, 1)}, 0, "abaab", "234//"},
		{"once or twice", []compiledStep{step('a', 1, 2), step('b', 1, 1)}, 0, "aabab", "012// 34//"},
		{"not thrice", []compiledStep{step('a', 1, 2), step('b', 1, 1)}, 0, "aaab", "123//"},
		{"through a norm", []compiledStep{step('a', 1, 1), through}, 0, "anb", "02//1"},
		{"not through two", []compiledStep{step('a', 1, 1), through}, 0, "annb", ""},
		{"before", []compiledStep{before}, 0, "acab", "2//"},
		{"before, behind a filler", []compiledStep{before}, 1, "a.b", "0//"},
		{"before, behind two", []compiledStep{before}, 1, "a..b", ""},
		{"before, behind another kernel", []compiledStep{before}, 1, "axb", ""},
		{"before the end", []compiledStep{before}, 1, "a", ""},
		{"without", []compiledStep{without}, 0, "a", ""},
		{"no overlap", []compiledStep{step('a', 1, 1), step('a', 1, 1)}, 0, "aaa", "01//"},
	} {
		p, q := stream(c.stream)
		chain := Compiled{p: &fusion.Pattern{Fillers: c.fillers}, steps: c.steps}
		var m Match
		chain.Find(p, q, &m)
		var got []string
		for _, o := range m.At {
			behind := o.acts[o.members:]
			text := fmt.Sprint(o.Members(), "/", behind[:o.fillers], "/", behind[o.fillers:])
			got = append(got, strings.NewReplacer("[", "", "]", "", " ", "").Replace(text))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s, in %s: %q, want %q", c.name, c.stream, s, c.want)
		}
	}
	chain := Compiled{steps: []compiledStep{step('a', 1, 1), step('b', 1, 1)}}
	if chain.Possible(1) || !chain.Possible(3) {
		t.Error("a chain needs each of its steps")
	}
}

// occurrence is one of these members, with fillers between them.
func occurrence(members []int32, fillers ...int32) Occurrence {
	return Occurrence{acts: slices.Concat(members, fillers), members: int32(len(members)), fillers: int32(len(fillers))}
}

// TestMeasure: the time of an occurrence is that of its members, its price that of members and fillers.
func TestMeasure(t *testing.T) {
	w := &activity.Trace{}
	for i := range int64(5) { // 10, 20, 30 … ns, every 100 ns
		w.Acts = append(w.Acts, activity.Activity{Start: 100 * i, End: 100*i + 10*(i+1), Replay: true})
	}
	p := &Pricer{sorts: []runSort{{moves: moves{1, 1}}, {border: true}}, sortOf: map[*activity.Trace][]int32{w: {0, 0, 1, 0, 0}}, launch: 10}
	measured := func(pattern *fusion.Pattern, o Occurrence) (int64, Price) {
		o.Trace = w
		m := Match{Pattern: pattern, At: []Occurrence{o}}
		m.Measure(p)
		return m.NS, m.At[0].price
	}
	for _, c := range []struct {
		name string
		o    Occurrence
		ns   int64
		want Price
	}{
		{"reaching through", Occurrence{acts: []int32{3, 4, 2}, members: 2}, 90, Price{Low: 40, GPU: 40, High: 40, Gaps: 60, Launches: 1}},
		{"an exchange keeps its work", occurrence([]int32{2, 3}), 70, Price{Low: 10, GPU: 25, High: 40, Gaps: 70, Launches: 1}},
		{"one", occurrence([]int32{0}), 10, Price{}},
	} {
		if ns, got := measured(&fusion.Pattern{}, c.o); ns != c.ns || got != c.want {
			t.Errorf("%s: %d ns, %+v, want %d and %+v", c.name, ns, got, c.ns, c.want)
		}
	}
	steps := &fusion.Pattern{Gain: []string{"b"}, Chain: []fusion.ChainStep{{Any: []string{"a"}}, {Any: []string{"b"}}}}
	if _, got := measured(steps, occurrence([]int32{0, 1})); got.GPU != 20 {
		t.Errorf("%+v, want the last member's 20", got)
	}
	steps.Gain = []string{"a"}
	if _, got := measured(steps, occurrence([]int32{0, 1})); got.GPU != 10 {
		t.Errorf("%+v, want the first member's 10", got)
	}
	for gap, want := range map[int64]int64{-1: 0, 0: 0, 1: 1, 4999: 4999, 5000: 5000, 5001: 5000} {
		w := &activity.Trace{Acts: []activity.Activity{{Start: 0, End: 10_000}, {Start: 10_000 + gap, End: 20_000}}}
		if got := gaps(w, []int32{0, 1}); got != want {
			t.Errorf("a gap of %d ns counts %d, want %d", gap, got, want)
		}
	}
}

// TestPriceFollowsTheModel: kernels take a launch and what their bytes take. One kernel in place of a chain of n that each read
// and write one tensor reads and writes one, whatever a launch and a tensor take.
func TestPriceFollowsTheModel(t *testing.T) {
	for _, launch := range []int64{0, 1500, 4000} {
		for _, tensor := range []int64{100, 1000, 50_000} { // ns to move it once
			for n := 2; n < 9; n++ {
				w, at := &activity.Trace{}, int64(0)
				var acts, sorts []int32
				for i := range n {
					w.Acts = append(w.Acts, activity.Activity{Start: at, End: at + launch + 2*tensor, Replay: true})
					at += launch + 2*tensor + 1000
					acts, sorts = append(acts, int32(i)), append(sorts, 0)
				}
				p := &Pricer{sorts: []runSort{{moves: moves{1, 1}}}, sortOf: map[*activity.Trace][]int32{w: sorts}, launch: launch + 1}
				want := int64(n)*(launch+2*tensor) - (launch + 2*tensor)
				got := p.price(w, acts)
				if r := float64(got.GPU) / float64(want); r < 1/1.3 || r > 1.3 || got.Low > got.GPU || got.High < got.GPU {
					t.Errorf("launch %d, tensor %d, %d kernels: %+v, want %d", launch, tensor, n, got, want)
				}
			}
		}
	}
}

func TestOftenEnough(t *testing.T) {
	for _, c := range []struct {
		repeat           string
		n, steps, blocks int
		want             bool
	}{
		{"", 0, 1, 0, false}, {"", 3, 1, 0, false}, {"", 4, 1, 0, true}, {"", 1, 1, 1, false}, {"", 2, 1, 8, true}, {"", 2, 1, 9, false}, {"", 3, 1, 12, true}, {"", 1, 1, 4, false},
		{"pass", 1, 0, 0, true}, {"pass", 1, 3, 0, true}, {"pass", 1, 4, 0, false}, {"pass", 2, 4, 100, true}, {"pass", 0, 0, 0, false},
	} {
		m := Match{Pattern: &fusion.Pattern{Repeat: c.repeat}, At: make([]Occurrence, c.n)}
		if got := m.Enough(c.steps, c.blocks); got != c.want {
			t.Errorf("%d times in %d steps and %d blocks, %q: %v, want %v", c.n, c.steps, c.blocks, c.repeat, got, c.want)
		}
	}
}

func TestMatchesThatSayTheSame(t *testing.T) {
	made := func(name string, subsumes []string, part int32, acts ...int32) *Match {
		w := &activity.Trace{Part: part, Acts: make([]activity.Activity, 10)}
		for i := range 3 {
			w.Acts[i].Queue = 1 // behind the rest, in the order of streams
		}
		var at []Occurrence
		for _, act := range acts {
			at = append(at, Occurrence{Trace: w, acts: []int32{act}, members: 1})
		}
		return &Match{Pattern: &fusion.Pattern{Pattern: name, Subsumes: subsumes}, At: at}
	}
	kept := Prune([]*Match{
		made("first", []string{"under"}, 0, 3, 1, 2), made("same", nil, 0, 3, 1, 2), made("under", nil, 0, 9, 1), made("near", nil, 0, 3, 4), made("apart", nil, 0, 5), made("other trace", nil, 1, 3, 1, 2), made("more", nil, 0, 3, 4, 1, 2),
	})
	var got []string
	for _, m := range kept {
		got = append(got, fmt.Sprint(m.Pattern.Pattern, m.Also, m.Near))
	}
	if s, want := strings.Join(got, "; "), "first[same] []; near[] [first]; apart[] []; other trace[] []; more[] [first near]"; s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	refs := func(acts ...int32) (out []member) {
		for _, a := range acts {
			out = append(out, member{0, 0, a})
		}
		return out
	}
	if got := common(refs(1, 2, 4, 6), refs(0, 2, 3, 6, 7)); got != 2 {
		t.Errorf("%d in common, want 2", got)
	}
	if got := common(refs(1), []member{{1, 0, 1}}); got != 0 {
		t.Errorf("%d in common of two traces, want 0", got)
	}
}

// TestKeptLists: lists are copied, and none grows into the next one.
func TestKeptLists(t *testing.T) {
	var m Match
	for _, n := range []int{0, 1, 63, 64, 65, 4096, 4097, 2} {
		list := make([]int32, n)
		for i := range list {
			list[i] = int32(i)
		}
		kept := m.keep(&found{members: list[:n/2], fillers: list[n/2 : n-n/4], through: list[n-n/4:]})
		next := m.keep(&found{members: []int32{-7}})
		kept = append(kept, -1)
		for i := range list {
			if kept[i] != int32(i) {
				t.Fatalf("list of %d: %d at %d", n, kept[i], i)
			}
			list[i] = -2
		}
		if next[0] != -7 || n > 0 && kept[0] != 0 {
			t.Errorf("list of %d shares its memory", n)
		}
	}
}
