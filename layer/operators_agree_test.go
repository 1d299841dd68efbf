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

// operatorCategories are the categories whose kernels compute an operator, and the operators.
var operatorCategories = map[classify.Category][]profile.Operator{
	classify.CategorySamplingIO: {opname.Prepare, opname.Sampling},
	classify.CategoryMemory:     {opname.Embed},
	classify.CategoryGEMM: {opname.Modulation, opname.QKVProj, opname.QProj, opname.KProj, opname.VProj,
		opname.QKVAProj, opname.QAProj, opname.KVAProj, opname.QBProj, opname.KVBProj, opname.KAbsorb, opname.VAbsorb,
		opname.InProj, opname.OutProj, opname.OProj, opname.GateUpProj, opname.GateProj, opname.UpProj, opname.DownProj,
		opname.Router, opname.SharedGateUp, opname.SharedDown, opname.LMHead},
	classify.CategoryElementwise: {opname.HCPre, opname.ResidualAdd, opname.HCPost},
	classify.CategoryNorm: {opname.InputNorm, opname.QANorm, opname.KVANorm, opname.QKNorm, opname.GateNorm,
		opname.PostNorm, opname.FinalNorm},
	classify.CategoryRope:          {opname.Rope},
	classify.CategoryKVCache:       {opname.KVWrite},
	classify.CategoryAttention:     {opname.Indexer, opname.IndexerTopK, opname.Attention},
	classify.CategoryHybridLinear:  {opname.Conv1D, opname.LinearAttention},
	classify.CategoryCommunication: {opname.AttnAllReduce, opname.Dispatch, opname.MLPAllReduce, opname.LogitsGather},
	classify.CategoryActivation:    {opname.Activation, opname.ExpertsActivation, opname.SharedActivation},
	classify.CategoryMoE:           {opname.Routing, opname.ExpertsGateUp, opname.ExpertsDown, opname.ExpertsCombine},
	classify.CategoryOther:         {opname.Other},
}

// servants are the categories whose kernels serve an operator of another category, and have none of their own.
var servants = []classify.Category{classify.CategoryQuantize, classify.CategorySoftmax, classify.CategoryReduceTopK}

// TestCategoriesHaveAnOperator: a category is that of an operator, or its kernels serve others, and an operator is of
// one category.
func TestCategoriesHaveAnOperator(t *testing.T) {
	for _, c := range classify.Categories() {
		if has := len(operatorCategories[c]) > 0; has == slices.Contains(servants, c) {
			t.Errorf("category %s: has an operator %t, serves others %t", c, has, !has)
		}
	}
	for _, o := range profile.Operators() {
		n := 0
		for _, of := range operatorCategories {
			if slices.Contains(of, o) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is of %d categories", o, n)
		}
	}
}

// TestOperatorsAgreeWithNames: an operator of a kernel of the shared traces is one of the category that its name shows,
// or the other category is listed with a reason.
func TestOperatorsAgreeWithNames(t *testing.T) {
	testdata.ManyInputs(t)
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
					if slices.ContainsFunc(list, func(o profile.Operator) bool {
						return slices.Contains(operatorCategories[category], o)
					}) {
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
