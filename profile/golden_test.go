package profile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/profile"
)

// published is the ruleset of a profile's own rules and the universal ones,
// which are those of the published tables.
func published(p *profile.ModelProfile) *classify.Ruleset {
	c := p.WithAnchor("")
	c.BaseRules = "universal"
	return c.Ruleset()
}

type goldenKernel struct {
	Name       string `json:"name"`
	Simplified string `json:"simplified_name"`
	Category   string `json:"category"`
}

// goldenKernels returns the distinct kernels of the reference's breakdowns, by
// file.
func goldenKernels(t *testing.T) map[string][]goldenKernel {
	t.Helper()
	out := map[string][]goldenKernel{}
	for _, path := range testdata.SharedGlob(t, "golden/pipeline/*.breakdown.json") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Kernels []goldenKernel `json:"kernels"`
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out[filepath.Base(path)] = doc.Kernels
	}
	return out
}

// TestGoldenCategoriesAndNames reproduces what the published scripts print for
// every kernel of their breakdowns: dsv4_csa_hca on the DeepSeek-V4 trace,
// generic with the universal rules elsewhere.
func TestGoldenCategoriesAndNames(t *testing.T) {
	checked := 0
	for file, kernels := range goldenKernels(t) {
		name := profile.Generic
		if strings.HasPrefix(file, "dsv4-") {
			name = profile.DSV4
		}
		p, _ := profile.Builtin(name)
		rules := published(p)
		for _, k := range kernels {
			if got := p.Classify(k.Name).Key; got != k.Category {
				t.Errorf("%s: %s.Classify(%q) = %q, want %q", file, name, k.Name, got, k.Category)
			}
			if got := rules.Facts(k.Name); string(got.Category) != k.Category || got.Label != p.Classify(k.Name).Label {
				t.Errorf("%s: %s.Ruleset of universal rules.Facts(%q) = %+v, want category %q", file, name, k.Name, got,
					k.Category)
			}
			if got := p.DisplayName(k.Name); got != k.Simplified {
				t.Errorf("%s: DisplayName(%q)\n got %q\nwant %q", file, k.Name, got, k.Simplified)
			}
			checked++
		}
	}
	if checked < 191 {
		t.Errorf("checked %d golden kernels, want all 191", checked)
	}
}

// TestGoldenLayerTypes reproduces the Type column of the reference's timeline,
// which takes the last layers for the hash layers.
func TestGoldenLayerTypes(t *testing.T) {
	c, err := profile.LoadConfig(testdata.Shared(t, "configs/deepseek-v4-flash.json"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(testdata.Shared(t, "golden/pipeline/dsv4.timeline.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(data), "  L  c_r Type")
	if !ok {
		t.Fatal("the golden timeline has no layer table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var want []profile.LayerType
	for _, line := range strings.Split(table, "\n")[2:] {
		want = append(want, profile.LayerType(strings.Fields(line)[2]))
	}
	c.HashLast = true
	if diff := cmp.Diff(want, c.LayerTypes(c.NumLayers)); diff != "" {
		t.Errorf("LayerTypes, hash layers last (-want +got):\n%s", diff)
	}
}

// TestDisplayNameExamples holds the examples of pipeline.md §3 that no golden
// output shows.
func TestDisplayNameExamples(t *testing.T) {
	p, _ := profile.Builtin(profile.DSV4)
	long := strings.Repeat("ö", 81)
	for _, tt := range []struct{ raw, want string }{
		{"void flashinfer::norm::RMSNormKernel<8u>", "RMSNormKernel<8u>"},
		{"void flashinfer::BatchPrefill<1>", "BatchPrefill<1>"},
		{"norm::RMSNormKernel then norm::RMSNormKernel", "RMSNormKernel then RMSNormKernel"},
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclAllReduce_bf16_RING_LL"},
		{"ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevKernelArgsStorage<4096ul>)",
			"ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevKernelArgsStorage<4096ul>)"},
		{"void vllm::act_and_mul_kernel<1>", "void vllm::act_and_mul_kernel<1>"},
		{"", ""},
		{long[:len(long)-2], long[:len(long)-2]}, // 80 code points, 160 bytes: whole
		{long, strings.Repeat("ö", 77) + "..."},
		{"void at::native::" + strings.Repeat("x", 80), strings.Repeat("x", 80)}, // cut after renaming
	} {
		if got := p.DisplayName(tt.raw); got != tt.want {
			t.Errorf("DisplayName(%q)\n got %q\nwant %q", tt.raw, got, tt.want)
		}
	}
}

// TestRuleOrder pins keys and order of the tables of pipeline.md §3.
func TestRuleOrder(t *testing.T) {
	keys := func(rules []profile.RuleSpec) (out []string) {
		for _, r := range rules {
			if n := len(out); n == 0 || out[n-1] != r.Key {
				out = append(out, r.Key)
			}
		}
		return out
	}
	for _, tt := range []struct{ name, want string }{
		{profile.DSV4, "mla moe hadamard indexer paged_mqa mla_metadata c4_prefill c128_prefill rope mhc_pre_gemm mhc_pre_fuse mhc_post moe_gate moe_align moe_sort mla_cache_store indexer_store"},
		{profile.DSV3, "mla moe mla_metadata mla_combine rope moe_gate moe_align moe_sort mla_cache_store"},
		{profile.Generic, ""},
	} {
		p, ok := profile.Builtin(tt.name)
		if !ok {
			t.Fatalf("Builtin(%q) is missing", tt.name)
		}
		if diff := cmp.Diff(tt.want, strings.Join(keys(p.Rules), " ")); diff != "" {
			t.Errorf("%s rules (-want +got):\n%s", tt.name, diff)
		}
	}
	want := "allreduce rmsnorm quant topk gemm_fp8 gemm_bf16 gemm_f32 activation radixsort"
	if got := strings.Join(keys(profile.UniversalRules()), " "); got != want {
		t.Errorf("UniversalRules = %s, want %s", got, want)
	}
}

// TestClassifyOrderAndCase has one name per rule and the conflicts between them.
func TestClassifyOrderAndCase(t *testing.T) {
	for _, tt := range []struct{ profile, name, key, label string }{
		{profile.DSV4, "flash_fwd_splitkv_mla_kernel", "mla", "★ MLA Attention"},
		{profile.DSV4, "fused_moe_kernel_gptq", "moe", "★ MoE Fused"},
		{profile.DSV4, "Fast_HADAMARD_x", "hadamard", "Hadamard Xform"},
		// the indexer_store rule comes too late
		{profile.DSV4, "fused_store_indexer_cache_quant", "indexer", "Indexer Cache"},
		{profile.DSV4, "flash_fwd_mla_combine", "other", "Other"},
		{profile.DSV3, "flash_fwd_mla_combine", "mla_combine", "MLA Combine"},
		{profile.DSV3, "hadamard_quant", "quant", "FP8 Quant"},
		{profile.DSV4, "get_mla_metadata", "mla_metadata", "MLA Metadata"},
		{profile.DSV4, "c4_prefill_x", "c4_prefill", "C4 Prefill"},
		{profile.DSV4, "c128_prefill_x", "c128_prefill", "C128 Prefill"},
		{profile.DSV4, "deepseek_rope", "rope", "RoPE"},
		{profile.DSV4, "count_and_sort_topk", "moe_sort", "MoE Sort"},
		{profile.DSV4, "fused_store_flashmla_cache", "mla_cache_store", "MLA Cache Store"},
		{profile.Generic, "fused_moe_kernel", "other", "Other"},
		{profile.Generic, "ncclAllReduceRMSNorm", "allreduce", "● NCCL AllReduce"},
		{profile.Generic, "allreduce", "other", "Other"}, // case-sensitive
		{profile.Generic, "rms_normalize_quant", "rmsnorm", "RMSNorm"},
		{profile.Generic, "DeQUANTize", "quant", "FP8 Quant"},
		{profile.Generic, "gatherTopK", "topk", "TopK"},
		{profile.Generic, "deep_gemm::x", "gemm_fp8", "GEMM FP8"},
		{profile.Generic, "nvjet_tst", "gemm_bf16", "GEMM BF16"},
		{profile.Generic, "sm80_xmma_gemm", "gemm_f32", "GEMM F32"},
		{profile.Generic, "silu_mul_clamp", "activation", "Activation"},
		{profile.Generic, "cub::RADIX_SORT_x", "radixsort", "RadixSort"},
		{profile.Generic, "DeviceRadixSortKernel", "radixsort", "RadixSort"},
		{profile.Generic, "deviceradixsort", "other", "Other"},
	} {
		p, _ := profile.Builtin(tt.profile)
		want := profile.Class{Key: tt.key, Label: tt.label}
		if got := p.Classify(tt.name); got != want {
			t.Errorf("%s.Classify(%q) = %v, want %v", tt.profile, tt.name, got, want)
		}
		if got := published(p).Facts(tt.name); string(got.Category) != tt.key || got.Label != tt.label {
			t.Errorf("%s.Ruleset of universal rules.Facts(%q) = %v, want %v", tt.profile, tt.name, got, want)
		}
	}
}

// TestRichRulesLeaveLessAtOther: the reason generic does not use the universal
// rules by default.
func TestRichRulesLeaveLessAtOther(t *testing.T) {
	p, _ := profile.Builtin(profile.Generic)
	rich := p.Ruleset()
	var total, other, richOther int
	for file, kernels := range goldenKernels(t) {
		if strings.HasPrefix(file, "dsv4-") {
			continue
		}
		for _, k := range kernels {
			total++
			if p.Classify(k.Name) == profile.Other {
				other++
			}
			if rich.Facts(k.Name).Category == classify.CategoryOther {
				richOther++
			}
		}
	}
	if other*2 < total {
		t.Errorf("universal rules leave %d of %d kernels at other, expected more than half", other, total)
	}
	if richOther*10 > total {
		t.Errorf("rich rules leave %d of %d kernels at other, want at most a tenth", richOther, total)
	}
}
