package fleet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/finding"
)

// ending is a rank of one collective a step, which end at those times.
func ending(clock int64, ends ...int64) *lane {
	rank := &Rank{Clock: clock, Calls: []Call{{Kind: classify.AllReduce}}}
	for _, end := range ends {
		rank.Steps = append(rank.Steps, Step{Call: []int{0}, At: []int64{end - 10}, Took: []int64{10}})
	}
	return lanesOf(&member{Rank: rank}, func(int) bool { return true })[true]
}

// TestShiftOfTwoRecordings: the one that pairs most steps, unless the collectives end more than twice as close together
// at another one that pairs half of them.
func TestShiftOfTwoRecordings(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []int64
		want int
	}{
		"one step each":     {[]int64{7}, []int64{7}, 0},
		"one began later":   {[]int64{1000, 2300, 3100, 4700}, []int64{2300, 3100, 4700}, -1},
		"one began earlier": {[]int64{2300, 3100, 4700}, []int64{1000, 2300, 3100, 4700}, 1},
		"half of them":      {[]int64{1000, 2300, 3100, 4700}, []int64{3100, 4700, 5200, 6900}, -2},
		"a quarter of them": {[]int64{1000, 2000, 3000, 4000}, []int64{4000, 5000, 6000, 7000}, 0},
		"half as far off":   {[]int64{600, 1800, 2400, 3200, 4200}, []int64{800, 1100, 2400, 3000, 4700}, 0}, // 100 of 200
		"a third":           {[]int64{100, 1200, 2100, 3500, 4800}, []int64{800, 1000, 2800, 3000, 4300}, 1}, // 100 of 300
	} {
		if by, ok := shiftOf(ending(0, c.a...), ending(0, c.b...)); !ok || by != c.want {
			t.Errorf("%s: by %d steps, %t; want %d", name, by, ok, c.want)
		}
	}
}

// TestRanksThatAreUnlike: five ranks, which differ from the median operator by 0, 0, 10, 20 and another number of ns:
// more than three times the median of that, and more than a hundredth of a step, is unlike the others.
func TestRanksThatAreUnlike(t *testing.T) {
	for _, c := range []struct {
		last, step int64
		want       string
	}{{1041, 3000, "r4 attention 31 1.0%"}, {1040, 1000, ""},
		{1041, 3100, ""}, {969, 3000, "r4 attention -31 -1.0%"}, {1041, 0, ""}} {
		g := &group{}
		for i, ns := range []int64{1000, 1010, 990, 1010, c.last} {
			l := ending(0, 10)
			l.label = fmt.Sprint("r", i)
			l.steps[0].Operators, l.steps[0].Tokens = []Named{{Name: "attention", NS: ns}}, int64(min(1, i)*10)
			g.lanes = append(g.lanes, l)
		}
		out := Group{Step: c.step}
		g.compare(&out)
		var got []string
		for _, d := range out.Differs {
			got = append(got, fmt.Sprintf("%s %s %d %.1f%%", d.Rank, d.What, d.NS, 100*d.Share))
		}
		if s := strings.Join(got, "; "); s != c.want || out.Alike != 5-len(got) {
			t.Errorf("%d ns of %d: %q, %d alike; want %q", c.last, c.step, s, out.Alike, c.want)
		}
		if c.step == 0 {
			continue
		}
		if len(out.Imbalance) != 1 || out.Imbalance[0] != (Imbalance{What: Tokens, Rank: "r1", Most: 10, Mean: 8,
			Ratio: 1.25}) {
			t.Errorf("uneven shares %+v, want 10 tokens of 8 on r1", out.Imbalance)
		}
	}
	unknown := &group{lanes: []*lane{ending(0, 10), ending(0, 10)}}
	unknown.lanes[0].steps[0].Tokens, unknown.lanes[1].steps[0].Tokens = -1, 10
	out := Group{Step: 10}
	if unknown.compare(&out); len(out.Imbalance) != 0 {
		t.Errorf("unknown shares are uneven: %+v", out.Imbalance)
	}
}

// TestRecordingsOfOneRank: of one number, else of one content.
func TestRecordingsOfOneRank(t *testing.T) {
	for _, c := range []struct {
		a, b Rank
		same bool
	}{{Rank{Rank: 0, Fingerprint: "a"}, Rank{Rank: 0, Fingerprint: "b"}, true},
		{Rank{Rank: 0, Fingerprint: "a"}, Rank{Rank: 1, Fingerprint: "a"}, false},
		{Rank{Rank: -1, Fingerprint: "a"}, Rank{Rank: -1, Fingerprint: "b"}, false},
		{Rank{Rank: -1, Fingerprint: "a"}, Rank{Rank: -1, Fingerprint: "a"}, true}} {
		if got := c.a.identity() == c.b.identity(); got != c.same {
			t.Errorf("rank %d %s and %d %s are one: %t", c.a.Rank, c.a.Fingerprint, c.b.Rank, c.b.Fingerprint, got)
		}
	}
}

// TestGroupsOfABoundedReport: of 33 groups of one run the 32 with a late rank, then with most waiting are kept; of eight
// runs, which are many, eight files that could not be read of each.
func TestGroupsOfABoundedReport(t *testing.T) {
	run := Run{Bad: make([]Duplicate, 33), Missing: make([]int, 1025), Shared: make([]Shared, 33),
		Findings: make([]finding.Finding, 33)}
	for i := range 33 {
		run.Groups = append(run.Groups, Group{Name: fmt.Sprint(i), Wait: Spread{Median: int64(i)}})
	}
	run.Groups[0].Late = &Late{}
	one := Combine([]Run{run}, Options{}).Runs[0]
	if n := len(one.Groups); n != 32 || one.Groups[0].Name != "0" || one.Groups[1].Name != "32" || one.Groups[31].Name != "2" {
		t.Errorf("%d groups, from %s and %s to %s", n, one.Groups[0].Name, one.Groups[1].Name, one.Groups[n-1].Name)
	}
	for n, want := range map[int][4]int{7: {32, 1024, 32, 32}, 8: {8, 256, 8, 8}} {
		var runs []Run
		for range n {
			runs = append(runs, run)
		}
		r := Combine(runs, Options{}).Runs[0]
		if got := [4]int{len(r.Bad), len(r.Missing), len(r.Shared), len(r.Findings)}; got != want {
			t.Errorf("of %d runs: %v files, absent ranks, shared and own findings, want %v", n, got, want)
		}
	}
}
