package compare_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// runOf analyses and measures a trace.
func runOf(t *testing.T, tr *trace.Trace, o layer.Options) (*layer.Analysis, *compare.Run) {
	t.Helper()
	a, err := layer.Analyze(t.Context(), tr, o)
	if err != nil {
		t.Fatal(err)
	}
	run, err := compare.Measure(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return a, run
}

func measured(t *testing.T, file, config string) *compare.Side {
	t.Helper()
	path := "../../../shared/traces/torch/" + file
	if _, err := os.Stat(path); err != nil {
		t.Skipf("NOT TESTED: %s is absent", path)
	}
	var cfg *profile.Config
	if config != "" {
		var err error
		if cfg, err = profile.LoadConfig("../../../shared/configs/" + config + ".json"); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := trace.Open(context.Background(), path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, run := runOf(t, tr, layer.Options{Config: cfg})
	return &compare.Side{Label: file, Runs: []compare.Run{*run}}
}

// Totals of operators on two GPUs, in µs, added up by hand from the kernel lists: names in the file, each instant
// counted once for the kernel that started first.
var byHand = []struct {
	a, b, config string
	rows         map[string][2]float64
}{
	{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz",
		"qwen3-30b-a3b", map[string][2]float64{
			"attention": {435.332, 1063.026}, "rope+kv_write": {89.727, 220.792}, "qk_norm": {63.203, -1},
			"experts_combine": {139.010, 0},
			"experts_gate_up+experts_activation|experts_down": {-1, 5702.681}}},
	{"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz",
		"sglang-r1-distill-llama-8b-mi300-TP-0-DECODE.trace.json.gz", "llama-3.1-8b", map[string][2]float64{
			"attention": {348.935, 1580.141}, "activation": {65.888, 424.369}, "rope": {50.560, 295.009},
			"kv_write": {41.375, 410.249}}},
}

// TestSentencesOfRealPairs: of each pair of real traces the verdict says that GPU work changed beyond noise only where
// its interval says so, an operator that the peak does not bound has no share of it, and the GPU is named where the
// table has it.
func TestSentencesOfRealPairs(t *testing.T) {
	var sides []*compare.Side
	for _, path := range testdata.SharedGlob(t, "traces/torch/*") {
		tr, err := trace.Open(t.Context(), path, trace.Options{})
		if err != nil {
			continue
		}
		a, run := runOf(t, tr, layer.Options{})
		if len(a.Devices) > 0 && roofline.GPUOf(&a.Devices[0]) != nil && run.GPU == "" {
			t.Errorf("%s: the GPU is known and not named", path)
		}
		sides = append(sides, &compare.Side{Label: filepath.Base(path), Runs: []compare.Run{*run}})
	}
	mixed := 0
	for _, a := range sides {
		for _, b := range sides {
			r := report(t, a, b, compare.Options{})
			if r.Verdict == compare.Mixed {
				mixed++
			}
			if strings.Contains(r.Text, "GPU work grew beyond") && r.Work.Low <= 0 ||
				strings.Contains(r.Text, "GPU work shrank beyond") && r.Work.High >= 0 {
				t.Errorf("%s, %s: %s; GPU work %+v", a.Label, b.Label, r.Text, r.Work)
			}
			for _, row := range r.Rows {
				if strings.Contains(row.Because, "0.0 → 0.0%") {
					t.Errorf("%s, %s: %s: %s", a.Label, b.Label, row.Operator, row.Because)
				}
			}
		}
	}
	if mixed == 0 {
		t.Error("no pair has a mixed verdict")
	}
}

// Every operator's total is within 1% of a sum made by hand, and the rows add up to the passes, across vendors.
func TestAcrossVendors(t *testing.T) {
	for _, c := range byHand {
		t.Run(c.config, func(t *testing.T) {
			r := report(t, measured(t, c.a, c.config), measured(t, c.b, c.config), compare.Options{})
			got := map[string][2]float64{}
			var delta time.Duration
			for _, row := range r.Rows {
				got[row.Operator] = [2]float64{float64(row.A) / 1e3, float64(row.B) / 1e3}
				delta += row.Delta
				if strings.Contains(row.Because, "0.0 → 0.0%") {
					t.Errorf("%s: %s", row.Operator, row.Because)
				}
			}
			for names, want := range c.rows {
				var sum [2]float64
				for name := range strings.SplitSeq(names, "|") {
					sum[0], sum[1] = sum[0]+got[name][0], sum[1]+got[name][1]
				}
				for side := range want {
					if want[side] >= 0 && math.Abs(sum[side]-want[side]) > 0.01*want[side] {
						t.Errorf("%s on side %c: %.1f µs, want %.1f", names, "AB"[side], sum[side], want[side])
					}
				}
			}
			if delta != r.Delta || r.B.Wall-r.A.Wall != r.Delta {
				t.Errorf("the rows add up to %v, the passes differ by %v", delta, r.B.Wall-r.A.Wall)
			}
			if r.Verdict != compare.Slower {
				t.Errorf("verdict %s", r.Verdict)
			}
			for _, f := range r.Findings {
				if f.Kind == finding.UniformChange {
					t.Errorf("on two GPUs: %s", f.Text)
				}
			}
		})
	}
}

// A trace compared with itself differs in nothing.
func TestWithItself(t *testing.T) {
	for _, c := range byHand {
		a := measured(t, c.a, c.config)
		r := report(t, a, a, compare.Options{})
		if r.Verdict != compare.Same || r.Delta != 0 || len(r.Findings) != 0 {
			t.Errorf("%s: %s, %d findings", c.a, r.Text, len(r.Findings))
		}
	}
}

func TestText(t *testing.T) {
	r := report(t, side(1, 8, nil), side(2, 8, times("attention", 1.6)),
		compare.Options{Gates: []compare.Gate{{Limit: 0.03}}})
	var text, markdown bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"B is slower", "attention", "between-run floor 0.75%", "= pass", "fail: 3%"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(markdown.String(), want) {
			t.Errorf("%q is missing:\n%s\n%s", want, text.String(), markdown.String())
		}
	}
}

// The kernel times of both sides add up to the raw durations by name, within 0.1%, across vendors: operators divide
// them, and lose nothing.
func TestKernelTimesAreRawSums(t *testing.T) {
	rules := classify.Default()
	for _, c := range byHand {
		a, b := measured(t, c.a, c.config), measured(t, c.b, c.config)
		r := report(t, a, b, compare.Options{})
		for i, file := range []string{c.a, c.b} {
			d := real(t, file)
			want, got := map[string]float64{}, map[string]float64{}
			launches := map[string]float64{}
			for _, row := range r.Rows {
				var sum time.Duration
				for _, k := range row.Kernels {
					own := []time.Duration{k.A + k.WaitA, k.B + k.WaitB}[i]
					got[k.Name] += float64(own) / 1e3
					launches[k.Name] += []float64{k.LaunchesA, k.LaunchesB}[i]
					sum += []time.Duration{k.A, k.B}[i]
				}
				if row.Class != compare.Waiting && len(row.Kernels) > 0 {
					if kernel := []time.Duration{row.KernelA,
						row.KernelB}[i]; (kernel - sum).Abs() > time.Duration(len(row.Kernels)) {
						t.Errorf("%s: kernels of %s add up to %v, the row has %v", file, row.Operator, sum, kernel)
					}
				}
			}
			for _, e := range d.events() {
				if name, _ := e["name"].(string); onGPU(e) {
					dur, _ := e["dur"].(float64)
					want[rules.Facts(name).Short] += dur
					launches[rules.Facts(name).Short]--
				}
			}
			var all, held float64
			for name, sum := range want {
				all += sum
				if launches[name] != 0 {
					continue // some are in no pass
				}
				held += sum
				if math.Abs(got[name]-sum) > 0.001*sum {
					t.Errorf("%s: %s takes %.3f µs, its records add up to %.3f", file, name, got[name], sum)
				}
			}
			if held < 0.7*all {
				t.Errorf("%s: only %.1f of %.1f µs are held against their records", file, held, all)
			}
		}
	}
}

// A comment on a change has at most 60 lines, however much there is to say.
func TestMarkdownIsShort(t *testing.T) {
	r := report(t, withHost(side(1, 40, nil), 1, op{name: "prepare", us: 680}),
		withHost(side(2, 40, times("attention", 1.6)), 2, op{name: "prepare", us: 1680}),
		compare.Options{Gates: []compare.Gate{{Limit: 0.03}, {What: "work", Limit: 0.03}, {What: "host", Limit: 0.03},
			{What: "waiting", Limit: 0.03}, {What: "attention", Limit: 0.03}}})
	for range 5 {
		r.Rows, r.Findings, r.Notes = append(r.Rows, r.Rows...), append(r.Findings, r.Findings...),
			append(r.Notes, r.Notes...)
		r.Host.Rows = append(r.Host.Rows, r.Host.Rows...)
		r.Doubts, r.Left = append(r.Doubts, r.Findings[0]), append(r.Left, "a kind of passes")
	}
	var b strings.Builder
	if err := r.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines > 58 /* and two more parts of the step */ {
		t.Errorf("%d lines:\n%s", lines, b.String())
	}
	if rows := strings.Count(b.String(), " → 32 |"); rows != 6 { // of eight, the others wait
		t.Errorf("%d operators, want 6:\n%s", rows, b.String())
	}
	for _, part := range []string{"= pass", "others", "and 61 more", "between kernels", "What the host does",
		"Look first at", "- fail: 3%"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is missing:\n%s", part, b.String())
		}
	}
}

// TestPartsOfAProfile: the categories of a model's profile are not those of the parts of a run: products and collectives
// are found in both.
func TestPartsOfAProfile(t *testing.T) {
	const file = "synthetic-deepseek-v4-flash-TP-0.trace.json.gz"
	of := map[string]string{}
	for _, p := range measured(t, file, "").Runs[0].Parts {
		of[p.Base] = p.Category
	}
	classes := map[compare.Class]int{}
	for _, p := range measured(t, file, "deepseek-v4-flash").Runs[0].Parts {
		if p.Category != of[p.Base] {
			t.Errorf("%s is %q, without a config %q", p.Base, p.Category, of[p.Base])
		}
		classes[p.Class]++
	}
	if classes[compare.Transfer] == 0 {
		t.Errorf("no collective in %v", classes)
	}
}
