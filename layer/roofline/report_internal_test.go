package roofline

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile/hardware"
)

// TestEconomyByHand: buckets of 1, 2, 3 to 4 and 5 to 8 requests; unknown tokens and requests make those of a bucket
// unknown, those of none divide nothing; a mixed pass with three generating requests took 20 ns longer than the middle
// one of decode passes of as many.
func TestEconomyByHand(t *testing.T) {
	pass := func(stage layer.Stage, batch, tokens int64, wall, floor time.Duration, rows int64) Pass {
		return Pass{Stage: stage, Batch: batch, Tokens: tokens, Wall: wall, Floor: floor, Rows: rows}
	}
	mixed := pass(layer.StageMixed, 5, 20, 60, 0, -1)
	mixed.generating = 3
	cut := pass(layer.StageMixed, 5, 20, 90, 0, -1)
	cut.generating, cut.partial = 3, true
	got := economy([]Pass{
		pass(layer.StageDecode, 1, 1, 9, 3, 1), pass(layer.StageDecode, 1, 2, 1, 0, 1),
		pass(layer.StageDecode, 2, 2, 7, 0, -1), pass(layer.StageDecode, 2, -1, 7, 0, 8),
		pass(layer.StageDecode, 3, 3, 40, 10, 4), pass(layer.StageDecode, 4, 4, 41, 1, 8),
		pass(layer.StageDecode, 4, 4, 30, 0, 4),
		pass(layer.StageDecode, 8, 8, 80, 0, 8), pass(layer.StageDecode, 5, 0, 5, 0, 8),
		pass(layer.StagePrefill, -1, 6, 12, 0, -1), pass(layer.StagePrefill, -1, 6, 24, 0, -1),
		pass(layer.StageDecode, 1, 1, 0, 0, 1), mixed, cut, pass(layer.StageMixed, 5, 20, 60, 0, -1),
		pass(layer.StageDraft, 0, 0, 7, 0, 0),
	})
	want := []Bucket{
		{Stage: layer.StagePrefill, From: -1, To: -1, Passes: 2, Tokens: 12, Requests: -1, Wall: 36, PerToken: 3},
		{Stage: layer.StageMixed, From: 5, To: 8, Passes: 2, Tokens: 40, Requests: 10, Wall: 120, PerToken: 3, PerRequest: 12,
			Tax: 20, Taxed: 1},
		{Stage: layer.StageDecode, From: 1, To: 1, Passes: 2, Tokens: 3, Requests: 2, Wall: 10, PerToken: 3, PerRequest: 5,
			Floored: 9, Floor: 3, Rows: 2, Asked: 3},
		{Stage: layer.StageDecode, From: 2, To: 2, Passes: 2, Tokens: -1, Requests: 4, Wall: 14, PerRequest: 3},
		{Stage: layer.StageDecode, From: 3, To: 4, Passes: 3, Tokens: 11, Requests: 11, Wall: 111, PerToken: 10,
			PerRequest: 10,
			Floored:    81, Floor: 11, Rows: 16, Asked: 11},
		{Stage: layer.StageDecode, From: 5, To: 8, Passes: 2, Tokens: 8, Requests: 13, Wall: 85, PerToken: 10, PerRequest: 6,
			Rows: 8, Asked: 8},
		{Stage: layer.StageDraft, From: -1, To: -1, Passes: 1, Wall: 7},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// TestTypicalPasses: the steady pass first, then of each other stage the complete one of median time, in the order of
// stages.
func TestTypicalPasses(t *testing.T) {
	pass := func(i int, stage layer.Stage, wall time.Duration, partial bool) Pass {
		return Pass{Index: i, Stage: stage, Wall: wall, partial: partial}
	}
	r := Report{Steady: 2, Passes: []Pass{pass(0, layer.StageDecode, 8, false), pass(1, layer.StagePrefill, 5, false),
		pass(2, layer.StageDecode, 9, false), pass(3, layer.StagePrefill, 7, false), pass(4, layer.StagePrefill, 1, true),
		pass(5, layer.StageMixed, 3, false), pass(6, layer.StageMixed, 1, false), pass(7, layer.StageMixed, 2, false),
		pass(8, layer.StageVerify, 2, true)}}
	for steady, want := range map[int]string{2: "[2 1 7]", -1: "[1 7 0]", 4: "[4 7 0]"} {
		r.Steady = steady
		var got []int
		for _, p := range r.Typical() {
			got = append(got, p.Index)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("steady %d: passes %v, want %s", steady, got, want)
		}
	}
}

// TestReportByHand: what is printed of a report, each figure reckoned by hand.
func TestReportByHand(t *testing.T) {
	r := Report{Model: "m", GPU: &hardware.GPU{ID: "g"}, GPUWhy: "asked", TP: 2, EP: 1, Steady: 1,
		Notes: []string{"a note"}}
	r.Passes = []Pass{
		{Index: 0, Stage: layer.StagePrefill, Tokens: -1, Batch: -1, Rows: -1, Wall: 3 * time.Millisecond},
		{Index: 1, of: finding.OfStep, Stage: layer.StageDecode, Tokens: 3, TokensFrom: "rows", Batch: 2, Rows: 4, Wall: 2 * time.Millisecond,
			PerToken: 666_666, PerRequest: time.Millisecond, Floor: 500 * time.Microsecond, Covered: 0.5, AtLeast: true,
			Basis: BasisShapes, Waterfall: []Share{{Name: "floor", Time: 500 * time.Microsecond, Kind: Floor},
				{Name: "nothing"}, {Name: "rest", Time: 1100 * time.Microsecond, Note: "n"},
				{Name: "after", Time: 400 * time.Microsecond, Kind: Idle}}},
	}
	r.Operators = []Row{
		{LayerType: "l", Operator: "o", Count: 3, Kernels: 6, Time: time.Millisecond, TFLOPs: 2, TBs: 0.5, Note: "r",
			Cost: Cost{M: 4, N: 5, K: 6, GFLOP: 2, Bytes: 500_000_000, MostGFLOP: 3, MostBytes: 1_000_000_000,
				Floor: 250 * time.Microsecond,
				Bound: boundMemory, PeakShare: 0.25}},
		{LayerType: "l", Operator: "p", Kernels: 1, TFLOPs: 1, TBs: 1,
			Cost: Cost{GFLOP: 1, Bytes: 1e6, AtLeast: true, MostGFLOP: 9}},
		{LayerType: "l", Operator: "q"}, {LayerType: "l", Operator: "s", TFLOPs: 2, Cost: Cost{GFLOP: 1, MostGFLOP: 3}},
	}
	item := func(i int, kind ShareKind) Item {
		return Item{What: fmt.Sprint("w", i), Time: time.Duration(i) * time.Microsecond, Share: float64(i) / 100, kind: kind,
			Place: fmt.Sprint(i, " launches"), Kernel: "k", Why: "5 launches; why"}
	}
	for i := 7; i > 0; i-- {
		r.Recoverable = append(r.Recoverable, item(i, Above))
	}
	r.Recoverable = append(r.Recoverable, Item{What: "idle", Time: 5000, Share: 0.01, kind: Idle}, item(3, NoFloor),
		Item{What: "late", Time: 1000, Share: 0.01, kind: Communication, Place: "here", Why: "x"})
	r.Economy = []Bucket{{Stage: layer.StageDecode, From: 3, To: 4, Passes: 2, Tokens: 7, Wall: 4 * time.Millisecond,
		PerToken: 1500, PerRequest: 2500, Floor: 100, Floored: 400, Rows: 8, Asked: 6, Tax: 6 * time.Millisecond, Taxed: 4},
		{Stage: layer.StageMixed, From: -1, To: -1, Passes: 1, Tokens: -1, Wall: 1e6}}
	r.Collectives = []Collective{{Operator: "c", Count: 2, Time: 5e6, Divided: 3e6, Transfer: 1e6, Waiting: 2e6, Floor: 5e5},
		{Operator: "d", Count: 1, Time: 1e6}}
	r.Ranks = []layer.RankWait{{Rank: 3, GPU: 1, Passes: 2, Waiting: 1e6}, {Rank: -1, GPU: 0, Passes: 1}}
	for _, c := range []struct {
		change func()
		want   []string
	}{
		{func() {}, []string{"Speed of light of m on g (asked), TP 2, EP 1", "Pass 1: decode, tokens: 3 (from rows), " +
			"requests: 2", "Padding: kernels ran 4 rows for 3 tokens",
			"Floor: at least 500 µs of 2.00 ms (25.0%), 31.2% of the 1.60 ms up to its last kernel; from recorded op inputs; " +
				"operators with 50.0% of its GPU time have one",
			"Where the time goes ms % of step Remark", "floor 0.500 25.0", "rest 1.100 55.0 n", "after 0.400 20.0",
			"= start to next start 2.000 100.0", "Layer type Operator Kernels M N K GFLOP MB ms TFLOP/s TB/s Floor ms Bound " +
				"% of peak Remark",
			"l o 6 4 5 6 2.0–3.0 500.0–1000.0 1.000 2.0–3.0 0.50–1.00 0.250 memory 25 r",
			"l p 1 - - - ≥ 1.0 ≥ 1.0 0.000 ≥ 1.0 ≥ 1.00 - -", "l q - - - - - - 0.000 - - - -",
			"l s - - - - 1.0–3.0 - 0.000 2.0–6.0 - - -",
			"Above the floor, 28.0 µs in all", "1. w7: 7.00 µs, 7.0% of the pass (7 launches, longest k): 5 launches; why",
			"3. w5: 5.00 µs, 5.0% of the pass (5 launches, longest k): why", "- others: 3.00 µs",
			"Communication and idle time, 6.00 µs in all", "1. idle: 5.00 µs, 1.0% of the pass",
			"2. late: 1.00 µs, 1.0% of the pass (here): x", "Without a floor, 3.00 µs in all", "0 prefill ? ? 3.000 - - - 0.000",
			"1 decode 2 3 2.000 0.500 25.0 666.7 1000.0 0.400", "decode 3–4 2 7 4.000 1.5 2.5 25.0 8 25.0% 1.500",
			"mixed ? 1 ? 1.000 - -",
			"c 2 5.000 1.000 2.000 2.000 0.500", "d 1 1.000 1.000 -", "3 (this report's) 1 2 1.000", "? 0 1 0.000",
			"Note: a note"}},
		{func() { r.Passes[1].AtLeast, r.Passes[1].Covered, r.Passes[1].of = false, 0.9, finding.OfWindow },
			[]string{"Floor: 500 µs of 2.00 ms (25.0%), 31.2% of the 1.60 ms up to its last kernel; from recorded op inputs",
				"Where the time goes ms % of window Remark", "= window 2.000 100.0"}},
		{func() { w := r.Passes[1].Waterfall; w[len(w)-1].Time = 1 }, []string{
			"Floor: 500 µs of 2.00 ms (25.0%); from recorded op inputs"}},
		{func() { r.Passes[1].Wall, r.Passes[1].Rows, r.Passes[1].Basis = 0, 3, BasisWeights }, []string{
			"Floor: 500 µs; weights alone, which holds for any number of tokens", "= floor 0.500 100.0", "floor 0.500 100.0",
			"Layer type Operator Layers M N K GFLOP MB Floor ms Bound Remark", "l o 3 4 5 6 2.0–3.0 500.0–1000.0 0.250 memory r",
			"1 decode 2 3 0.000 0.500 - 666.7 1000.0 0.000"}},
		{func() { r.Passes[1].Floor, r.Collectives = 0, r.Collectives[:1] }, []string{
			"1 decode 2 3 0.000 - 666.7 1000.0 0.000", "c 2 5.000 1.000 2.000 2.000 0.500"}},
		{func() { r.Model, r.GPU, r.Passes = "", nil, nil }, []string{
			"Speed of light on unknown GPU (asked); no model config found (pass `--config` with a file or a public model's name)"}},
	} {
		c.change()
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(b.String()) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		for _, want := range c.want {
			if !slices.Contains(lines, want) {
				t.Errorf("no line %q in\n%s", want, b.String())
			}
		}
		if floored := r.Passes != nil && r.Passes[1].Floor > 0; strings.Contains(b.String(), "\nFloor: ") != floored {
			t.Errorf("a floor of %+v:\n%s", r.Passes, b.String())
		}
		if padded := r.Passes != nil && r.Passes[1].Rows > 3; strings.Contains(b.String(), "Padding: ") != padded ||
			strings.Contains(b.String(), "\nPasses\n") != (r.Passes != nil) {
			t.Errorf("padding or passes of %+v:\n%s", r.Passes, b.String())
		}
	}
}
