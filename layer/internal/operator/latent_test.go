package operator_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/internal/operator"
)

// TestProductsAroundExperts: without a config, more products than a router, a shared expert and its gate explain are
// with low confidence.
func TestProductsAroundExperts(t *testing.T) {
	const latent = "router, dispatch, routing, experts_gate_up, experts_activation, experts_down, experts_combine, experts_combine"
	// unclear: 1 for products that have low confidence, - for others
	for _, tt := range []struct{ name, half, want, unclear string }{
		{"a router", "gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum", "", "-"},
		{"a shared expert behind", "gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum gemm silu gemm",
			"", "---"},
		{"and its gate", "gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum gemm silu gemm gemm", "",
			"----"},
		{"a shared expert and its gate before", "gemm silu gemm gemm gemm topk_softmax fused_moe_kernel silu " +
			"fused_moe_kernel moe_sum", "", "----"},
		{"into a space of the experts and out of it",
			"gemm gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum gemm", latent, "111"},
		{"and a shared expert", "gemm gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum gemm gemm silu gemm",
			latent + ", shared_gate_up, shared_activation, shared_down", "11111"},
		{"the shared expert first", "gemm silu gemm gemm gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum " +
			"gemm", "shared_gate_up, shared_activation, shared_down, " + latent, "11111"},
		{"the shared expert beside them", "gemm gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum gemm gemm@1 silu@1 gemm@1", latent + ", shared_gate_up, shared_activation, shared_down", "111--"},
		{"one more in front", "gemm gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum", "", "11"},
		{"one behind that is no gate", "gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum gemm", "",
			"11"},
		{"a shared expert whose activation has no name",
			"gemm topk_softmax fused_moe_kernel silu fused_moe_kernel moe_sum gemm mystery gemm", "", "111"},
	} {
		var ks []operator.Kernel
		var from, to int // of the second layer's half
		for l := range int32(4) {
			ks = append(ks, kernels(l, "rmsnorm gemm flash_fwd gemm rmsnorm")...)
			if l == 1 {
				from, to = len(ks), len(ks)+len(strings.Fields(tt.half))
			}
			ks = append(ks, set(kernels(l, tt.half), func(_ int, k *operator.Kernel) {
				if name, beside := strings.CutSuffix(k.Name, "@1"); beside {
					k.Name, k.Stream = name, 1
				}
			})...)
		}
		ks = append(ks, kernels(-1, "rmsnorm gemm")...)
		found := operator.NewFinder(nil, operator.Defaults()).Find(operator.Pass{Kernels: ks, Layers: 4})
		var ops []string
		unclear := ""
		for i, f := range found[from:to] {
			ops = append(ops, f.Operator)
			if ks[from+i].Name == "gemm" {
				if f.Confidence <= operator.Defaults().ByWeak {
					unclear += "1"
				} else {
					unclear += "-"
				}
			}
		}
		if got := strings.Join(ops, ", "); tt.want != "" && got != tt.want {
			t.Errorf("%s: operators\n got %s\nwant %s", tt.name, got, tt.want)
		}
		if unclear != tt.unclear {
			t.Errorf("%s: products told weakly %s, want %s", tt.name, unclear, tt.unclear)
		}
	}
}
