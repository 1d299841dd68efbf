package classify

import "strings"

// Facts are what a kernel's name alone tells. They never change with the place
// of a launch: what position, operator or CPU op add is not here.
type Facts struct {
	// Category is what tables count the kernel as.
	Category Category
	// Role is what the kernel is to a layer's structure.
	Role Role
	// Library is the generator or library the kernel comes from.
	Library Family
	// DType is the narrowest operand type the name shows, "" when it shows none.
	DType string
	// Base is the name without tile and size variants: kernels of equal bases do
	// the same work in different shapes.
	Base string
	// Short is the function's name without scopes and arguments, as Nsight
	// Systems' short names have it.
	Short string
	// Rule is the ID of the rule that gave the category, "" when none matched.
	Rule string
}

// Facts reads a kernel name. The result depends on the name only: callers with
// many events ask once per distinct name.
func (s *Ruleset) Facts(raw string) Facts {
	n := Parse(raw)
	r := s.ClassifyName(&n)
	role := roleOf(raw)
	return Facts{
		Category: r.Category, Role: role, Library: n.Family, DType: r.DType,
		Base: baseName(raw, role), Short: shortName(raw), Rule: r.Rule,
	}
}

// Role is what a kernel is to the structure of a layer: much less than a
// category. A fused add+norm+quant kernel is a norm here, whatever a table calls
// it.
type Role uint8

// The roles.
const (
	RoleOther       Role = iota
	RoleNorm             // RMS, layer or group norm
	RoleMixer            // attention core, state-space scan, linear attention: what a layer has at least one of
	RoleProduct          // matrix product
	RoleMoE              // routing, permutation and products of experts
	RoleRope             // rotary embedding
	RoleCollective       // exchange between GPUs
	RoleEmbed            // embedding lookup
	RoleSample           // token sampling
	RoleCopy             // memcpy, memset
	RoleElementwise      // pointwise arithmetic
	RoleActivation       // gated or plain, between the two products of a feed-forward part
	RoleBackward         // gradients and weight updates: a training run
)

// rolePatterns are lower-case substrings, first match wins. They are words kernel authors use (vLLM, SGLang, FlashInfer,
// FlashAttention, aiter, composable kernel, TensorRT-LLM, Triton/Inductor, PyTorch), not names of single kernels.
var rolePatterns = []struct {
	role Role
	any  []string
	none []string // not when one of these occurs
}{
	{RoleBackward, []string{"backward", "_bwd", "bwd_", "dgrad", "wgrad", "multi_tensor_apply", "fused_adam", "adamw", "sgd_kernel", "optimizer"}, nil},
	{RoleCopy, []string{"memcpy", "memset", "copybuffer", "fillbuffer"}, nil},
	{RoleCollective, []string{"nccl", "rccl", "allreduce", "all_reduce", "allgather", "all_gather", "reducescatter", "reduce_scatter",
		"alltoall", "all_to_all", "cross_device_reduce", "multimem", "twoshot", "oneshot", "one_shot", "two_shot", "deep_ep", "internode", "intranode"},
		[]string{"norm"}},
	{RoleNorm, []string{"rmsnorm", "rms_norm", "layernorm", "layer_norm", "addnorm", "add_norm", "norm_kernel", "normkernel",
		"l2norm", "groupnorm", "rmsnormalize", "rms_normalize", "norm_fwd", "fused_norm"}, []string{"softmax", "qknorm", "qk_norm", "norm_rope"}},
	{RoleSample, []string{"argmax", "sampling", "sampler", "multinomial", "penalt", "topksampling", "toppsampling", "apply_token_bitmask"}, nil},
	{RoleMoE, []string{"moe", "expert", "router", "routing", "topkgating", "topk_softmax", "topksoftmax", "grouped_topk", "bitmatrix", "permute_tokens", "matmul_ogs"}, nil},
	{RoleMixer, []string{"flash_fwd", "flash_attn", "flashattn", "flash::", "fmha", "attention", "mla_", "flashmla", "splitkv", "split_kv", "_attn_",
		"attn_fwd", "mha_", "sdpa", "selective_scan", "chunk_scan", "chunk_state", "ssd_", "mamba", "ssm", "gated_delta", "delta_rule", "wkv",
		"batchprefill", "batchdecode", "singleprefill", "singledecode", "ragged_attn", "_fwd_grouped_kernel", "_fwd_kernel_stage", "fwd_kernel_stage",
		"linear_attn", "lightning_attn", "attn_kernel", "softmax_warp", "cunn_softmax", "softmaxforward", "xqa"},
		[]string{"reshape_and_cache", "metadata", "topk", "cross_entropy"}},
	{RoleRope, []string{"rope", "rotary"}, nil},
	{RoleEmbed, []string{"embedding", "indexselect", "index_select", "vectorized_gather", "embed_tokens"}, nil},
	{RoleProduct, []string{"gemm", "cijk_", "nvjet", "cutlass_80", "cutlass_75", "cutlass::kernel2", "xmma", "matmul", "wgmma", "_mm_", "splitk", "wvsplit", "addmm", "gemv", "linear_kernel", "bmm_"}, nil},
	{RoleActivation, []string{"act_and_mul", "silu", "gelu", "swiglu", "activation"}, nil},
	{RoleElementwise, []string{"elementwise", "triton_poi", "reduce_kernel"}, nil},
}

// roleOf reads a role from a kernel's name. It never fails; an unknown name is RoleOther.
func roleOf(name string) Role {
	l := strings.ToLower(name)
	for i := range rolePatterns {
		p := &rolePatterns[i]
		if containsAny(l, p.any) && !containsAny(l, p.none) {
			return p.role
		}
	}
	return RoleOther
}

func containsAny(s string, subs []string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// baseName folds what varies between tile variants of one kernel: digits, and for matrix products everything from the first
// digit or template argument on. Two kernels with equal base names do the same work in different shapes.
func baseName(name string, r Role) string {
	s := strings.TrimPrefix(name, "void ")
	if i := strings.LastIndexByte(s, '('); i > 0 && strings.HasSuffix(s, ")") {
		s = cutArguments(s)
	}
	if r == RoleProduct {
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

// shortName is a kernel's function name without return type, template and call
// arguments, as nsys' shortName has it.
func shortName(name string) string {
	s := strings.ReplaceAll(strings.TrimPrefix(name, "void "), anonymous, "")
	if i := strings.IndexAny(s, "<("); i > 0 {
		s = s[:i]
	}
	if i := strings.LastIndex(s, "::"); i >= 0 {
		s = s[i+2:]
	}
	return s
}
