package profile

import (
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// Rename is one literal replacement in display names.
type Rename struct {
	// Old is replaced wherever it occurs; it must not be empty.
	Old string `json:"old"`
	// New replaces it; it may be empty.
	New string `json:"new"`
}

// maxDisplay is the longest display name in code points; a longer one keeps 77
// of them and "..." (pipeline.md §3).
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
// "norm::RMSNormKernel", which would otherwise stay behind its prefix.
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
