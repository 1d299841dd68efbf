package classify_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/classify"
)

func TestFirstMatchWins(t *testing.T) {
	set := classify.New(
		classify.Substring("mla", "MLA Attention", false, "flash_fwd_splitkv_mla"),
		classify.Substring("quant", "FP8 Quant", true, "quant"),
		classify.Rule{ID: "other", Category: "other", Label: "Other", Func: anything},
	)
	for name, want := range map[string]string{
		"flash_fwd_splitkv_mla_quant": "mla",
		"PerTokenQUANT":               "quant",
		"Flash_fwd_splitkv_mla":       "other",
	} {
		if got := set.Facts(name); got.Rule != want || string(got.Category) != want {
			t.Errorf("Classify(%q) = %+v, want rule %q", name, got, want)
		}
	}
	if got := classify.New().Facts("x"); got.Rule != "" || got.Category != classify.CategoryOther {
		t.Errorf("empty set: %+v, want other without a rule", got)
	}
	if got := classify.New(classify.Rule{ID: "empty"}).Facts("x"); got.Rule != "" {
		t.Errorf("a rule without a condition matched: %+v", got)
	}
}

func TestWithPrepends(t *testing.T) {
	set := classify.Default().With(classify.Rule{
		ID: "acme.router", Category: "router", Subcategory: "acme",
		When: classify.Pattern{Function: []string{"*moe_gate*"}},
	})
	want := classify.Facts{Category: "router", Label: "router", Subcategory: "acme", Rule: "acme.router"}
	f := set.Facts("fused_moe_gate_kernel")
	got := classify.Facts{Category: f.Category, Label: f.Label, Subcategory: f.Subcategory, Rule: f.Rule}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := set.Facts("nvjet_tst_1").Rule, classify.Default().Facts("nvjet_tst_1").Rule; got != want ||
		got == "" {
		t.Errorf("rule %q, want the default's %q", got, want)
	}
}

// TestDefaultRules holds the default rules to what their IDs promise: unique,
// and complete. strata explain lists each, as its tests check.
func TestDefaultRules(t *testing.T) {
	known := map[classify.Category]bool{}
	for _, c := range classify.Categories() {
		known[c] = true
	}
	seen := map[string]bool{}
	for _, r := range classify.Default().Rules() {
		if r.ID == "" || r.Title == "" || r.Since == "" {
			t.Errorf("rule %q lacks an ID, a title or a release", r.ID)
		}
		if seen[r.ID] {
			t.Errorf("rule ID %q is used twice", r.ID)
		}
		seen[r.ID] = true
		if !known[r.Category] {
			t.Errorf("rule %q: unknown category %q", r.ID, r.Category)
		}
		// A '*' inside a pattern would silently be dropped.
		w := r.When
		for _, list := range [][]string{w.Function, w.All, w.Wrapper, w.Scope, w.Name, w.Args, w.None} {
			for _, p := range list {
				if strings.Contains(strings.Trim(p, "*"), "*") || strings.Trim(p, "*_") == "" {
					t.Errorf("rule %q: pattern %q", r.ID, p)
				}
			}
		}
	}
}

// TestRulesFileErrors changes one good file per case; the case's name is what
// the error must say.
func TestRulesFileErrors(t *testing.T) {
	const good = `{"version":1,"rules":[{"id":"a","category":"moe","when":{"function":["x"]}},{"id":"b","category":"gemm","when":{"substring":["y"]}}]}`
	if _, err := classify.LoadRules(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string][2]string{
		`field "version" is missing`:                                  {`"version":1,`, ``},
		`version 7, this release reads 1`:                             {`"version":1`, `"version":7`},
		`rule 1: field "id" is missing`:                               {`"id":"b"`, `"id":""`},
		`rule 1 ("b"): field "category" is missing`:                   {`"category":"gemm"`, `"category":" "`},
		`rule 1 ("a"): field "id" repeats rule 0`:                     {`"id":"b"`, `"id":"a"`},
		`rule 0 ("a"): field "when" has no condition`:                 {`{"function":["x"]}`, `{"none":["x"]}`},
		`rule 0 ("a"): field "when.function[0]" ("**") has no letter`: {`["x"]`, `["**"]`},
		`rule 0 ("a"): field "when.function[0]" ("a*b") has a '*'`:    {`["x"]`, `["a*b"]`},
		`rule 1 ("b"): field "when.substring[0]" is empty`:            {`["y"]`, `[""]`},
		`rule 0: json: unknown field "func"`:                          {`"function"`, `"func"`},
		`cannot unmarshal`:                                            {`["x"]`, `"x"`},
		`data after the end`:                                          {`]}`, `]} {}`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if want == `data after the end` {
			text = good + "{}"
		}
		_, err := classify.LoadRules(strings.NewReader(text))
		if !errors.Is(err, classify.ErrRules) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about the rules file with %q", err, want)
		}
	}
}

func TestClassifyIsConcurrent(t *testing.T) {
	names := corpus(t)
	set := classify.Default()
	done := make(chan map[string]classify.Facts)
	for range 4 {
		go func() {
			got := map[string]classify.Facts{}
			for _, n := range names {
				got[n] = set.Facts(n)
			}
			done <- got
		}()
	}
	first := <-done
	for range 3 {
		if !reflect.DeepEqual(first, <-done) {
			t.Error("two goroutines differ")
		}
	}
}

func Example() {
	for _, name := range []string{
		"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, cutlass::bfloat16_t> >(Flash_fwd_params)",
		"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
		"_combined_routing_compute",
		"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0",
	} {
		r := classify.Default().Facts(name)
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
	fmt.Println(set.Facts("fused_acme_router_v2").Rule)
	// Output: acme.router
}

func ExampleRuleset_Facts() {
	f := classify.Default().Facts("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, int)")
	fmt.Println(f.Category, f.Collective == classify.AllReduce, f.Short, f.Rule)
	// Output: communication true cross_device_reduce_1stage comm.allreduce
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

func ExampleName_Words() {
	n := classify.Parse("void vllm::moe::topkGatingSoftmax<float, 8>(float*)")
	fmt.Println(n.Words())
	// Output: .topk_gating_softmax.vllm.moe
}

// anything is a condition that every name meets.
func anything(*classify.Name) bool { return true }
