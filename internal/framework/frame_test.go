package framework_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/framework"
)

// TestFrames: what is generated is never a model's file; a model's own file is none of the building blocks'.
func TestFrames(t *testing.T) {
	for _, tt := range []struct {
		name      string
		ok        bool
		generated bool
		kind      int
	}{
		{"vllm/model_executor/models/llama.py(210): forward", true, false, framework.ModelFile},
		{"/usr/lib/python3/dist-packages/vllm/model_executor/layers/linear.py(451): forward", true, false,
			framework.LayerFile},
		{"/root/.cache/vllm/torch_compile_cache/ab12/rank_0_0/inductor_cache/x/cxyz.py(428): call", true, true,
			framework.NoModelFile},
		{"/tmp/torchinductor_root/ab/cab.py(12): call", true, true, framework.NoModelFile},
		{"/root/.triton/cache/0a/fused.py(3): run", true, true, framework.NoModelFile},
		{"<string>(1): <module>", true, true, framework.NoModelFile},
		{"torch/_dynamo/eval_frame.py(663): _fn", true, true, framework.NoModelFile},
		{"vllm/v1/worker/gpu_model_runner.py(3003): execute_model", true, false, framework.NoModelFile},
		{"python/sglang/srt/models/qwen3.py(263): forward", true, false, framework.ModelFile},
		{"transformers/models/llama/modeling_llama.py(88): forward", true, false, framework.ModelFile},
		{"site-packages/wrapt/wrappers.py(9): __call__", true, false, framework.NoModelFile},
		{"nn.Module: Linear_3", false, false, framework.NoModelFile},
		{"<built-in method run>", false, false, framework.NoModelFile},
	} {
		f, ok := framework.ParseFrame(tt.name)
		if ok != tt.ok {
			t.Errorf("ParseFrame(%q) = %v, want %v", tt.name, ok, tt.ok)
			continue
		}
		if !ok {
			continue
		}
		if kind, _ := f.ModelFile(framework.All()); kind != tt.kind || f.Generated() != tt.generated {
			t.Errorf("%s: kind %d, generated %v; want %d, %v", tt.name, kind, f.Generated(), tt.kind, tt.generated)
		}
	}
}
