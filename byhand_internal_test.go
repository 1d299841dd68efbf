package strata

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/page"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

const ms, us = time.Millisecond, time.Microsecond

// drawn are the cells of a table's rows: what they show, and in brackets what they sort by and how long their bars are
// in percent.
func drawn(t page.Table) (out []string) {
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			s := strings.Join(append([]string{c.Text}, c.Lines...), "/")
			if c.Sort != 0 {
				s += fmt.Sprintf(" [%g]", c.Sort)
			}
			if c.Bar != 0 {
				s += fmt.Sprintf(" [%.1f%%]", 100*c.Bar)
			}
			if c.Strong {
				s += "*"
			}
			cells = append(cells, s)
		}
		out = append(out, strings.Join(cells, " | "))
	}
	return out
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// launched is an analysed trace of one kernel, for what asks for a trace.
func launched(t *testing.T) *layer.Analysis {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 10_000, Duration: 5_000})
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// kindWords are the kinds of bars.
var kindWords = map[page.Kind]string{page.Must: "must", page.Win: "win", page.Unknown: "unknown", page.Idle: "idle",
	page.Alone: "alone", page.Whole: "whole", page.Slower: "slower", page.Faster: "faster"}

// TestTablesOfAReport: each cell of the page's tables, by the report's figures.
func TestTablesOfAReport(t *testing.T) {
	r := &Report{Operators: []ReportOperator{
		{Stage: layer.StageDecode, LayerType: "layers", Operator: "o_proj", Category: "gemm", Kernels: 1,
			Time:  250 * us,
			Share: .0625, Kernel: "short"},
		{Stage: layer.StageDecode, LayerType: "layers", Operator: "qkv_proj", Category: "gemm", Kernels: 1234,
			Time: 750 * us, Share: .1875, Floor: 300 * us, Bound: "memory", Kernel: "long"},
		{Stage: layer.StagePrefill, Pass: 1, LayerType: "outside layers", Operator: "embed", Category: "other",
			Kernels: 2,
			Time:    500 * us, Share: .5, Kernel: "rows"}},
		Idle: []ReportIdle{{Group: finding.HostWork, Cause: finding.HostCode, PerStep: 30 * us, Share: .0123,
			Name: "f"}},
		Exposure: []ReportExposure{{Stage: layer.StageDecode, Category: "gemm", PerStep: 2 * ms, Share: .456,
			Hidden: 40 * us}},
		Fusions: []ReportFusion{{Stage: layer.StageDecode, Pattern: "P", State: triage.StateAvailable, PerStep: 3 * ms,
			Gain: 20 * us, Times: 1500, Do: "do"}, {Stage: layer.StageDecode, Pattern: "Q", State: triage.StateActive,
			PerStep: ms, Times: 3}}}
	same(t, "operators by time", drawn(r.operatorTable().Tables[0]),
		"decode | layers | qkv_proj | gemm | 1,234 [1234] | 750 µs [750000] | 75.0 [75] [75.0%] | 18.8 [18.75] | "+
			"300 µs [300000] | 40 [40] | memory | long",
		"prefill | outside layers | embed | other | 2 [2] | 500 µs [500000] | 100.0 [100] [100.0%] | 50.0 [50] | "+
			"- [-1] | - [-1] |  | rows",
		"decode | layers | o_proj | gemm | 1 [1] | 250 µs [250000] | 25.0 [25] [25.0%] | 6.2 [6.25] | - [-1] | - [-1] |  | short")
	all := r.tables()
	same(t, "idle time", drawn(all[0].Tables[0]), "host work | host-code | 30.0 µs [30000] | 1.2 [1.23] | f")
	same(t, "exposure", drawn(all[1].Tables[0]), "decode | gemm | 2.00 ms [2e+06] | 45.6 [45.6] | 40.0 µs [40000]")
	same(t, "fused paths", drawn(all[2].Tables[0]),
		"decode | P | available | 3.00 ms [3e+06] | 20.0 µs [20000] | 1,500 [1500] | do",
		"decode | Q | active | 1.00 ms [1e+06] | - [-1] | 3 [3] | ")
	p := &reportPart{a: launched(t), d: &layer.Device{Passes: make([]layer.ForwardPass, 2)}}
	list := []ReportPass{{Index: 1, Stage: layer.StageDecode, Start: 2_000_000, Wall: 4 * ms, Idle: ms, Floor: 2 * ms,
		Batch: -1, Tokens: 8, Layers: 32, Kernels: 400, Confidence: .875, Chosen: true}}
	same(t, "passes", drawn(passTable(list, p).Tables[0]), "1 [1]* | 0 | decode | 2.00 ms [2e+06] | 4.00 ms [4e+06] | "+
		"1.00 ms [1e+06] | 25.0 [25] | 2.00 ms [2e+06] | - [-1] | 8 [8] | 32 [32] | 400 [400] | 0.88 [0.875] | listed below | -")
	if s := passTable(list[:0], p); s.Text != "No forward pass was found." {
		t.Errorf("no passes: %+v", s)
	}
	folds := func(n int) bool { return passTable(make([]ReportPass, n), p).Tables[0].Folded }
	if folds(12) || !folds(13) {
		t.Errorf("twelve passes fold: %v, thirteen: %v", folds(12), folds(13))
	}
}

// TestPageOfLightByHand: each cell of what a pass should take, and the bars of where its time goes.
func TestPageOfLightByHand(t *testing.T) {
	l := &roofline.Report{Steady: 3, Passes: []roofline.Pass{{Index: 3, Stage: layer.StageDecode, Wall: 8 * ms,
		Floor: 2 * ms, Waterfall: []roofline.Share{{Name: "must", Time: 2 * ms, Kind: roofline.Floor, Note: "n"},
			{Name: "none", Kind: roofline.Above}, {Name: "hatched", Time: ms, Kind: roofline.NoFloor},
			{Name: "idle", Time: 5 * ms, Kind: roofline.Idle}}}},
		Operators: []roofline.Row{{LayerType: "layers", Operator: "qkv_proj", Count: 32, Time: ms,
			Cost: roofline.Cost{M: 8, N: 4096, K: 1024, GFLOP: 1.25, Bytes: 2_500_000, Floor: 250 * us, Bound: "memory",
				PeakShare: .25}, Note: "note"}, {LayerType: "layers", Operator: "rope", Count: 1},
			{LayerType: "layers", Operator: "one", Count: 1, Cost: roofline.Cost{M: 1, N: 1, K: 1}}},
		Economy: []roofline.Bucket{{Stage: layer.StageDecode, From: 3, To: 4, Passes: 2, Tokens: 6, Wall: 3 * ms,
			PerToken: 500 * us, PerRequest: ms, Floored: 2 * ms, Floor: ms, Rows: 8, Asked: 6, Tax: ms, Taxed: 4},
			{Stage: layer.StagePrefill, From: -1, To: -1, Passes: 1, Wall: ms},
			{Stage: layer.StagePrefill, From: 1, To: 1, Passes: 1, Wall: ms, PerToken: ms,
				Tax: 600 * us, Taxed: 1}}}
	out := lightSections(l)
	same(t, "operators", drawn(out[1].Tables[0]),
		"layers | qkv_proj | 32 [32] | 8 [8] | 4,096 [4096] | 1,024 [1024] | "+
			"1.2 [1.25] | 2.5 [2.5] | 1.00 ms [1e+06] | 250 µs [250000] | memory | 25 [25] [25.0%] | note",
		"layers | rope | 1 [1] | - [-1] | - [-1] | - [-1] | 0.0 | 0.0 | - [-1] | - [-1] |  | - [-1] | ",
		"layers | one | 1 [1] | 1 [1] | 1 [1] | 1 [1] | 0.0 | 0.0 | - [-1] | - [-1] |  | - [-1] | ")
	same(t, "cost", drawn(out[2].Tables[0]), "decode | 3–4 [3] | 2 [2] | 6 [6] | 3.00 ms [3e+06] | 500 µs [500000] | "+
		"1.00 ms [1e+06] | 50.0 [50] | 25.0 [25] | 250 µs [250000]",
		"prefill | 1 [1] | 1 [1] | 0 | 1.00 ms [1e+06] | 1.00 ms [1e+06] | - [-1] | - [-1] | - [-1] | 600 µs [600000]")
	f := out[0].Falls[0]
	lines := []string{f.Label, f.Total, f.Text}
	for _, x := range f.Steps {
		lines = append(lines, fmt.Sprintf("%s %s %s %g–%g %s", x.Name, x.Value, x.Detail, x.From, x.To,
			kindWords[x.Kind]))
	}
	same(t, "waterfall", lines, "pass 3, Decode", "8.00 ms",
		"Hatched: how much of this 12.5% has to be is not known. To know more, pass `--config` "+
			"with a file or a public model's name.",
		"must 2.00 ms, 25.0% n 0–2e+06 must", "hatched 1.00 ms, 12.5%  2e+06–3e+06 unknown",
		"idle 5.00 ms, 62.5%  3e+06–8e+06 idle")
	var b strings.Builder
	if err := WriteLightHTML(t.Context(), &b, l, nil, "plan"); err != nil {
		t.Fatal(err)
	}
	if want := "Pass 3 (decode) takes 8.00 ms; the GPU needs at least 2.00 ms of it (25.0%)."; !strings.Contains(b.String(),
		want) {
		t.Errorf("the page lacks %q", want)
	}
	for floor, want := range map[time.Duration]bool{0: false, 1: true} {
		l.Passes[0].Floor = floor
		b.Reset()
		if err := WriteLightHTML(t.Context(), &b, l, nil, "plan"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "the GPU needs at least"); got != want {
			t.Errorf("a floor of %d ns is a verdict: %t, want %t", floor, got, want)
		}
	}
}

// TestPageOfACompareByHand: the bars from A to B, which end where B is, and each cell of its rows.
func TestPageOfACompareByHand(t *testing.T) {
	row := func(name string, a, b time.Duration) compare.Row {
		return compare.Row{Operator: name, Interval: compare.Interval{A: a, B: b, Delta: b - a}, KernelA: a, KernelB: b,
			LaunchesA: 2, LaunchesB: 3}
	}
	slow := row("qkv_proj", 4*ms, 5*ms)
	slow.Judged, slow.Low, slow.High, slow.Significant, slow.Found = true, 900*us, 1100*us, true, "yes"
	slow.Kernels = []compare.KernelDelta{{Name: "new", Was: "old", A: 4 * ms, B: 5 * ms, LaunchesA: 2, LaunchesB: 3}}
	hidden := row("all_reduce", ms, ms/2)
	hidden.KernelA, hidden.KernelB = 3*ms, 2*ms
	r := &compare.Report{A: compare.Summary{Label: "d/a", Wall: 10 * ms}, B: compare.Summary{Trace: "d/b",
		Wall: 11 * ms},
		Delta: ms, Rows: []compare.Row{slow, hidden, row("same", ms, ms)}, Waterfall: []compare.Row{row("kernels",
			9*ms, 10*ms)}}
	if n := len(compareSections(r)); n != 1 {
		t.Errorf("without findings and gates: %d sections", n)
	}
	r.Findings, r.Gates = make([]finding.Finding, 1), make([]compare.Gate, 1)
	s := compareSections(r)
	if len(s) != 3 || s[1].ID != "changes" || s[2].ID != "gates" {
		t.Errorf("one finding and one gate: %d sections", len(s))
	}
	same(t, "rows", drawn(s[0].Tables[1]),
		"qkv_proj | 4.00 ms [4e+06] | 5.00 ms [5e+06] | 1.00 ms [1e+06] | 25.0 [25] | - [-1] | 1.00 ms [1e+06] | "+
			"900 µs … 1.10 ms [900000] | yes* | 2 → 3 | old → new/old → new: 4.00 ms → 5.00 ms, 2 → 3 launches",
		"all_reduce | 1.00 ms [1e+06] | 500 µs [500000] | -500 µs [-500000] | -50.0 [-50] | 3.00 ms → 2.00 ms [-1e+06] | "+
			"-1.00 ms [-1e+06] | - [-1] |  | 2 → 3 | -",
		"same | 1.00 ms [1e+06] | 1.00 ms [1e+06] | 0 | 0.0 | - [-1] | 0 | - [-1] |  | 2 → 3 | -")
	same(t, "parts", drawn(s[0].Tables[0]), "kernels | 9.00 ms [9e+06] | 10.0 ms [1e+07] | 1.00 ms [1e+06] | - [-1] | ")
	var steps []string
	for _, x := range s[0].Falls[0].Steps {
		steps = append(steps, fmt.Sprintf("%s %s %g–%g %s", x.Name, x.Value, x.From, x.To, kindWords[x.Kind]))
	}
	same(t, "bars", steps, "A: a 10.0 ms 0–1e+07 whole", "qkv_proj +1.00 ms 1e+07–1.1e+07 slower",
		"all_reduce −500 µs 1.05e+07–1.1e+07 faster", "all others +500 µs 1.05e+07–1.1e+07 slower",
		"B: b 11.0 ms 0–1.1e+07 whole")
	r.Floor, r.FloorFrom = 0.0075, "given"
	var b strings.Builder
	if err := WriteCompareHTML(t.Context(), &b, r, nil, nil); err != nil || !strings.Contains(b.String(),
		"noise between runs 0.75% (given)") {
		t.Errorf("%v: the page does not say how runs differ", err)
	}
}

// TestPageOfRanksByHand: bars are of the longest rank, waiting is of the rank's own step.
func TestPageOfRanksByHand(t *testing.T) {
	f := &fleet.Report{Runs: []fleet.Run{{Run: "run", Groups: []fleet.Group{{Name: "0–1", Steps: 5, Step: 4e6,
		Wait: fleet.Spread{Min: 1e5, Median: 4e5, Max: 1e6, Worst: []fleet.Value{{Rank: "0"}}}, Transfer: 3e5, Collectives: 7,
		Late: &fleet.Late{Rank: "1"}, Skew: []int64{3, 1},
		Differs: []fleet.Differs{{Rank: "1", What: "host-code", Share: .125}},
		Rows: []fleet.Row{{Rank: "0", Wall: 4e6, Busy: 3e6, Wait: 1e6, Last: 1}, {Rank: "1", Wall: 2e6, Busy: 1e6,
			Last: 6}}}}}}}
	s := rankSection(f)
	same(t, "ranks", drawn(s.Tables[0]),
		"0 | 4.00 ms [4e+06] [100.0%] | 3.00 ms [3e+06] [75.0%] | 1.00 ms [1e+06] [25.0%] | 25.0 [25] | 1 [1] | ",
		"1* | 2.00 ms [2e+06] [50.0%] | 1.00 ms [1e+06] [25.0%] | 0 | 0.0 | 6 [6] | host-code: +12.5% of step time")
	groups := drawn(s.Tables[1])
	if want := "run | 0–1 | 5 [5] | 4.00 ms [4e+06] | 100 µs [100000] [2.5%] | 400 µs [400000] [10.0%] | " +
		"1.00 ms [1e+06] [25.0%] | 300 µs [300000] | 7 [7] | 1* | "; !strings.HasPrefix(groups[0], want) {
		t.Errorf("group %q, want %q", groups[0], want)
	}
	var plots []string
	for _, p := range s.Plots {
		plots = append(plots, fmt.Sprint(p.Title, ": ", p.Text, " ", p.Values, " ", p.Mark, p.Marked))
	}
	same(t, "plots", plots, "GPU busy, ranks 0–1: 1.00 ms on 1 … 2.00 ms on 0 [2e+06 1e+06] 1 1",
		"Waiting for others, ranks 0–1: 0 on 1 … 1.00 ms on 0 [1e+06 0] 1 1",
		"GPU idle, ranks 0–1: 1.00 ms on 0 … 1.00 ms on 0 [1e+06 1e+06] 1 1",
		"Longest wait by step, ranks 0–1: 2 steps [3 1] 0 0")
	if one := rankPlots(&fleet.Group{Rows: make([]fleet.Row, 1)}); one != nil {
		t.Errorf("one rank has plots: %+v", one)
	}
}

// TestPageOfTriageByHand: times of the stage in µs and ns, rows below the bar counted, and shares of a row's places.
func TestPageOfTriageByHand(t *testing.T) {
	r := &triage.Report{MinSharePct: 1}
	s := &triage.StageReport{Stage: "decode", PassStage: layer.StageDecode, GPUTimeUS: 2500, BusyUS: 2000, SpanUS: 4000,
		Launches: 40, Devices: 2, HiddenRows: 2, Kernels: []triage.KernelRow{{Kernel: "gemm<1>", Label: "gemm",
			Category: "gemm", GPUTimeUS: 1500, GPUTimeNS: 1.5e6, SharePct: 60, Launches: 3, CPUOps: []string{"b", "a",
				"b"},
			Locations: []triage.Location{{Location: "a.py:1 f", SharePct: 99.5}, {Location: "b.py:2 g",
				SharePct: 99.4}},
			ModelLines: []triage.Location{{Location: "m.py:3 h", Module: "M/N", SharePct: 100}}},
			{Kernel: "at", Category: "x", SharePct: 1}, {Kernel: "below", SharePct: .99}},
		Operators: []triage.OperatorRow{{Operator: "qkv_proj", Confidence: .875, GPUTimeNS: 2e6, SharePct: 80,
			Launches: 7},
			{Operator: "other", GPUTimeNS: 5e5, SharePct: 20, Launches: 33}},
		Overlap: []triage.OverlapRow{{Priority: "P1", Kernel: "nccl", Category: "communication", TotalUS: 250,
			SharePct:       10,
			ExclusiveRatio: .4, BoundNS: 1e5, BoundPct: 2.5, Recommendation: "do"}},
		Fuse: []triage.FuseRow{{Pattern: "P", State: triage.StateAvailable, Confidence: triage.Possible, RelatedUS: 30,
			SharePct: 1.2, Occurrences: 4, EstimatedGainUS: .5, GainPct: .5,
			Evidence: []triage.Share{{Kernel: "k", Label: "l",
				Launches: 8}}}, {Pattern: "Q", State: triage.StateActive}},
		Slow: []triage.SlowRow{{Kernel: "s", GPUTimeNS: 3e5, SharePct: 12, Launches: 6, FloorNS: 1e5, Reason: "why",
			Do: "pad"},
			{Kernel: "t", GPUTimeNS: 1e5}, {Kernel: "u", GPUTimeNS: 3, FloorNS: 1}},
		Exposure: &triage.Exposure{Rows: []triage.ExposureRow{{Category: "communication", TotalNS: 3e6, ExposedNS: 2e6,
			HiddenNS: 1e6, ExposedPct: 50, WaitingNS: 5e5, WaitingBy: layer.WaitingByRanks, BoundNS: 4e5},
			{Category: "gemm", ExposedPct: 1}, {Category: "other", ExposedPct: .99}}}}
	out := triageSections(r, s)
	same(t, "kernels", drawn(out[0].Tables[0]),
		"gemm | gemm | - | 1.50 ms [1.5e+06] | 60.0 [60] [60.0%] | 3 [3] | 500 µs [500000] | /m.py:3 h in M/N | "+
			"/a.py:1 f/b.py:2 g (99%) | /a/b",
		"at | x | - | 0 | 1.0 [1] [1.0%] | 0 | 0 |  |  | ")
	if n := out[0].Tables[0].Hidden; n != 3 {
		t.Errorf("%d kernels are hidden, want 3", n)
	}
	same(t, "operators", drawn(out[0].Tables[1]), "qkv_proj | 2.00 ms [2e+06] | 80.0 [80] | 7 [7] | 0.88 [0.875]",
		"other | 500 µs [500000] | 20.0 [20] | 33 [33] | - [-1]")
	same(t, "head", []string{out[0].Text},
		"2.50 ms of GPU time in 40 launches; busy 2.00 ms of 4.00 ms. Times are sums over 2 GPUs.")
	same(t, "exposure", drawn(out[1].Tables[0]),
		"communication | 3.00 ms [3e+06] | 2.00 ms [2e+06] | 50.0 [50] | 1.00 ms [1e+06] | 500 µs [500000] | 400 µs [400000]",
		"gemm | 0 | 0 | 1.0 [1] | 0 | - [-1] | - [-1]")
	if n := out[1].Tables[0].Hidden; n != 1 {
		t.Errorf("%d categories are hidden, want 1", n)
	}
	same(t, "overlap", drawn(out[1].Tables[1]), "P1 | nccl | communication | 250 µs [250000] | 10.0 [10] | 40 [40] | "+
		"100 µs [100000] | 2.5 [2.5] | do")
	same(t, "fused paths", drawn(out[2].Tables[0]),
		"P | available |  | Candidate | 30.0 µs [30000] | 1.2 [1.2] | 4 [4] | "+
			"500 ns [500] | ≤ 0.5% [0.5] | /8 × l | ", "Q | active |  |  | 0 | 0.0 | 0 | - [-1] | - [-1] |  | ")
	same(t, "slow kernels", drawn(out[3].Tables[0]),
		"s | 300 µs [300000] | 12.0 [12] | 6 [6] | 200 µs [200000] | why | pad",
		"t | 100 µs [100000] | 0.0 | 0 | - [-1] |  | ", "u | 3 ns [3] | 0.0 | 0 | 2 ns [2] |  | ")
	if out[2].Text != "" {
		t.Errorf("beside fused paths: %q", out[2].Text)
	}
	if s.Slow = s.Slow[:1]; len(triageSections(r, s)) != 4 {
		t.Error("one slow kernel has no section of its own")
	}
	s.Devices, s.Slow, s.Fuse = 1, nil, nil
	if out := triageSections(r, s); len(out) != 3 || strings.Contains(out[0].Text, "GPUs") ||
		!strings.HasPrefix(out[2].Text, "No known fused path is in use") {
		t.Errorf("one GPU without slow kernels and fused paths: %d sections, %q, %q", len(out), out[0].Text, out[2].Text)
	}
}

// TestTextOfAReport: all of what people read of two passes, word by word.
func TestTextOfAReport(t *testing.T) {
	finds := func(text string, per time.Duration, share float64, m finding.Measure) finding.Finding {
		return finding.Finding{Kind: finding.IdleTime, Cause: finding.HostCode, Text: text, Confidence: finding.High,
			Size: finding.Size{Measure: m, PerStep: per, Share: share,
				Of: finding.OfStep}, Advice: finding.Advice{Next: "strata x"}}
	}
	p := &reportPart{d: &layer.Device{Passes: []layer.ForwardPass{{PassEvidence: "x"}, {}}}}
	r := &Report{Name: "run", Traces: []string{"run"}, Framework: "SGLang", Health: trace.HealthOK,
		Verdict: "All is well.",
		GPUTime: 8 * ms, InPasses: 6 * ms, InLayers: 5 * ms, WithOperator: ms, parts: []*reportPart{p},
		Host: hostoverhead.No, HostText: "no host",
		Findings: []finding.Finding{finds("First", 3*ms, .25, finding.Recoverable), finds("Second", 2*ms, .1,
			finding.Taken),
			finds("Third", ms, .05, finding.Taken), finds("4", ms, .05, finding.Taken), finds("5", ms, .05,
				finding.Taken),
			finds("Sixth", ms, .05, finding.Taken)},
		Passes: []ReportPass{{Index: 0, Stage: layer.StagePrefill, Batch: 1, Tokens: 2048, Wall: 12 * ms, Idle: 3 * ms,
			Floor: 6 * ms, Layers: 2, Kernels: 30, Confidence: .5, Start: 1_500_000, Partial: "end"},
			{Index: 1, Stage: layer.StageDecode, Batch: -1, Tokens: -1, Wall: 4 * ms, Layers: 2, Kernels: 20,
				Confidence: .75, Start: 13_500_000, Chosen: true}},
		Operators: []ReportOperator{{Pass: 1, Stage: layer.StageDecode, LayerType: "layers", Operator: "qkv_proj",
			Kernels: 2,
			Time:    ms, Share: .25, Floor: 400 * us, Bound: "memory", Kernel: "gemm"},
			{Pass: 1, Stage: layer.StageDecode, LayerType: "layers", Operator: "rope", Kernels: 2, Time: 100 * us,
				Share:  .025,
				Kernel: "rot"}},
		Exposure: []ReportExposure{{Stage: layer.StageDecode, Category: "gemm", PerStep: ms, Share: .01,
			Hidden: 2 * us},
			{Stage: layer.StageDecode, Category: "rope", PerStep: us, Share: .0099}},
		Fusions: []ReportFusion{{Stage: layer.StageDecode, Pattern: "P", State: triage.StateAvailable, PerStep: ms,
			Gain: 20 * us, Times: 3, Do: "do"}},
		Notes: []string{"a", "b", "c", "d", "e", "f", "g"}}
	var b strings.Builder
	if err := r.WriteText(&b, ReportText{Width: 120}); err != nil {
		t.Fatal(err)
	}
	same(t, "text", strings.Split(b.String(), "\n"), strings.Split(textOfTwoPasses, "\n")...)
	narrow := func(width int) bool {
		b.Reset()
		if err := r.WriteText(&b, ReportText{Width: width}); err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(b.String(), "Confidence")
	}
	if narrow(100) || !narrow(99) {
		t.Errorf("a hundred columns leave out the confidence: %v, 99: %v", narrow(100), narrow(99))
	}
	print := func(o ReportText) string {
		b.Reset()
		if err := r.WriteText(&b, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if a, b := print(ReportText{}), print(ReportText{Width: 120}); a != b || print(ReportText{Width: 1}) == b {
		t.Errorf("the usual width is not 120 columns:\n%s", a)
	}
	r.Notes = append([]string{"a note of fifty-eight letters takes all of a line of sixty"}, r.Notes...)
	if text := print(ReportText{Width: 60}); !strings.Contains(text, "\n- "+r.Notes[0]+"\n") {
		t.Errorf("sixty letters do not fit into sixty columns:\n%s", text)
	}
	if text := print(ReportText{Width: 59}); !strings.Contains(text, " of\n  sixty\n") {
		t.Errorf("sixty letters fit into fewer columns:\n%s", text)
	}
	r.Notes = r.Notes[1:]
	// Each section has a heading of the second level in Markdown.
	r.light = &roofline.Report{Passes: []roofline.Pass{{Stage: layer.StageDecode, Wall: 4 * ms,
		Waterfall: []roofline.Share{{Name: "all", Time: 4 * ms}}}}}
	r.Ranks = &fleet.Report{}
	var headings []string
	for line := range strings.Lines(print(ReportText{Markdown: true})) {
		if strings.HasPrefix(line, "#") {
			headings = append(headings, strings.TrimSpace(line))
		}
	}
	same(t, "headings", headings, "# strata report of run", "## Where the time of pass 0 (decode) goes",
		"## What matters", "## Ranks", "## Passes", "## Operators of pass 1 (decode)",
		"## Exposed time: no other category overlaps", "## Fusions", "## Notes")
	r.light, r.Ranks = nil, nil
	// Lists are cut at 16 passes, 24 operators and 8 fused paths; of two traces each pass and operator says which.
	r.Traces = append(r.Traces, "other")
	r.Passes, r.Fusions = make([]ReportPass, 17), make([]ReportFusion, 9)
	for len(r.Operators) < 25 {
		r.Operators = append(r.Operators, r.Operators[1])
	}
	text := print(ReportText{})
	for _, want := range []string{"1 more pass (", "1 more operator (", "1 more fused path (", "SGLang, 2 traces",
		"Operators of pass 1 (decode), trace 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if all := print(ReportText{All: true}); strings.Contains(all, "more pass") || strings.Contains(all, "more operator") ||
		strings.Contains(all, "more fused") {
		t.Errorf("a list of all is cut:\n%s", all)
	}
	r.Passes, r.Fusions, r.Operators = r.Passes[1:], r.Fusions[1:], r.Operators[1:]
	if text := print(ReportText{}); strings.Contains(text, "more pass") || strings.Contains(text, "more operator") ||
		strings.Contains(text, "more fused") {
		t.Errorf("lists of just as many are cut:\n%s", text)
	}
	// A trace without steps has no column of a step.
	p.d.Passes = []layer.ForwardPass{{PassEvidence: layer.RungWhole}}
	text, _, _ = strings.Cut(print(ReportText{}), "\nNotes")
	if _, text, _ = strings.Cut(text, "\nPasses"); strings.Contains(strings.ToLower(text), "step") ||
		!strings.Contains(text, "Window ms") || !strings.Contains(text, "% of window") {
		t.Errorf("the tables of a window without steps speak of steps:\n%s", text)
	}
}

// TestDoubtsOfFloorsNameTheirCommand: what puts floors in doubt points to the command that shows them.
func TestDoubtsOfFloorsNameTheirCommand(t *testing.T) {
	a := launched(t)
	p := newPart("run", a, &a.Devices[0])
	p.opens = "run"
	r := &Report{Name: "run", parts: []*reportPart{p}, light: &roofline.Report{
		Findings: []finding.Finding{{Kind: finding.Doubt}, {Kind: finding.AboveFloor}}}}
	if err := r.addLight(); err != nil {
		t.Fatal(err)
	}
	for i := range r.found {
		if got := r.found[i].Next; got != "strata light run" {
			t.Errorf("%v: next %q, want strata light run", r.found[i].Kind, got)
		}
	}
	if len(r.found) != 2 {
		t.Errorf("%d findings, want 2", len(r.found))
	}
}

const textOfTwoPasses = `strata report of run
Run       SGLang
Health    ok
Coverage  8.00 ms of GPU time: 75.0% in passes, 62.5% in layers, 12.5% with a known operator
Host      no host
Verdict   All is well.

What matters
 1. First: up to 3.00 ms per step (25.0% of step time)
    next: strata x
 2. Second: takes 2.00 ms per step (10.0% of step time)
    next: strata x
 3. Third: takes 1.00 ms per step (5.0% of step time)
    next: strata x
 4. 4: takes 1.00 ms per step (5.0% of step time)
    next: strata x
 5. 5: takes 1.00 ms per step (5.0% of step time)
    next: strata x

1 more finding (use --all).

Passes
                                                                                                 Floor
                                                                                                  % of
Pass  Stage    Batch  Tokens  Step ms  Idle ms  Layers  Confidence  Kernels   Start s  Floor ms   step  Note
--------------------------------------------------------------------------------------------------------------------
   0  prefill      1   2,048   12.000    3.000       2        0.50       30  0.001500     6.000   50.0  cut at end
   1  decode       -       -    4.000    0.000       2        0.75       20  0.013500         -      -  listed below

Operators of pass 1 (decode)
Layers  Operator  Launches     ms  % of step  Floor ms  % of peak  Bound   Longest kernel
-----------------------------------------------------------------------------------------
layers  qkv_proj         2  1.000       25.0     0.400         40  memory  gemm
layers  rope             2  0.100        2.5         -          -          rot

Exposed time: no other category overlaps
Stage   Category  Exposed (ms/step)  % of step  Hidden (ms/step)
----------------------------------------------------------------
decode  gemm                  1.000        1.0             0.002

Fusions
Stage   Fused path  State      ms/step  Gain (ms/step)  Count  Fix
------------------------------------------------------------------
decode  P           available    1.000           0.020      3  do

Notes
- a
- b
- c
- d
- e
- f

1 more note (use --all).
`

// TestSentenceOfAReport: from a tenth of the steps on idle time leads, and above a hundred times the bound is no
// figure.
func TestSentenceOfAReport(t *testing.T) {
	p := &reportPart{d: &layer.Device{Time: 1, Passes: []layer.ForwardPass{{PassEvidence: "x"}}}}
	for _, c := range []struct {
		idle     time.Duration
		headroom float64
		want     string
	}{{99_999 * us, 1.11, "The GPU is busy 90.0% of step time."},
		{100 * ms, 1.11, "The GPU is idle 10.0% of step time; removing that gives at most a 1.11× speedup."},
		{990 * ms, 100, "The GPU is idle 99.0% of step time; removing that gives at most a 100.00× speedup."},
		{991 * ms, 100.01, "The GPU is idle 99.1% of step time; removing that gives more than a 100× speedup."}} {
		r := &Report{Wall: time.Second, IdleTime: c.idle, Headroom: c.headroom, GPUTime: 1, parts: []*reportPart{p},
			Passes: []ReportPass{{Stage: layer.StageDecode}}}
		if got := r.sentence(); got != c.want {
			t.Errorf("idle for %v of a second: %q, want %q", c.idle, got, c.want)
		}
	}
	lost := &Report{Wall: 1000, LostTime: 100, IdleTime: 99, GPUTime: 1, parts: []*reportPart{p}}
	if got, want := lost.sentence(),
		"The GPU is busy 80.1% of step time. Records are missing for 10.0% of it."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	capture := &Report{Wall: time.Second, GPUTime: 1, parts: []*reportPart{p},
		Passes: []ReportPass{{Stage: layer.StageCapture}}}
	if got, want := capture.sentence(), "This window captures graphs."; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q at its start", got, want)
	}
	for what, want := range map[*Report]string{{GPUTime: 1}: "No forward pass was found", {Wall: 1}: "No end times were"} {
		what.parts = []*reportPart{p}
		if got := what.sentence(); !strings.HasPrefix(got, want) {
			t.Errorf("steps of %v, %v of GPU time: %q, want %q at its start", what.Wall, what.GPUTime, got, want)
		}
	}
	timeless := &Report{HealthNotes: []triage.HealthNote{{Findings: []trace.Remark{{Code: trace.CodeNoTimes}}}}}
	if got, want := timeless.sentence(), "No GPU activity has a time."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r := &Report{Wall: time.Second, GPUTime: 1, parts: []*reportPart{p}, Passes: []ReportPass{{Stage: layer.StageDecode}},
		Findings: []finding.Finding{{Kind: finding.Coverage, Text: "doubt", Size: finding.Size{Measure: finding.Recoverable}},
			{Kind: finding.AboveFloor, Text: "taken", Size: finding.Size{Measure: finding.Taken}},
			{Kind: finding.AboveFloor, Text: "slow", Size: finding.Size{Measure: finding.Recoverable, PerStep: ms,
				Of: finding.OfStep}}}}
	if got, want := r.sentence(), "Biggest opportunity: 1.00 ms per step (slow)."; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
}

// TestRankLeavesOutWhatNoiseHides: findings from one percent of their steps on, without a size none; a gain by kernels
// says that the host bounds the steps.
func TestRankLeavesOutWhatNoiseHides(t *testing.T) {
	sized := func(code string, share float64, kind finding.Kind, m finding.Measure) finding.Finding {
		return finding.Finding{Kind: kind, Code: code, Stage: layer.StageDecode, Size: finding.Size{Measure: m,
			Share: share,
			Total: time.Duration(share * 1e9), PerStep: time.Duration(share * 1e9)}}
	}
	r := &Report{found: []finding.Finding{sized("large", .5, finding.AboveFloor, finding.Recoverable),
		sized("at", .01, finding.IdleTime, finding.Recoverable), sized("below", .0099, finding.IdleTime,
			finding.Recoverable),
		sized("none", .2, finding.IdleTime, finding.NoMeasure), sized("doubted", 0, finding.Coverage, finding.NoMeasure),
		sized("operator", .9, finding.LargestOperator,
			finding.Taken)},
		Host: hostoverhead.Yes, host: &hostoverhead.Verdict{Ranks: []hostoverhead.RankVerdict{{Stages: []hostoverhead.StageVerdict{
			{Stage: layer.StageDecode, Verdict: hostoverhead.Yes}, {Stage: layer.StagePrefill,
				Verdict: hostoverhead.No}}}}}}
	r.rank()
	var got []string
	for _, f := range r.Findings {
		got = append(got, strings.TrimSpace(f.Code+" "+f.Evidence))
	}
	same(t, "findings", got, "doubted", "large The host bounds the steps: the gain may be none.", "at")
	if n := len(r.Found()); n != 6 {
		t.Errorf("%d findings in all, want 6", n)
	}
	for stage, want := range map[layer.Stage]bool{layer.StageDecode: true, layer.StagePrefill: false, "": true} {
		if got := r.hostBound(stage); got != want {
			t.Errorf("%s is bound by the host: %v, want %v", stage, got, want)
		}
	}
	if r.Host = hostoverhead.No; r.hostBound("") {
		t.Error("NO, and the host bounds the steps")
	}
}

// passesOf are passes of one kind that take so long, each of so many tokens.
func passesOf(tokens int64, walls ...time.Duration) *reportPart {
	p := &reportPart{d: &layer.Device{}, wall: walls}
	for i := range walls {
		p.d.Passes = append(p.d.Passes, layer.ForwardPass{Index: i, Stage: layer.StageDecode, Tokens: tokens,
			PassEvidence: "x", Kernels: 1})
	}
	p.d.Steady.Pass = trace.None
	return p
}

// TestMeansThatOnePassDecides: one pass of at least four others that moves the sum by more than a tenth.
func TestMeansThatOnePassDecides(t *testing.T) {
	for _, c := range []struct {
		name  string
		walls []time.Duration
		note  string
		few   int
	}{
		{"four", []time.Duration{ms, ms, ms, 9 * ms}, "", 1},
		{"five", []time.Duration{ms, ms, ms, 9 * ms, ms},
			"the mean step (decode) depends on one pass: pass 3 takes 9.00 ms, the median of its 4 peers 1.00 ms", 0},
		{"a tenth", []time.Duration{9 * ms, 9 * ms, 9 * ms, 9 * ms, 14 * ms}, "", 0},
		{"more", []time.Duration{9 * ms, 9 * ms, 9 * ms, 9 * ms, 14*ms + 100*us},
			"the mean step (decode) depends on one pass: pass 4 takes 14.1 ms, the median of its 4 peers 9.00 ms", 0},
		{"the middle of four", []time.Duration{7 * ms, 8 * ms, 9 * ms, 10 * ms, 20 * ms},
			"the mean step (decode) depends on one pass: pass 4 takes 20.0 ms, the median of its 4 peers 9.00 ms", 0},
		{"shorter", []time.Duration{10 * ms, 10 * ms, 10 * ms, 10 * ms, 4 * ms},
			"the mean step (decode) depends on one pass: pass 4 takes 4.00 ms, the median of its 4 peers 10.0 ms", 0},
	} {
		r := &Report{}
		few := r.checkMeans(passesOf(1, c.walls...))
		if got := strings.Join(r.Notes, ";"); got != c.note || len(few) != c.few {
			t.Errorf("%s: %q and few %q, want %q and %d", c.name, got, few, c.note, c.few)
		}
	}
}

// TestChosenPasses: of each kind the steady one, else the median of the whole ones, else the longest that is cut.
func TestChosenPasses(t *testing.T) {
	chosen := func(change func(p *reportPart)) string {
		p := passesOf(1, 5*ms, 1*ms, 4*ms, 2*ms)
		change(p)
		p.choose()
		return fmt.Sprint(p.chosen)
	}
	for name, c := range map[string]struct {
		change func(p *reportPart)
		want   string
	}{
		"median":        {func(*reportPart) {}, "[2]"},
		"steady":        {func(p *reportPart) { p.d.Steady.Pass = 1 }, "[1]"},
		"of whole ones": {func(p *reportPart) { p.d.Passes[2].Partial, p.d.Passes[0].Partial = "end", "end" }, "[3]"},
		"all are cut": {func(p *reportPart) {
			for i := range p.d.Passes {
				p.d.Passes[i].Partial = "end"
			}
		}, "[0]"},
		"two kinds":  {func(p *reportPart) { p.d.Passes[1].Stage = layer.StagePrefill }, "[2 1]"},
		"no kernels": {func(p *reportPart) { p.d.Passes[2].Kernels = 0 }, "[]"},
	} {
		if got := chosen(c.change); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestFiguresOfAPage: the mean of the passes like the steady one.
func TestFiguresOfAPage(t *testing.T) {
	m := passesOf(8, 4*ms, 6*ms, ms)
	m.d.Passes[2].Stage, m.d.Steady.Pass = layer.StagePrefill, 1
	m.d.Models = []layer.Model{{Role: layer.RoleLanguage, NumLayers: 32}, {Role: layer.RoleTower, NumLayers: 12}}
	m.d.Passes[1].Batch, m.d.Passes[1].Tokens = 2, 1
	r := &Report{parts: []*reportPart{m}, Passes: []ReportPass{{Index: 0, Stage: layer.StageDecode, Wall: 4 * ms,
		Idle: ms},
		{Index: 1, Stage: layer.StageDecode, Wall: 6 * ms, Idle: 2 * ms, Floor: 3 * ms},
		{Index: 2, Stage: layer.StagePrefill, Wall: ms}},
		light: &roofline.Report{Passes: []roofline.Pass{{Index: 1, Wall: 6 * ms, Floor: 3 * ms, Covered: 1}}}}
	p := &page.Page{}
	r.stepFigures(p, m)
	var got []string
	for _, f := range p.Figures {
		got = append(got, f.Value+" "+f.Name)
	}
	same(t, "figures", append(got, strings.Join(p.Context, ", ")),
		"5.00 ms per decode step of the language model (mean of 2 of 3 passes, those like pass 1)",
		"3.50 ms GPU busy", "1.50 ms idle", "3.00 ms floor at least",
		"2 requests, 1 token, language model: 32 layers, tower: 12 layers, "+
			"3 passes, 0 kernels")
	for n, want := range map[int]string{0: "", 1: "1.00 ms per prefill step of the language model"} {
		r.Passes = []ReportPass{{Index: 2, Stage: layer.StagePrefill, Wall: ms}}[:n]
		m.d.Steady.Pass, m.d.Passes[2].Batch, p = 2, 1, &page.Page{}
		r.stepFigures(p, m)
		if n == 0 && len(p.Figures) > 0 || n > 0 && (len(p.Figures) == 0 ||
			p.Figures[0].Value+" "+p.Figures[0].Name != want) {
			t.Errorf("%d passes: %+v, want %q first", n, p.Figures, want)
		}
		if got := strings.Contains(strings.Join(p.Context, ", "), "1 request,"); got != (n > 0) {
			t.Errorf("%d passes: one request is there: %t", n, got)
		}
	}
}

// TestIssueByHand: at most five findings with a size, and codes of at most six remarks.
func TestIssueByHand(t *testing.T) {
	f := finding.Finding{Kind: finding.Fusion, Text: "Fuse", Evidence: "seen", Advice: finding.Advice{Do: "do it"},
		Size: finding.Size{Measure: finding.Recoverable, PerStep: ms, Share: .25, Of: finding.OfStep}}
	r := &Report{Name: "secret", Model: "Q", GPU: "H100", Health: trace.HealthDegraded, Verdict: "V.", GPUTime: 4 * ms,
		InPasses: 4 * ms, InLayers: 2 * ms, WithOperator: ms,
		Passes: []ReportPass{{Stage: layer.StageDecode}, {Stage: layer.StageDecode}, {Stage: layer.StageUnknown}}}
	for range 6 {
		r.Findings = append(r.Findings, f)
	}
	var remarks []trace.Remark
	for i := range 7 {
		remarks = append(remarks, trace.Remark{Code: trace.Code(fmt.Sprint("c", i)), Severity: trace.HealthDegraded})
	}
	r.HealthNotes = []triage.HealthNote{{Findings: append(remarks, trace.Remark{Code: "fine",
		Severity: trace.HealthOK})}}
	var b strings.Builder
	if err := r.WriteIssue(&b, ""); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for want, n := range map[string]int{"- Window: 3 passes, 4.00 ms of GPU time (2 decode, 1 of unknown stage)": 1,
		"5. **Fuse** (`fusion`): up to 1.00 ms per step (25.0% of step time)": 1, "6. ": 0, "   - Evidence: seen": 5,
		"`c0`, `c1`, `c2`, `c3`, `c4`, `c5`\n": 1, "c6": 0, "fine": 0, "secret": 0,
		"- Coverage: 4.00 ms of GPU time: 100.0% in passes, 50.0% in layers, 25.0% with a known operator": 1,
		"    strata explain fusion\n": 1} {
		if got := strings.Count(text, want); got != n {
			t.Errorf("%q is there %d times, want %d, in\n%s", want, got, n, text)
		}
	}
	b.Reset()
	if r.Findings = nil; r.WriteIssue(&b, "") != nil || strings.Contains(b.String(), "strata explain") ||
		!strings.Contains(b.String(), "No finding above 1% of step time.\n") {
		t.Errorf("without findings:\n%s", b.String())
	}
	for n, want := range map[int]int{0: 0, 1: 1} {
		b.Reset()
		r.Findings = []finding.Finding{f}[:n]
		if err := r.WriteIssue(&b, ""); err != nil || strings.Count(b.String(), "    strata explain fusion\n") != want {
			t.Errorf("%d findings: %v\n%s", n, err, b.String())
		}
	}
}

// TestLargestOfSums: of equal ones the first by name, of none none, in whatever order the map has them.
func TestLargestOfSums(t *testing.T) {
	for want, sums := range map[string]map[string]time.Duration{"": {}, "a": {"a": 2, "b": 2, "c": 1},
		"b": {"a": 1, "b": 2}, "z": {"z": 0}} {
		for range 20 {
			if got := largest(sums); got != want {
				t.Fatalf("%v: %q, want %q", sums, got, want)
			}
		}
	}
}

// TestPageOfLayersWithoutAConfig: it has each remark on what was found, and nothing of floors.
func TestPageOfLayersWithoutAConfig(t *testing.T) {
	a := launched(t)
	d := &a.Devices[0]
	d.Evidence = append(d.Evidence, layer.Evidence{For: "something", Detail: "seen", Confidence: 0.25})
	var b strings.Builder
	if err := WriteLayersHTML(t.Context(), &b, d, trace.None, "name"); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "something: seen (confidence 0.25)") ||
		strings.Contains(text, "Where the time goes") {
		t.Errorf("the page:\n%s", text)
	}
}

// TestPagesOfReportsWithoutAHost: idle time has causes on the timeline where the host was looked at.
func TestPagesOfReportsWithoutAHost(t *testing.T) {
	a := launched(t)
	m := newPart("f", a, &a.Devices[0])
	r := &Report{parts: []*reportPart{m}}
	plain := fmt.Sprintf("%+v", r.drawn(m))
	gap := hostoverhead.Gap{StartNS: 1000, NS: 500, Causes: []hostoverhead.IdleName{{Cause: finding.HostCode, NS: 500}}}
	for device, want := range map[trace.DeviceID]bool{m.d.ID: true, m.d.ID + 1: false} {
		r.host = &hostoverhead.Verdict{Ranks: []hostoverhead.RankVerdict{{Device: device, Top: []hostoverhead.Gap{gap}}}}
		if got := fmt.Sprintf("%+v", r.drawn(m)) != plain; got != want {
			t.Errorf("causes of idle time of device %d are drawn: %t", device, got)
		}
	}
}

// TestTrendOfDigests: digests without a date have that of their clock; those of files that could not be read are left
// out; without either, or with one date alone, there is no trend.
func TestTrendOfDigests(t *testing.T) {
	write := func(ranks ...fleet.Rank) *Ranks {
		var b strings.Builder
		for _, r := range ranks {
			r.Run, r.File, r.Health, r.GPU = "run", "f", trace.HealthOK, "H100"
			for i := range int64(6) {
				r.Steps = append(r.Steps, fleet.Step{Number: i, Stage: finding.StageDecode, Tokens: 4, Requests: 4,
					Start: i * 1_000_000, Wall: 1_000_000, Busy: 800_000,
					Operators: []fleet.Named{{Name: "mlp", NS: 500_000}, {Name: "attention", NS: 300_000}}})
			}
			if err := r.Write(&b); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(t.TempDir(), "digests.ndjson")
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return &Ranks{Digests: []string{path}}
	}
	day := int64(24 * time.Hour)
	first, second := fleet.Rank{Date: "1970-01-02"}, fleet.Rank{Clock: 4*day + 1}
	trend, err := write(second, first, fleet.Rank{Bad: "cut off", Date: "1970-01-09"}).Trend(t.Context())
	if err != nil || trend.Runs != 2 || trend.From != "1970-01-02" || trend.To != "1970-01-05" {
		t.Errorf("%+v, %v", trend, err)
	}
	if _, err := write(first, second, fleet.Rank{}).Trend(t.Context()); !errors.Is(err, fleet.ErrDigest) {
		t.Errorf("one without a date: %v", err)
	}
	if _, err := write(first, fleet.Rank{Clock: day + 1}).Trend(t.Context()); !errors.Is(err, compare.ErrNoMatch) {
		t.Errorf("two of one day: %v", err)
	}
}

// TestEvidenceForStrangers: that of idle time and of doubts may name the program's own code.
func TestEvidenceForStrangers(t *testing.T) {
	for kind, want := range map[finding.Kind]string{finding.IdleTime: "", finding.Coverage: "", finding.Health: "",
		finding.Fusion: "seen"} {
		if got := publicEvidence(&finding.Finding{Kind: kind, Evidence: "seen"}); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

// TestDigestAsARun: a rank's steps as a comparison takes them, operators in the order of the alphabet.
func TestDigestAsARun(t *testing.T) {
	run := runOfDigest(&fleet.Rank{File: "f", Rank: -1, NameRank: 3, Steps: []fleet.Step{
		{Stage: layer.StagePrefill, Wall: 100, Busy: 60, Requests: 1, Tokens: 9,
			Operators: []fleet.Named{{Name: "rope", NS: 10}, {Name: "qkv_proj", NS: 30}}, Took: []int64{15, 5}},
		{Stage: layer.StageDecode, Wall: 50, Busy: 20, Partial: true, Operators: []fleet.Named{{Name: "qkv_proj",
			NS: 20}}}}})
	var parts []string
	for _, p := range run.Parts {
		parts = append(parts, fmt.Sprint(p.Name, " ", p.Class))
	}
	same(t, "parts", parts, fmt.Sprint("qkv_proj ", compare.Memory), fmt.Sprint("rope ", compare.Memory),
		fmt.Sprint("collectives ", compare.Transfer), fmt.Sprint("idle ", compare.Waiting))
	var passes []string
	for _, p := range run.Passes {
		line := fmt.Sprint(p.Index, p.First, p.Followed, p.Partial)
		for _, x := range p.Parts {
			line += fmt.Sprintf(" %d: %d of %d", x.Part, x.Exclusive, x.Time)
		}
		passes = append(passes, line)
	}
	same(t, "passes", passes, "0 false true 0: 30 of 30 1: 10 of 10 2: 20 of 20 3: 40 of 0",
		"1 true falsewindow 0: 20 of 20 3: 30 of 0")
	if run.Rank != 3 {
		t.Errorf("rank %d, want that of the name", run.Rank)
	}
}

// TestFindingsOfRanksJoin: each says on how many ranks it is and how it spreads; waiting that single ranks estimate
// goes where the ranks themselves show it.
func TestFindingsOfRanksJoin(t *testing.T) {
	one := func(kind finding.Kind, code string) finding.Finding {
		return finding.Finding{Kind: kind, Code: code, Evidence: "Seen."}
	}
	spread := func(least, most int64) fleet.Spread {
		return fleet.Spread{Min: least, Max: most, Worst: []fleet.Value{{Rank: "rank 5"}}}
	}
	shared := func(f finding.Finding, ranks int, s fleet.Spread) fleet.Shared {
		f.Evidence = ""
		return fleet.Shared{Finding: f, Ranks: ranks, Of: 8, PerRank: s}
	}
	idle, fuse, wait := one(finding.IdleTime, "a"), one(finding.Fusion, "b"), one(finding.RankWait, "c")
	exposed, lone := one(finding.ExposedCommunication, "d"), one(finding.SmallKernels, "e")
	for _, matched := range []int{0, 7} {
		r := &Report{Name: "dir", Traces: []string{"dir/rank-0.json"}, Verdict: "V.", Health: trace.HealthOK,
			Findings: []finding.Finding{idle, fuse, wait, exposed}}
		r.join(&fleet.Report{Verdict: "All.", Health: trace.HealthDegraded, Runs: []fleet.Run{{Groups: []fleet.Group{{Collectives: matched}},
			Shared: []fleet.Shared{shared(idle, 3, spread(1e6, 2e6)), shared(fuse, 8, spread(1e6, 1e6)),
				shared(exposed, 2, spread(1e6, 2e6)), shared(lone, 1, spread(1e6, 1e6)), shared(wait, 8, spread(0,
					0))}}, {Shared: []fleet.Shared{shared(idle, 2, spread(1e6, 2e6))}}}}) // another run says it again
		got := map[string]string{}
		for _, f := range r.Findings {
			got[f.Code] = f.Evidence
		}
		want := map[string]string{"a": "Seen. On 3 of 8 ranks, 1.00 ms–2.00 ms per step, most on rank 5.",
			"b": "Seen. On 8 of 8 ranks, 1.00 ms per step.", "c": "Seen. On 8 of 8 ranks.",
			"d": "Seen. On 2 of 8 ranks, 1.00 ms–2.00 ms per step, most on rank 5.", "e": "On rank 5 alone."}
		if matched > 0 {
			delete(want, "c")
			want["d"] = "Seen. On 2 of 8 ranks."
		}
		if d := cmp.Diff(want, got); d != "" || r.Health != trace.HealthDegraded || r.Verdict != "All. rank-0.json: V." || len(r.Findings) != len(want) {
			t.Errorf("%d collectives matched, verdict %q (-want +got):\n%s", matched, r.Verdict, d)
		}
	}
}

// TestWhatAWaitSays: its causes, at most four, then the kernels around it.
func TestWhatAWaitSays(t *testing.T) {
	g := hostoverhead.Gap{StartNS: 5, Before: "x", After: "y"}
	for i := range 5 {
		g.Causes = append(g.Causes, hostoverhead.IdleName{Cause: finding.HostCode, Name: fmt.Sprint("f", i),
			NS: int64(i+1) * 1000})
	}
	w := waits([]hostoverhead.Gap{{}, g})
	if len(w) != 1 || w[0].Start != 5 {
		t.Fatalf("waits %+v", w)
	}
	same(t, "lines", w[0].Lines, "1.00 µs: host-code, f0", "2.00 µs: host-code, f1", "3.00 µs: host-code, f2",
		"4.00 µs: host-code, f3", "after x", "before y")
}

// TestLongestOperatorsAreListed: those with most time, in their order; of equal ones the first.
func TestLongestOperatorsAreListed(t *testing.T) {
	var rows []ReportOperator
	for i, d := range []time.Duration{3, 9, 3, 7, 1} {
		rows = append(rows, ReportOperator{Operator: fmt.Sprint(i), Time: d})
	}
	for n, want := range map[int]string{1: "1", 2: "13", 3: "013", 4: "0123", 5: "01234"} {
		got := ""
		for _, r := range longest(rows, n) {
			got += r.Operator
		}
		if got != want {
			t.Errorf("the %d longest are %s, want %s", n, got, want)
		}
	}
}

// TestWhatIsATar: its header has 512 bytes, with the word at 257.
func TestWhatIsATar(t *testing.T) {
	head := make([]byte, 512)
	copy(head[257:], "ustar")
	if !isTar(head) || isTar(head[:511]) || isTar(append([]byte{0}, head...)) {
		t.Errorf("512 bytes %v, 511 %v, moved %v", isTar(head), isTar(head[:511]), isTar(append([]byte{0}, head...)))
	}
}

// TestNumbersOfTables: what is not known is no number.
func TestNumbersOfTables(t *testing.T) {
	got := []string{known(-1), known(0), known(1234), positive(0), positive(1), positive(1500 * us), percentOf(0, 1, 1),
		percentOf(1, 0, 1),
		percentOf(1, 8, 1), percentOf(1, 8, 0), percentOf(1, 1, 0), millis(-ms), fmt.Sprint(ratio(1, 0), ratio(1, 4)),
		knownTime(0).Text, knownTime(1).Text, knownTime(-1).Text}
	same(t, "numbers", got, "-", "0", "1,234", "-", "0.000", "1.500", "-", "-", "12.5", "12", "100", "-1.000", "0 0.25", "-",
		"1 ns",
		"-")
}

// TestPatternOfOneFile: a pattern that fits one file is that, and gives the recording its name.
func TestPatternOfOneFile(t *testing.T) {
	pattern := filepath.Join(t.TempDir(), "*.json")
	text := `{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":2,"pid":0,"tid":7,"args":{"device":0,"stream":7}}]}`
	if err := os.WriteFile(filepath.Join(filepath.Dir(pattern), "one.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), pattern, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Parts) != 1 || r.Name != pattern {
		t.Errorf("%d files as %s", len(r.Parts), r.Name)
	}
	if _, err := Open(t.Context(), pattern+"l", Options{}); !errors.Is(err, trace.ErrNoTrace) {
		t.Errorf("no file: %v", err)
	}
}

// TestCardsOfFindings: only what has a size shows one, only what is hardly sure is doubted, and the first is card 1 in
// the timeline: at its own place, else at the first drawn pass of its stage.
func TestCardsOfFindings(t *testing.T) {
	list := []finding.Finding{{Text: "a", Confidence: finding.Low, Place: finding.Place{Trace: "x", Start: 3, End: 5}},
		{Text: "b", Confidence: finding.High, Stage: layer.StagePrefill, Place: finding.Place{Trace: "x", Start: 3, End: 3},
			Size: finding.Size{Measure: finding.Taken, Total: 2 * ms, PerStep: ms, Of: finding.OfStep}},
		{Text: "c", Place: finding.Place{Trace: "y", Start: 3, End: 5}}, {Text: "d", Place: finding.Place{Trace: "x"}},
		{Text: "e", Stage: layer.StageMixed, Place: finding.Place{Trace: "x"}}}
	m := &reportPart{name: "x", chosen: []int{1, 2}, d: &layer.Device{Passes: []layer.ForwardPass{
		{Stage: layer.StagePrefill, Start: 10, End: 19}, {Stage: layer.StageDecode, Start: 20, End: 29},
		{Stage: layer.StagePrefill, Start: 30, End: 39}}}}
	r := &Report{Findings: list}
	var got []string
	for i, c := range cardsOf(list) {
		pin, ok := r.pin(m, i)
		got = append(got, fmt.Sprint(c.Title, " ", c.Doubt, " ", c.Gain, " ", ok, " ", pin.Card, " ", pin.Start, "–",
			pin.End))
	}
	same(t, "cards", got, "a Low confidence.  true 1 3–5", "b  "+list[1].Amount()+" true 2 30–39", "c   false 0 0–0",
		"d   true 4 20–29", "e   false 0 0–0")
}

// TestFloorsOfAReport: columns of floors are shown where a pass, or an operator, has one.
func TestFloorsOfAReport(t *testing.T) {
	for floor, want := range map[time.Duration]bool{0: false, 1: true} {
		for what, write := range map[string]func(*printer){
			"passes": func(p *printer) { p.passes(&Report{Passes: []ReportPass{{Floor: floor}, {}}}) },
			"operators": func(p *printer) {
				p.operators(&Report{parts: []*reportPart{{d: &layer.Device{}}}, Operators: []ReportOperator{{Operator: "o_proj",
					Floor: floor}, {Operator: "rope"}}})
			},
		} {
			p := &printer{o: ReportText{Width: 200}}
			write(p)
			if got := strings.Contains(strings.ToLower(p.String()), "floor"); got != want {
				t.Errorf("%s with a floor of %v: %q", what, floor, p.String())
			}
		}
	}
	for f, want := range map[*finding.Finding]bool{{Kind: finding.NoFloor, Code: roofline.CodeCopies}: false,
		{Kind: finding.NoFloor}: true, {Kind: finding.AboveFloor}: false} {
		if unexplained(f) != want {
			t.Errorf("%+v is unexplained: %v", f, !want)
		}
	}
}

// TestPartThatAVerdictJudges: a file of the report, and the GPU that it is about.
func TestPartThatAVerdictJudges(t *testing.T) {
	r := &Report{parts: []*reportPart{{d: &layer.Device{ID: 3}}, {}}}
	for rank, want := range map[*hostoverhead.RankVerdict]*reportPart{{File: -1, Device: 3}: nil,
		{File: 0, Device: 3}: r.parts[0], {File: 0, Device: 2}: nil, {File: 1}: nil, {File: 2}: nil} {
		if got := r.partOf(rank); got != want {
			t.Errorf("GPU %d of file %d: %v", rank.Device, rank.File, got)
		}
	}
}

// TestFusionsOfAStage: times per step, of a window per GPU.
func TestFusionsOfAStage(t *testing.T) {
	for _, c := range []struct {
		steps float64
		gpus  int
		want  time.Duration
	}{{4, 2, 500 * us}, {0, 2, ms}, {0, 0, 2 * ms}} {
		r := &Report{}
		r.addStage(&triage.StageReport{Devices: c.gpus, Exposure: &triage.Exposure{WallNS: 8e6, CompleteSteps: c.steps,
			Rows: []triage.ExposureRow{{ExposedNS: 2e6, HiddenNS: 4e6}}}, Fuse: []triage.FuseRow{{RelatedUS: 2000}}})
		if x, f := r.Exposure[0], r.Fusions[0]; x.PerStep != c.want || x.Hidden != 2*c.want || x.Share != 0.25 ||
			f.PerStep != c.want {
			t.Errorf("%v steps on %d GPUs: %+v, %+v, want %v", c.steps, c.gpus, x, f, c.want)
		}
	}
}

// TestOperatorsByKernels: rows of a model that is not known are of all layers of the pass, or of none.
func TestOperatorsByKernels(t *testing.T) {
	r := &Report{light: &roofline.Report{Operators: []roofline.Row{{LayerType: outsideLayers, Operator: "x", Time: 25},
		{LayerType: onlyLayers, Operator: "y", Time: 50}}}}
	p := &reportPart{d: &layer.Device{Passes: []layer.ForwardPass{{NumLayers: 12, Stage: layer.StageDecode}}},
		wall: []time.Duration{100}, a: &layer.Analysis{},
		types: map[layer.Place]profile.LayerType{{Pass: 0, Layer: 0}: "sliding"}}
	r.addCounted(1, 0, p)
	var got []string
	for _, o := range r.Operators {
		got = append(got, fmt.Sprint(o.Trace, o.Pass, " ", o.Stage, " ", o.Operator, " ", o.Layers, " ", o.Share))
	}
	same(t, "operators", got, "1 0 decode x 0 0.25", "1 0 decode y 12 0.5")
	for at, want := range map[layer.Place]string{{Layer: -1}: outsideLayers, {Layer: 0}: "sliding"} {
		if got := p.layerType(at); got != want {
			t.Errorf("a kernel of layer %d is of %q, want %q", at.Layer, got, want)
		}
	}
}

// TestCopiesOfAPass: copies are activities of a pass, and no kernels.
func TestCopiesOfAPass(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	b.Add(trace.EventData{Kind: event.Annotation, Name: "step[DECODE bs=8]", Start: 1000, Duration: 90_000, Thread: 1})
	for i, kind := range []event.Kind{event.Kernel, event.Memcpy, event.Memset, event.Kernel} {
		id, at := uint64(i+1), int64(2000+10_000*i)
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 10, Thread: 1,
			Correlation: id})
		b.Add(trace.EventData{Kind: kind, Name: "work", Start: at + 100, Duration: 500, Stream: 7, Correlation: id})
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := newPart("f", a, &a.Devices[0])
	if len(p.copies) != 1 || p.copies[0] != 2 || a.Devices[0].Passes[0].Kernels != 4 {
		t.Errorf("%v copies of %d activities, want 2 of 4", p.copies, a.Devices[0].Passes[0].Kernels)
	}
}
