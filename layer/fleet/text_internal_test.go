package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// TestVerdictOfAFleet: what matters most, or why nothing is known.
func TestVerdictOfAFleet(t *testing.T) {
	matched := []Run{{World: 2, Groups: []Group{{Collectives: 1}}}}
	late := func(n int) (out []finding.Finding) {
		for range n {
			out = append(out, finding.Finding{Kind: finding.LateRank, Text: "Rank 3 is late", Size: finding.Size{
				PerStep: time.Millisecond, Share: 0.1}, Place: finding.Place{Trace: "r"}})
		}
		return append(out, finding.Finding{Kind: finding.RankDiffers})
	}
	for _, c := range []struct {
		r    Report
		want string
	}{
		{Report{}, "No rank could be read."},
		{Report{Ranks: 1, Runs: []Run{{World: 1}}}, "The run has one rank, so no rank waits."},
		{Report{Ranks: 1, Runs: []Run{{World: 2}}}, "Only 1 rank was read; waiting needs the traces of all ranks."},
		{Report{Ranks: 1, Runs: []Run{{}}}, "Only 1 rank was read; waiting needs the traces of all ranks."},
		{Report{Ranks: 2, Runs: []Run{{World: 1}}},
			"No collectives of different ranks could be matched; waiting is unknown."},
		{Report{Ranks: 2, Runs: []Run{{Groups: []Group{{}}}}},
			"No collectives of different ranks could be matched; waiting is unknown."},
		{Report{Ranks: 2, Runs: matched}, fmt.Sprintf("No rank makes the others wait for %.0f%% of a step or more.",
			100*leastShare)},
		{Report{Ranks: 2, Runs: matched, Findings: late(1)}, "Rank 3 is late for up to 1.00 ms per step (10.0%)."},
		{Report{Ranks: 2, Runs: matched, Findings: late(2)},
			"2 groups wait for a late rank. Rank 3 is late for up to 1.00 ms per step (10.0%)."},
		{Report{Ranks: 2, Runs: append(matched, Run{}), Findings: late(1)},
			"Rank 3 is late for up to 1.00 ms per step (10.0%) in r."},
	} {
		if got := c.r.sentence(); got != c.want {
			t.Errorf("%d ranks of %+v: %q, want %q", c.r.Ranks, c.r.Runs, got, c.want)
		}
	}
}

// TestTextOfAFleet: groups of one recording or two, of more a line each; long lists say what they leave out.
func TestTextOfAFleet(t *testing.T) {
	run := func(name string) Run {
		return Run{Run: name, Ranks: 3, NumMissing: 1, Groups: []Group{
			{Name: "0–1", Part: "decode", Ranks: 2, Steps: 7, Collectives: 9, Alike: 2, Within: 0.01,
				Wait: Spread{Worst: []Value{{Rank: "rank 1", NS: 5}}}, Late: &Late{Rank: "rank 0", Operator: "mlp"},
				Differs: []Differs{{Rank: "rank 1", What: "mlp", NS: 1e6}},
				Imbalance: []Imbalance{{What: Tokens, Rank: "rank 1", Most: 20, Ratio: 2},
					{What: Experts, Rank: "rank 1", Most: 2e6, Ratio: 3}}},
			{Name: "2", Ranks: 1, Steps: 7}},
			Shared: []Shared{{Finding: finding.Finding{Text: "The GPU idles",
				Size: finding.Size{Measure: finding.Recoverable}}, Ranks: 2, Of: 3,
				PerRank: Spread{Median: 3e6, Max: 4e6, Worst: []Value{{Rank: "rank 1", NS: 4e6}}}},
				{Finding: finding.Finding{Text: "Few steps"}, Ranks: 1, Of: 3,
					PerRank: Spread{Worst: []Value{{Rank: "rank 1"}}}}}}
	}
	text := func(r Report, brief bool) string {
		t.Helper()
		var b strings.Builder
		if err := r.WriteText(&b, brief); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	found := func(n int) []finding.Finding {
		return append(make([]finding.Finding, n-1), finding.Finding{Text: "A rank differs", Size: finding.Size{Total: 1,
			PerStep: time.Millisecond, Share: 0.5}, Place: finding.Place{Trace: "r9"}})
	}
	one := text(Report{Files: 4, Bad: 1, Ranks: 3, Runs: []Run{run("r1")}, Verdict: "Nothing waits.",
		Findings: found(linesFindings)}, false)
	for _, want := range []string{"strata fleet of 1 recording Nothing waits. Read 3 of 4 files: 3 ranks in 1 recording.",
		"Findings 1.",
		"A rank differs: 1.00 ms per step (50.0%)", "0–1 decode 7 9", "2 of 2 within 1.0%; rank 1 differs: mlp +1.00 ms",
		"rank 1 has 20 tokens per step, 2.00× the mean (ranks 0–1).", "rank 1 spends 2.00 ms per step in experts, 3.00× " +
			"the mean",
		"The GPU idles on 2 of 3 0 3.00 ms 4.00 ms 1", "Few steps on 1 of 3 - - - 1", "2 7 0 0 - - - - - -"} {
		if !strings.Contains(one, want) {
			t.Errorf("no %q in: %s", want, one)
		}
	}
	for _, no := range []string{"Recordings", "[r9]", "more)", "left out", "1 of 1 within", "0 of 1 within"} {
		if strings.Contains(one, no) {
			t.Errorf("%q in: %s", no, one)
		}
	}
	two := text(Report{Runs: []Run{run("r1"), run("r2")}, Findings: found(linesFindings + 1), LeftOut: 1}, false)
	for _, want := range []string{"Recordings", "rank 0 its mlp takes longer", "Groups of r1", "Groups of r2", "(1 more)",
		"1 finding or recording is left out"} {
		if !strings.Contains(two, want) {
			t.Errorf("no %q in: %s", want, two)
		}
	}
	if unnamed := text(Report{Runs: []Run{run("")}}, false); strings.Contains(unnamed, "Groups of") ||
		!strings.Contains(unnamed, "Groups") {
		t.Errorf("a recording without a name: %s", unnamed)
	}
	several := text(Report{Runs: []Run{run("r1"), run("r2"), run("r3")}, Findings: found(2), LeftOut: 2}, false)
	if strings.Contains(several, "Groups of") || !strings.Contains(several, "A rank differs: 1.00 ms per step (50.0%) "+
		"[r9]") || !strings.Contains(several, "2 findings and recordings are left out") {
		t.Errorf("of three recordings: %s", several)
	}
	if brief := text(Report{Runs: []Run{run("r1")}, Findings: found(2)}, true); strings.Contains(brief,
		"strata fleet") || strings.Contains(brief, "A rank differs") || !strings.Contains(brief, "Groups of r1") {
		t.Errorf("brief: %s", brief)
	}
}

// TestSpreads: smallest, median and largest of the values of ranks, and the ranks of the three largest.
func TestSpreads(t *testing.T) {
	for _, c := range []struct {
		values           []int64
		least, mid, most int64
		worst            string
	}{
		{nil, 0, 0, 0, "-"}, {[]int64{7}, 7, 7, 7, "0"}, {[]int64{4, 8}, 4, 6, 8, "1, 0"},
		{[]int64{3, 1, 9, 5}, 1, 4, 9, "2, 3, 0"}, {[]int64{2, 2, 2, 1, 5}, 1, 2, 5, "4, 0, 1"},
	} {
		var values []Value
		for i, v := range c.values {
			values = append(values, Value{Rank: fmt.Sprint("rank ", i), NS: v})
		}
		if s := spreadOf(values); s.Min != c.least || s.Median != c.mid || s.Max != c.most || worst(s) != c.worst {
			t.Errorf("%v: %+v, want %d, %d, %d and %s", c.values, s, c.least, c.mid, c.most, c.worst)
		}
	}
}

// TestSinceWhenARankIsLate: always, from a step on, or now and then.
func TestSinceWhenARankIsLate(t *testing.T) {
	for want, l := range map[string]Late{"in the whole window": {Always: true}, "since step 0": {},
		"in single steps": {Since: -1}} {
		if got := since(&l); got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
}

// TestFindingsOfARun: what is incomplete, who is late, whom all wait for, and who differs.
func TestFindingsOfARun(t *testing.T) {
	group := func(change func(*Group)) Run {
		g := Group{Name: "0–3", Ranks: 4, Steps: 2, Step: 1000, Transfer: 100, Collectives: 6, Alike: 3}
		change(&g)
		return Run{Run: "r", Groups: []Group{g}}
	}
	for _, c := range []struct {
		run  Run
		want string // kind, code and the size per step of each finding
	}{
		{Run{}, ""},
		{group(func(*Group) {}), ""},
		{Run{Missing: []int{2}, Ranks: 3}, "incomplete-run missing 0"},
		{Run{Bad: []Duplicate{{File: "x"}}, Files: 3}, "incomplete-run unreadable 0"},
		{Run{Twice: []Duplicate{{File: "x", Of: "y"}}}, "incomplete-run twice 0"},
		{Run{Models: []string{"a"}, GPUs: []string{"b"}}, ""},
		{Run{Models: []string{"a", "b"}, GPUs: []string{"a", "b"}}, "incomplete-run mixed 0, incomplete-run mixed 0"},
		{group(func(g *Group) { g.Late = &Late{Rank: "rank 1", PerStep: 30} }), "late-rank rank 1 30"},
		{group(func(g *Group) { g.meanWait = int64(leastShare * 1000) }),
			fmt.Sprintf("ranks-wait 0–3 %d", int64(leastShare*1000))},
		{group(func(g *Group) { g.meanWait = int64(leastShare*1000) - 1 }), ""},
		{group(func(g *Group) { g.Step, g.meanWait = 0, 7 }), ""},
		{group(func(g *Group) {
			g.Differs = []Differs{{Rank: "rank 2", NS: 50}, {Rank: "rank 1", NS: 40}, {Rank: "rank 0", NS: 0},
				{Rank: "rank 3", NS: 9}}
			g.Late = &Late{Rank: "rank 1", PerStep: 30}
		}), "late-rank rank 1 30, rank-differs rank 2 50"},
	} {
		c.run.findings()
		var got []string
		for _, f := range c.run.Findings {
			got = append(got, fmt.Sprintf("%s %s %d", f.Kind, f.Code, f.PerStep.Nanoseconds()))
			if f.Place.Trace != c.run.Run || f.Do == "" {
				t.Errorf("%s has the place %q and the advice %q", f.Text, f.Place.Trace, f.Do)
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%+v: %q, want %q", c.run, text, c.want)
		}
	}
}

// TestWhoWaitsInWords: for a late rank, or for no single one; a rank that is in no file may be the late one where all
// others spend time in collectives.
func TestWhoWaitsInWords(t *testing.T) {
	g := Group{Wait: Spread{Min: 1000, Max: 3000}, Collectives: 2}
	if got, want := g.Waits("it"),
		"Ranks wait for no single one; they wait 1.00 µs–3.00 µs per step in 2 collectives."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	g.Late = &Late{Rank: "rank 1", Last: 3, Decided: 4}
	if got := g.Waits("rank 1"); !strings.HasPrefix(got, "The other ranks wait for rank 1: it ") {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		step     int64
		transfer []int64
		late     *Late
		want     string
	}{{1000, []int64{300, 250}, nil, "25.0%"}, {1000, []int64{300, 1}, nil, "0.1%"}, {1000, []int64{300, 0}, nil, ""},
		{1000, []int64{300, 250}, g.Late, ""}, {0, []int64{300, 250}, nil, ""}, {1000, nil, nil, ""}} {
		run := Run{Missing: []int{3}, Ranks: 3, Step: Spread{Median: c.step}}
		for _, ns := range c.transfer {
			run.Groups = append(run.Groups, Group{Transfer: ns, Late: c.late})
		}
		var got string
		run.addIncomplete(func(f finding.Finding) { got = f.Evidence })
		want := "Rank 3 is in no file."
		if c.want != "" {
			want = "Rank 3 is in no file, and every rank spends at least " + c.want +
				" of step time in collectives: the late one may be among them."
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

// TestHealthOfARun: the worse of two, whichever is first.
func TestHealthOfARun(t *testing.T) {
	for _, c := range [][3]trace.HealthStatus{{trace.HealthOK, trace.HealthUnusable, trace.HealthUnusable},
		{trace.HealthUnusable, trace.HealthDegraded, trace.HealthUnusable}, {trace.HealthDegraded, "", trace.HealthDegraded},
		{trace.HealthOK, trace.HealthOK, trace.HealthOK}} {
		if got := worse(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
