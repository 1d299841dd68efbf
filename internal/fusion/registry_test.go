package fusion_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/testdata"
)

func TestDefaultRegistryIsValid(t *testing.T) {
	r := fusion.Default()
	if len(r.Patterns) < 47 || len(r.Families) < 169 {
		t.Fatalf("%d patterns and %d families, want at least 47 and 169", len(r.Patterns), len(r.Families))
	}
	for _, p := range r.Patterns {
		if len(p.Chain) == 0 && len(p.Active)+len(p.ActiveSteps) == 0 {
			t.Errorf("%s can never be found", p.Pattern)
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

// TestRegistryKeepsTheStartingPatterns compares bars with the registry that the
// reference started from; paths and platforms are those of the sources.
func TestRegistryKeepsTheStartingPatterns(t *testing.T) {
	data, err := os.ReadFile(testdata.Shared(t, "catalog/fusion-patterns.json"))
	if err != nil {
		t.Fatal(err)
	}
	var start struct {
		Patterns []struct {
			Pattern        string
			Priority       int
			MinSharePct    float64 `json:"min_share_pct"`
			LikelySharePct float64 `json:"likely_share_pct"`
		}
	}
	if err := json.Unmarshal(data, &start); err != nil {
		t.Fatal(err)
	}
	r := fusion.Default()
	for _, want := range start.Patterns {
		i := slices.IndexFunc(r.Patterns, func(p fusion.Pattern) bool { return p.Pattern == want.Pattern })
		if i < 0 != (removed[want.Pattern] != "") {
			t.Errorf("pattern %q: in the registry: %v; removed: %q", want.Pattern, i >= 0, removed[want.Pattern])
		}
		if i < 0 {
			continue
		}
		got := r.Patterns[i]
		if got.Priority != want.Priority || got.MinSharePct != want.MinSharePct || got.LikelySharePct != want.LikelySharePct || got.Checked == "" {
			t.Errorf("pattern %q differs from the starting registry", want.Pattern)
		}
	}
}

// goodRegistry is the smallest useful fusion file.
const goodRegistry = `{"schema": 3, "as_of": "2026-07",
 "steps": [{"step": "norm", "note": "", "names": ["rmsnorm"]}, {"step": "quant", "note": "", "names": ["quant"], "requires": []}],
 "patterns": [{"pattern": "P", "origin": "mainline", "frameworks": ["vllm"], "candidate_paths": ["a.py"], "rationale": "why",
  "active": ["p"], "active_steps": [], "chain": [{"any": ["norm"]}, {"any": ["quant"]}], "fillers": 0, "repeat": "layer",
  "platforms": [], "gain": [], "model_include": [], "model_exclude": [], "require_tp": false, "min_tp_size": 1,
  "min_share_pct": 0.1, "likely_share_pct": 1.0, "priority": 0, "subsumes": []}]}`

func TestLoadRegistryErrors(t *testing.T) {
	if _, err := fusion.Load(strings.NewReader(goodRegistry)); err != nil {
		t.Fatalf("the good file: %v", err)
	}
	tests := []struct{ name, old, new, want string }{
		{"schema", `"schema": 3`, `"schema": 1`, "schema 1"},
		{"unknown field", `"as_of"`, `"asof"`, "asof"},
		{"step twice", `"step": "quant"`, `"step": "norm"`, `"norm" is defined twice`},
		{"step that recognises nothing", `"names": ["rmsnorm"]`, `"names": []`, "recognises nothing"},
		{"requires a later step", `"requires": []`, `"requires": ["later"]`, `requires "later"`},
		{"unknown step in a chain", `{"any": ["quant"]}`, `{"any": ["qunt"]}`, `unknown step "qunt"`},
		{"unknown active step", `"active_steps": []`, `"active_steps": ["x"]`, `unknown step "x"`},
		{"chain of one kernel", `{"any": ["norm"]}, {"any": ["quant"]}`, `{"any": ["norm"]}`, "two kernels"},
		{"max below min", `{"any": ["norm"]}`, `{"any": ["norm"], "min": 2, "max": 1}`, "2 to 1"},
		{"origin", `"mainline"`, `"main"`, `origin "main"`},
		{"framework", `["vllm"]`, `["vlm"]`, `framework "vlm"`},
		{"repeat", `"repeat": "layer"`, `"repeat": "often"`, `repeat "often"`},
		{"shares", `"likely_share_pct": 1.0`, `"likely_share_pct": 0.01`, "shares"},
		{"subsumes", `"subsumes": []`, `"subsumes": ["Q"]`, `subsumes "Q"`},
		{"no rationale", `"rationale": "why"`, `"rationale": ""`, "rationale"},
		{"cut", `"subsumes": []}]}`, `"subsumes": [`, "invalid registry"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(goodRegistry, tt.old) {
				t.Fatalf("the good file does not hold %q", tt.old)
			}
			_, err := fusion.Load(strings.NewReader(strings.Replace(goodRegistry, tt.old, tt.new, 1)))
			if !errors.Is(err, fusion.ErrRegistry) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("LoadRegistry = %v, want ErrRegistry with %q", err, tt.want)
			}
		})
	}
}

func TestLoadFamiliesErrors(t *testing.T) {
	const good = `{"schema": 1, "as_of": "", "families": [{"id": "a", "pattern": "A", "kind": "fused", "scope": "llm", "status": "mainline",
 "framework": "vllm", "identifiers": [], "cues": [], "paths": [], "description": "d"}]}`
	if _, err := fusion.LoadFamilies(strings.NewReader(good)); err != nil {
		t.Fatalf("the good file: %v", err)
	}
	for _, tt := range []struct{ old, new string }{{`"id": "a"`, `"id": ""`}, {`"kind": "fused"`, `"kind": "x"`}, {`"schema": 1`, `"schema": 9`}, {`"description": "d"`, `"description": ""`}} {
		if _, err := fusion.LoadFamilies(strings.NewReader(strings.Replace(good, tt.old, tt.new, 1))); !errors.Is(err, fusion.ErrRegistry) {
			t.Errorf("with %s: %v, want ErrRegistry", tt.new, err)
		}
	}
}
