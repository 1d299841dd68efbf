package framework_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/framework"
)

// TestRanks: what a frame says of where a kernel comes from, and how it is shown.
func TestRanks(t *testing.T) {
	tests := []struct {
		name     string
		rank     framework.Rank
		location string
	}{
		{"/sgl-workspace/sglang/python/sglang/srt/models/qwen3.py(120): forward", framework.RankFramework,
			"python/sglang/srt/models/qwen3.py:120 forward"},
		{"/usr/lib/python3/dist-packages/sglang/srt/layers/linear.py(9): apply", framework.RankFramework,
			"sglang/srt/layers/linear.py:9 apply"},
		{"vllm/model_executor/models/gpt_oss.py(293): forward", framework.RankFramework,
			"vllm/model_executor/models/gpt_oss.py:293 forward"},
		{"/opt/venv/lib/python3.12/site-packages/tensorrt_llm/_torch/modules/rms_norm.py(4): forward", framework.RankFramework,
			"tensorrt_llm/_torch/modules/rms_norm.py:4 forward"},
		{"sgl_kernel/elementwise.py(258): silu_and_mul", framework.RankKernels, "sgl_kernel/elementwise.py:258 silu_and_mul"},
		{"transformers/models/qwen2/modeling_qwen2.py(56): forward", framework.RankModel,
			"transformers/models/qwen2/modeling_qwen2.py:56 forward"},
		{"diffusers/pipelines/flux/transformer.py(7): forward", framework.RankModel,
			"diffusers/pipelines/flux/transformer.py:7 forward"},
		{"/home/me/train.py(12): step", framework.RankModel, "/home/me/train.py:12 step"},
		{"train.py(12): step", framework.RankUser, "train.py:12 step"},
		{"aiter/tuned_gemm.py(552): mm", framework.RankLibrary, "aiter/tuned_gemm.py:552 mm"},
		{"torch/nn/functional.py(1): linear", framework.RankLibrary, "torch/nn/functional.py:1 linear"},
		{"torch/nn/modules/module.py(1773): _wrapped_call_impl", framework.RankNoSignal,
			"torch/nn/modules/module.py:1773 _wrapped_call_impl"},
		{"/x/python/sglang/srt/model_executor/cuda_graph_runner.py(900): replay", framework.RankFramework,
			"python/sglang/srt/model_executor/cuda_graph_runner.py:900 replay"},
		{"/x/python/sglang/srt/model_executor/cuda_graph_runner.py(718): __init__", framework.RankNoSignal,
			"python/sglang/srt/model_executor/cuda_graph_runner.py:718 __init__"},
		{"/x/python/sglang/srt/model_executor/cuda_graph_runner.py(925): capture", framework.RankNoSignal,
			"python/sglang/srt/model_executor/cuda_graph_runner.py:925 capture"},
		{"/x/tensorrt_llm/_torch/pyexecutor/py_executor.py(9): _forward_step", framework.RankNoSignal,
			"tensorrt_llm/_torch/pyexecutor/py_executor.py:9 _forward_step"},
		{"/x/python/sglang/srt/utils/kernel_shape_profiler.py(302): impl", framework.RankNoSignal,
			"python/sglang/srt/utils/kernel_shape_profiler.py:302 impl"},
		{"/root/.cache/vllm/torch_compile_cache/ab12/rank_0_0/inductor_cache/c5/c5x7.py(310): call", framework.RankNoSignal,
			"vllm/torch_compile_cache/ab12/rank_0_0/inductor_cache/c5/c5x7.py:310 call"},
		{"threading.py(1030): _bootstrap", framework.RankNoise, "threading.py:1030 _bootstrap"},
		{"/usr/lib/python3.12/asyncio/events.py(88): _run", framework.RankNoise, "events.py:88 _run"},
		{"/lib/python3.12/asyncio/events.py(88): _run", framework.RankNoise, "events.py:88 _run"},
		{"/usr/lib/python3.12/statistics.py(88): mean", framework.RankLibrary, "statistics.py:88 mean"},
		{"site-packages/einops/einops.py(3): rearrange", framework.RankLibrary, "einops/einops.py:3 rearrange"},
		{"/opt/site-packages/acme/models/llama.py(3): forward", framework.RankModel, "acme/models/llama.py:3 forward"},
		{"/opt/site-packages/acme/model/llama.py(3): forward", framework.RankModel, "acme/model/llama.py:3 forward"},
		{"acme/models/llama.py(3): forward", framework.RankModel, "acme/models/llama.py:3 forward"},
		{"models/llama.py(3): forward", framework.RankModel, "models/llama.py:3 forward"},
		{"py_executor.py(9): _forward_step", framework.RankNoSignal, "py_executor.py:9 _forward_step"},
		{"my_py_executor.py(9): _forward_step", framework.RankUser, "my_py_executor.py:9 _forward_step"},
		{"/x/acme/cuda_graph_runner.py(900): replay", framework.RankModel, "/x/acme/cuda_graph_runner.py:900 replay"},
		{"C:\\srv\\vllm\\v1\\core.py(7): run", framework.RankFramework, "vllm/v1/core.py:7 run"},
	}
	for _, tt := range tests {
		f, ok := framework.ParseFrame(tt.name)
		if !ok {
			t.Errorf("parseFrame(%q) is no frame", tt.name)
			continue
		}
		if got := f.Rank(false); got != tt.rank {
			t.Errorf("rank of %q = %d, want %d", tt.name, got, tt.rank)
		}
		if got := f.Location(); got != tt.location {
			t.Errorf("location of %q = %q, want %q", tt.name, got, tt.location)
		}
	}
	for _, name := range []string{"nn.Module: Linear_3", "<built-in method matmul of type object at 0x7f00>", "",
		"x(): f", "(3): f", "a(x3): f"} {
		if f, ok := framework.ParseFrame(name); ok {
			t.Errorf("parseFrame(%q) = %+v, want none", name, f)
		}
	}
	runner, _ := framework.ParseFrame("/x/python/sglang/srt/model_executor/cuda_graph_runner.py(900): replay")
	if got := runner.Rank(true); got != framework.RankNoSignal {
		t.Errorf("the runner of a replay has rank %d, want %d", got, framework.RankNoSignal)
	}
}
