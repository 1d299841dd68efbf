package profile

import (
	"fmt"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
)

// RuleSpec is one category rule: a kernel whose name contains one of the
// patterns is of the category Key, shown as Label.
type RuleSpec struct {
	// Key is the machine key, used in JSON and as a table column.
	Key string `json:"key"`
	// Label is what tables show.
	Label string `json:"label"`
	// Patterns are substrings of the kernel's name; one is enough.
	Patterns []string `json:"patterns"`
	// IgnoreCase matches without regard to case.
	IgnoreCase bool `json:"ignore_case,omitempty"`
}

// check returns what is wrong with a rule, and the field below it.
func (r RuleSpec) check() (sub string, err error) {
	switch {
	case r.Key == "":
		return ".key", fmt.Errorf("must not be empty")
	case r.Label == "":
		return ".label", fmt.Errorf("must not be empty")
	case len(r.Key) > maxText || len(r.Label) > maxText:
		return "", fmt.Errorf("%w: key or label longer than %d bytes", errLimit, maxText)
	case len(r.Patterns) == 0:
		return ".patterns", errNoMatch
	case len(r.Patterns) > maxRules:
		return ".patterns", fmt.Errorf("%w: more than %d", errLimit, maxRules)
	}
	for i, p := range r.Patterns {
		if p == "" {
			return fmt.Sprintf(".patterns[%d]", i), fmt.Errorf("must not be empty: it would match every kernel")
		}
		if len(p) > maxText {
			return fmt.Sprintf(".patterns[%d]", i), fmt.Errorf("%w: longer than %d bytes", errLimit, maxText)
		}
	}
	return "", nil
}

// What kernels are that no rule takes.
const otherKey, otherLabel = "other", "Other"

// universalRules follow every reference profile's own.
var universalRules = []RuleSpec{
	{Key: "allreduce", Label: "● NCCL AllReduce", Patterns: []string{"AllReduce"}},
	{Key: "rmsnorm", Label: "RMSNorm", Patterns: []string{"RMSNorm", "rms_normalize"}},
	{Key: "quant", Label: "FP8 Quant", Patterns: []string{"quant"}, IgnoreCase: true},
	{Key: "topk", Label: "TopK", Patterns: []string{"topk"}, IgnoreCase: true},
	{Key: "gemm_fp8", Label: "GEMM FP8", Patterns: []string{"deep_gemm"}},
	{Key: "gemm_bf16", Label: "GEMM BF16", Patterns: []string{"nvjet"}},
	{Key: "gemm_f32", Label: "GEMM F32", Patterns: []string{"sm80_xmma"}},
	{Key: "activation", Label: "Activation", Patterns: []string{"silu_mul_clamp", "act_and_mul"}},
	// One category in two rules: case is folded for the first pattern only.
	{Key: "radixsort", Label: "RadixSort", Patterns: []string{"radix_sort"}, IgnoreCase: true},
	{Key: "radixsort", Label: "RadixSort", Patterns: []string{"RadixSort"}},
}

// The own rules of the DeepSeek profiles, each written once.
var (
	ruleMLA      = RuleSpec{Key: "mla", Label: "★ MLA Attention", Patterns: []string{"flash_fwd_splitkv_mla"}}
	ruleMoE      = RuleSpec{Key: "moe", Label: "★ MoE Fused", Patterns: []string{"fused_moe_kernel"}}
	ruleHadamard = RuleSpec{Key: "hadamard", Label: "Hadamard Xform", Patterns: []string{"hadamard"},
		IgnoreCase: true}
	ruleIndexer     = RuleSpec{Key: "indexer", Label: "Indexer Cache", Patterns: []string{"indexer"}, IgnoreCase: true}
	rulePagedMQA    = RuleSpec{Key: "paged_mqa", Label: "Paged MQA", Patterns: []string{"paged_mqa_logits"}}
	ruleMLAMetadata = RuleSpec{Key: "mla_metadata", Label: "MLA Metadata", Patterns: []string{"get_mla_metadata"}}
	ruleMLACombine  = RuleSpec{Key: "mla_combine", Label: "MLA Combine", Patterns: []string{"flash_fwd_mla_combine"}}
	ruleC4Prefill   = RuleSpec{Key: "c4_prefill", Label: "C4 Prefill", Patterns: []string{"c4_prefill"}}
	ruleC128Prefill = RuleSpec{Key: "c128_prefill", Label: "C128 Prefill", Patterns: []string{"c128_prefill"}}
	ruleRoPE        = RuleSpec{Key: "rope", Label: "RoPE", Patterns: []string{"deepseek_rope", "fused_norm_rope"}}
	ruleMHCPreGEMM  = RuleSpec{Key: "mhc_pre_gemm", Label: "MHC Pre GEMM", Patterns: []string{"mhc_pre_gemm_sqrsum"}}
	ruleMHCPreFuse  = RuleSpec{Key: "mhc_pre_fuse", Label: "MHC Pre Fuse", Patterns: []string{"mhc_pre_big_fuse"}}
	ruleMHCPost     = RuleSpec{Key: "mhc_post", Label: "MHC Post", Patterns: []string{"mhc_post_tilelang"}}
	ruleMoEGate     = RuleSpec{Key: "moe_gate", Label: "MoE Gate", Patterns: []string{"moe_fused_gate"}}
	ruleMoEAlign    = RuleSpec{Key: "moe_align", Label: "MoE Align", Patterns: []string{"moe_align_block"}}
	ruleMoESort     = RuleSpec{Key: "moe_sort", Label: "MoE Sort", Patterns: []string{"count_and_sort"}}
	ruleMLAStore    = RuleSpec{Key: "mla_cache_store", Label: "MLA Cache Store",
		Patterns: []string{"fused_store_flashmla_cache"}}
	ruleIndexerStore = RuleSpec{Key: "indexer_store", Label: "Indexer Store",
		Patterns: []string{"fused_store_indexer_cache"}}
)

// Ruleset compiles the profile's categories: its own rules, then its BaseRules.
// Under "universal" and "none" a kernel that no rule takes is "other" as in
// the reference tables. A result's Category and Rule are the rule's key, its
// Label the rule's label; under "rich" they may also be those of
// [classify.Default]. Each call compiles anew: keep the result.
func (p *ModelProfile) Ruleset() *classify.Ruleset {
	own := appendRules(nil, p.Rules)
	switch p.BaseRules {
	case baseRich:
		return classify.Default().With(own...)
	case baseNone:
		return classify.New(append(own, otherRule())...)
	}
	return classify.New(append(appendRules(appendRules(nil, p.Rules), universalRules), otherRule())...)
}

func appendRules(dst []classify.Rule, rules []RuleSpec) []classify.Rule {
	for _, r := range rules {
		dst = append(dst, classify.Rule{ID: r.Key, Title: r.Label, Category: classify.Category(r.Key), Label: r.Label,
			When: classify.Pattern{Substring: r.Patterns, Fold: r.IgnoreCase}})
	}
	return dst
}

func otherRule() classify.Rule {
	return classify.Rule{ID: otherKey, Title: otherLabel, Category: otherKey, Label: otherLabel,
		Func: func(*classify.Name) bool { return true }}
}

// Rename is one literal replacement in display names.
type Rename struct {
	// Old is replaced wherever it occurs; it must not be empty.
	Old string `json:"old"`
	// New replaces it; it may be empty.
	New string `json:"new"`
}

// maxDisplay is the longest display name in code points; a longer one keeps 77
// of them and "...", as the published scripts do.
const maxDisplay = 80

// DisplayName shortens a kernel's name for tables: the profile's own renames,
// then the standard ones, then a cut to 77 code points and "..." when more than
// 80 are left.
func (p *ModelProfile) DisplayName(raw string) string {
	name := replaceAll(raw, p.Renames)
	if p.BaseRenames != baseVerbatim {
		name = replaceAll(name, standardRenames)
	}
	return table.Cut(name, maxDisplay)
}

// replaceAll applies renames in order, each to the result of the one before.
func replaceAll(name string, renames []Rename) string {
	for _, r := range renames {
		if r.Old == "" {
			continue // strings.ReplaceAll would put New between all letters
		}
		next := strings.ReplaceAll(name, r.Old, r.New)
		// A rename that grows its own text, repeated, must not grow without bound:
		// beyond any kernel name seen in a trace, the rest is left as it is.
		if len(next) > len(name) && len(next) > maxRenamed {
			return name
		}
		name = next
	}
	return name
}

// maxRenamed bounds the bytes a growing rename may build. The longest kernel
// name in the sample traces is under 8 KiB.
const maxRenamed = 1 << 20

// standardRenames are the replacements that every reference table uses, in the
// order they apply. "void flashinfer::" must go before
// "norm::RMSNormKernel", which would otherwise keep that prefix.
var standardRenames = []Rename{
	{"void (anonymous namespace)::", ""},
	{"void at::native::", ""},
	{"void flashinfer::", ""},
	{"void deep_gemm::sm90_fp8_gemm_1d2d_impl", "deep_gemm::sm90_fp8_gemm_1d2d"},
	{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclAllReduce_bf16_RING_LL"},
	{"norm::RMSNormKernel", "RMSNormKernel"},
	{"void sm90::decode::sparse_fp8::flash_fwd_splitkv_mla_fp8_sparse_kernel", "flash_fwd_splitkv_mla_fp8_sparse"},
	{"void smxx::decode::flash_fwd_mla_combine_kernel", "flash_fwd_mla_combine"},
	{"void smxx::decode::get_mla_metadata_kernel", "get_mla_metadata"},
	{"mhc_pre_gemm_sqrsum_tilelang_kernel", "mhc_pre_gemm_sqrsum"},
	{"mhc_post_tilelang_kernel", "mhc_post_tilelang"},
	{"mhc_pre_big_fuse_tilelang_kernel", "mhc_pre_big_fuse"},
	{"void deep_gemm::sm90_fp8_paged_mqa_logits", "deep_gemm::sm90_fp8_paged_mqa_logits"},
	{"void deep_gemm::sched::smxx_paged_mqa_logits_metadata", "deep_gemm::paged_mqa_logits_metadata"},
	{"void fast_hadamard_transform_kernel", "fast_hadamard_transform_kernel"},
	{"void per_token_group_quant_8bit_kernel", "per_token_group_quant_8bit_kernel"},
}
