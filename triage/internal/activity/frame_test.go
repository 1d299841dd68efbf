package activity

import "testing"

func TestFrames(t *testing.T) {
	tests := []struct {
		name     string
		rank     Rank
		location string
	}{
		{"/sgl-workspace/sglang/python/sglang/srt/models/qwen3.py(120): forward", Framework,
			"python/sglang/srt/models/qwen3.py:120 forward"},
		{"/usr/lib/python3/dist-packages/sglang/srt/layers/linear.py(9): apply", Framework,
			"sglang/srt/layers/linear.py:9 apply"},
		{"vllm/model_executor/models/gpt_oss.py(293): forward", Framework,
			"vllm/model_executor/models/gpt_oss.py:293 forward"},
		{"/opt/venv/lib/python3.12/site-packages/tensorrt_llm/_torch/modules/rms_norm.py(4): forward", Framework,
			"tensorrt_llm/_torch/modules/rms_norm.py:4 forward"},
		{"sgl_kernel/elementwise.py(258): silu_and_mul", Kernels, "sgl_kernel/elementwise.py:258 silu_and_mul"},
		{"transformers/models/qwen2/modeling_qwen2.py(56): forward", Model,
			"transformers/models/qwen2/modeling_qwen2.py:56 forward"},
		{"diffusers/pipelines/flux/transformer.py(7): forward", Model,
			"diffusers/pipelines/flux/transformer.py:7 forward"},
		{"/home/me/train.py(12): step", Model, "/home/me/train.py:12 step"},
		{"train.py(12): step", User, "train.py:12 step"},
		{"aiter/tuned_gemm.py(552): mm", Library, "aiter/tuned_gemm.py:552 mm"},
		{"torch/nn/functional.py(1): linear", Library, "torch/nn/functional.py:1 linear"},
		{"torch/nn/modules/module.py(1773): _wrapped_call_impl", NoSignal,
			"torch/nn/modules/module.py:1773 _wrapped_call_impl"},
		{"/x/python/sglang/srt/model_executor/cuda_graph_runner.py(900): replay", Runner,
			"python/sglang/srt/model_executor/cuda_graph_runner.py:900 replay"},
		{"/x/python/sglang/srt/model_executor/cuda_graph_runner.py(718): __init__", NoSignal,
			"python/sglang/srt/model_executor/cuda_graph_runner.py:718 __init__"},
		{"/x/python/sglang/srt/model_executor/cuda_graph_runner.py(925): capture", NoSignal,
			"python/sglang/srt/model_executor/cuda_graph_runner.py:925 capture"},
		{"/x/tensorrt_llm/_torch/pyexecutor/py_executor.py(9): _forward_step", NoSignal,
			"tensorrt_llm/_torch/pyexecutor/py_executor.py:9 _forward_step"},
		{"/x/python/sglang/srt/utils/kernel_shape_profiler.py(302): impl", NoSignal,
			"python/sglang/srt/utils/kernel_shape_profiler.py:302 impl"},
		{"/root/.cache/vllm/torch_compile_cache/ab12/rank_0_0/inductor_cache/c5/c5x7.py(310): call", NoSignal,
			"vllm/torch_compile_cache/ab12/rank_0_0/inductor_cache/c5/c5x7.py:310 call"},
		{"threading.py(1030): _bootstrap", Noise, "threading.py:1030 _bootstrap"},
		{"/usr/lib/python3.12/asyncio/events.py(88): _run", Noise, "events.py:88 _run"},
		{"/lib/python3.12/asyncio/events.py(88): _run", Noise, "events.py:88 _run"},
		{"/usr/lib/python3.12/statistics.py(88): mean", Library, "statistics.py:88 mean"},
		{"site-packages/einops/einops.py(3): rearrange", Library, "einops/einops.py:3 rearrange"},
		{"/opt/site-packages/acme/models/llama.py(3): forward", Model, "acme/models/llama.py:3 forward"},
		{"/opt/site-packages/acme/model/llama.py(3): forward", Model, "acme/model/llama.py:3 forward"},
		{"acme/models/llama.py(3): forward", Model, "acme/models/llama.py:3 forward"},
		{"models/llama.py(3): forward", Model, "models/llama.py:3 forward"},
		{"py_executor.py(9): _forward_step", NoSignal, "py_executor.py:9 _forward_step"},
		{"my_py_executor.py(9): _forward_step", User, "my_py_executor.py:9 _forward_step"},
		{"/x/acme/cuda_graph_runner.py(900): replay", Model, "/x/acme/cuda_graph_runner.py:900 replay"},
		{"C:\\srv\\vllm\\v1\\core.py(7): run", Framework, "vllm/v1/core.py:7 run"},
	}
	for _, tt := range tests {
		f, ok := ParseFrame(tt.name)
		if !ok {
			t.Errorf("parseFrame(%q) is no frame", tt.name)
			continue
		}
		if got := f.Rank(); got != tt.rank {
			t.Errorf("rank of %q = %d, want %d", tt.name, got, tt.rank)
		}
		if got := f.Location(); got != tt.location {
			t.Errorf("location of %q = %q, want %q", tt.name, got, tt.location)
		}
	}
	for _, name := range []string{"nn.Module: Linear_3", "<built-in method matmul of type object at 0x7f00>", "",
		"x(): f", "(3): f", "a(x3): f"} {
		if f, ok := ParseFrame(name); ok {
			t.Errorf("parseFrame(%q) = %+v, want none", name, f)
		}
	}
}

func TestLocationParts(t *testing.T) {
	path, line, fn := SplitLocation("a/b.py:12 f g")
	if path != "a/b.py" || line != "12" || fn != "f g" {
		t.Errorf("locationParts = %q %q %q", path, line, fn)
	}
	for _, s := range []string{"unresolved", "graph replay", ""} {
		if path, line, fn := SplitLocation(s); path+line+fn != "" {
			t.Errorf("locationParts(%q) = %q %q %q, want none", s, path, line, fn)
		}
	}
}

// TestClassesOfInstances: profilers number the instances of a module; no other end of a name is cut off.
func TestClassesOfInstances(t *testing.T) {
	for name, want := range map[string]string{
		"nn.Module: A_0": "A", "nn.Module: Qwen3Attention_12": "Qwen3Attention",
		"nn.Module: Qwen3_Attention": "Qwen3_Attention", "nn.Module: _7": "_7", "nn.Module: A_": "A_", "forward": "",
	} {
		if got := ModuleClass(name); got != want {
			t.Errorf("class of %q: %q, want %q", name, got, want)
		}
	}
}
