package triage_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/llmstrata/strata/triage"
)

// run is a report of one decode stage with the given kernels.
func run(steps, batch int, busy float64, kernels map[string]float64) *triage.Report {
	s := triage.StageReport{Stage: triage.StageDecode, Steps: steps, Batch: batch, BusyUS: busy}
	byCategory := 0.0
	for name, us := range kernels {
		s.Kernels = append(s.Kernels, triage.KernelRow{Kernel: name, Category: "gemm", GPUTimeUS: us, Launches: 1})
		byCategory += us
	}
	s.GPUTimeUS = byCategory
	s.Categories = []triage.CategoryRow{{Category: "gemm", GPUTimeUS: byCategory}}
	return &triage.Report{Traces: []string{"x"}, Stages: []triage.StageReport{s}}
}

func TestCompare(t *testing.T) {
	old := run(2, 8, 200, map[string]float64{"a": 100, "b": 60, "c": 40})
	tests := []struct {
		name    string
		now     *triage.Report
		verdict string
		status  map[string]string
	}{
		{"the same per step", run(4, 8, 400, map[string]float64{"a": 200, "b": 120, "c": 80}), triage.ComparePass,
			map[string]string{"a": triage.DeltaSame, "b": triage.DeltaSame, "c": triage.DeltaSame}},
		{"slower", run(2, 8, 220, map[string]float64{"a": 125, "b": 55, "c": 40}), triage.CompareRegressed,
			map[string]string{"a": triage.DeltaSlower, "b": triage.DeltaFaster, "c": triage.DeltaSame}},
		{"within the tolerance", run(2, 8, 209, map[string]float64{"a": 104, "b": 60, "c": 40}), triage.ComparePass,
			map[string]string{"a": triage.DeltaSame}},
		{"new and gone", run(2, 8, 190, map[string]float64{"a": 100, "d": 90}), triage.ComparePass,
			map[string]string{"d": triage.DeltaNew, "b": triage.DeltaGone, "c": triage.DeltaGone}},
		{"another batch", run(2, 16, 200, map[string]float64{"a": 100}), triage.CompareInconclusive, nil},
		{"nothing", &triage.Report{}, triage.CompareInconclusive, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := triage.Compare(old, tt.now, triage.DefaultTolerancePct)
			if c.Verdict != tt.verdict {
				t.Errorf("verdict = %s, want %s (%+v)", c.Verdict, tt.verdict, c)
			}
			for name, want := range tt.status {
				got := ""
				for _, k := range c.Stages[0].Kernels {
					if k.Name == name {
						got = k.Status
					}
				}
				if got != want {
					t.Errorf("kernel %s is %q, want %q", name, got, want)
				}
			}
			var md, js bytes.Buffer
			if err := c.WriteMarkdown(&md); err != nil || !strings.Contains(md.String(), "Verdict: "+tt.verdict) {
				t.Errorf("Markdown (%v):\n%s", err, md.String())
			}
			if err := c.WriteJSON(&js); err != nil || !strings.Contains(js.String(), `"verdict": "`+tt.verdict+`"`) {
				t.Errorf("JSON (%v):\n%s", err, js.String())
			}
		})
	}
}

// TestCompareRealPair compares two machines running the same model: all time
// of either run appears on its side.
func TestCompareRealPair(t *testing.T) {
	old := analyze(t, "traces/torch/sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz", "", triage.Options{MinSharePct: -1})
	now := analyze(t, "traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "", triage.Options{MinSharePct: -1})
	c := triage.Compare(old, now, triage.DefaultTolerancePct)
	if c.Verdict != triage.ComparePass || len(c.Stages) != 1 {
		t.Fatalf("verdict %s, %d stages", c.Verdict, len(c.Stages))
	}
	s := c.Stages[0]
	var a, b float64
	for _, k := range s.Kernels {
		a += k.OldUS
		b += k.NewUS
	}
	if d := a - s.Total.OldUS; d > 0.5 || d < -0.5 {
		t.Errorf("old kernels add up to %v us, want %v", a, s.Total.OldUS)
	}
	if d := b - s.Total.NewUS; d > 0.5 || d < -0.5 {
		t.Errorf("new kernels add up to %v us, want %v", b, s.Total.NewUS)
	}
	if s.Batch != 16 || !s.PerStep {
		t.Errorf("batch %d, per step %v, want 16 and true", s.Batch, s.PerStep)
	}
}
