package classify

import (
	"slices"
	"strconv"
	"strings"
)

// TokenGrid says that a kernel runs one block for each token of the pass: the
// size of its grid along Axis (0 is x) is the number of tokens, or of rows where
// a server pads them. The zero value, without a family, says nothing.
type TokenGrid struct {
	// Family groups kernels that could be wrong for the same reason: two
	// families that agree are evidence, one is not.
	Family string
	Axis   int
	// Real says that the kernel runs for tokens that exist only, as a cache write
	// does: padding has no place in the cache.
	Real bool
	// Dense says that it counts tokens only where a layer has no experts, whose
	// kernels of this kind run a block for each token and expert.
	Dense bool
}

// tokenFamily is one row of the table of kernels with one block a token, as
// traces with recorded token counts show them. Kernels of other libraries with
// alike names share blocks between rows, or clamp the grid to the GPU: they are
// in no row.
type tokenFamily struct {
	grid     TokenGrid
	function []string // exact
	scope    string   // a namespace that must be there, "" for any
}

var tokenFamilies = []tokenFamily{
	// rms_norm_kernel also normalises heads, one block for each head.
	{grid: TokenGrid{Family: "norm"}, function: []string{"fused_add_rms_norm_kernel"}, scope: "vllm"},
	{grid: TokenGrid{Family: "rope"}, function: []string{"rotary_embedding_kernel"}},
	{grid: TokenGrid{Family: "cache write", Real: true},
		function: []string{"reshape_and_cache_kernel", "reshape_and_cache_flash_kernel"}, scope: "vllm"},
	{grid: TokenGrid{Family: "cache write", Real: true}, function: []string{"store_kvcache"}},
	{grid: TokenGrid{Family: "activation", Dense: true}, function: []string{"act_and_mul_kernel"}, scope: "vllm"},
	{grid: TokenGrid{Family: "activation", Dense: true}, function: []string{"act_and_mul_kernel"}, scope: "sgl_hip"},
	{grid: TokenGrid{Family: "quantisation", Dense: true}, function: []string{"scaled_fp8_quant_kernel_strided"},
		scope: "vllm"},
	{grid: TokenGrid{Family: "experts' sum", Axis: 1}, function: []string{"finalizeKernel"}, scope: "finalize"},
	{grid: TokenGrid{Family: "experts' sum"}, function: []string{"finalizeKernelVecLoad"}},
}

// minHidden is the least number of elements of a row that is a token's and not a
// head's: heads have 256 elements at most, the smallest served models 1,024 or
// nearly so.
const minHidden = 1024

// quantisedNorm is a kernel of AITER with one block a token for wide rows only.
const quantisedNorm = "add_rmsnorm_quant_kernel"

// tokenGrid looks the kernel up in the table.
func tokenGrid(n *Name) TokenGrid {
	if n.Family == familyAITER && n.Function == quantisedNorm && aiterRow(n) >= minHidden {
		return TokenGrid{Family: "norm"}
	}
	for _, f := range tokenFamilies {
		if slices.Contains(f.function, n.Function) && (f.scope == "" || slices.Contains(n.Namespaces, f.scope)) {
			return f.grid
		}
	}
	return TokenGrid{}
}

// aiterRow is how many elements a block of AITER's norms handles: the first two
// numbers among its template arguments, threads and elements of each.
func aiterRow(n *Name) int {
	row, seen := 1, 0
	for _, a := range n.TemplateArgs {
		if x, err := strconv.Atoi(strings.TrimRight(a, "ul")); err == nil && x > 0 && seen < 2 {
			row, seen = row*x, seen+1
		}
	}
	if seen < 2 {
		return 0
	}
	return row
}

// oneQuery are attention kernels that exist for one query token a request only:
// where nothing else of a layer mixes tokens, the pass decodes. Kernels that
// also verify drafted tokens (trtllm-gen's, XQA, FlashMLA), and kernels of
// prefills that decode where heads share keys (FlashInfer's) are not among them.
var oneQuery = []string{
	"paged_attention_v1_kernel", "paged_attention_v2_kernel", "paged_attention_v2_reduce_kernel",
	"paged_attention_ll4mi_QKV_mfma16_kernel", "paged_attention_ll4mi_QKV_mfma4_kernel",
	"paged_attention_ll4mi_QKV_kernel",
	"paged_attention_ll4mi_reduce_kernel", "BatchDecodeWithPagedKVCacheKernel", "SingleDecodeWithKVCacheKernel",
	"_fwd_kernel_stage1", "_fwd_grouped_kernel_stage1", "_fwd_kernel_stage2",
	"kernel_unified_attention_3d", "reduce_segments", "masked_multihead_attention_kernel",
}
