package fleet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/gen/ranks"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// digests are those of a generated fleet by run, and its truth.
func digests(t *testing.T, c ranks.Config) (map[string][]fleet.Rank, []ranks.Group) {
	t.Helper()
	out := map[string][]fleet.Rank{}
	truth, err := c.Write(func(f ranks.File) error {
		tr, err := trace.Read(t.Context(), bytes.NewReader(f.Data), trace.Options{})
		if err != nil {
			return err
		}
		a, err := layer.Analyze(t.Context(), tr, layer.Options{})
		if err != nil {
			return err
		}
		run, _, _ := strings.Cut(f.Name, "-")
		list, err := hostoverhead.Digest(t.Context(), run,
			trace.File{Path: f.Name, Rank: framework.ReadFileName(framework.All(), f.Name).Rank}, a)
		out[run] = append(out[run], list...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, truth
}

// groupOf is the group of a run with these ranks.
func groupOf(run *fleet.Run, want []int) *fleet.Group {
	for i := range run.Groups {
		g := &run.Groups[i]
		if len(g.Rows) != len(want) {
			continue
		}
		same := true
		for k, r := range g.Rows {
			same = same && r.Rank == fmt.Sprintf("rank %d", want[k])
		}
		if same {
			return g
		}
	}
	return nil
}

// TestFleetOf25Replicas: groups, waits to the nanosecond, late ranks and why, missing and duplicate ranks, clocks.
func TestFleetOf25Replicas(t *testing.T) {
	seeds := uint64(2)
	if testdata.Long() {
		seeds = 12
	}
	for seed := range seeds {
		fleet25(t, seed)
	}
}

func fleet25(t *testing.T, seed uint64) {
	runs, truth := digests(t, ranks.Fleet25(seed))
	combined := map[string]*fleet.Run{}
	for name, list := range runs {
		run := fleet.OfRun(list)
		combined[name] = &run
	}
	wrong, late := 0, 0
	for _, want := range truth {
		run := combined[want.Replica]
		g := groupOf(run, want.Ranks)
		if g == nil {
			var have []string
			for i := range run.Groups {
				have = append(have, run.Groups[i].Name)
			}
			t.Errorf("%s: no group of ranks %v; there are %s", want.Replica, want.Ranks, strings.Join(have, "; "))
			wrong++
			continue
		}
		for i, r := range g.Rows {
			k := want.Ranks[i]
			if r.Waited != want.Waits[k] {
				t.Errorf("%s: rank %d of %v waits %d ns, want %d", want.Replica, k, want.Ranks, r.Waited, want.Waits[k])
				wrong++
			}
			if clock := want.Clocks[k] - want.Clocks[want.Ranks[0]]; r.Clock != clock {
				t.Errorf("%s: the clock of rank %d is %d ns ahead, want %d", want.Replica, k, r.Clock, clock)
			}
		}
		if (g.Late != nil) != (want.Late >= 0) {
			t.Errorf("%s: late rank of %v: %+v, want %d", want.Replica, want.Ranks, g.Late, want.Late)
			wrong++
			continue
		}
		if g.Late == nil {
			continue
		}
		late++
		l := g.Late
		if l.Rank != fmt.Sprintf("rank %d", want.Late) {
			t.Errorf("%s: %s is late, want %d", want.Replica, l.Rank, want.Late)
		}
		gap, kernel, tokens := l.Cause == finding.HostCode && strings.Contains(l.Name, "log_stats"), l.Operator != "" &&
			l.Tokens+l.Requests == 0, l.Operator != "" && l.Tokens+l.Requests >= 4
		if gap != (want.Cause == ranks.HostGap) || kernel != (want.Cause == ranks.LongKernel) ||
			tokens != (want.Cause == ranks.MoreTokens) {
			t.Errorf("%s: %s is late because %q, want cause %d", want.Replica, l.Rank, l.Why(), want.Cause)
		}
	}
	if wrong > 0 || late < 5 {
		t.Errorf("seed %d: %d figures are wrong, %d late ranks", seed, wrong, late)
	}
	if run := combined["1760000006"]; fmt.Sprint(run.Missing) != "[2 5]" {
		t.Errorf("missing: %v", run.Missing)
	}
	if run := combined["1760000009"]; len(run.Twice) != 1 || run.Twice[0].File != "1760000009-TP-8.trace.json" ||
		run.Ranks != 8 || len(run.Missing) > 0 {
		t.Errorf("copy: %+v, %d ranks, missing %v", run.Twice, run.Ranks, run.Missing)
	}
	if g := combined["1760000016"].Groups; g[len(g)-1].Late == nil || g[len(g)-1].Late.Always ||
		g[len(g)-1].Late.Since != 102 {
		t.Errorf("late from the third step on: %+v", g[len(g)-1].Late)
	}
}

// TestUnevenShares: one of four ranks has more tokens than the others and spends four times as long in experts; of
// requests nothing is known, so nothing is said.
func TestUnevenShares(t *testing.T) {
	for _, c := range []struct {
		tokens, more int64
		want         []fleet.Imbalance
	}{
		{10, 20, []fleet.Imbalance{{What: fleet.Tokens, Rank: "rank 2", Most: 20, Mean: 12, Ratio: 1.6}}},
		{1, 4, []fleet.Imbalance{{What: fleet.Tokens, Rank: "rank 2", Most: 4, Mean: 1, Ratio: 16. / 7}}},
		{0, 1, []fleet.Imbalance{{What: fleet.Tokens, Rank: "rank 2", Most: 1, Mean: 0, Ratio: 4}}}, {0, 0, nil},
		{100, 107, []fleet.Imbalance{{What: fleet.Tokens, Rank: "rank 2", Most: 107, Mean: 101, Ratio: 428. / 407}}},
		{100, 106, nil},
	} {
		var list []fleet.Rank
		for k := range 4 {
			tokens, experts := c.tokens, int64(100)
			if k == 2 {
				tokens, experts = c.more, 400
			}
			list = append(list, fleet.Rank{Run: "r", Rank: k, NameRank: -1, File: fmt.Sprint(k),
				Groups: []fleet.ProcessGroup{{Name: "ep", Ranks: []int{0, 1, 2, 3}}},
				Calls:  []fleet.Call{{Kind: classify.AllToAll}},
				Steps: []fleet.Step{{Number: 7, Tokens: tokens, Requests: -1, Wall: 1000, Busy: 900,
					Operators: []fleet.Named{{Name: opname.ExpertsGateUp, NS: experts / 2},
						{Name: opname.ExpertsDown, NS: experts / 2}},
					Call: []int{0}, At: []int64{500}, Took: []int64{50}}}})
		}
		run := fleet.OfRun(list)
		want := append(c.want, fleet.Imbalance{What: fleet.Experts, Rank: "rank 2", Most: 400, Mean: 175, Ratio: 400. / 175})
		if len(run.Groups) != 1 || !slices.Equal(run.Groups[0].Imbalance, want) {
			t.Errorf("%+v, want %+v", run.Groups, want)
		}
	}
}

// TestWhyARankIsLate: a cause with the code that runs, more work and its operator, or that nothing is known.
func TestWhyARankIsLate(t *testing.T) {
	why := finding.HostCode.Info().Why
	for _, c := range []struct {
		late fleet.Late
		want string
	}{
		{fleet.Late{Cause: finding.HostCode, Name: "log_stats", Operator: "mlp", Tokens: 3}, why + " (log_stats)"},
		{fleet.Late{Cause: finding.HostCode}, why},
		{fleet.Late{Operator: "mlp", Tokens: 1, Requests: 2}, "it has 1 more tokens per step, mostly in mlp"},
		{fleet.Late{Operator: "mlp", Requests: 1}, "it has 1 more requests per step, mostly in mlp"},
		{fleet.Late{Operator: "mlp"}, "its mlp takes longer"},
		{fleet.Late{Tokens: 1}, "its digest does not show why"},
	} {
		if got := c.late.Why(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.late, got, c.want)
		}
	}
}

// TestDigestsThatDoNotFitAreRefused: times of up to 2⁵⁰ ns are, and collectives that the digest has.
func TestDigestsThatDoNotFitAreRefused(t *testing.T) {
	const most = 1 << 50
	whole := func() fleet.Rank {
		return fleet.Rank{Schema: fleet.RankSchema, Groups: []fleet.ProcessGroup{{Name: "tp"}},
			Calls: []fleet.Call{{Kind: classify.AllToAll, Group: 0}, {Kind: classify.AllToAll, Group: -1}},
			Steps: []fleet.Step{{Wall: most, Busy: most, Start: most / 2, Operators: []fleet.Named{{NS: most}},
				Idle: []fleet.CauseTime{{NS: most}}, Call: []int{0, 1}, At: []int64{-most / 2, most / 2},
				Took: []int64{0, most}}}}
	}
	for name, spoil := range map[string]func(r *fleet.Rank, s *fleet.Step){
		"":               func(*fleet.Rank, *fleet.Step) {},
		"schema":         func(r *fleet.Rank, _ *fleet.Step) { r.Schema = "strata.rank/0" },
		"group":          func(r *fleet.Rank, _ *fleet.Step) { r.Calls[0].Group = 1 },
		"no group":       func(r *fleet.Rank, _ *fleet.Step) { r.Calls[1].Group = -2 },
		"starts":         func(_ *fleet.Rank, s *fleet.Step) { s.At = s.At[:1] },
		"times":          func(_ *fleet.Rank, s *fleet.Step) { s.Took = s.Took[:1] },
		"wall":           func(_ *fleet.Rank, s *fleet.Step) { s.Wall++ },
		"negative wall":  func(_ *fleet.Rank, s *fleet.Step) { s.Wall = -1 },
		"busy":           func(_ *fleet.Rank, s *fleet.Step) { s.Busy++ },
		"start":          func(_ *fleet.Rank, s *fleet.Step) { s.Start++ },
		"operator":       func(_ *fleet.Rank, s *fleet.Step) { s.Operators[0].NS++ },
		"idle":           func(_ *fleet.Rank, s *fleet.Step) { s.Idle[0].NS = -1 },
		"collective":     func(_ *fleet.Rank, s *fleet.Step) { s.Call[1] = 2 },
		"no collective":  func(_ *fleet.Rank, s *fleet.Step) { s.Call[0] = -1 },
		"its time":       func(_ *fleet.Rank, s *fleet.Step) { s.Took[1]++ },
		"its start":      func(_ *fleet.Rank, s *fleet.Step) { s.At[0]-- },
		"its late start": func(_ *fleet.Rank, s *fleet.Step) { s.At[1]++ },
	} {
		r := whole()
		spoil(&r, &r.Steps[0])
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		err = fleet.Read(bytes.NewReader(line), func(fleet.Rank) error { read++; return nil })
		if (name == "") != (err == nil) || read > 0 != (name == "") || err != nil && !errors.Is(err, fleet.ErrDigest) {
			t.Errorf("%q: %d digests, error %v", name, read, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "line 1: ") {
			t.Errorf("%q: %v, want the first line to be named", name, err)
		}
	}
}

// TestDigestOfATrace: a step's busy time is what its GPU does not idle, and the twenty kernels of most time are kept.
func TestDigestOfATrace(t *testing.T) {
	tr, err := trace.Open(t.Context(), testdata.Shared(t,
		"traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz"), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := fleet.Recorded(a)
	if len(list) != 1 || len(list[0].Kernels) != 20 || len(list[0].Steps) != len(a.Devices[0].Passes) {
		t.Fatalf("%d digests of %d kernels, want 1 of 20", len(list), len(list[0].Kernels))
	}
	for _, want := range []string{"qkv_proj", "attention"} {
		if !slices.ContainsFunc(list[0].Steps[0].Operators, func(o fleet.Named) bool { return o.Name == want && o.NS > 0 }) {
			t.Errorf("no %s in %v", want, list[0].Steps[0].Operators)
		}
	}
	if slices.ContainsFunc(list[0].Kernels, func(k fleet.Named) bool { return k.Operator == opname.Other }) {
		t.Errorf("kernels of no operator have their category: %v", list[0].Kernels)
	}
	busy := make([]int64, len(list[0].Steps))
	for p, s := range a.Devices[0].Steps() {
		if s.Kernel != trace.None {
			busy[p] += int64(s.End - s.Start)
		}
	}
	for i, s := range list[0].Steps {
		if s.Busy != busy[i] || s.Busy <= 0 || s.Busy >= s.Wall {
			t.Errorf("step %d: busy %d of %d ns, want %d", i, s.Busy, s.Wall, busy[i])
		}
	}
}

// TestRanksThatNobodyNumbers: the number of a GPU is no rank, so that nothing is missing beside it, and how long ranks
// wait is unknown where no collective was matched, whatever the trace.
func TestRanksThatNobodyNumbers(t *testing.T) {
	unnumbered, unmatched := 0, 0
	for _, path := range append(testdata.SharedGlob(t, "traces/torch/*"), testdata.SharedGlob(t, "traces/nsys/*")...) {
		tr, err := trace.Open(t.Context(), path, trace.Options{Formats: append(nsys.Formats(), trace.Kineto())})
		if err != nil {
			continue
		}
		a, err := layer.Analyze(t.Context(), tr, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := hostoverhead.Digest(t.Context(), "run",
			trace.File{Path: path, Rank: framework.ReadFileName(framework.All(), path).Rank}, a)
		if err != nil {
			t.Fatal(err)
		}
		numbered := slices.ContainsFunc(list, func(r fleet.Rank) bool { return r.Rank >= 0 || r.NameRank >= 0 })
		run := fleet.OfRun(list)
		if !numbered {
			unnumbered++
			if run.NumMissing != 0 || len(run.Missing) != 0 {
				t.Errorf("%s: ranks %v are missing, and no rank has a number", path, run.Missing)
			}
		}
		matched := slices.ContainsFunc(run.Groups, func(g fleet.Group) bool { return g.Collectives > 0 })
		if !matched {
			unmatched++
		}
		if run.Wait.Known() != matched {
			t.Errorf("%s: waiting is known: %t, collectives are matched: %t", path, run.Wait.Known(), matched)
		}
		for i := range run.Groups {
			if g := &run.Groups[i]; g.Wait.Known() != (g.Collectives > 0) {
				t.Errorf("%s: %d collectives, waiting %+v", path, g.Collectives, g.Wait)
			}
		}
	}
	if unnumbered == 0 || unmatched == 0 {
		t.Errorf("%d traces without ranks, %d without matched collectives", unnumbered, unmatched)
	}
}

// TestDigestByHand: a step has the number and the start of its annotation; what the window cuts is partial. Collectives
// of a step begin that long after it, and what runs outside of the steps has no part in them.
func TestDigestByHand(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	id := uint64(0)
	kernel := func(name string, at, took int64) {
		id++
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at - 5000, Duration: 2000, Thread: 1,
			Correlation: id})
		b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: took, Stream: 7, Correlation: id})
	}
	const reduces = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
	for i := range int64(3) {
		at := 1_000_000 * (i + 1)
		b.Add(trace.EventData{Kind: event.Annotation, Name: "step[DECODE bs=8]", Start: at, Duration: 500_000, Thread: 1})
		kernel("rmsnorm_kernel", at+10_000, 20_000)
		kernel(reduces, at+40_000, 30_000)
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := fleet.Recorded(a)[0]
	if len(r.Steps) != 3 || len(r.Calls) != 1 || r.Calls[0].Kind != classify.AllReduce || r.Calls[0].Group != -1 {
		t.Fatalf("%+v", r)
	}
	for i, s := range r.Steps {
		if want := a.Devices[0].Passes[i]; s.Number != want.Annotation.Index || s.Partial != (want.Partial != "") ||
			s.Requests != 8 || s.Start != int64(want.Start) || s.Busy != 50_000 ||
			!slices.Equal(s.Call, []int{0}) || !slices.Equal(s.At, []int64{30_000}) || !slices.Equal(s.Took, []int64{30_000}) {
			t.Errorf("step %d: %+v", i, s)
		}
	}
}

// TestTransfersThatAllEnd: kernels of transfers are collectives where the two ranks end them together: an all-to-all is
// recorded so. A median of two ranks is between them.
func TestTransfersThatAllEnd(t *testing.T) {
	for _, c := range []struct {
		together         bool
		collectives, mid int64
	}{{true, 20, 20 * 50_000}, {false, 0, 0}} {
		var list []fleet.Rank
		for k := range int64(2) {
			step := fleet.Step{Number: -1, Wall: 100_000_000}
			for i := range int64(20) {
				late := k * (100_000 + i*10_000) // the second rank starts later, by more and more
				took := 400_000 - late
				if !c.together {
					took = 200_000
				}
				step.Call, step.At = append(step.Call, 0), append(step.At, i*5_000_000+late)
				step.Took = append(step.Took, took)
			}
			list = append(list, fleet.Rank{Run: "r", Rank: int(k), NameRank: -1, File: fmt.Sprint(k),
				Calls: []fleet.Call{{Kind: classify.SendRecv, Group: -1}}, Steps: []fleet.Step{step}})
		}
		run := fleet.OfRun(list)
		met, mid := int64(0), int64(0)
		for _, g := range run.Groups {
			met, mid = met+int64(g.Collectives), max(mid, g.Wait.Median)
		}
		wants := c.mid + 20*19/2*10_000/2
		if !c.together {
			wants = 0
		}
		if met != c.collectives || mid != wants {
			t.Errorf("together %t: %d collectives and %d ns waited, want %d and %d", c.together, met, mid, c.collectives,
				wants)
		}
	}
}
