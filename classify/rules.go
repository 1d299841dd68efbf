package classify

import (
	"bytes"
	_ "embed"
	"strings"
	"sync"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// ruleTable are the default rules in the form of [LoadRules]. Their order matters; comments say what each group takes
// from those after it.
//
//go:embed rules.jsonc
var ruleTable []byte

// Default returns the rule set of the triage categories. All calls return the
// same immutable set.
func Default() *Ruleset { return defaultRules() }

var defaultRules = sync.OnceValue(func() *Ruleset {
	all, err := LoadRules(bytes.NewReader(ruleTable))
	if err != nil {
		panic(err) // the table is embedded, and a test loads it
	}
	for i := range all {
		r := &all[i]
		r.Since, r.Func = "v0.1.0", conditions[r.ID]
		for _, k := range kinds {
			if strings.HasPrefix(r.ID, k.rules) {
				r.Refine = k.of
			}
		}
	}
	s := New(all...)
	for i := range s.compiled {
		s.compiled[i].standard = true
	}
	return s
})

func words(w ...string) []string { return w }

// conditions are those of default rules, by ID, that words cannot say.
var conditions = map[string]func(*Name) bool{
	"inductor.copy":     func(n *Name) bool { return !inductorArithmetic.In(n.fn) },
	"myelin.attention":  begins("fmha", "mha", "sdpa"),
	"myelin.gemm":       begins("fc", "matmul", "gemm", "bmm", "conv", "mat"),
	"myelin.norm":       both(begins("mea", "var", "norm"), begins("sqr", "rsq", "norm", "div")),
	"myelin.softmax":    func(n *Name) bool { return begins("sof")(n) || begins("exp")(n) && begins("sum")(n) },
	"myelin.activation": begins("sig", "tan", "erf", "gel", "sil", "rel"),
	"myelin.topk":       begins("topk", "top", "sor", "arg"),
	"myelin.elementwise": begins("add", "mul", "sub", "div", "pow", "exp", "sqr", "neg", "sel", "min", "max", "sin", "cos",
		"log", "cmp", "and", "not", "or"),
}

// inductorArithmetic are operators that compute; with one of them a kernel is
// more than data movement.
var inductorArithmetic = wordmatch.CompileAll(words("add*", "mul*", "sub", "rsub", "div*", "pow", "neg", "exp*", "sqrt",
	"where", "masked_fill", "clamp*", "minimum", "maximum", "abs", "bitwise*", "logical*", "eq", "ne", "lt", "le", "gt",
	"ge",
	"floor*", "round", "remainder", "reciprocal", "log*", "arange", "cos", "sin"))

func both(a, b func(*Name) bool) func(*Name) bool {
	return func(n *Name) bool { return a(n) && b(n) }
}

// begins says whether an operator of a name of TensorRT's compiler (Myelin) begins like one of those wanted: three
// letters or more each, as in __myl_Fc_myl2_3, a product, or __myl_MulMeaAddSqrDivMul, a norm.
func begins(want ...string) func(*Name) bool {
	return func(n *Name) bool {
		rest := strings.TrimPrefix(n.Function, "__myl_")
		for _, end := range []string{"_myl", "_0x"} {
			rest, _, _ = strings.Cut(rest, end)
		}
		for op := range strings.FieldsFuncSeq(wordmatch.Text(rest),
			func(r rune) bool { return r == wordmatch.WordSep || r == wordmatch.IdentSep }) {
			if hasAnyPrefix(op, want) {
				return true
			}
		}
		return false
	}
}

// kinds name the subcategory of what rules match whose IDs begin so.
var kinds = []struct {
	rules string
	of    func(*Name) string
}{
	{"comm.", collectiveKind}, {"weak.communication", collectiveKind}, {"attention.", attentionKind},
	{"weak.attention", attentionKind}, {"gemm.", gemmKind},
}

// A kindRow is a subcategory, and the words that say it.
type kindRow struct {
	kind     string
	patterns wordmatch.Patterns
}

func kindOf(kind string, w ...string) kindRow { return kindRow{kind, wordmatch.CompileAll(w)} }

// kindAmong returns the first kind whose words are in a name's function or operation, "" for none.
func kindAmong(rows []kindRow, n *Name) string {
	for _, k := range rows {
		if k.patterns.In(n.fn) || k.patterns.In(n.op) {
			return k.kind
		}
	}
	return ""
}

var collectiveKinds = []kindRow{
	// DeepEP's notify kernels exchange counts and wait: a barrier, whichever
	// phase they serve.
	kindOf("barrier", "*barrier*", "*notify*", "clean_low_latency*", "*enforce_consistency*", "*quiet*"),
	kindOf("layout", "*layout*"),
	kindOf(subcategoryAllReduce, "*allreduce*", "*lamport*"),
	kindOf("reduce_scatter", "*reducescatter*"),
	kindOf("all_gather", "*allgather*"),
	kindOf("all_to_all", "*alltoall*", "*all2all*"),
	kindOf("dispatch", "*dispatch*"),
	kindOf("combine", "*combine*"),
	kindOf("send_recv", "*sendrecv*", "send", "recv", "*rma*"),
	kindOf("broadcast", "*broadcast*", "*bcast*"),
	kindOf("reduce", "reduce"),
}

// collectiveKind names the collective from the words of the function's name.
func collectiveKind(n *Name) string {
	for _, k := range collectiveKinds {
		if k.patterns.In(n.fn) {
			return k.kind
		}
	}
	return ""
}

var attentionKinds = []kindRow{
	kindOf("backward", "*bwd*", "*backward*", "fmha_cutlassB*", "*dot_do_o*", "*do_o_dot*"),
	kindOf(subcategoryLatent, "*mla*"),
	kindOf("decode", "*decode*", "*decoding*", "*splitkv*", "*ForGen*", "paged_attention*", "*mmha*", "*xqa*",
		"*masked_multihead*", "*stage1*"),
	kindOf("prefill", "*prefill*", "*context*", "*ForCtx*", "*varlen*", "*extend*", "flash_fwd_kernel", "*ragged*"),
}

// attentionKind is backward, MLA, decode or prefill. Many kernels
// serve both phases (FlashAttention-3, unified attention): nothing is said.
func attentionKind(n *Name) string {
	if k := kindAmong(attentionKinds, n); k != "" || n.Family != familyFlashMLA {
		return k
	}
	return subcategoryLatent
}

// Subcategories that facts are read from. The set is open: rules name their own.
const (
	subcategoryAllReduce      = "all_reduce"
	subcategoryGEMMCollective = "gemm_collective" // a product that exchanges its result, too
	subcategoryLatent         = "mla"             // attention with a latent cache
	subcategoryGrouped        = "grouped"         // products of experts
	subcategoryConvolution    = "conv"            // among the products
	subcategoryScatter        = "scatter"         // among what moves data
	subcategoryUpsample       = "upsample"        // among what moves data
	subcategoryBatch          = "batch"           // among the norms
)

var gemmKinds = []kindRow{
	kindOf(subcategoryGrouped, "*grouped*", "*matmul_ogs*", "group_gemm*"),
	kindOf("gemv", "*gemv*", "dot_kernel", "*wvsplitk*", "*LLMM1*"),
	kindOf("lora", "*lora*", "*sgmv*", "*bgmv*"),
	kindOf(subcategoryConvolution, "fprop", "dgrad", "wgrad"),
}

var groupedArgs = wordmatch.CompileAll(words("*GroupProblemShape*", "*GroupedGemm*", "*MoeFCGemm*"))

// gemmKind separates grouped products, matrix-vector products and LoRA's small
// products.
func gemmKind(n *Name) string {
	if k := kindAmong(gemmKinds, n); k != "" {
		return k
	}
	switch n.Family {
	case familyDeepGEMM:
		// enum GemmType: 0 is a plain product, 1 and above are grouped.
		if _, value, _ := strings.Cut(n.Demangled, "GemmType)"); value != "" && !strings.HasPrefix(value, "0") {
			return subcategoryGrouped
		}
	case familyCUTLASS:
		if groupedArgs.In(n.argWords()) {
			return subcategoryGrouped
		}
	}
	return ""
}
