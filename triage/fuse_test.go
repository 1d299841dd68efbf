package triage_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// fuseTruth is what an engineer finds when reading the kernel sequence of one
// layer of each trace, and why.
var fuseTruth = []struct {
	trace string
	split []string
	// active paths; nil where the trace has none worth a row.
	active []string
	why    string
}{
	{
		"sglang-qwen3-8b-extend-eager-mi300",
		[]string{"Fused QK RMSNorm + RoPE", "Fused QK RoPE reshape + KV cache write"},
		[]string{"Fused activation-and-mul (SwiGLU / GeGLU)", "Fused residual add + RMSNorm"},
		"each layer runs copy, norm, copy, norm, rotary_embedding, store_kvcache as six kernels; the residual norms and " +
			"act_and_mul are fused",
	},
	{
		"sglang-qwen3-8b-decode-graph-mi300",
		[]string{"Fused QK RMSNorm + RoPE", "Fused QK RoPE reshape + KV cache write"},
		[]string{"Fused residual add + RMSNorm", "Fused activation-and-mul (SwiGLU / GeGLU)"},
		"the same layer, replayed from a graph",
	},
	{
		"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace",
		[]string{"Norm + rotary embedding and KV-cache write"},
		[]string{"Fused residual add + RMSNorm", "In-place QK RMSNorm", "Fused RoPE + KV cache store"},
		"the routing kernels are the expert runner's own; fused_qknorm_warp and fused_rope_store_kernel are both fused; " +
			"merging all three steps is known for multi-axis RoPE only. nvjet runs BF16 here, so the FP8 path does not apply",
	},
	{
		"sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace",
		[]string{"In-place QK RMSNorm"},
		[]string{"Fused residual add + RMSNorm", "Fused QK RoPE reshape + KV cache write",
			"Fused MoE grouped-topk / gate kernels"},
		"copy, norm, copy, norm come before a fused RoPE and cache write",
	},
	{
		"vllm-gptoss20b-decode-fullgraph-mi300",
		[]string{"vLLM-origin fused RoPE + KV cache update", "vLLM-origin add + RMSNorm + pad"},
		[]string{"vLLM fused residual add + RMSNorm"},
		"rotary_embedding and reshape_and_cache are neighbours; the norm's output is padded for the experts by a kernel " +
			"of its own. There is no quantisation: mxfp4 is the weights' format",
	},
	{
		"vllm-gptoss20b-mixed-piecewise-mi300",
		[]string{"vLLM-origin add + RMSNorm + pad", "vLLM-origin fused RoPE + KV cache update"},
		[]string{"vLLM fused residual add + RMSNorm"},
		"the same layer in 25 graphs",
	},
	{
		"synthetic-deepseek-v4-flash-TP-0.trace",
		[]string{"vLLM-origin DeepSeek-V4 MHC fused kernels", "vLLM-origin RMSNorm + Quantization",
			"vLLM-origin fused MLA RoPE + unified KV-cache update", "Fused MoE activation + quant / re-quant",
			"vLLM-origin Attention + Quantization"},
		[]string{"Attention in one kernel", "Fused activation-and-mul (SwiGLU / GeGLU)", "Fused MoE grouped-topk / gate " +
			"kernels", "NSA fused top-k transform / page-table build", "Fused QK RMSNorm + RoPE"},
		"RMSNorm and the attention combine are each followed by per_token_group_quant, as is act_and_mul in front of the " +
			"experts; mhc_post follows each all-reduce and precedes mhc_pre; no server is named, so all splits are candidates",
	},
	{"hf-qwen1.5-0.5b-eager-h100", []string{"Residual add + RMSNorm in pieces", "Rotary embedding in pieces",
		"SwiGLU in pieces"}, []string{"Attention in one kernel"}, "the norm is spelled out in eight pointwise kernels, " +
		"the rotation in ten; a product runs between silu and its product"},
	{
		"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace", []string{"Fused RoPE + KV cache store"},
		[]string{"Fused residual add + RMSNorm", "Fused activation-and-mul (SwiGLU / GeGLU)"},
		"fused_rope_kernel and store_kvcache are neighbours",
	},
	{
		"sglang-r1-distill-llama-8b-mi300-TP-0-DECODE.trace", []string{"Fused QK RoPE reshape + KV cache write"},
		[]string{"Fused residual add + RMSNorm", "Fused activation-and-mul (SwiGLU / GeGLU)"},
		"rotary_embedding_kernel and store_kvcache are neighbours; AITER's norms add the residual",
	},
	{"xdit-flux1-mi300", []string{"Attention as bmm, softmax, bmm", "Residual add + RMSNorm in pieces",
		"Residual add + norm + activation", "Tanh GELU in pieces"}, []string{"Attention in one kernel"},
		"a diffusion model: its text encoder (T5) and its decoder of images run eager; the compiler fused the norms of " +
			"the denoiser's heads"},
	{"hf-bert-small-eager-h100", []string{"Residual add + norm"}, []string{"Attention in one kernel"},
		"a sum and a layer normalisation behind each half of a layer"},
	{"sglang-qwen3-8b-graph-capture-mi300", nil, nil, "two kernels"},
	{"torch-compile-triton", nil, []string{"Attention in one kernel", "Fused activation-and-mul (SwiGLU / GeGLU)",
		"Fused residual add + RMSNorm"}, "fused by the compiler already, one layer only"},
	{"train-absolute-float-ts-v100.pt.trace", []string{pointwise}, nil, "training of a convolution network"},
	{"train-graphs-5streams-a100", []string{pointwise}, nil, "training of a recommender"},
	{"train-pair-rank-0", []string{pointwise}, nil,
		"training of a recommender; float_to_hfp8 packs gradients for the wire"},
	{"train-pair-rank-1", []string{pointwise}, nil, "training of a recommender"},
	{"train-gpu-user-annotation", []string{pointwise}, nil, "training of a toy"},
	{"multi-stream-event-sync-a100", nil, nil, "three matrix products"},
	{"old-categories", nil, nil, "a few training kernels"},
	{"old-format-pythonstack-v100.pt.trace", []string{pointwise}, nil,
		"training of a convolution network; its norms are batch norms"},
	{"cpu-only-rank-34.pt.trace", nil, nil, "no GPU"},
	{"no-rank-no-gpu", nil, nil, "no GPU"},
	{"mtia-no-cuda", nil, nil, "no CUDA or HIP kernels"},
}

// pointwise is the row of runs that have no name.
const pointwise = "Pointwise kernels in a row"

// TestPairsOfFusedAndUnfused: attention and routed experts of the same sizes, in one kernel and in several.
func TestPairsOfFusedAndUnfused(t *testing.T) {
	const (
		attention, experts       = "Attention in one kernel", "Routed experts in one kernel"
		attentionIn3, expertsIn4 = "Attention as bmm, softmax, bmm", "Routed experts as several products"
	)
	for name, want := range map[string]string{
		"test01_moe_fused_vs_unfused-trace1": expertsIn4, "test01_moe_fused_vs_unfused-trace2": experts,
		"test02_attention_both_unfused-trace1": attentionIn3, "test02_attention_both_unfused-trace2": attentionIn3,
		"test03_attention_fused_vs_unfused-trace1": attention, "test03_attention_fused_vs_unfused-trace2": attentionIn3,
	} {
		r := analyze(t, "traces/units/comparative/"+name+".json.gz", "", triage.Options{})
		rows := r.Stages[0].Fuse
		if len(rows) != 1 || rows[0].Pattern != want {
			t.Errorf("%s: %+v, want %s alone", name, rows, want)
			continue
		}
		whole := want == attention || want == experts
		if whole != (rows[0].State == triage.StateActive) || !whole && rows[0].State != triage.StateAvailable {
			t.Errorf("%s: %s is %s", name, want, rows[0].State)
		}
		checkFuseRow(t, &r.Stages[0], rows[0])
	}
}

func TestFuseRowsAreTheTruth(t *testing.T) {
	testdata.ManyInputs(t)
	for _, tt := range fuseTruth {
		t.Run(tt.trace, func(t *testing.T) {
			r := analyze(t, "traces/torch/"+tt.trace+".json.gz", "", triage.Options{})
			var split, active []string
			for _, s := range r.Stages {
				for _, f := range s.Fuse {
					if f.Kind == triage.Split {
						split = append(split, f.Pattern)
					} else {
						active = append(active, f.Pattern)
					}
					checkFuseRow(t, &s, f)
				}
			}
			slices.Sort(split)
			slices.Sort(active)
			want := slices.Sorted(slices.Values(tt.split))
			if !slices.Equal(split, want) {
				t.Errorf("split rows %q, want %q: %s", split, want, tt.why)
			}
			want = slices.Sorted(slices.Values(tt.active))
			if !slices.Equal(active, want) {
				t.Errorf("active rows %q, want %q: %s", active, want, tt.why)
			}
		})
	}
}

// checkFuseRow checks what holds for every fuse row.
func checkFuseRow(t *testing.T, s *triage.StageReport, f triage.FuseRow) {
	t.Helper()
	var sum float64
	for _, e := range f.Evidence {
		sum += e.GPUTimeUS
	}
	if d := sum - f.RelatedUS; d > 0.01 || d < -0.01 {
		t.Errorf("%s: evidence adds up to %v us, related time is %v us", f.Pattern, sum, f.RelatedUS)
	}
	if f.RelatedUS > s.GPUTimeUS || f.Occurrences < 1 || len(f.ExampleKernels) == 0 ||
		(len(f.CandidatePaths) == 0) != (f.State == triage.StateNone) {
		t.Errorf("%s: row is incomplete: %+v", f.Pattern, f)
	}
	if f.Kind == triage.InUse && f.EstimatedGainUS != 0 {
		t.Errorf("%s: an active path gains %v us", f.Pattern, f.EstimatedGainUS)
	}
	if f.Kind == triage.Split && f.State != triage.StateElsewhere && f.State != triage.StateTooLarge &&
		f.State != triage.StateModel && f.EstimatedGainUS <= 0 {
		t.Errorf("%s: a split chain gains %v us", f.Pattern, f.EstimatedGainUS)
	}
}

// TestExampleKernelsAreOfTheChain follows the indices of a split row into the
// trace: they must be the kernels that its evidence names, in order.
func TestExampleKernelsAreOfTheChain(t *testing.T) {
	src := source(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	r, err := triage.Analyze(t.Context(), input(t, src.Trace, src.Path), triage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Stages[0].Fuse {
		last := src.Trace.LaneAt(event.LaneGPU, 0).Start()
		for _, i := range f.ExampleKernels {
			e := src.Trace.LaneAt(event.LaneGPU, i)
			if e.Start() < last {
				t.Errorf("%s: example kernels are not in order", f.Pattern)
			}
			last = e.Start()
			if !slices.ContainsFunc(f.Evidence, func(x triage.Share) bool {
				return len(e.Name()) >= len(x.Kernel) && e.Name()[:len(x.Kernel)] == x.Kernel
			}) {
				t.Errorf("%s: example kernel %d is %.60q, which is not in the evidence", f.Pattern, i, e.Name())
			}
		}
	}
}

// TestStatesOfRealTraces: what can be done about the chains of real traces, as an engineer with the servers' sources
// says.
func TestStatesOfRealTraces(t *testing.T) {
	for _, tt := range []struct {
		trace, model string
		want         map[string]triage.FuseState // of splits
		why          string
	}{
		{"sglang-qwen3-8b-decode-graph-mi300", "", map[string]triage.FuseState{"Fused QK RMSNorm + RoPE": triage.StateElsewhere,
			"Fused QK RoPE reshape + KV cache write": triage.StateUnknown},
			"without frames and name the model may be a dense one, which has no fused cache write"},
		{"sglang-qwen3-8b-decode-graph-mi300", "Qwen/Qwen3-8B",
			map[string]triage.FuseState{"Fused QK RMSNorm + RoPE": triage.StateElsewhere,
				"Fused QK RoPE reshape + KV cache write": triage.StateModel},
			"qwen3.py does not hand the cache to the rotary embedding"},
		{"sglang-qwen3-8b-extend-eager-mi300", "", map[string]triage.FuseState{"Fused QK RMSNorm + RoPE": triage.StateElsewhere,
			"Fused QK RoPE reshape + KV cache write": triage.StateModel}, "the frames name qwen3.py"},
		{"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace", "",
			map[string]triage.FuseState{"Fused RoPE + KV cache store": triage.StateUnknown}, "the model is not named"},
		{"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace", "deepseek-ai/DeepSeek-R1-Distill-Llama-8B",
			map[string]triage.FuseState{"Fused RoPE + KV cache store": triage.StateModel},
			"llama.py has no fused cache write"},
		{"sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace", "",
			map[string]triage.FuseState{"In-place QK RMSNorm": triage.StateElsewhere}, "SGLang gates it to CUDA"},
		{"vllm-gptoss20b-decode-fullgraph-mi300", "",
			map[string]triage.FuseState{"vLLM-origin fused RoPE + KV cache update": triage.StateAvailable,
				"vLLM-origin add + RMSNorm + pad": triage.StateAvailable},
			"AITER has both for decode steps of at most 256 tokens"},
		{"vllm-gptoss20b-mixed-piecewise-mi300", "",
			map[string]triage.FuseState{"vLLM-origin fused RoPE + KV cache update": triage.StateTooLarge,
				"vLLM-origin add + RMSNorm + pad": triage.StateAvailable},
			"the step has more than 256 tokens"},
		{"hf-qwen1.5-0.5b-eager-h100", "", map[string]triage.FuseState{"Residual add + RMSNorm in pieces": triage.StateAvailable, "Rotary embedding in pieces": triage.StateAvailable, "SwiGLU in pieces": triage.StateAvailable}, "torch.compile makes one kernel of each"},
		{"train-pair-rank-0", "", map[string]triage.FuseState{pointwise: triage.StateAvailable}, "training"},
		{"train-graphs-5streams-a100", "", map[string]triage.FuseState{pointwise: triage.StateAvailable}, "training"},
	} {
		r := analyze(t, "traces/torch/"+tt.trace+".json.gz", "", triage.Options{Model: tt.model})
		got := map[string]triage.FuseState{}
		for _, s := range r.Stages {
			for _, f := range s.Fuse {
				if f.Kind != triage.Split {
					continue
				}
				got[f.Pattern] = f.State
				if (f.State == triage.StateAvailable || f.State == triage.StateUnknown ||
					f.State == triage.StateNone) != (f.EstimatedGainUS > 0) || f.State != triage.StateAvailable &&
					f.Confidence == triage.Confirmed {
					t.Errorf("%s: %s is %s with a gain of %v µs, %s", tt.trace, f.Pattern, f.State, f.EstimatedGainUS,
						f.Confidence)
				}
				if f.First == nil || f.Action == "" {
					t.Errorf("%s: %s does not say where or what to do", tt.trace, f.Pattern)
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s, model %q (-want +got):\n%s%s", tt.trace, tt.model, diff, tt.why)
		}
	}
}
