package strata_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/triage"
)

// TestUsersRulesWinEverywhere: the category that a user's rule gives a kernel, in code or in a file, is in every table
// that shows the kernel with a category.
func TestUsersRulesWinEverywhere(t *testing.T) {
	const word = "BatchPrefill"
	fromFile, err := classify.LoadRules(strings.NewReader(`{"version": 1, "rules": [{"id": "acme.attention", "category": "acme", "when": {"substring": ["` + word + `"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	path := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz")
	for name, rules := range map[string][]classify.Rule{
		"in code":   {{ID: "acme.attention", Category: "acme", When: classify.Pattern{Substring: []string{word}}}},
		"in a file": fromFile,
	} {
		rec, err := strata.Open(t.Context(), path, strata.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := layer.Analyze(t.Context(), rec.Parts[0].Trace, layer.Options{Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]any{}
		for k := range a.Devices[0].Kernels() {
			if strings.Contains(k.Event().Name(), word) && k.Category() != classify.Category("acme") {
				t.Fatalf("rules %s: %s is %s", name, k.Event().Name(), k.Category())
			}
		}
		if of["triage"], err = triage.Analyze(t.Context(), triage.Input{Formal: []*layer.Analysis{a}},
			triage.Options{KernelLimit: -1}); err != nil {
			t.Fatal(err)
		}
		if of["host"], err = hostoverhead.Analyze(t.Context(), []*layer.Analysis{a},
			hostoverhead.Options{}); err != nil {
			t.Fatal(err)
		}
		if of["report"], err = strata.Analyze(t.Context(), rec,
			strata.ReportOptions{Layers: layer.Options{Rules: rules}}); err != nil {
			t.Fatal(err)
		}
		for what, result := range of {
			data, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			var doc any
			if err := json.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil {
				t.Fatal(err)
			}
			shown := 0
			categoriesOf(doc, word, func(category string) {
				shown++
				if category != "acme" {
					t.Errorf("rules %s: %s shows a kernel of the rule as %q", name, what, category)
				}
			})
			if what == "triage" && shown == 0 {
				t.Errorf("rules %s: %s shows no kernel of the rule", name, what)
			}
		}
	}
}

// categoriesOf calls f with the category of every object of a document that names a kernel with the word.
func categoriesOf(doc any, word string, f func(string)) {
	switch v := doc.(type) {
	case []any:
		for _, x := range v {
			categoriesOf(x, word, f)
		}
	case map[string]any:
		names := false
		for key, x := range v {
			if s, ok := x.(string); ok && key != "category" {
				names = names || strings.Contains(s, word)
			}
			categoriesOf(x, word, f)
		}
		if c, ok := v["category"].(string); ok && names {
			f(c)
		}
	}
}
