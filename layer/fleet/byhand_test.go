package fleet_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// threeRanks are three ranks of a job of five that reduce together twice in each of twelve steps of 1 ms, numbered from
// 100. In the first four steps rank 0 arrives last, after that rank 2 does, as an operator of it takes longer.
func threeRanks() []fleet.Rank {
	var list []fleet.Rank
	for n := range 3 {
		r := fleet.Rank{Run: "run", Rank: n, NameRank: -1, File: fmt.Sprintf("f%d", n), World: 5, GPU: "H100", Model: "m",
			Host: fmt.Sprintf("h%d", n), Clock: int64(1_000_000 * n), Health: trace.HealthOK,
			Groups: []fleet.ProcessGroup{{Name: "tp", Ranks: []int{0, 1, 2}}},
			Calls:  []fleet.Call{{Kind: classify.AllReduce, Group: 0}}}
		for i := range int64(12) {
			took := [2][3]int64{{20_000, 60_000, 90_000}, {90_000, 60_000, 20_000}}[min(i/4, 1)][n]
			s := fleet.Step{Number: 100 + i, Stage: finding.StageDecode, Tokens: []int64{10, 10, 12}[n], Requests: 4,
				Start: i * 1_000_000, Wall: 1_000_000, Busy: 900_000,
				Idle: []fleet.CauseTime{{Cause: finding.HostCode, NS: 60_000}, {Cause: finding.NoRequests, NS: int64(n) * 9_000}},
				Operators: []fleet.Named{{Name: "mlp", NS: []int64{300_000, 310_000, 420_000}[n]},
					{Name: opname.ExpertsDown, NS: []int64{100_000, 104_000, 140_000}[n]}}}
			for k := range int64(2) { // rank 2's clock is 500 ns ahead, besides where it begins to count
				s.Call, s.Took = append(s.Call, 0), append(s.Took, took)
				s.At = append(s.At, 400_000*(k+1)-took+int64(n/2)*500)
			}
			r.Steps = append(r.Steps, s)
		}
		list = append(list, r)
	}
	return list
}

// TestFleetByHand: three ranks whose waiting, late rank and uneven shares are reckoned by hand. In four steps of two
// collectives ranks 1 and 2 wait 40 and 70 µs at each, in eight steps ranks 1 and 0 do.
func TestFleetByHand(t *testing.T) {
	run := fleet.OfRun(threeRanks())
	// rank 0 waits 8·2·70 µs, rank 1 12·2·40, rank 2 4·2·70; by twelve steps
	waits := []int64{93_333, 80_000, 46_666}
	row := func(n int, last int) fleet.Row {
		return fleet.Row{Rank: fmt.Sprintf("rank %d", n), File: fmt.Sprintf("f%d", n), Host: fmt.Sprintf("h%d", n),
			Steps: 12, Wall: 1_000_000, Busy: 900_000, Wait: waits[n], Waited: []int64{1_120_000, 960_000, 560_000}[n],
			Last: last, Tokens: []int64{10, 10, 12}[n], Clock: int64(n)*1_000_000 + int64(n/2)*500}
	}
	skew := slices.Repeat([]int64{140_000}, 12)
	value := func(n int, ns int64) fleet.Value { return fleet.Value{Rank: fmt.Sprintf("rank %d", n), NS: ns} }
	spread := fleet.Spread{Min: 46_666, Median: 80_000, Max: 93_333,
		Worst: []fleet.Value{value(0, 93_333), value(1, 80_000), value(2, 46_666)}}
	steps := fleet.Spread{Min: 1_000_000, Median: 1_000_000, Max: 1_000_000,
		Worst: []fleet.Value{value(0, 1_000_000), value(1, 1_000_000), value(2, 1_000_000)}}
	want := fleet.Run{Run: "run", Files: 3, Ranks: 3, World: 5, NumMissing: 2, Missing: []int{3, 4},
		Bad:   []fleet.Duplicate{},
		Twice: []fleet.Duplicate{}, Health: trace.HealthOK, GPUs: []string{"H100"}, Models: []string{"m"}, Step: steps,
		Wait: spread, Shared: []fleet.Shared{}, Groups: []fleet.Group{{Name: "0–2", Ranks: 3, Steps: 12, Collectives: 24,
			Step: 1_000_000, Wait: spread, Transfer: 40_000, Skew: skew, Rows: []fleet.Row{row(0, 8), row(1, 0), row(2, 16)},
			// Of all steps rank 2 is last at 16 of 24, which chance explains; of the last six at all. It waits 80 and
			// 140 µs less than ranks 1 and 0; the later is the median. Its mlp takes 110 µs more than rank 1's.
			Late: &fleet.Late{Rank: "rank 2", Last: 12, Decided: 12, Least: 6, Steps: 6, PerStep: 140_000, Share: 0.14, Since: 104,
				Operator: "mlp", Tokens: 2, Excess: 110_000},
			// The median rank is 1; the others differ by 10 and 110 µs, three times what rank 0 does.
			Alike: 2, Within: 0.01, Differs: []fleet.Differs{{Rank: "rank 2", What: "mlp", NS: 110_000, Share: 0.11}},
			Imbalance: []fleet.Imbalance{{What: fleet.Tokens, Rank: "rank 2", Most: 12, Mean: 10, Ratio: 36. / 32},
				{What: fleet.Experts, Rank: "rank 2", Most: 140_000, Mean: 114_666, Ratio: 420. / 344}}}}}
	if diff := cmp.Diff(want, run, cmpopts.IgnoreUnexported(fleet.Group{}),
		cmpopts.IgnoreFields(fleet.Run{}, "Findings")); diff != "" {
		t.Error(diff)
	}
	var said []string
	for _, f := range run.Findings {
		said = append(said, fmt.Sprintf("%s %s %v %.3f %s %s", f.Kind, f.Code, f.PerStep, f.Share, f.Where, f.Evidence))
	}
	if diff := cmp.Diff([]string{
		"incomplete-run missing 0s 0.000  Ranks 3–4 are in no file.",
		"late-rank rank 2 140µs 0.140 ranks 0–2 It arrives last at 12 of 12 collectives, since step 104; it has 2 more " +
			"tokens per step, mostly in mlp.",
	}, said); diff != "" {
		t.Error(diff)
	}
	r := fleet.Combine([]fleet.Run{run}, fleet.Options{})
	if r.Files != 3 || r.Ranks != 3 || r.Bad != 0 || !r.Matched() || r.Verdict != "The other ranks wait for rank 2 for "+
		"up to 140 µs per step (14.0%)." {
		t.Errorf("%+v", r)
	}
}

// TestFleetChanges: the fleet of [TestFleetByHand] with one thing changed, and the figure that changes with it.
func TestFleetChanges(t *testing.T) {
	type ranks = []fleet.Rank
	each := func(list ranks, change func(n, i int, s *fleet.Step)) {
		for n := range list {
			for i := range list[n].Steps {
				change(n, i, &list[n].Steps[i])
			}
		}
	}
	// alike are three ranks that do the same and never wait, but for chance.
	alike := func(list ranks) {
		each(list, func(n, i int, s *fleet.Step) {
			s.Operators[0].NS, s.Operators[1].NS, s.Tokens, s.Idle[1].NS = 300_000, 100_000, 10, 0
			for k := range s.Took {
				s.At[k] += s.Took[k] - 50_000
				s.Took[k] = 50_000
			}
		})
	}
	late := func(run *fleet.Run) string {
		l := run.Groups[0].Late
		if l == nil {
			return "none"
		}
		return fmt.Sprintf("%s %d/%d %d since %d %t: %s %d", l.Rank, l.Last, l.Decided, l.PerStep, l.Since, l.Always, l.Why(),
			l.Excess)
	}
	// lateBy makes rank 2 arrive so much later at each collective.
	lateBy := func(list ranks, ns int64) {
		alike(list)
		each(list, func(n, i int, s *fleet.Step) {
			for k := range s.Took {
				if n == 2 {
					s.At[k], s.Took[k] = s.At[k]+ns, s.Took[k]-ns
				}
			}
		})
	}
	// onceAStep makes rank 2 arrive late at the first collective of the last steps, rank 0 at that of the others, and
	// ranks 0 and 1 by turns a little late at the second.
	onceAStep := func(list ranks, steps int) {
		alike(list)
		each(list, func(n, i int, s *fleet.Step) {
			late := [2]int64{[]int64{40_000, 0, 0}[n], []int64{1_000, 0, 0}[(n+i)%2+n/2]}
			if i >= 12-steps {
				late[0] = []int64{0, 0, 40_000}[n]
			}
			for k, ns := range late {
				s.At[k], s.Took[k] = s.At[k]+ns, s.Took[k]-ns
			}
		})
	}
	said := func(run *fleet.Run) string {
		l := run.Groups[0].Late
		if l == nil {
			return "none"
		}
		return fmt.Sprintf("%s %d", strings.TrimSuffix(strings.TrimPrefix(run.Findings[1].Evidence, "It "), "."), l.PerStep)
	}
	for name, c := range map[string]struct {
		change func(list ranks) ranks
		get    func(run *fleet.Run) string
		want   string
	}{
		"all alike": {func(l ranks) ranks { alike(l); return l }, func(run *fleet.Run) string {
			g := &run.Groups[0]
			return fmt.Sprint(late(run), g.Tied, g.Alike, g.Within, len(g.Differs), len(g.Imbalance), len(run.Findings))
		}, "none24 3 0 0 0 1"},
		"late by less than a hundredth of a step": {func(l ranks) ranks { lateBy(l, 4_999); return l }, late, "none"},
		"late at the first of a step's collectives, and chance decides the others": {func(l ranks) ranks {
			onceAStep(l, 12)
			return l
		}, said, "waits least in 12 of 12 steps, in the whole window; its digest does not show why 39500"},
		"late once a step in as many steps as may be chance": {func(l ranks) ranks { onceAStep(l, 10); return l }, said,
			"none"},
		"late once a step in more": {func(l ranks) ranks { onceAStep(l, 11); return l }, said,
			"waits least in 11 of 12 steps, since step 101; its digest does not show why 36167"},
		"late by a hundredth": {func(l ranks) ranks { lateBy(l, 5_000); return l }, late,
			"rank 2 24/24 10000 since 100 true: its digest does not show why 0"},
		"no step numbers": {func(l ranks) ranks {
			lateBy(l, 5_000)
			each(l, func(_, _ int, s *fleet.Step) { s.Number = -1 })
			return l
		}, late, "rank 2 24/24 10000 since 0 true: its digest does not show why 0"},
		"the host explains half": {func(l ranks) ranks {
			lateBy(l, 5_000)
			each(l, func(n, _ int, s *fleet.Step) { s.Idle[0].NS += int64(n/2) * 5_000 })
			l[2].Names = []fleet.IdleName{{Cause: finding.HostCode, Name: "log_stats", NS: 1},
				{Cause: finding.NoRequests, Name: "x"}}
			return l
		}, late, "rank 2 24/24 10000 since 100 true: " + finding.HostCode.Info().Why + " (log_stats) 5000"},
		"two operators explain half together": {func(l ranks) ranks {
			lateBy(l, 5_000)
			each(l, func(n, _ int, s *fleet.Step) {
				s.Operators[0].NS, s.Operators[1].NS = 300_000+int64(n/2)*3_000, 100_000+int64(n/2)*2_000
			})
			return l
		}, late, "rank 2 24/24 10000 since 100 true: its mlp takes longer 5000"},
		"the host's causes explain more than an operator": {func(l ranks) ranks {
			lateBy(l, 5_000)
			each(l, func(n, _ int, s *fleet.Step) {
				s.Operators[0].NS, s.Idle[0].NS = 300_000+int64(n/2)*2_000, 60_000+int64(n/2)*4_000
				s.Idle[1] = fleet.CauseTime{Cause: finding.Lock, NS: int64(n/2) * 3_000}
			})
			return l
		}, late, "rank 2 24/24 10000 since 100 true: " + finding.HostCode.Info().Why + " 7000"},
		"nothing explains half": {func(l ranks) ranks {
			lateBy(l, 5_000)
			each(l, func(n, _ int, s *fleet.Step) { s.Operators[0].NS = 300_000 + int64(n/2)*4_999 })
			return l
		}, late, "rank 2 24/24 10000 since 100 true: its digest does not show why 0"},
		"as many more tokens as may be chance": {func(l ranks) ranks {
			lateBy(l, 5_000)
			each(l, func(n, _ int, s *fleet.Step) {
				s.Operators[0].NS, s.Tokens, s.Requests = 300_000+int64(n/2)*5_000, 100+int64(n/2)*5, 100+int64(n/2)*6
			})
			return l
		}, late, "rank 2 24/24 10000 since 100 true: it has 6 more requests per step, mostly in mlp 5000"},
		"steps that the window cuts do not count": {func(l ranks) ranks {
			each(l, func(n, i int, s *fleet.Step) {
				if i == 11 {
					s.Partial, s.Wall, s.Busy, s.Tokens, s.Operators[0].NS = true, 9_000_000, 8_000_000, 70, 7_000_000
				}
			})
			return l
		}, func(run *fleet.Run) string {
			g := &run.Groups[0]
			return fmt.Sprint(run.Step.Max, g.Rows[1].Busy, g.Rows[1].Tokens, g.Differs[0].NS)
		}, "1000000 900000 10 110000"},
		"of steps that are all cut, all do": {func(l ranks) ranks {
			each(l, func(n, i int, s *fleet.Step) { s.Partial = true })
			return l
		}, func(run *fleet.Run) string { return fmt.Sprint(run.Step.Max, run.Groups[0].Differs[0].NS) }, "1000000 110000"},
		"one rank alone": {func(l ranks) ranks { return l[:1] }, func(run *fleet.Run) string {
			g := &run.Groups[0]
			return fmt.Sprint(late(run), " ", g.Collectives, g.Alike, g.Unmatched, g.Wait.Max, len(g.Differs), len(g.Imbalance))
		}, "none 0 1 24 0 0 0"},
		"a rank lacks a collective of a step": {func(l ranks) ranks {
			s := &l[1].Steps[5]
			s.Call, s.At, s.Took = s.Call[:1], s.At[:1], s.Took[:1]
			return l
		}, func(run *fleet.Run) string {
			g := &run.Groups[0]
			return fmt.Sprint(g.Collectives, g.Unmatched, g.Rows[1].Waited, g.Rows[0].Waited)
		}, "24 1 880000 1120000"},
		"a rank lacks a step": {func(l ranks) ranks { l[1].Steps = l[1].Steps[:11]; return l }, func(run *fleet.Run) string {
			g := &run.Groups[0]
			return fmt.Sprint(g.Steps, g.Rows[1].Steps, g.Rows[1].Wait, g.Rows[0].Steps, " ", late(run))
		}, "12 11 80000 12 rank 2 10/10 140000 since 104 false: it has 2 more tokens per step, mostly in mlp 110000"},
		"the same content twice": {func(l ranks) ranks {
			l[0].Fingerprint, l[1].Fingerprint, l[2].Fingerprint = "a", "b", "c"
			copied := l[1]
			copied.File = "copy"
			return append(l, copied)
		}, func(run *fleet.Run) string {
			return fmt.Sprint(run.Files, run.Ranks,
				run.Twice)
		}, "4 3 [{f1 copy the same content}]"},
		"a copy whose name says another rank": {func(l ranks) ranks {
			for n := range l {
				l[n].Fingerprint, l[n].NameRank = fmt.Sprint(n), n
			}
			copied := l[2]
			copied.File, copied.NameRank = "a copy", 1
			return append(l, copied)
		}, func(run *fleet.Run) string {
			return fmt.Sprint(run.Files, run.Ranks,
				run.Twice)
		}, "4 3 [{a copy f2 the same content}]"},
		"the same rank twice": {func(l ranks) ranks {
			other := l[1]
			other.File = "other"
			return append(l, other)
		}, func(run *fleet.Run) string {
			return fmt.Sprint(run.Files, run.Ranks,
				run.Twice)
		}, "4 3 [{other f1 the same rank}]"},
		"ranks that nothing says, each with one GPU that it calls 0": {func(l ranks) ranks {
			for n := range l {
				l[n].Rank = -1
			}
			return l
		}, func(run *fleet.Run) string {
			return fmt.Sprint(run.Files, run.Ranks, run.Twice, run.Groups[0].Rows[1].Rank)
		}, "3 3 []f1"},
		"ranks with different GPUs": {func(l ranks) ranks {
			for n := range l {
				l[n].Rank, l[n].Device = -1, n
			}
			return l
		}, func(run *fleet.Run) string {
			return fmt.Sprint(run.Files, run.Ranks, run.Twice, run.Groups[0].Rows[1].Rank)
		}, "3 3 []rank 1"},
		"ranks that only the names of files say": {func(l ranks) ranks {
			for n := range l {
				l[n].Rank, l[n].NameRank = 0, n+4
			}
			return l
		}, func(run *fleet.Run) string {
			return run.Groups[0].Name +
				fmt.Sprint(run.NumMissing, run.Missing)
		}, "4–64 [0 1 2 3]"},
		"a rank that nothing says": {func(l ranks) ranks { l[2].Rank = -1; return l }, func(run *fleet.Run) string {
			return fmt.Sprint(run.Ranks, run.Groups[0].Name, run.Groups[0].Rows[0].Rank, run.Missing)
		}, "30–1, f2f2[2 3 4]"},
		"several GPUs of a rank": {func(l ranks) ranks {
			for n := range l {
				l[n].Rank, l[n].Device = n/2, n%2
			}
			return l
		}, func(run *fleet.Run) string { return run.Groups[0].Rows[1].Rank + ", " + run.Groups[0].Rows[2].Rank },
			"rank 0 GPU 1, rank 1 GPU 0"},
		"a file that could not be read": {func(l ranks) ranks {
			return append(l, fleet.Rank{Run: "run", Rank: 3, NameRank: -1, File: "broken", Bad: "no JSON"})
		}, func(run *fleet.Run) string {
			return fmt.Sprint(run.Files, run.Ranks, run.Bad, run.Health, run.NumMissing, run.Findings[1].Evidence)
		}, "4 3 [{broken  no JSON}]degraded2broken: no JSON."},
		"files that could not be read": {func(l ranks) ranks {
			for i := range 4 {
				l = append(l, fleet.Rank{Run: "run", Rank: -1, NameRank: -1, File: fmt.Sprint(i), Bad: "no JSON"})
			}
			return l
		}, func(run *fleet.Run) string { return run.Findings[1].Text + ": " + run.Findings[1].Evidence },
			"Read 3 of 7 files: 0: no JSON; 1: no JSON; 2: no JSON; and 1 more."},
		"every rank spends a tenth of a step in collectives, and one is missing": {func(l ranks) ranks {
			alike(l)
			for n := range l {
				l[n].World, l[n].Groups[0].Ranks = 4, []int{0, 1, 2, 3}
			}
			return l
		}, func(run *fleet.Run) string { return run.Findings[0].Text + ": " + run.Findings[0].Evidence },
			"1 of 4 ranks is missing: Rank 3 is in no file, and every rank spends at least 10.0% of step time in " +
				"collectives: the late one may be among them."},
		"ranks wait for one another by turns": {func(l ranks) ranks {
			alike(l)
			each(l, func(n, i int, s *fleet.Step) {
				for k := range s.Took {
					if n == i%3 {
						s.At[k], s.Took[k] = s.At[k]+15_000, s.Took[k]-15_000
					}
				}
			})
			return l
		}, func(run *fleet.Run) string {
			f := run.Findings[1]
			return fmt.Sprint(f.Code, f.PerStep, f.Share, f.Evidence)
		}, "0–220µs 0.02They wait 20.0 µs–20.0 µs per step in 24 collectives."},
		"two models": {func(l ranks) ranks { l[1].Model, l[2].GPU = "n", ""; return l }, func(run *fleet.Run) string {
			return fmt.Sprint(run.Models, run.GPUs, run.Findings[1].Code)
		}, "[m n] [H100]mixed"},
		"no step numbers, and one rank records three steps later": {func(l ranks) ranks {
			each(l, func(n, i int, s *fleet.Step) { s.Number = -1 })
			l[0].Steps = l[0].Steps[3:]
			return l
		}, func(run *fleet.Run) string {
			g := &run.Groups[0]
			return fmt.Sprint(g.Steps, g.Collectives, g.Unmatched, g.Rows[0].Steps, g.Rows[0].Clock)
		}, "12 24 0 9 0"},
		"no step numbers, and clocks that say which steps are the same": {func(l ranks) ranks {
			each(l, func(n, i int, s *fleet.Step) { s.Number = -1 })
			l[1].Steps = l[1].Steps[3:]
			return l
		}, func(run *fleet.Run) string {
			return fmt.Sprint(run.Groups[0].Rows[1].Clock, run.Groups[0].Rows[2].Clock)
		},
			"1000000 2000500"},
		"steps from number 0 on, in another order": {func(l ranks) ranks {
			alike(l)
			each(l, func(n, i int, s *fleet.Step) {
				s.Number = int64(i)
				for k := range s.Took {
					s.Took[k] = int64(50_000 + i*1_000)
				}
			})
			slices.Reverse(l[1].Steps)
			return l
		}, func(run *fleet.Run) string { return fmt.Sprint(run.Groups[0].Wait.Max, run.Groups[0].Tied) }, "0 24"},
		"one collective of one step": {func(l ranks) ranks {
			for n := range l {
				l[n].Steps = l[n].Steps[:1]
				s := &l[n].Steps[0]
				s.Call, s.At, s.Took = s.Call[:1], s.At[:1], s.Took[:1]
			}
			return l
		}, func(run *fleet.Run) string {
			return fmt.Sprint(run.Groups[0].Rows[1].Clock,
				run.Groups[0].Collectives)
		}, "1000000 1"},
		"rank 0 twice": {func(l ranks) ranks {
			other := l[0]
			other.File = "g"
			return append(l, other)
		}, func(run *fleet.Run) string { return fmt.Sprint(run.Ranks, run.Twice) }, "3 [{g f0 the same rank}]"},
		"last at half of a step's collectives": {func(l ranks) ranks {
			lateBy(l, 20_000)
			each(l, func(n, i int, s *fleet.Step) {
				if i == 2 { // rank 0 is last at the second one
					s.Took[1] = []int64{10_000, 50_000, 50_000}[n]
				}
			})
			return l
		}, late, "rank 2 23/24 38333 since 103 false: its digest does not show why 0"},
		"others without tokens": {func(l ranks) ranks {
			lateBy(l, 5_000)
			each(l, func(n, _ int, s *fleet.Step) { s.Operators[0].NS, s.Tokens = 300_000+int64(n/2)*5_000, int64(n/2)*9 })
			return l
		}, late, "rank 2 24/24 10000 since 100 true: its mlp takes longer 5000"},
		"steps without a time": {func(l ranks) ranks {
			each(l, func(_, _ int, s *fleet.Step) { s.Wall, s.Busy = 0, 0 })
			return l
		}, func(run *fleet.Run) string {
			g := &run.Groups[0]
			return fmt.Sprint(late(run), g.Alike, len(g.Differs), g.Wait.Max)
		}, "none3 0 93333"},
		"no step numbers and no clock": {func(l ranks) ranks {
			each(l, func(n, i int, s *fleet.Step) {
				s.Number = -1
				for k := range s.At { // steps whose collectives lie differently
					s.At[k] += int64(i*i*k) * 1_000
				}
			})
			l[2].Clock, l[2].Steps = 0, l[2].Steps[2:]
			return l
		}, func(run *fleet.Run) string {
			g := &run.Groups[0]
			return fmt.Sprint(g.Steps, g.Collectives, g.Rows[2].Steps, g.Rows[2].Clock)
		}, "12 24 10 500"},
		"the trace's number counts, where names say as many": {func(l ranks) ranks {
			for n := range l {
				l[n].NameRank = n + 4
			}
			return l
		}, func(run *fleet.Run) string { return run.Groups[0].Name }, "0–2"},
		"collectives whose group is not named": {func(l ranks) ranks {
			for n := range l {
				l[n].Calls = append(l[n].Calls, fleet.Call{Kind: classify.AllReduce, Group: -1})
			}
			each(l, func(_, _ int, s *fleet.Step) { s.Call[1] = 1 })
			return l
		}, func(run *fleet.Run) string {
			return fmt.Sprint(len(run.Groups), run.Groups[0].Collectives, run.Groups[1].Collectives)
		}, "2 12 12"},
		"one rank with a collective that is not named": {func(l ranks) ranks {
			l[0].Calls[0].Group = -1
			l[0].Steps = l[0].Steps[:1]
			return l[:1]
		}, func(run *fleet.Run) string {
			return fmt.Sprint(len(run.Groups), run.Groups[0].Unmatched, run.Step.Median, run.Missing)
		}, "1 2 1000000 [1 2 3 4]"},
		"ranks that the group names": {func(l ranks) ranks { l[0].World = 0; return l[:1] },
			func(run *fleet.Run) string { return fmt.Sprint(run.NumMissing, run.Missing) }, "2 [1 2]"},
		"a job of three that one rank is read of": {func(l ranks) ranks {
			l[0].World, l[0].Groups[0].Ranks = 3, nil
			return l[:1]
		}, func(run *fleet.Run) string { return fmt.Sprint(run.Missing) }, "[1 2]"},
		"as many ranks with one collective as with two": {func(l ranks) ranks {
			l = append(l, l[2])
			l[3].Rank, l[3].File = 3, "f3"
			for n := range l {
				l[n].Groups, l[n].Steps = []fleet.ProcessGroup{{Name: "tp"}}, slices.Clone(l[n].Steps[:1])
				if s := &l[n].Steps[0]; n < 2 {
					s.Call, s.At, s.Took = s.Call[:1], s.At[:1], s.Took[:1]
				}
			}
			return l
		}, func(run *fleet.Run) string { return fmt.Sprint(run.Groups[0].Collectives, run.Groups[0].Unmatched) }, "2 2"},
		"steps without tokens": {func(l ranks) ranks {
			each(l, func(n, i int, s *fleet.Step) {
				if i%2 == 0 {
					s.Tokens = 0
				}
			})
			return l
		}, func(run *fleet.Run) string { return fmt.Sprint(run.Groups[0].Imbalance[0]) }, "{tokens rank 2 6 5 1.125}"},
		"two ranks": {func(l ranks) ranks { return l[1:] }, func(run *fleet.Run) string {
			g := &run.Groups[0]
			return fmt.Sprint(g.Alike, g.Differs, g.Wait.Median, run.Missing)
		}, "2 [] 36666 [0 3 4]"},
		"late but for some steps with one collective": {func(l ranks) ranks {
			lateBy(l, 20_000)
			each(l, func(n, i int, s *fleet.Step) {
				if i == 2 { // rank 0 is last
					s.Call, s.At, s.Took = s.Call[:1], s.At[:1], []int64{[]int64{10_000, 50_000, 50_000}[n]}
				}
				if i == 5 { // nobody is
					s.Took[0], s.Took[1] = 50_000, 50_000
				}
			})
			return l
		}, late, "rank 2 20/21 33333 since 103 false: its digest does not show why 0"},
		"an advice that fits the cause": {func(l ranks) ranks {
			lateBy(l, 5_000)
			each(l, func(n, _ int, s *fleet.Step) { s.Idle[0].NS += int64(n/2) * 5_000 })
			return l
		}, func(run *fleet.Run) string { return run.Findings[1].Do }, finding.HostCode.Info().Advice.Do},
		"a recording of worse health": {func(l ranks) ranks { l[1].Health = trace.HealthUnusable; l[2].Health = ""; return l },
			func(run *fleet.Run) string { return string(run.Health) }, string(trace.HealthUnusable)},
	} {
		run := fleet.OfRun(c.change(threeRanks()))
		if got := c.get(&run); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestFindingsThatRanksShare: findings that say the same are one, with the rank of the median size and all sizes.
func TestFindingsThatRanksShare(t *testing.T) {
	list := threeRanks()
	for n := range list {
		for _, text := range []string{"idle", "copies"}[:2-n/2] {
			list[n].Findings = append(list[n].Findings, finding.Finding{Kind: finding.IdleTime, Text: text,
				Size: finding.Size{PerStep: time.Duration(10 * (n + 1) * len(text))}})
		}
	}
	var got []string
	for _, s := range fleet.OfRun(list).Shared {
		got = append(got, fmt.Sprint(s.Text, s.Ranks, s.Of, s.PerStep, s.PerRank))
	}
	want := []string{"idle3 3 80ns {40 80 120 [{rank 2 120} {rank 1 80} {rank 0 40}]}",
		"copies2 3 60ns {60 90 120 [{rank 1 120} {rank 0 60}]}"}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReportsAreBounded: of many runs, ranks and findings the first are kept, and the others counted.
func TestReportsAreBounded(t *testing.T) {
	var runs []fleet.Run
	for i := range 203 {
		run := fleet.Run{Run: fmt.Sprintf("%03d", i), Files: 2, Ranks: 1, Bad: []fleet.Duplicate{{File: "x"}},
			Groups: slices.Repeat([]fleet.Group{{Rows: make([]fleet.Row, 3), Skew: make([]int64, 40)}}, 10)}
		if i == 202 {
			run.Findings = make([]finding.Finding, 101)
		}
		if i == 201 {
			run.Findings = make([]finding.Finding, 1)
		}
		runs = append(runs, run)
	}
	r := fleet.Combine(runs, fleet.Options{})
	last := &r.Runs[len(r.Runs)-1]
	if r.Files != 406 || r.Ranks != 203 || r.Bad != 203 || r.LeftOut != 2+3 || len(r.Runs) != 200 ||
		len(r.Findings) != 100 || last.Run != "202" || r.Runs[198].Run != "201" || len(last.Findings) != 8 {
		t.Errorf("%d files, %d ranks, %d bad, %d left out, %d runs, %d findings; the last run %s has %d", r.Files, r.Ranks,
			r.Bad, r.LeftOut, len(r.Runs), len(r.Findings), last.Run, len(last.Findings))
	}
	if g := r.Runs[0].Groups; len(g) != 8 || g[0].Rows != nil || len(g[0].Skew) != 32 {
		t.Errorf("%d groups, the first of %d rows and %d steps", len(g), len(g[0].Rows), len(g[0].Skew))
	}
	if few := fleet.Combine(runs[:1], fleet.Options{}).Runs[0]; len(few.Groups[0].Rows) != 3 ||
		len(few.Groups[0].Skew) != 32 {
		t.Errorf("of one run: %d rows, %d steps", len(few.Groups[0].Rows), len(few.Groups[0].Skew))
	}
	for n, want := range map[int]bool{64: true, 65: false} {
		run := fleet.Run{Groups: []fleet.Group{{Rows: make([]fleet.Row, n)}}}
		if g := fleet.Combine([]fleet.Run{run}, fleet.Options{}).Runs[0].Groups[0]; (g.Rows != nil) != want {
			t.Errorf("%d ranks are listed: %t, want %t", n, g.Rows != nil, want)
		}
	}
	few := fleet.Combine(runs[:7], fleet.Options{})
	if g := few.Runs[0].Groups; len(g) != 10 || len(g[0].Rows) != 3 || few.LeftOut != 0 {
		t.Errorf("of seven runs: %d groups, the first of %d rows; %d left out", len(g), len(g[0].Rows), few.LeftOut)
	}
	if full := fleet.Combine(runs, fleet.Options{Full: true}); len(full.Runs) != 203 || full.LeftOut != 0 {
		t.Errorf("in full: %d runs, %d left out", len(full.Runs), full.LeftOut)
	}
}

// TestDigestsAreReadAsWritten: line by line; a set keeps one of each file, the readable one.
func TestDigestsAreReadAsWritten(t *testing.T) {
	var b bytes.Buffer
	list := threeRanks()
	for i := range list {
		if err := list[i].Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	var set fleet.Set
	if err := fleet.Read(&b, func(r fleet.Rank) error { set.Add(r); return nil }); err != nil {
		t.Fatal(err)
	}
	broken := list[1]
	broken.Bad, broken.Schema = "cut", fleet.RankSchema
	set.Add(broken)
	var turned fleet.Set
	for _, r := range append([]fleet.Rank{broken}, set.Ranks()...) {
		turned.Add(r)
	}
	if diff := cmp.Diff(set.Ranks(), turned.Ranks()); diff != "" {
		t.Error(diff)
	}
	got := set.Ranks()
	for i := range list {
		list[i].Schema = fleet.RankSchema
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Error(diff)
	}
}
