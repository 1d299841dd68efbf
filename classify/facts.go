package classify

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/internal/wordmatch"
)

// Facts are the properties that a kernel's name alone gives. They do not depend on
// the launch's position, operator or CPU op.
type Facts struct {
	// Category is what tables count the kernel as, Label how they call it.
	Category Category
	Label    string
	// Confidence is that of Category: 1 if a user's rule matched, 0 if no rule
	// matched. See docs/categories.md for what was measured.
	Confidence float32
	// Subcategory is the kind of work within the category if the name gives it,
	// else the data type of a product.
	Subcategory string
	// Role is what the kernel is to the structure of a layer: of several operations
	// the one that decides where layers are cut.
	Role Role
	// Ops are the operations that the kernel computes, in the order in which the
	// model runs them, as far as the name says: an all-reduce, an addition and a
	// norm. Kernels of torch.compile and fused kernels have several, others one.
	// Callers must not change it.
	Ops []Role
	// Collective is the exchange between GPUs the kernel takes part in. It is set
	// where Category is CategoryCommunication, and only there, unless a user's rule
	// renames the category.
	Collective Collective
	// ExpertStage is 1 or 2 for the first or second product of experts, 0 if the
	// name does not say.
	ExpertStage int
	// Gated says that an activation is multiplied with a second input.
	Gated bool
	// Latent says that it is of multi-head latent attention: attention on a
	// compressed cache, or a write to one.
	Latent bool
	// ExpertRows says that blocks along the grid's second axis are rows of one expert each, so that no more experts have
	// any: of the grouped products of trtllm-gen.
	ExpertRows bool
	// Library is the generator or library the kernel comes from, see [Name].
	Library string
	// DType is the narrowest operand type the name shows, "" when it shows none.
	DType DType
	// Operand is the type of the first operand of a product whose name has the types of both, as in "bf16xmxfp4";
	// "" where it does not.
	Operand string
	// Element is how many bytes an element has that a kernel moves without looking into it, 0 if the name does not say.
	Element int
	// Tile is the first size the name shows, as in "128x256x64", "" when it
	// shows none.
	Tile string
	// Base is the name without tile and size variants: kernels of equal bases do
	// the same work in different shapes.
	Base string
	// Short is the name's its short name: what tables show of it.
	Short string
	// Tokens says how the kernel's grid counts tokens.
	Tokens TokenGrid
	// OneQuery says that it is attention of one query token a request.
	OneQuery bool
	// Rule is the ID of the rule that gave the category, "" when none matched.
	Rule string
	// Name is the name in parts. Callers must not change it.
	Name *Name `json:"-"`
}

// Ungated says that the kernel is an activation that multiplies no second input: its name lists all that it does, as
// the names of PyTorch's own kernels and of those that torch.compile writes do.
func (f *Facts) Ungated() bool {
	if f.Gated || !slices.Contains(f.Ops, RoleActivation) {
		return false
	}
	if f.Library == familyInductor {
		return !inductorMultiplies.In(f.Name.fn)
	}
	return f.Library == familyPyTorch && len(f.Ops) == 1
}

// Convolves says that the kernel is a convolution of images or sound, by the default rules; the short ones before a
// scan are none.
func (f *Facts) Convolves() bool {
	return f.Role == RoleProduct && f.Category == CategoryGEMM && f.Subcategory == subcategoryConvolution
}

// OfChannels says that the kernel is a batch norm, by the default rules: it scales channels of convolutions and
// products by what training found, and is no norm of heads or of a state.
func (f *Facts) OfChannels() bool {
	return f.Category == CategoryNorm && f.Subcategory == subcategoryBatch
}

// WritesRows says that the kernel writes the rows that indices choose, by the default rules.
func (f *Facts) WritesRows() bool {
	return f.Category == CategoryMemory && f.Subcategory == subcategoryScatter
}

// Upsamples says that the kernel makes an image larger, by the default rules.
func (f *Facts) Upsamples() bool {
	return f.Category == CategoryMemory && f.Subcategory == subcategoryUpsample
}

// OfRuntime says that the GPU's runtime copies or fills by it, as it does by engines that are no kernel: no compiler
// made it, and none fuses it.
func (f *Facts) OfRuntime() bool { return f.Library == familyMemcpy || f.Library == familyMemset }

// Facts reads a kernel name. The result depends on the name only: callers with
// many events ask once per distinct name. Role, Collective and Base come from
// the default rules, whatever rules a user put before them.
func (s *Ruleset) Facts(raw string) (f Facts) {
	name := Parse(raw)
	n := &name
	shown := s.judge(n)
	own := shown
	if s != Default() {
		own = Default().judge(n)
	}
	f = Facts{
		Name:     n,
		Category: shown.category, Confidence: shown.confidence, Label: shown.label, Subcategory: shown.subcategory,
		Rule: shown.rule, Library: n.Family, DType: n.dType(), Tile: tile(n), Short: n.label(),
		Operand: operandType(raw[:min(len(raw), longestOperands)]), Element: elementBytes(raw),
	}
	f.Collective = collective(n, own)
	f.Role = role(n, own, f.Collective)
	f.Base = baseName(raw, f.Role)
	f.Ops = operations(n, own, f.Collective)
	if slices.Contains(f.Ops, RoleExperts) {
		f.ExpertStage = expertStage(n)
	}
	f.Gated = slices.Contains(f.Ops, RoleActivation) && isGated(n)
	f.Latent = isLatent(n, own)
	f.ExpertRows = strings.HasPrefix(n.Function, "bmm_") && strings.Contains(n.Function, "_dynB_")
	f.Tokens, f.OneQuery = tokenGrid(n), slices.Contains(oneQuery, n.Function)
	return f
}

// collectiveOf says which exchange a subcategory of communication is.
var collectiveOf = map[string]Collective{
	subcategoryAllReduce: AllReduce, "all_gather": AllGather, "reduce_scatter": ReduceScatter, "all_to_all": AllToAll,
	"dispatch": AllToAll, "combine": AllToAll, "layout": AllToAll, "broadcast": Broadcast, "send_recv": SendRecv,
	"reduce": OtherCollective, "barrier": OtherCollective, subcategoryGEMMCollective: OtherCollective, "": OtherCollective,
}

// collective reads the kind of exchange. A kernel that only takes the result of
// one over, as the norm after a two-shot all-reduce, is no second all-reduce.
func collective(n *Name, r verdict) Collective {
	if r.category != CategoryCommunication {
		return NotCollective
	}
	switch r.subcategory {
	case "":
		if n.Family == familyDeepEP || expertScopes.In(n.scope) {
			return AllToAll
		}
	case subcategoryGEMMCollective:
		return collectiveOf[collectiveKind(n)]
	case subcategoryAllReduce:
		if !allReduceWords.In(n.fn) && normWords.In(n.fn) {
			return OtherCollective
		}
	}
	return collectiveOf[r.subcategory]
}

var (
	expertScopes   = wordmatch.CompileAll(words("internode*", "intranode*", "moe_comm", "nccl_ep", "pplx"))
	allReduceWords = wordmatch.CompileAll(words("*allreduce*", "cross_device_reduce*", "*oneshot*", "*twoshot*",
		"*reduce_norm*", "*reduce_rms*"))
	normWords     = wordmatch.CompileAll(words("*norm*", "*rms*"))
	backwardWords = wordmatch.CompileAll(words("*backward*", "*bwd*", "*bprop*", "dgrad*", "wgrad*", "*_dgrad*",
		"*_wgrad*", "adam*", "sgd*", "*optimizer*", "multi_tensor*", "*grad_input*", "*GradGammaBeta*"))
)

// ruleRoles are the rules whose kernels are something else to a layer than the
// rest of their category. An ID without a rule fails a test.
var ruleRoles = map[string]Role{
	"memory.memcpy": RoleCopy, "memory.memset": RoleCopy,
	"memory.embedding": RoleEmbed,
	"kvcache.move":     RoleOther, "kvcache.move_kv": RoleOther, "kvcache.gather": RoleOther, "kvcache.buffer": RoleOther,
	// One word is too little to say that a layer's core is here.
	"weak.attention": RoleOther,
	// They prepare attention, once a pass or once a layer; they are not its core.
	"attention.metadata": RoleOther, "attention.indexer": RoleOther, "attention.compress": RoleOther,
	"hybrid.conv": RoleOther, "hybrid.metadata": RoleOther, "hybrid.l2norm": RoleHeadNorm, "norm.head": RoleHeadNorm,
	"norm.rope":   RoleRope,
	"moe.routing": RoleRouter, "moe.routing_words": RoleRouter, "moe.scope_routing": RoleRouter,
	"moe.permute": RolePermute, "moe.finalize": RoleFinalize,
	"moe.gemm": RoleExperts, "moe.gemm_scope": RoleExperts, "moe.numbered": RoleExperts,
	"gemm.grouped_triton": RoleExperts, "gemm.router": RoleRouter,
	"comm.allreduce_gemm": RoleProduct,
	"softmax.loss":        RoleOther, "inductor.loss": RoleOther,
	"sampling.scope": RoleSample, "sampling.probs": RoleSample, "sampling.random": RoleSample,
	"sampling.word": RoleSample,
	"reduce.argmax": RoleSample, "inductor.argmax": RoleSample,
	"reduce.wrapper":        RoleElementwise,
	"elementwise.optimizer": RoleBackward,
}

// role reads the role of a name from the rule that matched it.
func role(n *Name, r verdict, c Collective) Role {
	if backwardWords.In(n.fn) || backwardWords.In(n.op) {
		return RoleBackward
	}
	if c != NotCollective && normalises(n) {
		return RoleNorm
	}
	// The lookup of an embedding begins a pass, whatever is fused after it.
	if n.Family == familyInductor && inductorEmbedding.In(n.fn) {
		return RoleEmbed
	}
	if x, ok := ruleRoles[r.rule]; ok {
		return x
	}
	return r.category.role()
}

var inductorEmbedding = wordmatch.CompileAll(words("embedding"))

// boolArguments are the spellings of a boolean template argument.
var boolArguments = map[string]bool{"true": true, "(bool)1": true, "false": false, "(bool)0": false}

// normalises says whether an exchange between GPUs ends with a norm: its name
// says so, or the argument of a fused all-reduce does. FlashInfer and
// TensorRT-LLM number what is fused, 0 being the plain all-reduce
// ((…AllReduceFusionPattern)1, (…AllReduceFusionOp)1), or have a switch,
// RMSNormFusion; the fused kernels of AITER have neither and always normalise.
func normalises(n *Name) bool {
	if normWords.In(n.fn) {
		return true
	}
	if !fusionWords.In(n.fn) {
		return false
	}
	for _, a := range n.TemplateArgs {
		if strings.Contains(a, "AllReduceFusion") && strings.Contains(a, ")") {
			return !strings.HasSuffix(a, ")0")
		}
	}
	for _, a := range n.TemplateArgs {
		if value, ok := boolArguments[a]; ok {
			return value
		}
	}
	return n.Family == familyAITER || reduceFusionWords.In(n.fn)
}

var (
	fusionWords = wordmatch.CompileAll(words("*fusion*"))
	// The reduction over experts comes last in a layer, so that only forms with
	// the next norm exist.
	reduceFusionWords = wordmatch.CompileAll(words("moereduce*", "moefinalize*"))
)

// scaleGroup is before the sizes of blocks that share a scale.
const scaleGroup = "per"

// tile returns the first run of numbers joined by x, as in 128x64.
func tile(n *Name) string {
	for _, s := range [2]string{n.Function, n.Operation} {
		for i := 0; i < len(s); i++ {
			if !wordmatch.IsDigit(s[i]) {
				continue
			}
			j, joined := i, false
			for j < len(s) && (wordmatch.IsDigit(s[j]) || s[j] == 'x' && wordmatch.IsDigit(s[j-1]) && j+1 < len(s) &&
				wordmatch.IsDigit(s[j+1])) {
				joined = joined || s[j] == 'x'
				j++
			}
			if joined && s[i] != '0' && (i < 3 || s[i-3:i] != scaleGroup) { // 0x5 is an address, per1x32 a group
				return s[i:j]
			}
			i = j
		}
	}
	return ""
}

// baseName folds what varies between tile variants of one kernel: digits, and for matrix products everything from the
// first digit or template argument on. Two kernels with equal base names do the same work in different shapes.
func baseName(name string, r Role) string {
	s := strings.TrimPrefix(name, "void ")
	if i := strings.LastIndexByte(s, '('); i > 0 && strings.HasSuffix(s, ")") {
		s = cutArguments(s)
	}
	if r == RoleProduct {
		for i := range len(s) {
			if c := s[i]; i >= 4 && (c == '<' || c >= '0' && c <= '9') {
				return s[:i]
			}
		}
		return s
	}
	if !strings.ContainsAny(s, "0123456789") {
		return s
	}
	return decimal.Fold(s)
}

// cutArguments drops a trailing argument list: everything from the parenthesis that matches the last one.
func cutArguments(s string) string {
	depth := 0
	for i := len(s) - 1; i > 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return s[:i]
			}
		}
	}
	return s
}
