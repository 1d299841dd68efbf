package profile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// Operator names a part of the model that kernels compute: "qkv_proj",
// "experts_down". [Operators] lists the names. Kernels that fuse neighbours carry
// several, joined by "+"; operators that cannot be separated are joined by "|".
type Operator string

// OperatorInfo is what tables and pages show of an operator.
type OperatorInfo struct {
	Name Operator `json:"name"`
	// Part is the part of a model that it belongs to: "attention side".
	Part string `json:"part"`
	// Category is that of its main kernels.
	Category classify.Category `json:"category"`
	// Help says in a few words what it computes.
	Help string `json:"help"`
}

// The parts of a model.
const (
	partBefore    = "before the layers"
	partAttention = "attention side"
	partLatent    = "latent attention (MLA)"
	partSparse    = "sparse attention"
	partScan      = "linear attention, state space"
	partFeed      = "feed forward"
	partExperts   = "mixture of experts"
	partHyper     = "hyper-connections"
	partDenoiser  = "diffusion transformer"
	partBetween   = "between"
	partAfter     = "after the layers"
	partNone      = "none of the model's"
)

// operatorRows has one row an operator, in the order in which a model runs them: the order of tables.
var operatorRows = []OperatorInfo{
	{opname.Prepare, partBefore, classify.CategorySamplingIO, "batch preparation, copies of inputs"},
	{opname.Embed, partBefore, classify.CategoryMemory, "token embedding, with the sum over a divided vocabulary"},
	{opname.Modulation, partDenoiser, classify.CategoryGEMM,
		"scales, shifts and gates made from time and text, and their use"},
	{opname.HCPre, partHyper, classify.CategoryElementwise, "residual streams into a part of a layer"},
	{opname.ResidualAdd, partBetween, classify.CategoryElementwise, "addition to the residual stream"},
	{opname.InputNorm, partAttention, classify.CategoryNorm, "norm before attention"},
	{opname.QKVProj, partAttention, classify.CategoryGEMM, "queries, keys and values in one product"},
	{opname.QProj, partAttention, classify.CategoryGEMM, "queries"},
	{opname.KProj, partAttention, classify.CategoryGEMM, "keys"},
	{opname.VProj, partAttention, classify.CategoryGEMM, "values"},
	{opname.QKVAProj, partLatent, classify.CategoryGEMM, "queries, keys and values of low rank in one product"},
	{opname.QAProj, partLatent, classify.CategoryGEMM, "queries of low rank"},
	{opname.KVAProj, partLatent, classify.CategoryGEMM, "keys and values of low rank"},
	{opname.QANorm, partLatent, classify.CategoryNorm, "norm of the queries of low rank"},
	{opname.KVANorm, partLatent, classify.CategoryNorm, "norm of the keys and values of low rank"},
	{opname.QBProj, partLatent, classify.CategoryGEMM, "queries from those of low rank"},
	{opname.KVBProj, partLatent, classify.CategoryGEMM, "keys and values from those of low rank"},
	{opname.QKNorm, partAttention, classify.CategoryNorm, "norm of queries and keys"},
	{opname.Rope, partAttention, classify.CategoryRope, "rotary position embedding"},
	{opname.KVWrite, partAttention, classify.CategoryKVCache, "write to the key/value cache"},
	{opname.Indexer, partSparse, classify.CategoryAttention, "its projections, transforms and scores of cached keys"},
	{opname.IndexerTopK, partSparse, classify.CategoryAttention, "choice of the keys to attend to"},
	{opname.KAbsorb, partLatent, classify.CategoryGEMM, "queries into the compressed space, per head"},
	{opname.Attention, partAttention, classify.CategoryAttention, "attention core"},
	{opname.VAbsorb, partLatent, classify.CategoryGEMM, "outputs out of the compressed space, per head"},
	{opname.InProj, partScan, classify.CategoryGEMM, "input projections"},
	{opname.Conv1D, partScan, classify.CategoryHybridLinear, "short causal convolution"},
	{opname.LinearAttention, partScan, classify.CategoryHybridLinear, "scan, delta rule, linear attention"},
	{opname.GateNorm, partScan, classify.CategoryNorm, "gated norm of the scan's output"},
	{opname.OutProj, partScan, classify.CategoryGEMM, "output projection"},
	{opname.OProj, partAttention, classify.CategoryGEMM, "output projection"},
	{opname.AttnAllReduce, partAttention, classify.CategoryCommunication, "all-reduce after the output projection"},
	{opname.HCPost, partHyper, classify.CategoryElementwise, "a part's output into the residual streams"},
	{opname.PostNorm, partFeed, classify.CategoryNorm, "norm before the feed-forward part"},
	{opname.GateUpProj, partFeed, classify.CategoryGEMM, "gate and up projection in one product"},
	{opname.GateProj, partFeed, classify.CategoryGEMM, "gate projection"},
	{opname.UpProj, partFeed, classify.CategoryGEMM, "up projection"},
	{opname.Activation, partFeed, classify.CategoryActivation, "activation, gated or plain"},
	{opname.DownProj, partFeed, classify.CategoryGEMM, "down projection"},
	{opname.Router, partExperts, classify.CategoryGEMM, "scores of the experts"},
	{opname.Routing, partExperts, classify.CategoryMoE, "top-k, sort, offsets"},
	{opname.Dispatch, partExperts, classify.CategoryCommunication, "tokens to the GPUs of their experts"},
	{opname.ExpertsGateUp, partExperts, classify.CategoryMoE, "first product of the experts"},
	{opname.ExpertsActivation, partExperts, classify.CategoryActivation, "activation of the experts"},
	{opname.ExpertsDown, partExperts, classify.CategoryMoE, "second product of the experts"},
	{opname.ExpertsCombine, partExperts, classify.CategoryMoE, "sum of the experts' outputs"},
	{opname.SharedGateUp, partExperts, classify.CategoryGEMM, "first product of shared experts"},
	{opname.SharedActivation, partExperts, classify.CategoryActivation, "activation of shared experts"},
	{opname.SharedDown, partExperts, classify.CategoryGEMM, "second product of shared experts"},
	{opname.MLPAllReduce, partFeed, classify.CategoryCommunication, "all-reduce after the feed-forward part"},
	{opname.FinalNorm, partAfter, classify.CategoryNorm, "norm after the last layer"},
	{opname.LMHead, partAfter, classify.CategoryGEMM, "product with the vocabulary"},
	{opname.LogitsGather, partAfter, classify.CategoryCommunication, "gather of a divided vocabulary's logits"},
	{opname.Sampling, partAfter, classify.CategorySamplingIO, "choice of the next token"},
	{opname.Other, partNone, classify.CategoryOther, "unknown; confidence 0"},
}

// Operators lists all operators in the order in which a model runs them.
func Operators() []OperatorInfo { return append([]OperatorInfo(nil), operatorRows...) }

// operatorRow is the row of each operator.
var operatorRow = func() map[Operator]*OperatorInfo {
	m := make(map[Operator]*OperatorInfo, len(operatorRows))
	for i := range operatorRows {
		m[operatorRows[i].Name] = &operatorRows[i]
	}
	return m
}()

// errOperator is wrapped by the error about a name that no operator has.
var errOperator = errors.New("profile: unknown operator")

// Each returns the operators that are joined in o, and whether a kernel computes
// all of them ("+") or an unknown one of them ("|"). Of one operator it is that.
func (o Operator) Each() (list []Operator, all bool) {
	sep := "+"
	if strings.Contains(string(o), "|") {
		sep = "|"
	}
	for part := range strings.SplitSeq(string(o), sep) {
		list = append(list, Operator(part))
	}
	return list, sep == "+"
}

// String returns o as it is.
func (o Operator) String() string { return string(o) }

// Info returns the row of o, of the first of those that are joined; false for a
// name that is none.
func (o Operator) Info() (OperatorInfo, bool) {
	list, _ := o.Each()
	if r := operatorRow[list[0]]; r != nil {
		return *r, true
	}
	return OperatorInfo{}, false
}

// UnmarshalText reads operators that are joined or alone, and "" for none; a name
// that no operator has is an error.
func (o *Operator) UnmarshalText(text []byte) error {
	read := Operator(text)
	for _, alternatives := range strings.FieldsFunc(string(read), func(r rune) bool { return r == '+' || r == '|' }) {
		if operatorRow[Operator(alternatives)] == nil {
			return fmt.Errorf("%w: %q", errOperator, text)
		}
	}
	*o = read
	return nil
}
