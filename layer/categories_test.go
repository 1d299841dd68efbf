package layer_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
)

// TestProductsOfExperts: matrix products whose names say nothing of experts are theirs between the choice of the
// experts and the sum of their outputs, or inside an op of a mixture of experts. All other products stay what they
// are, and so does what a user's rule says.
func TestProductsOfExperts(t *testing.T) {
	const product = "bmm_Bfloat16_Bfloat16Bfloat16_Fp32_t128x8x128u2_s6_et128x8_m128x8x16_c1x1x1_16dp256b_rM_BN_transOut_schedS_biasM_sm100f"
	own := classify.Rule{ID: "mine", Category: "mine", When: classify.Pattern{Substring: []string{"bmm_"}}}
	for _, c := range []struct {
		name   string
		edit   func(name string) string
		op     string
		rules  []classify.Rule
		expert classify.Category // of the products
	}{
		{"choice and sum", itself, "aten::op", nil, classify.CategoryMoE},
		{"no sum", without("moe_sum"), "aten::op", nil, classify.CategoryGEMM},
		{"no choice", without("topk", "align"), "aten::op", nil, classify.CategoryGEMM},
		{"no sum, an op", without("moe_sum"), "vllm::moe_forward", nil, classify.CategoryMoE},
		{"no sum, an op of shared experts, too", without("moe_sum"), "vllm::moe_forward_shared", nil,
			classify.CategoryGEMM},
		{"a user's rule", itself, "aten::op", []classify.Rule{own}, "mine"},
	} {
		tr, _ := generate(t, gen.Config{Seed: 3, Dialect: gen.SGLang,
			Arch:   gen.Arch{Layers: gen.LeadingDense(12, 1), Hidden: 2048, Experts: 64},
			Passes: []gen.Pass{{Decodes: 8, Context: 500}, {Decodes: 8, Context: 501, Mode: gen.FullGraph}}},
			func(e map[string]any) map[string]any {
				name, _ := e["name"].(string)
				switch {
				case onGPU(e) && strings.Contains(name, "fused_moe_kernel"):
					e["name"] = product
				case onGPU(e):
					e["name"] = c.edit(name)
				case strings.Contains(name, "fused_experts"):
					e["name"] = c.op
				}
				return e
			})
		d := analyze(t, tr, layer.Options{Rules: c.rules})
		experts, others := 0, 0
		for k := range d.Kernels() {
			switch is := k.Event().Name() == product; {
			case is && (!k.Event().IsReplay() || c.op == "aten::op"):
				experts++
				if k.Category() != c.expert {
					t.Fatalf("%s: kernel %d of pass %d, layer %d is %s, want %s", c.name, k.Index(), k.Place().Pass,
						k.Place().Layer, k.Category(), c.expert)
				}
			case !is && k.Facts().Role == classify.RoleProduct:
				others++
				if k.Category() != classify.CategoryGEMM {
					t.Fatalf("%s: kernel %d, %s, of layer %d is %s", c.name, k.Index(), k.Event().Name(),
						k.Place().Layer, k.Category())
				}
			}
		}
		if experts == 0 || others == 0 {
			t.Errorf("%s: %d products of experts, %d others", c.name, experts, others)
		}
	}
}

// without hides what kernels are whose names contain one of the parts.
func without(parts ...string) func(string) string {
	return func(name string) string {
		for _, part := range parts {
			if strings.Contains(name, part) {
				return "k_" + hashed(name)
			}
		}
		return name
	}
}
