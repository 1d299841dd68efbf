package classify_test

import (
	"fmt"
	"strings"

	"github.com/llmstrata/strata/classify"
)

func Example() {
	for _, name := range []string{
		"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, cutlass::bfloat16_t> >(Flash_fwd_params)",
		"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
		"_combined_routing_compute",
		"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0",
	} {
		r := classify.Default().Classify(name)
		fmt.Printf("%s/%s by %s\n", r.Category, r.Subcategory, r.Rule)
	}
	// Output:
	// attention/prefill by attention.flash_scope
	// gemm/grouped by gemm.grouped_triton
	// moe/routing by moe.routing
	// norm/ by inductor.norm
}

func ExampleLoadRules() {
	rules, err := classify.LoadRules(strings.NewReader(`{"version": 1, "rules": [
		{"id": "acme.router", "category": "moe", "when": {"function": ["*acme_router*"]}}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	set := classify.Default().With(rules...)
	fmt.Println(set.Classify("fused_acme_router_v2").Rule)
	// Output: acme.router
}

func ExampleParse() {
	n := classify.Parse("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)")
	fmt.Println(n.Function, n.Namespaces, n.Operation, n.Family)
	// Output: vectorized_elementwise_kernel [at native] CUDAFunctor_add pytorch
}

func ExampleCanonical() {
	fmt.Println(classify.Canonical("void ns::f<int>(int, long)"))
	// Output: void ns::f<int>
}

func ExampleName_HasIdentifier() {
	n := classify.Parse("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1")
	fmt.Println(n.HasIdentifier("matmul"), n.HasIdentifier("fp4"))
	// Output: true false
}
