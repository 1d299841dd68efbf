package triage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// Kernels as profiles name them; after | the op that launches them, if the kernel's name does not show it.
const (
	kProduct  = "nvjet_tst_128x64_64x6_1x2_h_bz_coopA_TNT|aten::mm"
	kCore     = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)"
	kNorm     = "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(x)"
	kAddNorm  = "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(x)"
	kAdd      = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)|aten::add"
	kMul      = "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)|aten::mul"
	kSilu     = "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 2ul> >(int)|aten::silu"
	kSwiGLU   = "void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(float silu<float>(float const&))>(x)"
	kRope     = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)"
	kWrite    = "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(x)"
	kWriteMLA = "void vllm::concat_and_cache_mla_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(x)"
	kQuant    = "void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn, 128, false>(void const*)"
	kReduce   = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)"
	kExperts  = "fused_moe_kernel"
	kMoESum   = "void moe_sum_reduce_warp_per_token_vec_kernel<8>(x)"
	kSoftmax  = "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, float, 7, false, false>(float*)|aten::softmax"
	kTopK     = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(x)|aten::topk"
	kIndex    = "store_index_k_cache_kernel"
	kDivide   = "void at::native::vectorized_elementwise_kernel<4, at::native::div_true_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 2ul> >(int)|aten::div"
	kTanh     = "void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 2ul> >(int)|aten::tanh"
	kPad      = "triton_poi_fused_constant_pad_nd_moe_forward_0"
	kMHCPost  = "mhc_post_tilelang_kernel"
	kMHCPre   = "mhc_pre_big_fuse_tilelang_kernel"
	kSquare   = "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::{lambda(float)#1}, std::array<char*, 2ul> >(int)|aten::pow"
	kMean     = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >(x)|aten::mean"
	kRsqrt    = "void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 2ul> >(int)|aten::rsqrt"
	kNeg      = "void at::native::vectorized_elementwise_kernel<4, at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 2ul> >(int)|aten::neg"
	kCat      = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>(x)|aten::cat"
)

// Where a path exists.
const (
	anyGPU = "A100 H100 B200 MI300X MI355X"
	cuda   = "A100 H100 B200"
	hopper = "H100 B200"
	amd    = "MI300X MI355X"
)

// gpus are the names that profilers write of the GPUs above.
var gpus = map[string]string{"A100": "NVIDIA A100-SXM4-80GB", "H100": "NVIDIA H100 80GB HBM3", "B200": "NVIDIA B200",
	"MI300X": "AMD Instinct MI300X", "MI355X": "AMD Instinct MI355X"}

// rowTruth says of each row of the registry where its path exists in each server, which kernels show that it is used,
// and which that it is not, by hand from the servers' sources (the registry's own fields say where and when).
var rowTruth = []struct {
	pattern string
	where   string
	active  []string // each of them shows that the path is used, two in sequence where & joins them
	split   []string // this sequence that it is not
	open    bool     // the change is not merged
	model   string
}{
	{pattern: "Fused residual add + RMSNorm", where: anyGPU,
		active: []string{kAddNorm, "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"}, split: []string{kAdd, kNorm}},
	{pattern: "FlashInfer unified allreduce_fusion", where: hopper,
		active: []string{pattern("1"), mnnvlTwoShot + " & " + mnnvlNorm}, split: []string{kReduce, kNorm}},
	{pattern: "AITER allreduce fusion", where: amd,
		active: []string{aiterNorm, "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8, 1024>(x)"},
		split:  []string{kReduce, kNorm}},
	{pattern: "Fused activation-and-mul (SwiGLU / GeGLU)", where: anyGPU, active: []string{kSwiGLU},
		split: []string{kSilu, kMul}},
	{pattern: "In-place QK RMSNorm", where: cuda, active: []string{"void (anonymous namespace)::fused_qknorm_warp<128l, true, __nv_bfloat16>(x)", "_fused_qk_gemma_rmsnorm_kernel"}, split: []string{kNorm, kNorm, kRope}},
	{pattern: "Fused QK RMSNorm + RoPE", where: cuda, active: []string{"void fusedQKNormRopeKernel<128, false>(x)"},
		split: []string{kNorm, kNorm, kRope}},
	{pattern: "Fused QK RoPE reshape + KV cache write", where: amd,
		active: []string{"_fused_qk_rope_reshape_and_cache_kernel"}, split: []string{kRope, kWrite}},
	{pattern: "Fused RoPE + KV cache store", where: cuda,
		active: []string{"void (anonymous namespace)::fused_rope_store_kernel<true, 128l, true, __nv_bfloat16, long>(x)"},
		split:  []string{kRope, kWrite}},
	{pattern: "Fused decode metadata setup", where: anyGPU,
		active: []string{"_fused_metadata_kernel_ps1_no_swa", "_fused_metadata_kernel_general",
			"_draft_extend_metadata_kernel"}},
	{pattern: "NSA fused metadata copy for graph replay", where: cuda,
		active: []string{"void fused_metadata_copy_kernel<3>(x)", "void fused_metadata_copy_multi_kernel<3>(x)"},
		model:  "deepseek-v3.2"},
	{pattern: "DeepSeek MLA fused projection + norm + RoPE", where: amd,
		active: []string{"_fwd_grouped_kernel_stage1_rope"}, model: "deepseek-r1"},
	{pattern: "Fused QK RoPE concat + MLA cache write", where: "MI355X",
		active: []string{"_fused_qk_rope_cat_and_cache_mla_kernel"}, split: []string{kRope, kWriteMLA},
		model: "deepseek-r1"},
	{pattern: "Qwen3 decode fused QK norm + 3D mRoPE + KV cache write", where: amd,
		active: []string{"void aiter::fused_qk_norm_mrope_3d_cache_pts_quant_shuffle_kernel<128>(x)"},
		split:  []string{kNorm, kNorm, "_triton_mrope_forward", kWrite}, model: "qwen3-vl"},
	{pattern: "Fused MoE router / top-k / softcapping", where: anyGPU,
		active: []string{"fused_moe_router_cudacore_kernel"}, model: "grok-1"},
	{pattern: "Fused MoE grouped-topk / gate kernels", where: anyGPU,
		active: []string{"void moe_fused_gate_kernel<float, 8, 256>(x)", "void kimi_k2_moe_fused_gate_kernel<float>(x)",
			"aiter::topksoftmax_4x128x8_bf16"}, split: []string{kSoftmax, kTopK}},
	{pattern: "Qwen-style shared-expert append into routed top-k output", where: anyGPU,
		active: []string{"_fused_append_shared_experts_with_weights_kernel"}},
	{pattern: "Fused MoE sum + all-reduce", where: cuda, split: []string{kExperts, kMoESum}},
	{pattern: "Fused MoE activation + quant / re-quant", where: anyGPU,
		active: []string{"silu_and_mul_masked_post_quant_kernel"}, split: []string{kSwiGLU, kQuant}},
	{pattern: "DeepSeek comm-prep fused RMSNorm + quant / flatten-quant", where: amd,
		active: []string{"_fused_rms_fp8_group_quant_kernel", "_fused_flatten_fp8_group_quant_kernel"},
		split:  []string{kNorm, kQuant}, model: "deepseek-r1"},
	{pattern: "NSA fused top-k transform / page-table build", where: cuda,
		active: []string{"fast_topk_transform_fused_kernel",
			"void sglang::topk_main_kernel<true, 2, (sglang::TopKMode)1>(sglang::TopKLaunchParams)",
			"void sglang::topk_small_batch_kernel<true, (sglang::TopKMode)1, 8u>(sglang::TopKLaunchParams)"},
		model: "deepseek-v3.2"},
	{pattern: "NSA fused quantize + indexed K-cache store", where: cuda,
		active: []string{"void fused_store_indexer_cache<__nv_bfloat16, int, 6u, true>(x)"},
		split:  []string{kQuant, kIndex}},
	{pattern: "Fused logit softcap", where: anyGPU,
		active: []string{"softcap_inplace_logits_kernel", "softcap_out_kernel"}, split: []string{kDivide, kTanh, kMul}},
	{pattern: "SGLang LTX2 fused Ada values", where: cuda, active: []string{"ltx2_ada_values9_kernel"}, model: "ltx-2"},
	{pattern: "SGLang LTX2 residual-gate add CUDA fast path", where: cuda,
		active: []string{"void residual_gate_add_vec_kernel<__nv_bfloat16>(x)"}, model: "ltx-2"},
	{pattern: "TokenSpeed CuTe DSL MLA prefill / decode", where: "B200",
		active: []string{"kernel_cutlass_kernel_tokenspeed_mlaBlackwellMultiHeadLatentAttentionForward_object_at__tensor_0"},
		model:  "kimi-k2"},
	{pattern: "TokenSpeed MLA KV pack + FP8 quantize", where: cuda,
		active: []string{"_mla_kv_pack_quantize_fp8_kernel"}, model: "kimi-k2"},
	{pattern: "TokenSpeed fused top-k + top-p sampling", where: cuda,
		active: []string{"void AirTopPInitKernel<float, int>(x)"}},
	{pattern: "TokenSpeed persistent lm_head GEMM", where: hopper,
		active: []string{"void fused_a_gemm_kernel_persistent<8, 7168>(x)"}, model: "kimi-k2"},
	{pattern: "TokenSpeed NVFP4 GEMM + SwiGLU + quant", where: "B200",
		active: []string{"kernel_cutlass_kernel_tokenspeed_kernelthirdpartycute_dslnvfp4_gemm_swiglu_nvfp4_quantSm100BlockScaledPersistentDenseGemmKernel_object_at__0"}, split: []string{kSwiGLU, kQuant}},
	{pattern: "vLLM-origin Attention + Quantization", where: anyGPU, split: []string{kCore, kQuant}},
	{pattern: "vLLM-origin RMSNorm + Quantization", where: hopper + " " + amd,
		active: []string{"void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(x)",
			"void vllm::rms_norm_per_block_quant_kernel<c10::BFloat16>(x)"}, split: []string{kNorm, kQuant}},
	{pattern: "vLLM-origin SiLU+Mul + Quantization", where: hopper + " " + amd,
		active: []string{"void vllm::act_and_mul_quant_kernel<c10::BFloat16>(x)",
			"void vllm::silu_mul_cvt_fp16_to_fp4<__nv_bfloat16>(x)"}, split: []string{kSwiGLU, kQuant}},
	{pattern: "vLLM-origin DSV3 router GEMM", where: hopper,
		active: []string{"void router_gemm_kernel_float_output<__nv_bfloat16, 128, 8, 1, 256, 7168>(x)",
			"kernel_cutlass_kernel_vllmmodel_executorkernelslinearcute_dsl_ll_bf16_splitkLLBf16SplitK_object_at__tensor_0"}},
	{pattern: "vLLM-origin DeepSeek min-latency fused QKV-A projection", where: hopper,
		active: []string{"void fused_a_gemm_kernel<8, 2112, 7168>(x)"}, model: "deepseek-v3"},
	{pattern: "PR #38621 fused QK norm + RoPE + cache + quant", where: cuda,
		split: []string{kNorm, kNorm, kRope, kWrite}, open: true},
	{pattern: "vLLM-origin MiniMax allreduce_rms kernels", where: cuda,
		active: []string{"void minimax_reduce_rms_kernel_lamport<__nv_bfloat16, 8>(x)"}, model: "minimax-m2"},
	{pattern: "vLLM fused residual add + RMSNorm", where: anyGPU, active: []string{kAddNorm},
		split: []string{kAdd, kNorm}},
	{pattern: "vLLM fused activation-and-mul", where: anyGPU, active: []string{kSwiGLU}, split: []string{kSilu, kMul}},
	{pattern: "TensorRT-LLM FlashInfer residual add + RMSNorm", where: cuda, active: []string{kAddNorm},
		split: []string{kAdd, kNorm}},
	{pattern: "TensorRT-LLM Triton fused residual add + RMSNorm + FP8 quant", where: cuda,
		active: []string{"triton_fused_add_rms_norm_quant_fp8"}, split: []string{kAddNorm, kQuant}},
	{pattern: "TensorRT-LLM FlashInfer activation / gate epilogues", where: cuda, active: []string{kSwiGLU},
		split: []string{kSilu, kMul}},
	{pattern: "PR #28101 fused add + RMSNorm + per-token FP8 quant", where: cuda, split: []string{kAddNorm, kQuant},
		open: true},
	{pattern: "vLLM-origin AllReduce + RMSNorm (+ residual / quant)", where: hopper + " " + amd,
		active: []string{pattern("1"), aiterNorm}, split: []string{kReduce, kNorm}},
	{pattern: "vLLM-origin fused QK RMSNorm + RoPE", where: anyGPU,
		active: []string{"void fusedQKNormRopeKernel<128, false>(x)"}, split: []string{kNorm, kNorm, kRope}},
	{pattern: "vLLM-origin fused RoPE + KV cache update", where: amd,
		active: []string{"_fused_qk_rope_reshape_and_cache_kernel"}, split: []string{kRope, kWrite}},
	{pattern: "vLLM-origin fused MLA RoPE + unified KV-cache update", where: anyGPU,
		active: []string{"void vllm::concat_and_cache_mla_rope_fused_kernel<__nv_bfloat16>(x)"},
		split:  []string{kRope, kWriteMLA}},
	{pattern: "vLLM-origin add + RMSNorm + pad", where: amd, active: []string{"_fused_add_rmsnorm_pad"},
		split: []string{kNorm, kPad}},
	{pattern: "vLLM-origin fused top-k softmax / sigmoid router", where: anyGPU,
		active: []string{"void vllm::moe::topkGating<8, 256, 4, 16>(x)", "aiter::topksoftmax_4x128x8_bf16"},
		split:  []string{kSoftmax, kTopK}},
	{pattern: "vLLM-origin fused grouped top-k / biased grouped top-k router", where: anyGPU,
		active: []string{"void vllm::moe::grouped_topk_fused_kernel<float, float, int>(x)"}},
	{pattern: "vLLM-origin DeepSeek-V4 MHC fused kernels", where: anyGPU,
		active: []string{"mhc_fused_tilelang_kernel", "_mhc_post_pre_split_kernel"}, split: []string{kMHCPost, kMHCPre},
		model: "deepseek-v4"},
	{pattern: "TensorRT-LLM AllReduce + residual + RMSNorm", where: cuda,
		active: []string{strings.Replace(pattern("1"), "flashinfer::trtllm_allreduce_fusion",
			"tensorrt_llm::kernels::ar_fusion", 2)}, split: []string{kReduce, kNorm}},
	{pattern: "RMSNorm + static FP8 quantisation (FlashInfer)", where: hopper,
		active: []string{"void flashinfer::norm::FusedAddRMSNormQuantKernel<8u, __nv_bfloat16, __nv_fp8_e4m3>(x)"}},
	{pattern: "QK norm + RoPE + KV cache write (AITER)", where: amd,
		active: []string{"void aiter::fusedQKNormRopeQuantCacheShuffleKernel<128>(x)"},
		split:  []string{kNorm, kNorm, kRope, kWrite}},
	{pattern: "Fused QK norm + RoPE", where: cuda,
		active: []string{"void tensorrt_llm::kernels::fusedQKNormRopeKernel<128, true>(x)"},
		split:  []string{kNorm, kNorm, kRope}},
	{pattern: "AllReduce + residual + RMSNorm", where: anyGPU, active: []string{pattern("1")},
		split: []string{kReduce, kNorm}},
	{pattern: "MoE finalize + AllReduce + RMSNorm", where: hopper,
		active: []string{"void moefinalize_allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16, 8>(x)"}},
	{pattern: "Fused model prologue: norm, RoPE and cache write", where: anyGPU,
		active: []string{"void fusedDeepseekV4QNormRopeKVRopeQuantInsertKernel<128>(x)"}},
}

// invisible are rows whose path leaves no trace of its own in the names of kernels: merged weights and names of ops.
var invisible = []string{"vLLM-origin DSV3.2 fused indexer projections"}

// layersWithOps is a trace of a model whose layers are these kernels.
func layersWithOps(gpu string, kernels ...string) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	b.Meta = trace.Meta{Devices: []trace.GPU{{ID: 0, Name: gpus[gpu]}}}
	launch := "cudaLaunchKernel"
	if strings.HasPrefix(gpu, "MI") {
		launch = "hipLaunchKernel"
	}
	at, id := int64(1000), uint64(0)
	for range 24 {
		for _, k := range kernels {
			id++
			name, op, _ := strings.Cut(k, "|")
			if op != "" {
				b.Add(trace.EventData{Kind: event.Op, Name: op, Start: at - 600, Duration: 300, Thread: 1,
					ExternalID: uint64(id)})
			}
			b.Add(trace.EventData{Kind: event.Runtime, Name: launch, Start: at - 500, Duration: 100, Thread: 1,
				Correlation: id})
			e := trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: 5000, Stream: 7, Correlation: id}
			if op != "" {
				e.ExternalID = uint64(id)
			}
			b.Add(e)
			at += 5500
		}
	}
	return built.Trace(b)
}

// serverNames are the names of the registry's keys in reports.
var serverNames = map[string]string{"sglang": "SGLang", "vllm": "vLLM", "trtllm": "TensorRT-LLM",
	"tokenspeed": "TokenSpeed"}

// TestEveryRegistryRow: of each row, on each kind of GPU and in each server that it names, the fused kernel is found
// where the path exists and the chain says whether it can be had; no chain is found where the fused kernel runs.
func TestEveryRegistryRow(t *testing.T) {
	testdata.ManyInputs(t)
	reg := fusion.Load()
	rows := 0
	for i := range reg.Patterns {
		p := &reg.Patterns[i]
		if slices.Contains(invisible, p.Pattern) {
			continue
		}
		k := slices.IndexFunc(rowTruth, func(r struct {
			pattern string
			where   string
			active  []string
			split   []string
			open    bool
			model   string
		}) bool {
			return r.pattern == p.Pattern
		})
		if k < 0 {
			t.Errorf("nobody has said what is true of %q", p.Pattern)
			continue
		}
		truth := rowTruth[k]
		for _, server := range p.Frameworks {
			for gpu := range gpus {
				run := func(kernels ...string) (states map[string]triage.FuseState, mentioned string) {
					kernels = append([]string{kProduct}, append(kernels, kProduct, kCore)...)
					r, err := triage.Analyze(t.Context(), input(t, layersWithOps(gpu, kernels...), "x"),
						triage.Options{Framework: serverNames[server], Model: truth.model, TPSize: 8})
					if err != nil {
						t.Fatal(err)
					}
					states = map[string]triage.FuseState{}
					for _, f := range r.Stages[0].Fuse {
						states[string(f.Kind)+" "+f.Pattern] = f.State
						mentioned += f.Rationale
						if f.State == triage.StateElsewhere && f.EstimatedGainUS != 0 {
							t.Errorf("%s on %s: a gain where the path does not exist", f.Pattern, gpu)
						}
					}
					return states, mentioned
				}
				exists := slices.Contains(strings.Fields(truth.where), gpu)
				name := fmt.Sprintf("%s, %s, %s", p.Pattern, server, gpu)
				for _, fused := range truth.active {
					rows++
					states, _ := run(strings.Split(fused, " & ")...)
					if got := states["active "+p.Pattern] == triage.StateActive; got != exists &&
						!sameKernels(states, p.Pattern) {
						t.Errorf("%s: active %v, want %v, with %.60s: %v", name, got, exists, fused, states)
					}
					for row := range states {
						if strings.HasPrefix(row, "split ") {
							t.Errorf("%s: %.60s is one kernel, and the report has %s", name, fused, row)
						}
					}
				}
				if truth.split == nil {
					continue
				}
				rows++
				states, mentioned := run(truth.split...)
				state, ok := states["split "+p.Pattern]
				switch {
				case !ok && !strings.Contains(mentioned, p.Pattern):
					t.Errorf("%s: missed: %v", name, states)
				case !ok: // a row with the same kernels is better, and names this one
				case truth.open:
					if state != triage.StateOpen {
						t.Errorf("%s: state %s, want open", name, state)
					}
				case (state == triage.StateElsewhere) == exists:
					t.Errorf("%s: state %s, but it exists: %v", name, state, exists)
				}
			}
		}
	}
	t.Logf("%d cases", rows)
	if rows < 400 {
		t.Errorf("%d cases, want 400 at least", rows)
	}
}

// sameKernels says that another active row means the same kernel: one is enough.
func sameKernels(states map[string]triage.FuseState, pattern string) bool {
	for row := range states {
		if strings.HasPrefix(row, "active ") && row != "active "+pattern {
			return true
		}
	}
	return false
}
