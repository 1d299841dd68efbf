package classify

import (
	"strings"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// NOTE. torch.compile names its kernels after what it fused:
// triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0 is a reduction (red) of
// the operators _to_copy, add, mean, mul, pow and rsqrt, which together are an
// RMS norm. poi is pointwise, per a persistent reduction, tem a template
// (matmul, convolution, flex attention). The operator that needs the most
// explanation decides, so the rules go from rare operators to common ones.
// Older releases leave the operators out (triton__0d1d2d): no rule applies.

func inductorRules() []Rule {
	in := func(id, title string, c Category, sub string, p Pattern) Rule {
		p.Family = []string{familyInductor}
		return Rule{ID: id, Title: "torch.compile: " + title, Category: c, Subcategory: sub, When: p}
	}
	return []Rule{
		// A pointwise kernel that names attention only makes its mask or its views.
		in("inductor.attention", "attention template", CategoryAttention, "",
			Pattern{Prefix: words("triton_tem_", "triton_flex"),
				Function: words("*flex_attention*", "*flex_decoding*", "*scaled_dot_product*", "*attention*")}),
		in("inductor.gemm", "matrix product template", CategoryGEMM, "",
			Pattern{Prefix: words("triton_mm", "triton_bmm"), Function: words("triton*")}),
		in("inductor.template", "matrix product template", CategoryGEMM, "",
			Pattern{Prefix: words("triton_tem_"), Function: words("mm", "bmm", "addmm", "baddbmm", "*_mm",
				"*mm_plus_mm*")}),
		in("inductor.conv", "convolution template", CategoryGEMM, "conv",
			Pattern{Prefix: words("triton_tem_", "triton_convolution", "triton_conv"),
				Function: words("convolution*", "conv*")}),
		// rsqrt is the mark of a norm; a norm cut in two has its statistics in
		// a kernel of mean and pow only.
		in("inductor.norm", "normalisation", CategoryNorm, "",
			Pattern{Function: words("rsqrt", "native_layer_norm*", "native_group_norm*", "*batch_norm*", "var_mean",
				"rms_norm*", "layer_norm*", "group_norm*")}),
		in("inductor.norm_stats", "statistics of a norm", CategoryNorm, "",
			Pattern{Prefix: words("triton_red_", "triton_per_"), All: words("mean", "pow")}),
		// The op after the experts is part of the kernel's name where its inputs
		// or results are.
		in("inductor.moe", "around the experts", CategoryMoE, "", Pattern{Function: words("*moe*", "experts")}),
		in("inductor.softmax", "softmax", CategorySoftmax, "",
			Pattern{Function: words("softmax", "log_softmax", "logsumexp")}),
		in("inductor.softmax_parts", "softmax written out", CategorySoftmax, "",
			Pattern{All: words("amax", "exp", "sub")}),
		in("inductor.loss", "cross entropy", CategorySoftmax, "loss",
			Pattern{Function: words("nll_loss*", "cross_entropy*")}),
		in("inductor.quantize", "scaling to a narrow type", CategoryQuantize, "", Pattern{All: words("abs", "*max")}),
		in("inductor.quantize_cast", "clamp to a narrow type", CategoryQuantize, "",
			Pattern{All: words("clamp", "to_copy", "reciprocal")}),
		in("inductor.rope", "rotary embedding", CategoryRope, "", Pattern{All: words("cos", "sin")}),
		in("inductor.argmax", "arg-max", CategoryReduceTopK, "topk", Pattern{Function: words("argmax", "argmin")}),
		in("inductor.topk", "top-k, sort, scan", CategoryReduceTopK, "topk",
			Pattern{Function: words("topk", "sort", "cumsum")}),
		in("inductor.activation", "activation", CategoryActivation, "",
			Pattern{Function: words("silu*", "gelu*", "relu*", "tanh*", "sigmoid*", "softplus", "mish", "hardswish",
				"leaky_relu", "threshold_backward")}),
		in("inductor.embedding", "lookup", CategoryMemory, "gather",
			Pattern{Function: words("embedding*", "gather*", "index_select*")}),
		in("inductor.reduce", "reduction", CategoryReduceTopK, "reduce",
			Pattern{Prefix: words("triton_red_", "triton_per_", "triton_split_scan_", "triton_spl_")}),
		{
			ID: "inductor.copy", Title: "torch.compile: data movement only", Category: CategoryMemory,
			Subcategory: "copy",
			When: Pattern{Family: []string{familyInductor},
				Function: words("copy*", "clone", "cat", "slice*", "permute", "transpose", "index*", "view",
					"constant_pad_nd", "split*", "stack", "expand", "full*", "zeros*", "select*")},
			Func: func(n *Name) bool { return !inductorArithmetic.In(n.fn) },
		},
		in("inductor.pointwise", "pointwise", CategoryElementwise, "", Pattern{Function: words("triton*")}),
	}
}

// inductorArithmetic are operators that compute; with one of them a kernel is
// more than data movement.
var inductorArithmetic = wordmatch.CompileAll(words("add*", "mul*", "sub", "rsub", "div*", "pow", "neg", "exp*", "sqrt",
	"where", "masked_fill", "clamp*", "minimum", "maximum", "abs", "bitwise*", "logical*", "eq", "ne", "lt", "le", "gt",
	"ge",
	"floor*", "round", "remainder", "reciprocal", "log*", "arange", "cos", "sin"))

// NOTE. TensorRT's compiler (Myelin) names its kernels after what it fused, three
// letters or more an operator: __myl_Fc_myl2_3 is a product, __myl_MulMeaAddSqrDivMul
// a norm, __myl_MaxrSubExpSumDivMul a softmax.

const myelinPrefix = "__myl_"

// myelinRules ask for the operator that needs the most explanation first, as
// inductorRules do.
func myelinRules() []Rule {
	m := func(id, title string, c Category, f func(ops []string) bool) Rule {
		return Rule{ID: id, Title: "TensorRT: " + title, Category: c, Func: func(n *Name) bool {
			return strings.HasPrefix(n.Function, myelinPrefix) && f(myelinOps(n.Function))
		}}
	}
	has := func(want ...string) func([]string) bool {
		return func(ops []string) bool { return anyOp(ops, want...) }
	}
	return []Rule{
		m("myelin.attention", "attention", CategoryAttention, has("fmha", "mha", "sdpa")),
		m("myelin.gemm", "matrix product", CategoryGEMM, has("fc", "matmul", "gemm", "bmm", "conv", "mat")),
		m("myelin.norm", "normalisation", CategoryNorm, func(ops []string) bool {
			return anyOp(ops, "mea", "var", "norm") && anyOp(ops, "sqr", "rsq", "norm", "div")
		}),
		m("myelin.softmax", "softmax", CategorySoftmax,
			func(ops []string) bool { return anyOp(ops, "sof") || anyOp(ops, "exp") && anyOp(ops, "sum") }),
		m("myelin.activation", "activation", CategoryActivation, has("sig", "tan", "erf", "gel", "sil", "rel")),
		m("myelin.topk", "top-k and sorting", CategoryReduceTopK, has("topk", "top", "sor", "arg")),
		m("myelin.elementwise", "pointwise", CategoryElementwise,
			has("add", "mul", "sub", "div", "pow", "exp", "sqr", "neg", "sel", "min", "max", "sin", "cos", "log", "cmp",
				"and", "not", "or")),
		m("myelin.memory", "data movement only", CategoryMemory, func(ops []string) bool { return true }),
	}
}

// myelinOps are the operators of a name, in lower case.
func myelinOps(function string) []string {
	rest := function[len(myelinPrefix):]
	for _, end := range []string{"_myl", "_0x"} {
		rest, _, _ = strings.Cut(rest, end)
	}
	return strings.FieldsFunc(wordmatch.Text(rest),
		func(r rune) bool { return r == wordmatch.WordSep || r == wordmatch.IdentSep })
}

// anyOp says whether an operator begins like one of those wanted.
func anyOp(ops []string, want ...string) bool {
	for _, op := range ops {
		if hasAnyPrefix(op, want) {
			return true
		}
	}
	return false
}
