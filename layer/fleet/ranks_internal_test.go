package fleet

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
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

// TestMeansOfNothing: there is none of no steps, and 7 ns of two are 3 each.
func TestMeansOfNothing(t *testing.T) {
	if each(7, 0) != 0 || each(7, 2) != 3 || meansOf(&Rank{}) != (means{}) {
		t.Errorf("%d, %d and %+v", each(7, 0), each(7, 2), meansOf(&Rank{}))
	}
}

// TestWhyARankIsLate: the cause of idle time, else the operator with what it has more of.
func TestWhyARankIsLate(t *testing.T) {
	why := finding.LaunchCall.Info().Why
	for _, c := range []struct {
		late Late
		want string
	}{{Late{Cause: finding.LaunchCall, Name: "x"}, why + " (x)"}, {Late{Cause: finding.LaunchCall}, why},
		{Late{Name: "x", Operator: "a"}, "its a takes longer"},
		{Late{Tokens: 3, Requests: 4}, "its digest does not show why"},
		{Late{Operator: "a", Tokens: 3, Requests: 4}, "it has 3 more tokens per step, mostly in a"},
		{Late{Operator: "a", Requests: 4}, "it has 4 more requests per step, mostly in a"}} {
		if got := c.late.Why(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.late, got, c.want)
		}
	}
}

// TestSumsOfARun: a rank of two parts waits for both once; ranks that no file names leave no gaps; lists are in order.
func TestSumsOfARun(t *testing.T) {
	row := func(wait int64) Group { return Group{Collectives: 1, Rows: []Row{{Rank: "rank 0", Wait: wait}}} }
	run := Run{World: 4, Groups: []Group{row(3), row(4), {Rows: []Row{{Rank: "rank 0", Wait: 9}}}}}
	all := []*member{{Rank: &Rank{}, label: "rank 0", mean: means{wall: 5, steps: 1}},
		{Rank: &Rank{}, id: 7, label: "rank 0"}}
	run.sumUp(all)
	if w := run.Wait.Worst; len(w) != 1 || w[0] != (Value{"rank 0", 7}) || len(run.Step.Worst) != 1 || run.Step.Max != 5 {
		t.Errorf("waits %+v, steps %+v; want 7 ns once, and one step of 5 ns", w, run.Step)
	}
	if run.findMissing(all); run.NumMissing != 0 {
		t.Errorf("missing: %v of ranks that have no numbers", run.Missing)
	}
	all[0].numbered = true
	if run.findMissing(all); fmt.Sprint(run.Missing) != "[1 2 3]" {
		t.Errorf("missing: %v, want 1 to 3 of four", run.Missing)
	}
	if got := include(include(include(nil, "b"), "a"), "b"); fmt.Sprint(got) != "[a b]" {
		t.Errorf("names %v, want a and b", got)
	}
	for _, c := range [][3]trace.HealthStatus{{trace.HealthOK, "", trace.HealthOK},
		{trace.HealthOK, trace.HealthDegraded, trace.HealthDegraded},
		{trace.HealthUnusable, trace.HealthDegraded, trace.HealthUnusable}} {
		if got := worse(c[0], c[1]); got != c[2] {
			t.Errorf("the worse of %q and %q is %q", c[0], c[1], got)
		}
	}
}

// TestOrderOfAReport: runs are by name and findings by size, whatever order the runs have.
func TestOrderOfAReport(t *testing.T) {
	late := func(run string, ns time.Duration) Run {
		f := finding.Finding{Kind: finding.LateRank, Text: run,
			Size: finding.SizeOf(finding.Recoverable, finding.OfStep, ns, 1, 100)}
		f.Place.Trace = run
		return Run{Run: run, Ranks: 2, Findings: []finding.Finding{f}}
	}
	r := Combine([]Run{late("b", 20), late("c", 30), late("a", 10)}, Options{})
	var runs, found []string
	for i := range r.Runs {
		runs, found = append(runs, r.Runs[i].Run), append(found, r.Findings[i].Text)
	}
	if fmt.Sprint(runs, found) != "[a b c] [c b a]" ||
		r.Verdict != "3 groups wait for a late rank. c for up to 30 ns per step (30.0%) in c." {
		t.Errorf("runs %v, findings %v, %q", runs, found, r.Verdict)
	}
}

// TestLengthOfALine: a stream is as long as it likes, and a line of it is not.
func TestLengthOfALine(t *testing.T) {
	for end, fails := range map[string]bool{"\n": false, "x": true} {
		l := &lineLimit{r: strings.NewReader(strings.Repeat(strings.Repeat("x", 1<<20-1)+end, maxLine>>20+1))}
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{l}); (err != nil) != fails {
			t.Errorf("lines that end with %q: %v", end, err)
		}
	}
}

// TestNumbersOfGPUs: two GPUs whose ranks nothing says go by their own numbers, which are no ranks; one goes by its file.
func TestNumbersOfGPUs(t *testing.T) {
	for gpus, want := range map[int]string{1: "f -1 true", 2: "rank 0 0 false, rank 1 1 false"} {
		var ranks []*Rank
		for i := range gpus {
			ranks = append(ranks, &Rank{Rank: -1, NameRank: -1, Device: i, File: "f"})
		}
		members, twice := identify(ranks)
		var got []string
		for _, m := range members {
			got = append(got, fmt.Sprint(m.label, " ", m.id, " ", m.numbered))
		}
		if s := strings.Join(got, ", "); s != want || len(twice) > 0 {
			t.Errorf("%d GPUs: %s, %d twice; want %s", gpus, s, len(twice), want)
		}
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
