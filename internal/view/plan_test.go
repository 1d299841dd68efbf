package view_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/profile"
)

// TestWritePlan: a table for each kind of layer, headed by which layers it is; a heading lists at most four ranges.
func TestWritePlan(t *testing.T) {
	op := func(name string) []profile.PlanOp {
		return []profile.PlanOp{{Operator: profile.Operator(name), K: 64, N: 32, Heads: 4}}
	}
	p := &profile.Plan{Model: "m", DType: "bf16", Before: op("embed"), After: op("lm_head"), Notes: []string{"a note"},
		Kinds: []profile.PlanKind{{Name: "odd", Layers: 6, Operators: op("o_proj")},
			{Name: "even", Layers: 5, Operators: op("qkv_proj")}},
		LayerKinds: []int{0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}}
	var out bytes.Buffer
	if err := view.WritePlan(&out, p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Plan of m: 11 layers of 2 kinds, bf16", "Before the layers", "embed",
		"odd: 6 layers (0-1, 3, 5, 7, …)",
		"even: 5 layers (2, 4, 6, 8, …)", "4 heads", "lm_head", "Note: a note"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
