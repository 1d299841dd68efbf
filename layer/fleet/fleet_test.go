package fleet_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/gen/ranks"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
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

// TestUnevenShares: one of four ranks has twice the others' tokens and spends four times as long in experts; of requests
// nothing is known, so nothing is said.
func TestUnevenShares(t *testing.T) {
	var list []fleet.Rank
	for k := range 4 {
		tokens, experts := int64(10), int64(100)
		if k == 2 {
			tokens, experts = 20, 400
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
	want := []fleet.Imbalance{{What: fleet.Tokens, Rank: "rank 2", Most: 20, Mean: 12, Ratio: 20. / 12},
		{What: fleet.Experts, Rank: "rank 2", Most: 400, Mean: 175, Ratio: 400. / 175}}
	if len(run.Groups) != 1 || !slices.Equal(run.Groups[0].Imbalance, want) {
		t.Errorf("%+v, want %+v", run.Groups, want)
	}
}
