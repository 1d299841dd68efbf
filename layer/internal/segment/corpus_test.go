package segment

import (
	"fmt"
	"hash/fnv"
	"math/rand"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/gen/families"
)

// The corpus: what the families run, and what becomes of it. A sequence is named "family|stage|change".

var changes = []struct {
	name string
	make func(r *rand.Rand, o families.Order) []string
}{
	{"whole", func(_ *rand.Rand, o families.Order) []string { return names(o) }},
	{"lossy", func(r *rand.Rand, o families.Order) []string { return lossy(r, names(o), 0.02) }},
	{"worn", func(r *rand.Rand, o families.Order) []string { return lossy(r, names(o), 0.08) }},
	{"front", func(r *rand.Rand, o families.Order) []string { n := names(o); return n[len(n)/3:] }},
	{"back", func(r *rand.Rand, o families.Order) []string { n := names(o); return n[:len(n)*2/3] }},
	{"twice", func(r *rand.Rand, o families.Order) []string { return append(names(o), names(o)...) }},
	{"hidden", func(r *rand.Rand, o families.Order) []string { return hidden(names(o)) }},
	{"short", func(r *rand.Rand, o families.Order) []string { o.Layers = o.Layers[:3]; return names(o) }},
	{"tower", func(r *rand.Rand, o families.Order) []string {
		return append(hidden(names(families.Order{Layers: o.Layers[:min(20, len(o.Layers))]})), names(o)...)
	}},
	{"tuned", func(r *rand.Rand, o families.Order) []string { return tuned(r, names(o)) }},
	{"noisy", func(r *rand.Rand, o families.Order) []string { return noisy(r, names(o)) }},
	{"few", func(r *rand.Rand, o families.Order) []string {
		o.Layers = o.Layers[:min(5, len(o.Layers))]
		return names(o)
	}},
}

func names(o families.Order) []string {
	out := append([]string(nil), o.Prologue...)
	for _, l := range o.Layers {
		out = append(out, l...)
	}
	return append(out, o.Epilogue...)
}

func lossy(r *rand.Rand, in []string, share float64) []string {
	var out []string
	for _, n := range in {
		if r.Float64() >= share {
			out = append(out, n)
		}
	}
	return out
}

func hidden(in []string) []string {
	out := make([]string, len(in))
	for i, n := range in {
		h := fnv.New32a()
		h.Write([]byte(n))
		x := h.Sum32()
		b := make([]byte, 8)
		for k := range b {
			b[k] = byte('g' + x%16)
			x /= 16
		}
		out[i] = string(b)
	}
	return out
}

func tuned(r *rand.Rand, in []string) []string {
	out := append([]string(nil), in...)
	for i := range out {
		if strings.HasPrefix(out[i], "nvjet") && r.Intn(3) == 0 {
			out[i] += fmt.Sprintf("_%dx", 8<<r.Intn(4))
		}
	}
	return out
}

func noisy(r *rand.Rand, in []string) []string {
	var out []string
	for _, n := range in {
		if r.Intn(25) == 0 {
			out = append(out, "Memset (Device)")
		}
		out = append(out, n)
	}
	return out
}

// corpusRoles keeps the roles that decide nothing here apart, too.
var corpusRoles = map[classify.Role]Role{
	classify.RoleNorm: Norm, classify.RoleAttention: Mixer, classify.RoleScan: Mixer, classify.RoleProduct: Product,
	classify.RoleMoE: MoE, classify.RoleRope: Rope,
	classify.RoleCollective: Collective, classify.RoleEmbed: Embed, classify.RoleSample: Sample,
	classify.RoleElementwise: Elementwise,
	classify.RoleActivation:  Activation, classify.RoleBackward: Backward,
	classify.RoleHeadNorm: Backward + 1, classify.RoleSoftmax: Backward + 2, classify.RoleRouter: Backward + 3,
	classify.RolePermute: Backward + 4,
	classify.RoleExperts: Backward + 5, classify.RoleFinalize: Backward + 6, classify.RoleCacheWrite: Backward + 7,
	classify.RoleCopy:     Backward + 8,
	classify.RoleQuantize: Backward + 9,
}

// sequenceOf makes a sequence of names.
func sequenceOf(names []string) *Sequence {
	ids, bases := map[string]int32{}, map[string]int32{}
	id := func(m map[string]int32, s string) int32 {
		if v, ok := m[s]; ok {
			return v
		}
		m[s] = int32(len(m))
		return m[s]
	}
	s := &Sequence{}
	known := map[string]classify.Facts{}
	for _, n := range names {
		f, ok := known[n]
		if !ok {
			f = classify.Default().Facts(n)
			known[n] = f
		}
		s.ID = append(s.ID, id(ids, n))
		s.Base = append(s.Base, id(bases, f.Base))
		s.Role = append(s.Role, corpusRoles[f.Role])
	}
	return s
}

// decide writes down all that is decided about a sequence whose model has n layers.
func decide(s *Sequence, n int) string {
	var b strings.Builder
	for _, passes := range []bool{false, true} {
		for _, g := range Guesses(s, passes) {
			fmt.Fprintf(&b, "guess %d %v\n", g.N, g.Combs[0].Pos[:2])
		}
	}
	for _, n := range []int{n, n - 3, 2 * n} {
		if n < 2 {
			continue
		}
		if c, ok := Best(s, n); ok {
			fmt.Fprintf(&b, "cut %v at %v %v %v %.3f\n", Hash(ints(c.Starts)), c.Starts[:2], c.Lo, c.Hi,
				Confidence(s, c))
			d := Doubt(s, c, true)
			fmt.Fprintf(&b, "repeats %v %v judged %.3f\n", Repeats(s, c, n), Overcounts(s, c, n), Judge(1, d))
			if f, ok := Fit(s, c, n+2, Cuts{End: true}); ok {
				fmt.Fprintf(&b, "fit %d %v\n", f.First, Hash(ints(f.Starts)))
			}
			fmt.Fprintf(&b, "ends %v %v explained %d\n", GoesOn(s, c.Starts), ComesFrom(s, c.Starts), Explained(s, c))
		}
	}
	fmt.Fprintf(&b, "stack %v %v clear %d strong %v\n", StackIn(s, n), StackIn(s, 0), ClearVote(s), StrongVote(s, n))
	fmt.Fprintf(&b, "settled %d\n", Settle([]*Sequence{s}, map[int]int{n: 2, n - 2: 3}))
	if g := Guesses(s, true); len(g) > 0 {
		fmt.Fprintf(&b, "split %v %v\n", SplitComb(s, g[0].Combs[0].Pos, 0), SplitComb(s, g[0].Combs[0].Pos, n))
	}
	fmt.Fprintf(&b, "marks %v %v %v\n", Begins(s), Clusters(s, norm), StepGroups(s))
	m, training := Training(s)
	fmt.Fprintf(&b, "training %d %v\n", m, training)
	return b.String()
}

func ints(in []int) []int32 {
	out := make([]int32, len(in))
	for i, x := range in {
		out[i] = int32(x)
	}
	return out
}
