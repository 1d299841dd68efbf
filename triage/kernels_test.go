package triage_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/triage"
)

// TestKernelTablesEqualReference compares GPU time, share, launches and source
// line of all kernel rows that the reference prints. What is not compared, and
// why, is written in docs/differences.md.
func TestKernelTablesEqualReference(t *testing.T) {
	testdata.ManyInputs(t)
	rows := 0
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			r := analyze(t, g.formal, g.mapping, triage.Options{MinSharePct: -1})
			if len(r.Stages) == 0 {
				return // no CUDA or HIP work; the reference counts sync and MTIA events
			}
			wholeTime := !slices.ContainsFunc(g.kernels, func(k goldenRow) bool { return isSync(k.kernel) })
			for _, want := range g.kernels {
				if strings.Contains(want.kernel, "xADDR") || isSync(want.kernel) {
					continue // tile sizes merged as addresses; synchronisation is no GPU work
				}
				rows++
				got := findKernel(r, want)
				if got == nil {
					t.Errorf("kernel %.80q of stage %q is missing", want.kernel, want.stage)
					continue
				}
				if slices.Contains(splitByDecoder, g.name) {
					checkSummed(t, g, want, got)
					continue
				}
				if ms := fmt.Sprintf("%.2f ms", got.GPUTimeUS/1e3); !near(ms, want.ms, 0.011) {
					t.Errorf("%.80q: GPU time %s, reference %s", want.kernel, ms, want.ms)
				}
				if s := fmt.Sprintf("%.1f%%", got.SharePct); wholeTime && !near(s, want.share, 0.11) {
					t.Errorf("%.80q: share %s, reference %s", want.kernel, s, want.share)
				}
				if got.Launches != want.launches {
					t.Errorf("%.80q: %d launches, reference %d", want.kernel, got.Launches, want.launches)
				}
				if why := locationDiffers(want, got); why != "" {
					t.Errorf("%.80q: location %v, reference %s: %s", want.kernel, got.Locations, want.location, why)
				}
			}
		})
	}
	t.Logf("compared %d rows", rows)
	if rows < 100 {
		t.Errorf("compared %d rows, want at least 100", rows)
	}
}

func isSync(kernel string) bool { return kernel == "Context Sync" || kernel == "Event Sync" }

func findKernel(r *triage.Report, want goldenRow) *triage.KernelRow {
	for i := range r.Stages {
		s := &r.Stages[i]
		if want.stage != "" && len(r.Stages) > 1 && s.Stage != stageName(want.stage) {
			continue
		}
		for k := range s.Kernels {
			if s.Kernels[k].Kernel == want.kernel {
				return &s.Kernels[k]
			}
		}
	}
	return nil
}

// checkSummed compares a kernel with the sum over the stages that the
// reference made of one; rows below its bar are missing from the sum.
func checkSummed(t *testing.T, g goldenReport, want goldenRow, got *triage.KernelRow) {
	t.Helper()
	launches, stages := 0, 0
	for _, k := range g.kernels {
		if k.kernel == want.kernel {
			launches += k.launches
			stages++
		}
	}
	if launches > got.Launches || stages == 2 && launches != got.Launches {
		t.Errorf("%.80q: %d launches, reference %d in %d stages", want.kernel, got.Launches, launches, stages)
	}
}

// locationDiffers says why a row's source line is worse than the reference's;
// "" where it is the same or better.
func locationDiffers(want goldenRow, got *triage.KernelRow) string {
	ref, _, _ := strings.Cut(want.location, "<br>")
	ref, _, _ = strings.Cut(ref, " (site share")
	switch {
	case ref == "unresolved":
		return "" // nothing to lose
	case strings.Contains(ref, "profiler.py"):
		// An instrumentation wrapper that every op passes through.
		if len(got.Locations) > 0 && !strings.Contains(got.Locations[0].Location, "profiler.py") {
			return ""
		}
		return "an instrumentation wrapper is no source"
	case got.Replayed == got.Launches && got.Launches > 0:
		// The reference shows the line that replays the graph.
		if got.ReplayedAt == ref || got.Locations[0].Location != "graph replay" {
			return ""
		}
		return "the replay call is lost"
	}
	for _, l := range got.Locations {
		if l.Location == ref {
			return ""
		}
	}
	return "not among the sites"
}

func stageName(s string) string {
	if s == "extend/prefill" {
		return "extend"
	}
	return s
}

// near compares two numbers with a unit that were rounded by different hands.
func near(a, b string, eps float64) bool {
	num := func(s string) float64 {
		v, err := strconv.ParseFloat(strings.TrimRight(s, "% ms"), 64)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	return math.Abs(num(a)-num(b)) < eps
}

// TestTwoTraceModeGivesModelLines reads decode, replayed from one graph, with
// the eager prefill of the same model as mapping, and with what ran during graph
// capture, which has no kernels to align but launches. Each kernel gets a line
// of the model's code.
func TestTwoTraceModeGivesModelLines(t *testing.T) {
	for _, mapping := range []string{"sglang-qwen3-8b-extend-eager-mi300", "sglang-qwen3-8b-graph-capture-mi300"} {
		t.Run(mapping, func(t *testing.T) {
			r := analyze(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz",
				"traces/torch/"+mapping+".json.gz", triage.Options{MinSharePct: -1})
			if r.Mode != "mapping-formal" || len(r.Stages) != 1 {
				t.Fatalf("mode %s, %d stages", r.Mode, len(r.Stages))
			}
			replayed := 0
			for _, k := range r.Stages[0].Kernels {
				replayed += k.Replayed
				for _, l := range k.Locations {
					if l.Location == "graph replay" || l.Location == "unresolved" ||
						strings.Contains(l.Location, "_forward_raw") {
						t.Errorf("%.60q (%d launches) comes from %q", k.Kernel, k.Launches, l.Location)
					}
				}
			}
			if replayed < 500 {
				t.Errorf("%d replayed launches, want at least 500", replayed)
			}
		})
	}
}

// TestCallStacksOfOps: traces of older profilers, which write the Python frames into their ops, have source lines.
func TestCallStacksOfOps(t *testing.T) {
	r := analyze(t, "traces/torch/old-format-pythonstack-v100.pt.trace.json.gz", "", triage.Options{MinSharePct: -1})
	var known, all float64
	for _, s := range r.Stages {
		for _, k := range s.Kernels {
			all += k.GPUTimeUS
			for _, l := range k.Locations {
				if strings.HasPrefix(l.Location, "torchvision/models/resnet.py:") && l.From == "op" {
					known += k.GPUTimeUS * l.SharePct / 100
				}
			}
		}
		if strings.Contains(s.OverlapNote, "no Python frames") {
			t.Errorf("frames are there, and the report says: %s", s.OverlapNote)
		}
	}
	// The backward pass runs on a thread that has no frames.
	if known < 0.25*all {
		t.Errorf("%.0f of %.0f µs come from lines of the model, want a quarter at least", known, all)
	}
}

// TestDecodeIsNotExplainedByAPrefill: the attention of a replayed decode is not at the prefill's function.
func TestDecodeIsNotExplainedByAPrefill(t *testing.T) {
	// the distilled copy has fewer frames
	testdata.SharedGlob(t, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz")
	r := analyze(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz",
		"traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz", triage.Options{MinSharePct: -1})
	from := map[string]string{}
	for _, k := range r.Stages[0].Kernels {
		from[k.Label] = k.Locations[0].Location
		if strings.Contains(k.Locations[0].Location, "forward_extend") {
			t.Errorf("%s comes from %s", k.Label, k.Locations[0].Location)
		}
	}
	attention, activation := from["paged_attention_ll4mi_QKV_mfma16_kernel"], from["act_and_mul_kernel"]
	if attention != "from prefill" || !strings.Contains(activation, "activation.py") {
		t.Errorf("attention comes from %q and the activation from %q", attention, activation)
	}
}
