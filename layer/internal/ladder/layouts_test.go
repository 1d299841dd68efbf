package ladder

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/layer/internal/segment"
)

// sequenceFrom makes a sequence of kernel names.
func sequenceFrom(names []string) *Sequence {
	var sym, bases intern.Keys[string]
	s := &Sequence{}
	var facts []classify.Facts
	for _, n := range names {
		f := FactsOf(n)
		facts = append(facts, f)
		s.ID = append(s.ID, int32(sym.ID(n)))
		s.Base = append(s.Base, int32(bases.ID(f.Base)))
	}
	s.Role = structuralRoles(facts, s.ID)
	return s
}

// TestLayouts: where layers begin in the kernel orders of several model families, written down from their published
// model code. The first layer's input norm is a plain one where the others add the residual.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name, prologue, first, layer, epilogue string
		n                                      int
	}{
		{"gemma: norms before and behind both halves", "embedding_kernel elementwise_mul",
			"rms_norm_kernel nvjet_qkv rms_norm_kernel rms_norm_kernel rotary_kernel reshape_and_cache_kernel flash_fwd_kernel nvjet_o rms_norm_kernel fused_add_rms_norm_kernel nvjet_gate act_and_mul_gelu nvjet_down rms_norm_kernel",
			"fused_add_rms_norm_kernel nvjet_qkv rms_norm_kernel rms_norm_kernel rotary_kernel reshape_and_cache_kernel flash_fwd_kernel nvjet_o rms_norm_kernel fused_add_rms_norm_kernel nvjet_gate act_and_mul_gelu nvjet_down rms_norm_kernel",
			"fused_add_rms_norm_kernel nvjet_lm_head argmax_kernel", 26},
		{"latent attention: norms of the compressed query and key", "embedding_kernel allreduce_kernel",
			"RMSNormKernel nvjet_qkv_a RMSNormKernel nvjet_q_b RMSNormKernel rotary_kernel nvjet_bmm1 flash_fwd_mla_kernel nvjet_bmm2 nvjet_o allreduce_kernel FusedAddRMSNormKernel nvjet_gate silu_mul nvjet_down allreduce_kernel",
			"FusedAddRMSNormKernel nvjet_qkv_a RMSNormKernel nvjet_q_b RMSNormKernel rotary_kernel nvjet_bmm1 flash_fwd_mla_kernel nvjet_bmm2 nvjet_o allreduce_kernel FusedAddRMSNormKernel router_gemm grouped_topk moe_align fused_moe_kernel silu_mul fused_moe_kernel moe_sum allreduce_kernel",
			"FusedAddRMSNormKernel nvjet_lm_head softmax_sampling_kernel", 27},
		{"gpt-2: layer norms and plain additions", "embedding_kernel embedding_kernel elementwise_add",
			"layer_norm_kernel gemm_qkv flash_fwd_kernel gemm_o elementwise_add layer_norm_kernel gemm_fc1 gelu_kernel gemm_fc2 elementwise_add", "",
			"layer_norm_kernel gemm_lm_head", 12},
		{"parallel attention and feed-forward part", "embedding_kernel",
			"layer_norm_kernel gemm_qkv rotary_kernel flash_fwd_kernel gemm_o gemm_fc1 gelu_kernel gemm_fc2 elementwise_add elementwise_add", "",
			"layer_norm_kernel gemm_lm_head argmax_kernel", 32},
		{"quantised: a conversion in front of every product", "embedding_kernel",
			"rms_norm_kernel quant_fp8 gemm_qkv rotary_kernel flash_fwd_kernel quant_fp8 gemm_o fused_add_rms_norm_kernel quant_fp8 gemm_gate silu_mul quant_fp8 gemm_down",
			"fused_add_rms_norm_kernel quant_fp8 gemm_qkv rotary_kernel flash_fwd_kernel quant_fp8 gemm_o fused_add_rms_norm_kernel quant_fp8 gemm_gate silu_mul quant_fp8 gemm_down",
			"fused_add_rms_norm_kernel gemm_lm_head argmax_kernel", 40},
		{"all-reduce fused with the norm behind it", "embedding_kernel allreduce_kernel",
			"rms_norm_kernel gemm_qkv rotary_kernel flash_fwd_kernel gemm_o allreduce_fusion_add_rmsnorm gemm_gate silu_mul gemm_down",
			"allreduce_fusion_add_rmsnorm gemm_qkv rotary_kernel flash_fwd_kernel gemm_o allreduce_fusion_add_rmsnorm gemm_gate silu_mul gemm_down",
			"allreduce_fusion_add_rmsnorm gemm_lm_head argmax_kernel", 64},
		{"norms by torch.compile, each product's all-reduce behind it",
			"triton_poi_fused_embedding_0 void_vllm::cross_device_reduce_1stage",
			"triton_red_fused__to_copy_mean_mul_pow_rsqrt_0 nvjet_qkv vllm::rotary_embedding_kernel reshape_and_cache_flash_kernel flash_fwd_splitkv_kernel nvjet_o vllm::cross_device_reduce_1stage triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2 nvjet_gate triton_poi_fused_mul_silu_slice_1 nvjet_down vllm::cross_device_reduce_1stage",
			"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3 nvjet_qkv vllm::rotary_embedding_kernel reshape_and_cache_flash_kernel flash_fwd_splitkv_kernel nvjet_o vllm::cross_device_reduce_1stage triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2 nvjet_gate triton_poi_fused_mul_silu_slice_1 nvjet_down vllm::cross_device_reduce_1stage",
			"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3 nvjet_lm_head argmax_kernel", 80},
		{"the argument says that the all-reduce normalises",
			"embedding_kernel trtllm::allreduce_fusion_kernel_oneshot_lamport<(trtllm::AllReduceFusionPattern)0>",
			"flashinfer::norm::RMSNormKernel nvjet_qkv rotary_kernel BatchDecodeWithPagedKVCacheKernel nvjet_o trtllm::allreduce_fusion_kernel_oneshot_lamport<(trtllm::AllReduceFusionPattern)1> nvjet_gate act_and_mul_kernel nvjet_down",
			"trtllm::allreduce_fusion_kernel_oneshot_lamport<(trtllm::AllReduceFusionPattern)1> nvjet_qkv rotary_kernel BatchDecodeWithPagedKVCacheKernel nvjet_o trtllm::allreduce_fusion_kernel_oneshot_lamport<(trtllm::AllReduceFusionPattern)1> nvjet_gate act_and_mul_kernel nvjet_down",
			"trtllm::allreduce_fusion_kernel_oneshot_lamport<(trtllm::AllReduceFusionPattern)1> nvjet_lm_head argmax_kernel",
			80},
		{"state space and attention, one norm each", "embedding_kernel",
			"rms_norm_kernel gemm_in causal_conv1d_kernel selective_scan_kernel gated_norm_kernel gemm_out",
			"fused_add_rms_norm_kernel gemm_in causal_conv1d_kernel selective_scan_kernel gated_norm_kernel gemm_out",
			"fused_add_rms_norm_kernel gemm_lm_head argmax_kernel", 48},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.layer == "" {
				c.layer = c.first
			}
			names := strings.Fields(c.prologue)
			var want []int
			for l := range c.n {
				want = append(want, len(names))
				unit := c.layer
				if l == 0 {
					unit = c.first
				}
				names = append(names, strings.Fields(unit)...)
			}
			want = append(want, len(names))
			names = append(names, strings.Fields(c.epilogue)...)
			s := sequenceFrom(names)
			g := segment.Guesses(s, false)
			if len(g) == 0 || g[0].N != c.n {
				got := 0
				if len(g) > 0 {
					got = g[0].N
				}
				t.Errorf("guessed %d layers, want %d", got, c.n)
			}
			st, ok := segment.Best(s, c.n)
			if !ok || !slices.Equal(st.Starts, want) {
				t.Errorf("layers at %v…%v, want %v…%v", st.Starts[:min(3, len(st.Starts))],
					st.Starts[max(0, len(st.Starts)-2):], want[:3], want[c.n-1:])
			}
		})
	}
}
