package triage_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// demoInput is the built-in trace of a small model: a prefill step and four
// decode steps.
func demoInput() triage.Input {
	in, err := triage.NewInput(context.Background(), []triage.Source{demoTrace()}, nil, layer.Options{})
	if err != nil {
		panic(err)
	}
	return in
}

func demoTrace() triage.Source {
	tr, err := trace.Read(context.Background(), bytes.NewReader(demo.Trace()), trace.Options{})
	if err != nil {
		panic(err)
	}
	return triage.Source{Trace: tr, Path: demo.Name}
}

// A report is plain data: stages with their three tables.
func ExampleAnalyze() {
	r, err := triage.Analyze(context.Background(), demoInput(), triage.Options{})
	if err != nil {
		panic(err)
	}
	for _, s := range r.Stages {
		k := s.Kernels[0]
		fmt.Printf("%s, %d steps: %s is %s, %.1f%% of GPU time\n", s.Stage, s.Steps, k.Kernel, k.Category, k.SharePct)
		fmt.Println("  from", k.Locations[0].Location)
		for _, f := range s.Fuse {
			if f.Kind == triage.Split {
				fmt.Printf("  not fused: %s (%d times)\n", f.Pattern, f.Occurrences)
			}
		}
	}
	// Output:
	// extend, 1 steps: fused_moe_kernel is moe, 28.2% of GPU time
	//   from python/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py:347 fused_experts_impl
	//   not fused: FlashInfer unified allreduce_fusion (17 times)
	//   not fused: Fused MoE sum + all-reduce (7 times)
	//   not fused: Fused RoPE + KV cache store (8 times)
	// decode, 4 steps: fused_moe_kernel is moe, 32.8% of GPU time
	//   from python/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py:347 fused_experts_impl
	//   not fused: FlashInfer unified allreduce_fusion (68 times)
	//   not fused: Fused MoE sum + all-reduce (28 times)
	//   not fused: Fused RoPE + KV cache store (32 times)
}

// ReadBeside finds what the server said about itself in the files beside a trace.
func ExampleReadBeside() {
	dir, err := os.MkdirTemp("", "triage")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, data := range map[string][]byte{
		"run-TP-0.trace.json.gz": demo.Trace(), "run-TP-1.trace.json.gz": demo.Trace(),
		"server_args.json": []byte(`{"model_path": "acme/small-moe", "tp_size": 2}`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			panic(err)
		}
	}
	path := filepath.Join(dir, "run-TP-0.trace.json.gz")
	t, err := trace.Open(context.Background(), path, trace.Options{})
	if err != nil {
		panic(err)
	}
	in, err := triage.NewInput(context.Background(), []triage.Source{{Trace: t, Path: path}}, nil, layer.Options{})
	if err != nil {
		panic(err)
	}
	if in.Server, err = triage.ReadBeside(path); err != nil {
		panic(err)
	}
	r, err := triage.Analyze(context.Background(), in, triage.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(filepath.Base(r.Traces[0]), r.Framework, r.Model, r.TPSize)
	// Output: run-TP-0.trace.json.gz SGLang acme/small-moe 2
}

// Rules of one's own are given to the analysis of the layers, so that every
// program shows the same categories.
func ExampleNewInput() {
	in, err := triage.NewInput(context.Background(), []triage.Source{demoTrace()}, nil,
		layer.Options{Rules: []classify.Rule{{ID: "experts", Category: "experts", Label: "Experts",
			When: classify.Pattern{Substring: []string{"fused_moe_kernel"}}}}})
	if err != nil {
		panic(err)
	}
	r, err := triage.Analyze(context.Background(), in, triage.Options{KernelLimit: 1, Model: "small-moe"})
	if err != nil {
		panic(err)
	}
	k := r.Stages[0].Kernels[0]
	fmt.Println(r.Model, k.Kernel, k.Category, len(r.Stages[0].Kernels))
	// Output: small-moe fused_moe_kernel experts 1
}

// Rows are shown from a share of GPU time on.
func ExampleOptions() {
	r, err := triage.Analyze(context.Background(), demoInput(), triage.Options{MinSharePct: 5})
	if err != nil {
		panic(err)
	}
	for _, s := range r.Stages {
		for _, f := range s.Fuse {
			fmt.Printf("%s: %s, %s, %s, %d times\n", s.Stage, f.Pattern, f.Kind, f.Confidence, f.Occurrences)
		}
	}
	// Output:
	// extend: FlashInfer unified allreduce_fusion, split, Candidate, 17 times
	// extend: Fused MoE sum + all-reduce, split, Candidate, 7 times
	// decode: FlashInfer unified allreduce_fusion, split, Candidate, 68 times
	// decode: Fused MoE sum + all-reduce, split, Candidate, 28 times
}

// A report keeps what the pprof export needs.
func ExampleReport_WriteProfile() {
	r, err := triage.Analyze(context.Background(), demoInput(), triage.Options{})
	if err != nil {
		panic(err)
	}
	var profile bytes.Buffer // a file for: go tool pprof -http=: gpu.pb.gz
	if err := r.WriteProfile(&profile); err != nil {
		panic(err)
	}
	fmt.Println(profile.Len() > 0, r.Framework)
	// Output: true SGLang
}

// A bundle joins reports of several servers.
func ExampleBundle() {
	dir, err := os.MkdirTemp("", "triage")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "report.md")
	if err := os.WriteFile(path, []byte("# Triage View\n\nFramework: vLLM\nModel: acme/small\n"), 0o666); err != nil {
		panic(err)
	}
	b := triage.Bundle{Title: "Servers", Entries: []triage.BundleEntry{{Label: "night run", Path: path}}}
	var out strings.Builder
	if err := b.WriteMarkdown(&out); err != nil {
		panic(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "#") {
			fmt.Print(line)
		}
	}

	b.Entries = []triage.BundleEntry{{Path: "absent.md"}, {Path: "nowhere.md"}}
	fmt.Println(b.WriteMarkdown(&out))
	// Output:
	// # Servers
	// ## night run
	// ### vLLM
	// #### Triage View
	// triage: reports not found: absent.md, nowhere.md
}

// Sources shows where single kernels come from.
func ExampleSources() {
	tr := demoTrace().Trace
	an, err := layer.Analyze(context.Background(), tr, layer.Options{})
	if err != nil {
		panic(err)
	}
	source := triage.Sources(an)
	for act := range tr.Events(event.LaneGPU) {
		if strings.HasPrefix(act.Name(), "fused_moe") {
			fmt.Println(act.Name(), source(act))
			break
		}
	}
	// Output: fused_moe_kernel python/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py:347 fused_experts_impl
}
