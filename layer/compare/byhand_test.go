package compare_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
)

// steady is a run of eight equal passes: times in µs of gate_up_proj, attention, idle time.
func steady(gateUp, attention, idle float64) *compare.Side {
	return steadyBy(1, gateUp, attention, idle)
}

// steadyBy is steady, with so large a share of the kernels replayed by graphs.
func steadyBy(graph, gateUp, attention, idle float64) *compare.Side {
	run := compare.Run{Trace: "run.json", GPU: "NVIDIA H100 80GB HBM3", Health: "ok", Parts: []compare.Part{
		compare.MadePart("gate_up_proj", "gemm", compare.Memory), compare.MadePart("attention", "fmha", compare.Memory),
		compare.MadePart("idle", "", compare.Waiting)}}
	for i := range 8 {
		us := func(x float64) time.Duration { return time.Duration(1e3 * x) }
		run.AddPass(compare.Pass{Index: i, Stage: layer.StageDecode, Batch: 8, Tokens: 8, Graph: graph}, 32, us(gateUp),
			us(attention), us(idle))
	}
	return &compare.Side{Runs: []compare.Run{run}}
}

// A comparison worked out by hand. Eight passes a side that do not vary: the variance of a row within a run is the
// expected one, 4 × 0.005² / (4 + 14), times 1.4 / (0.43 × 8) a side; between runs it is 2 × 0.0075². Together
// 1.1702e-4, a standard deviation of 1.08177 % with 12.97 degrees of freedom, whose 97.5 % quantile of Student's t is
// 2.1607. Of 4500 µs, the mean of both sides, that is 105 µs.
func TestByHand(t *testing.T) {
	gates := []compare.Gate{{Limit: 0.03}, {What: "work", Limit: 0.03}, {What: "operator:gate_up_proj", Limit: 0.3},
		{What: "operator:attention", Limit: 0.05}, {What: "waiting", Limit: 0.05}}
	r := report(t, steady(4000, 3000, 1000), steady(5000, 3000, 1000), compare.Options{Gates: gates})
	row := r.Rows[0]
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if (got - want).Abs() > 200*time.Nanosecond {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("low", row.Low, 894_800)
	near("high", row.High, 1_105_200)
	near("delta", row.Delta, 1_000_000)
	// All work: 7000 and 8000 µs, 7500 × 1.08177 % × 2.1607 = 175 µs.
	near("work low", r.Work.Low, 824_700)
	near("work high", r.Work.High, 1_175_300)
	near("work", r.Work.Delta, 1_000_000)
	// The step: mean 8500 µs. Work 4.5219e-6 of (7500/8500)², waiting 4 × 0.02² / 18 × 0.81395 = 7.2351e-5, runs
	// 1.125e-4: 1.37248 %, 117 µs, of 26.4 degrees of freedom, 2.0542 times: 240 µs.
	near("step low", r.Wall.Low, 760_400)
	near("step high", r.Wall.High, 1_239_600)
	near("least", r.Least, 42_500)
	if want := "gate_up_proj 4.00 ms → 5.00 ms, +1.00 ms (+25.0%): 32 launches, each 125 µs → 156 µs"; row.Text != want ||
		len(r.Findings) != 1 || r.Findings[0].Sentence() != want {
		t.Errorf("%q, findings %+v, want %q", row.Text, r.Findings, want)
	}
	if want := "B is slower: a step takes 9.00 ms instead of 8.00 ms (+12.5%), GPU work 8.00 ms instead of 7.00 ms " +
		"(+14.3%); one run a side, noise of 0.75% assumed"; r.Text != want {
		t.Errorf("%q, want %q", r.Text, want)
	}
	f := r.Findings[0]
	if f.PerStep != time.Millisecond || math.Abs(f.Share-0.125) > 1e-9 {
		t.Errorf("%v a step, %.4f of it; want 1ms, 0.125", f.PerStep, f.Share)
	}
	for i, want := range []compare.GateOutcome{compare.GateFailed, compare.GateFailed, compare.GatePassed,
		compare.GatePassed, compare.GatePassed} { // the row: up to 27.6 % of 30 %
		if g := r.Gates[i]; g.Outcome != want {
			t.Errorf("%s: %s, want %s", g.Text, g.Outcome, want)
		}
	}
	if want := "3%: +12.5% of step time (+9.5 … +15.5%)"; r.Gates[0].Text != want {
		t.Errorf("%q, want %q", r.Gates[0].Text, want)
	}
	names := ""
	var sum time.Duration
	for _, part := range r.Waterfall {
		names += part.Operator + " "
		sum += part.Delta
	}
	if names != "kernels between kernels " || sum != time.Millisecond || !r.Waterfall[0].Significant ||
		r.Waterfall[1].Significant {
		t.Errorf("waterfall %sadds up to %v", names, sum)
	}
}

// The step and GPU work have other signs: the verdict is the step's where that is beyond noise, and never the other
// one.
func TestVerdictIsTheStep(t *testing.T) {
	for _, c := range []struct {
		name string
		b    *compare.Side
		want compare.Outcome
	}{
		{"less work, a longer step", steady(3000, 3000, 5000), compare.Slower},
		{"less work, the same step", steady(3600, 3000, 1400), compare.Mixed},
		{"more work, the same step", steady(4400, 3000, 600), compare.Mixed},
		{"the same work, half as long again", steady(4000, 3000, 5000), compare.Slower},
		{"the same", steady(4000, 3000, 1000), compare.Same},
		{"a little more of everything", steady(4050, 3030, 1020), compare.Inconclusive},
	} {
		r := report(t, steady(4000, 3000, 1000), c.b, compare.Options{Gates: []compare.Gate{{Limit: 0.03}}})
		if r.Verdict != c.want {
			t.Errorf("%s: %s", c.name, r.Text)
		}
		if (r.Verdict == compare.Slower) != (r.Gate() == compare.GateFailed) {
			t.Errorf("%s: gate %s: %s", c.name, r.Gate(), r.Gates[0].Text)
		}
		idle := r.Rows[slices.IndexFunc(r.Rows, func(row compare.Row) bool { return row.Class == compare.Waiting })]
		kernels, part := r.Waterfall[0], r.Waterfall[1] // a part of one row is judged as that is
		if part.Interval != idle.Interval || part.Seen != idle.Seen || part.Significant != idle.Significant {
			t.Errorf("%s: the part %+v, its row %+v", c.name, part, idle)
		}
		if got := kernels.Significant; got != (kernels.Delta.Abs() > 300*time.Microsecond) { // of 7 ms ± 2.4%
			t.Errorf("%s: %v more time of kernels is a finding: %t", c.name, kernels.Delta, got)
		}
	}
}

// A gate of the step that noise leaves no power names the one that has it.
func TestGateNamesWork(t *testing.T) {
	for passes, want := range map[int]string{5: "work=3%", 40: ""} {
		r := report(t, side(1, passes, nil), side(2, passes, nil),
			compare.Options{Gates: []compare.Gate{{Limit: 0.03}}})
		if g := r.Gates[0]; want == "" && g.Outcome != compare.GatePassed || want != "" &&
			(g.Outcome != compare.GateUndecided || !strings.Contains(g.Text, want)) {
			t.Errorf("%d passes: %s: %s", passes, g.Outcome, g.Text)
		}
	}
}

// programs are the shared traces by what they record: those of one program may be compared.
var programs = map[string]string{"hf-bert-small": "bert", "hf-vit-nsfw": "vit", "sglang-qwen3-30b-a3b": "qwen3-30b",
	"sglang-r1-distill-llama-8b": "llama-8b", "train-pair": "train-pair",
	"xdit-flux1": "flux", "sglang-qwen3-8b-decode": "qwen3-8b decode", "sglang-qwen3-8b-extend": "qwen3-8b extend",
	"vllm-gptoss20b-decode": "gptoss decode", "vllm-gptoss20b-mixed": "gptoss mixed"}

// Traces of different programs are never compared, and the reason says what they are.
func TestUnrelatedTraces(t *testing.T) {
	paths := testdata.SharedGlob(t, "traces/torch/*.json*")
	if !testdata.Long() {
		paths = testdata.Smallest(paths, 14)
	}
	type one struct {
		program string
		side    *compare.Side
	}
	var all []one
	for _, path := range paths {
		name := filepath.Base(path)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Read(t.Context(), f, trace.Options{})
		f.Close()
		if err != nil {
			continue
		}
		_, run := runOf(t, tr, layer.Options{})
		program := name
		for prefix, p := range programs {
			if strings.HasPrefix(name, prefix) {
				program = p
			}
		}
		all = append(all, one{program, &compare.Side{Label: name, Runs: []compare.Run{*run}}})
	}
	pairs := 0
	for i, x := range all {
		for _, y := range all[i+1:] {
			if x.program == y.program {
				continue
			}
			pairs++
			for _, r := range []*compare.Report{report(t, x.side, y.side, compare.Options{}),
				report(t, y.side, x.side, compare.Options{})} {
				if r.Verdict != compare.NotComparable || len(r.Text) < len("not comparable: A is a") {
					t.Errorf("%s and %s: %s", x.side.Label, y.side.Label, r.Text)
				}
			}
		}
	}
	t.Logf("%d pairs", pairs)
}

// TestHostsOfTwoRuns: where the host launches the kernels one by one, two runs of one program idle differently by a
// third, so that it is no change; three times as much idle time is one, and in graph replays a third is.
func TestHostsOfTwoRuns(t *testing.T) {
	for _, c := range []struct {
		graph, idle float64
		want        compare.Outcome
	}{{0, 13_500, compare.Inconclusive}, {0, 30_000, compare.Slower}, {1, 13_500, compare.Slower},
		{0.5, 16_000, compare.Slower},
		{0.5, 12_000, compare.Inconclusive}} {
		r := report(t, steadyBy(c.graph, 4000, 3000, 10_000), steadyBy(c.graph, 4000, 3000, c.idle), compare.Options{})
		if r.Verdict != c.want || (r.WaitFloor > 0) != (c.graph < 1) {
			t.Errorf("%g of the kernels replayed, idle 10 ms and %g µs: %s; want %s", c.graph, c.idle, r.Text, c.want)
		}
	}
}

// TestReasonsOfARow: a part that each pass launches once, as one that it launches twice, is explained by the kernel that
// replaces another one, else by what a launch takes.
func TestReasonsOfARow(t *testing.T) {
	made := func(kernel string, launches int, took time.Duration) *compare.Side {
		run := compare.Run{Trace: "run.json", GPU: "NVIDIA H100 80GB HBM3", Health: "ok",
			Parts: []compare.Part{compare.MadePart("lm_head", kernel, compare.Memory)}}
		for i := range 8 {
			run.AddPass(compare.Pass{Index: i, Stage: layer.StageDecode, Batch: 8, Tokens: 8, Graph: 1}, launches, took)
		}
		return &compare.Side{Runs: []compare.Run{run}}
	}
	for _, c := range []struct {
		a, b *compare.Side
		want string
	}{
		{made("gemm", 1, 4*time.Millisecond), made("gemm", 1, 5*time.Millisecond), "1 launch, each 4.00 ms → 5.00 ms"},
		{made("gemm", 2, 4*time.Millisecond), made("gemm", 2, 5*time.Millisecond), "2 launches, each 2.00 ms → 2.50 ms"},
		{made("gemm", 1, 4*time.Millisecond), made("other", 1, 5*time.Millisecond), "other instead of gemm"},
		{made("gemm", 1, 4*time.Millisecond), made("gemm", 2, 5*time.Millisecond), "2 launches instead of 1"},
		{made("gemm", 2, 4*time.Millisecond), made("gemm", 1, 5*time.Millisecond),
			"1 launch instead of 2, each 2.00 ms → 5.00 ms"},
	} {
		want := "lm_head 4.00 ms → 5.00 ms, +1.00 ms (+25.0%): " + c.want
		if got := report(t, c.a, c.b, compare.Options{}).Rows[0].Text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
