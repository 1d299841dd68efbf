package chain

import (
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// NOTE. A candidate is found by its data flow: kernels that are bound by memory and run one after the other on one
// stream, between two products or exchanges, pass their result on through memory. One kernel could do their work. The
// chains of a registry are looked for in such runs and the kernels around them only: they give runs their names, and
// say for which part of a run somebody has a fused kernel.

// moves is what a kernel reads and writes, in tensors of the size that it works on.
type moves struct{ reads, writes float64 }

// runSort is what the rule of runs knows of one sort of kernel.
type runSort struct {
	border  bool // ends a run
	skip    bool // is no part of any, and does not end one
	product bool // of matrices
	down    bool // the layer's product that reads the activation
	norm    bool
	pad     bool // copies its input into a larger tensor
	steps   fusion.Set
	word    string // for people
	moves   moves
	act     bool // an activation alone
	times   bool // a product of elements
	add     bool // a sum of two tensors
	softmax bool
}

// Words of kernels that no idiom explains.
const (
	wordCopy      = "copies"
	wordPointwise = "pointwise"
	wordAdd       = "add"
	wordMultiply  = "multiply"
	wordNorm      = "norm"
)

// stepRopeWrite is a step of its own, or a rotation and a write that one kernel does.
const stepRopeWrite = "rope_write"

// runWords are the words of steps, the first that a kernel does counts.
var runWords = []struct {
	step, word string
	moves      moves
}{
	{"residual_norm", "residual add and norm", moves{2, 2}},
	{"norm", wordNorm, moves{1, 1}},
	{stepRopeWrite, "rotary embedding and KV-cache write", moves{1, 1}},
	{"kv_write", "KV-cache write", moves{1, 1}},
	{"rope", "rotary embedding", moves{1, 1}},
	{"softmax", "softmax", moves{1, 1}},
	{"act_quant", "activation and quantisation", moves{2, 0.5}},
	{"gated_act", "gated activation", moves{2, 1}},
	{"quant", "quantisation", moves{1, 0.5}},
	{"plain_act", "activation", moves{1, 1}},
	{"pad", "padding", moves{1, 1}},
	{"residual_add", wordAdd, moves{2, 1}},
	{"multiply", wordMultiply, moves{2, 1}},
	{"divide", wordPointwise, moves{1, 1}},
	{"mean", wordPointwise, moves{1, 0}},
}

// roleWords are the words of kernels that do no step of the registry.
var roleWords = []struct {
	role classify.Role
	word string
}{
	{classify.RoleNorm, wordNorm}, {classify.RoleHeadNorm, wordNorm}, {classify.RoleCacheWrite, "KV-cache write"},
	{classify.RoleRope, "rotary embedding"},
	{classify.RoleSoftmax, "softmax"}, {classify.RoleQuantize, "quantisation"}, {classify.RoleActivation, "activation"},
	{classify.RoleCopy, wordCopy},
	{classify.RoleAdd, wordAdd},
}

// runSorts are the sorts of kernels of a stage as the rule of runs sees them.
func (r *Recogniser) runSorts(s *Sequences) []runSort {
	out := make([]runSort, len(s.Sorts))
	for i, key := range s.Sorts {
		out[i] = r.runSort(&r.pool.Facts[key.kernel], s.Sets[i], r.pool.Operators.Texts[key.operator])
		out[i].steps = s.Sets[i]
	}
	return out
}

// borderRoles end a run although their category says that they move data: what they read or write is not what their
// neighbours do.
var borderRoles = []classify.Role{classify.RoleBackward, classify.RoleEmbed, classify.RolePrepare,
	classify.RoleTransfer, classify.RoleRows,
	classify.RoleSample, classify.RoleTopK, classify.RoleRouter, classify.RolePermute, classify.RoleFinalize,
	classify.RoleProduct,
	classify.RoleProductReduce, classify.RoleHeadProduct, classify.RoleExperts, classify.RoleMoE, classify.RoleConv,
	classify.RoleScan,
	classify.RoleScanInput, classify.RoleIndexer, classify.RoleIndexerTopK, classify.RoleAttention,
	classify.RoleAttentionReduce}

func (r *Recogniser) runSort(f *activity.Kernel, set fusion.Set, operator string) runSort {
	s := runSort{word: wordPointwise, moves: moves{1, 1}}
	has := func(step string) bool { return r.reg.Set(step)&set != 0 }
	does := func(roles ...classify.Role) bool { return does(f.Facts, roles) }
	switch category := f.Shown.Category; {
	case f.Kind == event.Memset, f.Kind == event.Kernel && f.Facts.OfRuntime():
		return runSort{skip: true}
	case f.Kind == event.Memcpy:
		s.border, s.word = does(classify.RoleTransfer), wordCopy
		return s
	case category == classify.CategoryGEMM || category == classify.CategoryMoE && does(classify.RoleExperts):
		return runSort{border: true, product: !does(classify.RoleProductReduce), down: operator == opname.DownProj}
	case has("pad"):
	case does(borderRoles...):
		return runSort{border: true}
	case category == classify.CategoryReduceTopK:
		s.border = !has("mean")
	case category == classify.CategoryNorm || category == classify.CategoryRope ||
		category == classify.CategorySoftmax || category == classify.CategoryKVCache:
	case category == classify.CategorySamplingIO || operator == opname.Sampling:
		return runSort{border: true}
	default:
		w := category.Work()
		s.border = w != classify.WorkMemory && w != classify.WorkPointwise
	}
	if s.border {
		return runSort{border: true}
	}
	for _, w := range runWords {
		if has(w.step) || w.step == stepRopeWrite && has("rope") && has("kv_write") {
			s.word, s.moves = w.word, w.moves
			break
		}
	}
	for _, w := range roleWords {
		if s.word == wordPointwise && does(w.role) {
			s.word = w.word
		}
	}
	s.softmax = does(classify.RoleSoftmax) || has("softmax")
	s.act = has("plain_act") || does(classify.RoleActivation) && !f.Facts.Gated && !has("gated_act")
	s.pad, s.norm = has("pad"), has("norm")
	s.times, s.add = has("multiply"), s.word == wordAdd && !does(classify.RoleAddScalar)
	return s
}

// does reports whether a kernel computes one of these.
func does(f *classify.Facts, roles []classify.Role) bool {
	if len(f.Ops) == 0 {
		return slices.Contains(roles, f.Role)
	}
	return slices.ContainsFunc(f.Ops, func(r classify.Role) bool { return slices.Contains(roles, r) })
}

// small reports whether a kernel may be between two of a chain: it copies or computes element by element.
func (s *runSort) small() bool {
	return s.word == wordCopy || s.word == wordPointwise || s.word == wordAdd
}

// run is a run of one stream: positions in its sequence.
type run struct {
	q       *sequence
	members []int32 // positions in q.Kernels
	before  int32   // position of the border before it, nowhere for none
	after   int32   // and of the one after it
	bridged bool    // a product that it does not depend on runs in it
}

// nowhere is no place in a stream.
const nowhere = -1

// window is a run with the borders around it.
func (r *run) window() []int32 {
	out := make([]int32, 0, len(r.members)+2)
	if r.before != nowhere {
		out = append(out, r.before)
	}
	out = append(out, r.members...)
	if r.after != nowhere {
		out = append(out, r.after)
	}
	return out
}

// runsOf finds the maximal runs of a stream, and the places where two borders follow each other. A run ends with its
// pass.
func runsOf(q *sequence, sorts []runSort) (out []run) {
	members := make([]int32, 0, len(q.Kernels)) // not of a run yet; those of runs lie before them
	pass, before := int32(trace.None), int32(nowhere)
	flush := func(after int32) {
		if n := len(members); n > 0 || before != nowhere && after != nowhere {
			out = append(out, run{q: q, before: before, after: after, members: members[:n:n]})
			members = members[n:]
		}
	}
	for i := range q.Kernels {
		k := &q.Kernels[i]
		act := &q.Trace.Acts[k.Act]
		if act.Pass != pass {
			flush(nowhere)
			pass, before = act.Pass, nowhere
		}
		switch s := &sorts[k.Sort]; {
		case s.skip:
		case s.border:
			flush(int32(i))
			before = int32(i)
		default:
			members = append(members, int32(i))
		}
	}
	flush(nowhere)
	return bridge(out, sorts)
}

// bridge joins runs around a product where the second does not read its result: the multiplication of a gated MLP
// reads what the activation before its second product wrote, the padding of an expert layer what the norm before the
// router's product did. A multiplication after the product that reads the activation, as modulated blocks have it, is
// of that product's result.
func bridge(in []run, sorts []runSort) []run {
	out := in[:0]
	for _, r := range in {
		if n := len(out); n > 0 && len(r.members) > 0 && len(out[n-1].members) > 0 {
			last := &out[n-1]
			a, b := &sorts[last.q.Kernels[last.members[len(last.members)-1]].Sort],
				&sorts[r.q.Kernels[r.members[0]].Sort]
			between := r.before != nowhere && last.after == r.before && !last.bridged
			if between {
				p := &sorts[r.q.Kernels[r.before].Sort]
				between = p.product && (a.act && b.times && !p.down || a.norm && b.pad)
			}
			if between {
				last.members, last.after, last.bridged = append(slices.Clip(last.members), r.members...), r.after, true
				continue
			}
		}
		out = append(out, r)
	}
	return out
}
