package layer

import "strings"

// A role is what the segmentation needs to know about a kernel's meaning: much less than a category, and never needed for
// finding the period, only for placing a boundary that structure leaves open and for telling a layer from half of one.
// Categories cannot serve here: a fused add+norm+quant kernel is a norm for the segmentation whatever a table calls it.
type role uint8

const (
	roleOther role = iota
	roleNorm
	roleMixer // attention core, state-space scan, linear attention: what a layer has at least one of
	roleGemm
	roleMoE
	roleRope
	roleCollective
	roleEmbed
	roleSample
	roleCopy
	roleElementwise
	roleActivation // gated or plain, between the two products of a feed-forward part
	roleBackward   // gradients: a training run
)

// rolePatterns are lower-case substrings, first match wins. They are words kernel authors use (vLLM, SGLang, FlashInfer,
// FlashAttention, aiter, composable kernel, TensorRT-LLM, Triton/Inductor, PyTorch), not names of single kernels.
var rolePatterns = []struct {
	role role
	any  []string
	none []string // not when one of these occurs
}{
	{roleBackward, []string{"backward", "_bwd", "bwd_", "dgrad", "wgrad", "multi_tensor_apply", "fused_adam", "adamw", "sgd_kernel", "optimizer"}, nil},
	{roleCopy, []string{"memcpy", "memset", "copybuffer", "fillbuffer"}, nil},
	{roleCollective, []string{"nccl", "rccl", "allreduce", "all_reduce", "allgather", "all_gather", "reducescatter", "reduce_scatter",
		"alltoall", "all_to_all", "cross_device_reduce", "multimem", "twoshot", "oneshot", "one_shot", "two_shot", "deep_ep", "internode", "intranode"},
		[]string{"norm"}},
	{roleNorm, []string{"rmsnorm", "rms_norm", "layernorm", "layer_norm", "addnorm", "add_norm", "norm_kernel", "normkernel",
		"l2norm", "groupnorm", "rmsnormalize", "rms_normalize", "norm_fwd", "fused_norm"}, []string{"softmax", "qknorm", "qk_norm", "norm_rope"}},
	{roleSample, []string{"argmax", "sampling", "sampler", "multinomial", "penalt", "topksampling", "toppsampling", "apply_token_bitmask"}, nil},
	{roleMoE, []string{"moe", "expert", "router", "routing", "topkgating", "topk_softmax", "topksoftmax", "grouped_topk", "bitmatrix", "permute_tokens", "matmul_ogs"}, nil},
	{roleMixer, []string{"flash_fwd", "flash_attn", "flashattn", "flash::", "fmha", "attention", "mla_", "flashmla", "splitkv", "split_kv", "_attn_",
		"attn_fwd", "mha_", "sdpa", "selective_scan", "chunk_scan", "chunk_state", "ssd_", "mamba", "ssm", "gated_delta", "delta_rule", "wkv",
		"batchprefill", "batchdecode", "singleprefill", "singledecode", "ragged_attn", "_fwd_grouped_kernel", "_fwd_kernel_stage", "fwd_kernel_stage",
		"linear_attn", "lightning_attn", "attn_kernel", "softmax_warp", "cunn_softmax", "softmaxforward", "xqa"},
		[]string{"reshape_and_cache", "metadata", "topk", "cross_entropy"}},
	{roleRope, []string{"rope", "rotary"}, nil},
	{roleEmbed, []string{"embedding", "indexselect", "index_select", "vectorized_gather", "embed_tokens"}, nil},
	{roleGemm, []string{"gemm", "cijk_", "nvjet", "cutlass_80", "cutlass_75", "cutlass::kernel2", "xmma", "matmul", "wgmma", "_mm_", "splitk", "wvsplit", "addmm", "gemv", "linear_kernel", "bmm_"}, nil},
	{roleActivation, []string{"act_and_mul", "silu", "gelu", "swiglu", "activation"}, nil},
	{roleElementwise, []string{"elementwise", "triton_poi", "reduce_kernel"}, nil},
}

// roleOf reads a role from a kernel's name. It never fails; an unknown name is roleOther.
func roleOf(name string) role {
	l := strings.ToLower(name)
	for i := range rolePatterns {
		p := &rolePatterns[i]
		if containsAny(l, p.any) && !containsAny(l, p.none) {
			return p.role
		}
	}
	return roleOther
}

func containsAny(s string, subs []string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// comparable roles may stand for each other where names differ: a plain and a fused norm, two tiles of a GEMM.
// Element-wise kernels, copies and the rest may not: half of any prologue would match.
func (r role) comparable() bool {
	switch r {
	case roleNorm, roleMixer, roleGemm, roleMoE, roleRope, roleCollective:
		return true
	}
	return false
}

// baseName folds what varies between tile variants of one kernel: digits, and for matrix products everything from the first
// digit or template argument on. Two kernels with equal base names do the same work in different shapes.
func baseName(name string, r role) string {
	s := strings.TrimPrefix(name, "void ")
	if i := strings.LastIndexByte(s, '('); i > 0 && strings.HasSuffix(s, ")") {
		s = cutArguments(s)
	}
	if r == roleGemm {
		for i := range len(s) {
			if c := s[i]; i >= 4 && (c == '<' || c >= '0' && c <= '9') {
				return s[:i]
			}
		}
		return s
	}
	if strings.IndexFunc(s, func(c rune) bool { return c >= '0' && c <= '9' }) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	digits := false
	for i := range len(s) {
		c := s[i]
		if c >= '0' && c <= '9' {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteByte(c)
	}
	return b.String()
}

// cutArguments drops a trailing argument list: everything from the parenthesis that matches the last one.
func cutArguments(s string) string {
	depth := 0
	for i := len(s) - 1; i > 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return s[:i]
			}
		}
	}
	return s
}
