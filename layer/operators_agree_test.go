package layer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// writtenOut is what kernels do that are parts of an operator which no kernel computes alone.
const writtenOut = "elementwise memory reduce_topk"

// otherCategories are those that a name may have, beside the operator's own, with the reason.
var otherCategories = map[profile.Operator]string{
	// eager models and compilers write norms, rotations and activations out
	opname.InputNorm: writtenOut, opname.PostNorm: writtenOut, opname.FinalNorm: writtenOut,
	opname.Rope: writtenOut + " quantize", opname.Activation: "elementwise",
	// embeddings of tokens, places and types are added up and normalised
	opname.Embed: "elementwise norm",
	// a name says a product, the place says whose: of experts, or of what mixes residual streams
	opname.ExpertsGateUp: "gemm", opname.ExpertsDown: "gemm", opname.HCPre: "gemm",
	// a cache is written by who fills it
	opname.Indexer: "kv_cache", opname.KVWrite: "attention",
	// what prepares a pass, and what chooses the next token, are many small kernels of any sort
	opname.Prepare: writtenOut + " attention", opname.Sampling: "elementwise reduce_topk",
}

// TestOperatorsAgreeWithNames: an operator of a kernel of the shared traces is one of the category that its name shows,
// or the other category is listed with a reason.
func TestOperatorsAgreeWithNames(t *testing.T) {
	testdata.ManyInputs(t)
	categories := map[profile.Operator]classify.Category{}
	for _, o := range profile.Operators() {
		categories[o.Name] = o.Category
	}
	names, listed := map[string]bool{}, map[string]bool{}
	for _, pattern := range []string{"torch/*.json.gz", "nsys/*.sqlite", "other/*"} {
		for _, path := range testdata.Spread(t, testdata.SharedGlob(t, "traces/"+pattern)) {
			tr, err := trace.Open(t.Context(), path, trace.Options{})
			if errors.Is(err, trace.ErrNoTrace) || errors.Is(err, trace.ErrFormat) {
				continue
			}
			if err != nil {
				t.Fatal(path, err)
			}
			a, err := layer.Analyze(t.Context(), tr, layer.Options{})
			if errors.Is(err, layer.ErrNoKernels) {
				continue
			}
			if err != nil {
				t.Fatal(path, err)
			}
			for i := range a.Devices {
				for k := range a.Devices[i].Kernels() {
					operator, part, _ := k.Operator()
					name, category := k.Event().Name(), k.Facts().Category
					if part != layer.PartMain || operator == opname.Other || names[name+string(operator)] {
						continue
					}
					names[name+string(operator)] = true
					list, _ := operator.Each()
					if slices.ContainsFunc(list, func(o profile.Operator) bool { return categories[o] == category }) {
						continue
					}
					of := slices.IndexFunc(list, func(o profile.Operator) bool {
						return slices.Contains(strings.Fields(otherCategories[o]), string(category))
					})
					if of < 0 {
						t.Errorf("%s: %s is a kernel of %s by its name, and no reason is listed: %.150s", path, operator,
							category, name)
						continue
					}
					listed[string(list[of])+" "+string(category)] = true
				}
			}
		}
	}
	t.Logf("%d names with their operators, %d pairs of an operator and another category", len(names), len(listed))
	if !testdata.Long() {
		return // not all traces were read
	}
	if len(names) < 300 {
		t.Errorf("only %d names have an operator", len(names))
	}
	for operator, more := range otherCategories {
		for category := range strings.FieldsSeq(more) {
			if !listed[string(operator)+" "+category] {
				t.Errorf("no kernel of %s is %s by its name: the reason is stale", operator, category)
			}
		}
	}
}
