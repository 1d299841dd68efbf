package segment

import (
	"math"
	"slices"
)

// A Role is what the segmentation needs to know about a kernel's meaning: never needed for finding the period, only for
// placing a boundary that structure leaves open and for telling a layer from half of one.
type Role uint8

// The roles that decide something here, and their short names for this package.
const (
	Other       Role = iota
	Norm             // of the residual stream
	Mixer            // attention core, state-space scan: what a layer has at least one of
	Product          // matrix product
	MoE              // work of experts
	Rope             // rotary embedding
	Collective       // exchange between GPUs, without a norm
	Embed            // embedding lookup
	Sample           // token sampling
	Elementwise      // pointwise arithmetic
	Activation       // between the two products of a feed-forward part
	Backward         // gradients and weight updates

	other, norm, mixer, product, moe, embed   = Other, Norm, Mixer, Product, MoE, Embed
	sample, activation, elementwise, backward = Sample, Activation, Elementwise, Backward
)

// interchangeable says whether kernels of a role may replace each other if names differ: a plain and a fused
// norm, two tiles of a product. Element-wise kernels, copies and the rest may not: half of any prologue would match.
func interchangeable(r Role) bool {
	switch r {
	case Norm, Mixer, Product, MoE, Rope, Collective:
		return true
	}
	return false
}

// A Sequence is kernels of one pass in launch order. The slices have equal length; ids are dense.
type Sequence struct {
	ID   []int32 // of the name
	Base []int32 // of the name without its tile variants
	Role []Role
}

// Len returns the number of kernels.
func (s *Sequence) Len() int { return len(s.ID) }

// Slice returns the part [from, to); it shares memory.
func (s *Sequence) Slice(from, to int) *Sequence {
	return &Sequence{ID: s.ID[from:to], Base: s.Base[from:to], Role: s.Role[from:to]}
}

// Count returns the number of kernels of a role.
func (s *Sequence) Count(r Role) int { return count(s.Role, r) }

func count[T comparable](list []T, x T) (n int) {
	for _, y := range list {
		if y == x {
			n++
		}
	}
	return n
}

// A level is what the kernels of a comb have in common.
type level uint8

const (
	byName level = iota
	byBase       // the name without its tile variants
	byNorm       // they begin norms that are written out
)

// symbols returns the ids of a level.
func (s *Sequence) symbols(l level) []int32 {
	switch l {
	case byName:
		return s.ID
	case byBase:
		return s.Base
	}
	return s.writtenNorms()
}

// writtenNorms has 1 for each kernel that is a norm although others of its name are none, and 0 for all others.
func (s *Sequence) writtenNorms() []int32 {
	out, others := make([]int32, s.Len()), make([]bool, 1+top(s.ID))
	for k, id := range s.ID {
		others[id] = others[id] || s.Role[k] != norm
	}
	for k, id := range s.ID {
		if s.Role[k] == norm && others[id] {
			out[k] = 1
		}
	}
	return out
}

// Hash is an FNV-1a hash of ids. Whoever uses it as a key compares what it hashed.
func Hash(ids []int32) uint64 {
	h := uint64(14695981039346656037)
	for _, n := range ids {
		h = (h ^ uint64(uint32(n))) * 1099511628211
	}
	return h
}

// A Memo keeps one value per distinct sequence of names. Its zero value is empty.
type Memo[V any] struct {
	values []V
	ids    [][]int32
	index  map[uint64][]int
	last   int // asked for before: many passes share a sequence
}

// Get returns the value of a sequence of names, and what find says where there is none yet.
func (m *Memo[V]) Get(ids []int32, find func() V) V {
	if m.last < len(m.ids) && oneList(m.ids[m.last], ids) {
		return m.values[m.last]
	}
	h := Hash(ids)
	for _, k := range m.index[h] {
		if slices.Equal(m.ids[k], ids) {
			m.last = k
			return m.values[k]
		}
	}
	v := find()
	if m.index == nil {
		m.index = map[uint64][]int{}
	}
	m.index[h] = append(m.index[h], len(m.values))
	m.values, m.ids = append(m.values, v), append(m.ids, ids)
	return v
}

// oneList says that two lists are one in memory.
func oneList(a, b []int32) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }

// A Part is some elements of a list, in its order. As long as they are together it shares them.
type Part struct {
	List []int32 // not to be written into
	from int     // of the first in the whole list, or scattered
}

// scattered is where a part begins whose elements are not together.
const scattered = math.MinInt / 2

// Add takes in the elements [from, to) of the list, which follow those it has.
func (p *Part) Add(of []int32, from, to int) {
	switch {
	case len(p.List) == 0:
		p.List, p.from = of[from:to:to], from
	case p.from+len(p.List) == from:
		p.List = of[p.from:to:to]
	default:
		p.List, p.from = append(p.List, of[from:to]...), scattered
	}
}

func abs(n int) int { return max(n, -n) }

// Common counts the kernels of s whose names occur in t, too; 0 where s is nil.
func Common(s, t *Sequence) int {
	if s == nil {
		return 0
	}
	return s.Len() - strange(s.ID, setOf(t.ID))
}

func setOf(ids []int32) map[int32]bool {
	set := map[int32]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// strange counts the ids that are not known.
func strange(ids []int32, known map[int32]bool) (n int) {
	for _, id := range ids {
		if !known[id] {
			n++
		}
	}
	return n
}

// Occurs counts the kernels that a comb may take in the sequence in which it was found: all of its symbol, but for a
// norm after the layers.
func (c *Comb) Occurs(s *Sequence) int {
	n := count(s.symbols(c.level), c.Symbol)
	if c.level == byNorm && n == len(c.Pos)+1 {
		n--
	}
	return n
}
