package triage_test

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/triage"
)

// TestProfileTotalsEqualReport reads the profile back: its samples add up to
// the report's GPU time and launches, over all and for each stage.
func TestProfileTotalsEqualReport(t *testing.T) {
	for _, rel := range []string{
		"traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz",
		"traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz",
		"traces/torch/train-graphs-5streams-a100.json.gz",
	} {
		t.Run(filepath.Base(rel), func(t *testing.T) {
			a, err := triage.Analyze(t.Context(), input(t, source(t, rel).Trace, "x"), triage.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			if err := a.WriteProfile(&buf); err != nil {
				t.Fatal(err)
			}
			p, err := profile.Parse(&buf)
			if err != nil {
				t.Fatal(err)
			}
			functions := map[string]bool{}
			for _, f := range p.Function {
				if f.SystemName == f.Name || functions[f.Name+f.Filename+strconv.FormatInt(f.StartLine, 10)] {
					t.Errorf("function %.60q would be shortened or joined with another", f.Name)
				}
				functions[f.Name+f.Filename+strconv.FormatInt(f.StartLine, 10)] = true
			}
			var launches, ns int64
			deepest := 0
			for _, s := range p.Sample {
				launches += s.Value[0]
				ns += s.Value[1]
				for _, name := range []string{"stage", "category", "operator", "device"} {
					if len(s.Label[name]) != 1 {
						t.Fatalf("a sample has the labels %v", s.Label)
					}
				}
				if (len(s.Label["layer"]) > 0) && len(s.Label["pass"]) == 0 {
					t.Fatalf("a sample of a layer and of no pass: %v", s.Label)
				}
				deepest = max(deepest, len(s.Location))
			}
			var wantLaunches int
			var wantUS float64
			for _, s := range a.Stages {
				wantLaunches += s.Launches
				wantUS += s.GPUTimeUS
			}
			if int(launches) != wantLaunches || math.Abs(float64(ns)/1e3-wantUS) > 0.01 {
				t.Errorf("profile: %d launches, %d ns; report: %d launches, %v us", launches, ns, wantLaunches, wantUS)
			}
			if deepest < 3 {
				t.Errorf("deepest stack has %d locations, want stage, op and kernel at least", deepest)
			}
		})
	}
}

// TestGoToolPprofReadsTheProfile runs the tool the profile is written for.
func TestGoToolPprofReadsTheProfile(t *testing.T) {
	if !testdata.Long() {
		t.Skip("SKIPPED without STRATA_LONG: the go command compiles pprof first")
	}
	a, err := triage.Analyze(t.Context(), input(t,
		source(t, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz").Trace, "x"), triage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "gpu.pb.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.WriteProfile(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to read the profile with")
	}
	out, err := exec.CommandContext(t.Context(), goTool, "tool", "pprof", "-top", path).CombinedOutput()
	if err != nil {
		t.Fatalf("go tool pprof: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "Total samples = 492.81ms") {
		t.Errorf("go tool pprof -top does not show the report's 493 ms:\n%.600s", out)
	}
}

// TestProfileOfReplays: a replayed kernel has the full stack of the launch that it replays, functions with the
// class whose call they are, none of a prefill's functions in a decode, and its operator where no launch is known.
func TestProfileOfReplays(t *testing.T) {
	const decode, eager = "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz",
		"traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz"
	testdata.SharedGlob(t, eager) // the distilled copy has fewer frames
	read := func(mapping string) (byName map[string]int64, total int64, p *profile.Profile) {
		t.Helper()
		var buf bytes.Buffer
		if err := analyze(t, decode, mapping, triage.Options{}).WriteProfile(&buf); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&buf)
		if err != nil {
			t.Fatal(err)
		}
		byName = map[string]int64{}
		for _, s := range p.Sample {
			total += s.Value[1]
			seen := map[string]bool{}
			for _, l := range s.Location {
				if name := l.Line[0].Function.Name; !seen[name] {
					seen[name] = true
					byName[name] += s.Value[1]
				}
			}
		}
		return byName, total, p
	}
	byName, total, p := read(eager)
	const layerCall = "python/sglang/srt/models/qwen3.py Qwen3DecoderLayer.forward"
	if share := float64(byName[layerCall]) / float64(total); share < 0.7 {
		t.Errorf("%s has %.3f of the time, want 0.7: what is replayed has no stack", layerCall, share)
	}
	for name := range byName {
		if strings.Contains(name, "forward_extend") {
			t.Errorf("a decode has the frame %s", name)
		}
	}
	layers, passes := map[string]bool{}, map[string]bool{}
	for _, s := range p.Sample {
		for _, v := range s.Label["layer"] {
			layers[v] = true
		}
		for _, v := range s.Label["pass"] {
			passes[v] = true
		}
	}
	if len(layers) != 36 || len(passes) != 1 {
		t.Errorf("%d layers and %d passes among the labels, want 36 and 1", len(layers), len(passes))
	}
	byName, total, _ = read("")
	if ns := byName["operator gate_up_proj"]; float64(ns)/float64(total) < 0.24 {
		t.Errorf("operator gate_up_proj has %d of %d ns", ns, total)
	}
}
