package classify

import (
	"github.com/llmstrata/strata/internal/vocabulary"
)

// Role is one operation of a transformer's layer that a kernel computes.
// [Facts.Ops] lists those of a kernel, [Facts.Role] is the one that decides where
// layers are cut. Roles and categories answer different questions: an all-reduce
// that adds the residual and normalises is communication in a table, and the norm
// that opens the next half of a layer.
type Role uint8

// The roles.
const (
	RoleOther           Role = iota // not known from the name
	RoleNorm                        // RMS, layer or group norm of the residual stream
	RoleHeadNorm                    // norm of queries, keys or a compressed state, inside the mixer
	RoleAttention                   // softmax attention
	RoleScan                        // linear attention, state-space scan
	RoleSoftmax                     // softmax: the core of an unfused attention, where nothing else is
	RoleProduct                     // matrix product
	RoleRouter                      // choice of the experts
	RolePermute                     // sorting and permutation of tokens for the experts
	RoleExperts                     // products of the experts
	RoleFinalize                    // sum of the experts' outputs
	RoleMoE                         // other work of experts
	RoleRope                        // rotary embedding
	RoleCacheWrite                  // write to the key/value cache, also with a rotary embedding
	RoleCollective                  // exchange between GPUs, without a norm
	RoleEmbed                       // embedding lookup
	RoleSample                      // token sampling
	RoleCopy                        // moves, casts or clears data on the GPU
	RoleElementwise                 // pointwise arithmetic
	RoleActivation                  // gated or plain, between the two products of a feed-forward part
	RoleQuantize                    // scaling to or from a narrow type
	RoleBackward                    // gradients and weight updates: a training run
	RoleAdd                         // addition of two tensors, as of the residual stream
	RoleGather                      // all-gather or reduce-scatter: of logits, of sequence-parallel activations
	RoleDispatch                    // sending tokens to the GPUs of their experts
	RoleCombine                     // bringing the experts' outputs back
	RoleConv                        // short causal convolution before a scan
	RoleScanInput                   // gates and norms of what a scan reads
	RoleIndexer                     // scores of cached keys for sparse attention
	RoleIndexerTopK                 // choice of the keys of sparse attention
	RoleMixIn                       // hyper-connections: the residual streams into a layer's part
	RoleMixOut                      // hyper-connections: a part's output into the residual streams
	RoleHeadProduct                 // a product for each head
	RoleProductReduce               // sum of the parts of a split product
	RoleAttentionReduce             // merge of the parts of a split attention
	RolePrepare                     // inputs of a step: positions, slots, schedules of attention
	RoleTransfer                    // copy between host and GPU
	RoleRows                        // rows that indices choose: gathers and scatters
	RoleTopK                        // choice of the largest of unknown values
	// Single operations of PyTorch, from which operators may be composed.
	RoleMultiply // product of elements
	RolePower
	RoleMean
	RoleRsqrt // reciprocal root
	RoleNegate
	RoleConcat
	RoleAddScalar // addition of a number
	numRoles
)

// roleWords are the words of the roles in documents.
var roleWords = [numRoles]string{
	RoleOther: "", RoleNorm: "norm", RoleHeadNorm: "head_norm", RoleAttention: "attention", RoleScan: "scan",
	RoleSoftmax: "softmax",
	RoleProduct: "product", RoleRouter: "router", RolePermute: "permute", RoleExperts: "experts",
	RoleFinalize: "finalize", RoleMoE: "moe",
	RoleRope: "rope", RoleCacheWrite: "cache_write", RoleCollective: "collective", RoleEmbed: "embed",
	RoleSample: "sample", RoleCopy: "copy",
	RoleElementwise: "elementwise", RoleActivation: "activation", RoleQuantize: "quantize", RoleBackward: "backward",
	RoleAdd:    "add",
	RoleGather: "gather", RoleDispatch: "dispatch", RoleCombine: "combine", RoleConv: "conv",
	RoleScanInput: "scan_input",
	RoleIndexer:   "indexer", RoleIndexerTopK: "indexer_topk", RoleMixIn: "mix_in", RoleMixOut: "mix_out",
	RoleHeadProduct:   "head_product",
	RoleProductReduce: "product_reduce", RoleAttentionReduce: "attention_reduce", RolePrepare: "prepare",
	RoleTransfer: "transfer", RoleRows: "rows", RoleTopK: "topk", RoleMultiply: "multiply", RolePower: "power",
	RoleMean: "mean", RoleRsqrt: "rsqrt",
	RoleNegate: "negate", RoleConcat: "concat", RoleAddScalar: "add_scalar",
}

// Roles lists all roles, [RoleOther] first.
func Roles() []Role { return listed[Role](int(numRoles)) }

// String returns the word of r, "" for [RoleOther].
func (r Role) String() string { return wordOf(roleWords[:], int(r)) }

// MarshalText returns the word of r.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a word that [Role.String] returns; others are an error.
func (r *Role) UnmarshalText(text []byte) error {
	return vocabulary.Read(r, "role", Roles(), text)
}

// Mixer reports a role that mixes tokens: what a layer has at least one of.
func (r Role) Mixer() bool { return r == RoleAttention || r == RoleScan }

// Collective is a kind of exchange between GPUs.
type Collective uint8

// The kinds of exchange.
const (
	NotCollective Collective = iota
	AllReduce                // also fused with what follows it
	AllGather
	ReduceScatter
	AllToAll // expert dispatch and combine, and what they exchange beforehand
	Broadcast
	SendRecv        // point to point: the two ends need not meet
	OtherCollective // barriers, reductions to one rank, kinds that the name hides
	numCollectives
)

var collectiveWords = [numCollectives]string{
	NotCollective: "", AllReduce: "all_reduce", AllGather: "all_gather", ReduceScatter: "reduce_scatter",
	AllToAll:  "all_to_all",
	Broadcast: "broadcast", SendRecv: "send_recv", OtherCollective: "other",
}

// Collectives lists all kinds of exchange, [NotCollective] first.
func Collectives() []Collective { return listed[Collective](int(numCollectives)) }

// String returns the word of c, "" for [NotCollective].
func (c Collective) String() string { return wordOf(collectiveWords[:], int(c)) }

// MarshalText returns the word of c.
func (c Collective) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a word that [Collective.String] returns; others are an error.
func (c *Collective) UnmarshalText(text []byte) error {
	return vocabulary.Read(c, "collective", Collectives(), text)
}

func wordOf(words []string, i int) string {
	if i >= len(words) {
		return "invalid"
	}
	return words[i]
}

func listed[T ~uint8](n int) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = T(i)
	}
	return list
}
