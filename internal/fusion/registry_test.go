package fusion_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestRegistryHoldsTogether: what the data names exists, and each entry can be found and says where it comes from.
func TestRegistryHoldsTogether(t *testing.T) {
	r := fusion.Load()
	if len(r.Patterns) < 47 || len(r.Families) < 169 || len(r.Steps) > 64 {
		t.Fatalf("%d patterns, %d families, %d steps; want at least 47 and 169, at most 64", len(r.Patterns),
			len(r.Families), len(r.Steps))
	}
	steps, chains, patterns, families := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	once := func(seen map[string]bool, name string) {
		if name == "" || seen[name] {
			t.Errorf("%q is empty or used twice", name)
		}
		seen[name] = true
	}
	known := func(of string, names ...string) {
		for _, n := range names {
			if !steps[n] {
				t.Errorf("%s: unknown step %q", of, n)
			}
		}
	}
	for _, s := range r.Steps {
		once(steps, s.Name)
	}
	for _, c := range r.Chains {
		once(chains, c.Name)
		if len(c.Steps) < 2 || c.Steps[0].Optional {
			t.Errorf("chain %s: two steps must be given, the first not optional", c.Name)
		}
		for _, st := range c.Steps {
			known(c.Name, append(st.Any, st.Without...)...)
		}
	}
	used := map[string]bool{}
	for _, p := range r.Patterns {
		once(patterns, p.Pattern)
		known(p.Pattern, p.ActiveSteps...)
		used[p.Chain] = true
		if p.Chain != "" && !chains[p.Chain] || p.Chain == "" && len(p.Active)+len(p.ActiveSteps) == 0 {
			t.Errorf("%s can never be found: chain %q", p.Pattern, p.Chain)
		}
		if !slices.Contains(fusion.Origins(), p.Origin) ||
			!slices.Contains([]fusion.Default{fusion.DefaultUnknown, fusion.On, fusion.Off}, p.Default) {
			t.Errorf("%s: origin %q, default %q", p.Pattern, p.Origin, p.Default)
		}
		if len(p.Frameworks) == 0 || len(p.CandidatePaths) == 0 || p.Rationale == "" || p.Checked == "" {
			t.Errorf("%s: no server, source, reason or date", p.Pattern)
		}
		for _, f := range p.Frameworks {
			if server, ok := framework.ByName(framework.All(), f); !ok || !server.Server() {
				t.Errorf("%s: framework %q", p.Pattern, f)
			}
		}
	}
	for _, c := range r.Chains {
		if c.Do == "" && !used[c.Name] {
			t.Errorf("nobody has chain %s", c.Name)
		}
	}
	for _, f := range r.Families {
		once(families, f.ID)
		if f.Pattern == "" || f.Description == "" || f.Kind != fusion.Fused && f.Kind != fusion.Overlap ||
			!slices.Contains(fusion.Origins(), f.Status) || len(f.Exchanges) > 0 && f.Kind != fusion.Overlap {
			t.Errorf("family %s: %+v", f.ID, f)
		}
	}
}

// removed are patterns of the starting registry that do not exist, and why.
var removed = map[string]string{
	"Fused sampling temperature + softmax":                    "taken back a day after it was merged",
	"vLLM-origin GPT-OSS router GEMM":                         "taken back",
	"PR #20667 Qwen3.5 fused QK norm + RoPE + KV cache write": "closed unmerged",
	"PR #22392 CUTLASS FP8 scaled MM replacing nvjet":         "closed unmerged",
	"PR #41441 DSV4 all-reduce plus mhc_post fusion":          "closed unmerged",
	"TensorRT-LLM FlashInfer RMSNorm family":                  "a choice of library, no fusion",
	"PR #22005 fused add + RMSNorm + per-token FP8 quant":     "goes on as PR #28101",
	"FlashInfer allreduce + post-op fusion family":            "TensorRT-LLM has kernels of its own",
}

// TestRegistryKeepsTheStartingPatterns: each pattern of the registry that the reference started from is there, or
// removed for a reason.
func TestRegistryKeepsTheStartingPatterns(t *testing.T) {
	data, err := os.ReadFile(testdata.Shared(t, "catalog/fusion-patterns.json"))
	if err != nil {
		t.Fatal(err)
	}
	var start struct{ Patterns []struct{ Pattern string } }
	if err := json.Unmarshal(data, &start); err != nil {
		t.Fatal(err)
	}
	r := fusion.Load()
	for _, want := range start.Patterns {
		i := slices.IndexFunc(r.Patterns, func(p fusion.Pattern) bool { return p.Pattern == want.Pattern })
		if i < 0 != (removed[want.Pattern] != "") {
			t.Errorf("pattern %q: in the registry: %v; removed: %q", want.Pattern, i >= 0, removed[want.Pattern])
		}
	}
}

// TestBrokenFilesAreRefused: what is cut, and fields that nobody reads.
func TestBrokenFilesAreRefused(t *testing.T) {
	for _, text := range []string{`{"as_of": "2026"`, `{"asof": "2026"}`, `{"patterns": [{"priority": 3}]}`} {
		if _, err := fusion.Read([]byte(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}
