package layer

import "github.com/llmstrata/strata/internal/stop"

// NOTE on the structural core (sequence.go, extend.go, candidates.go, repeats.go).
//
// It works on a sequence: kernels of one pass in launch order, reduced to three numbers each. fine is the kernel's name,
// base the name without its tile variants, role its meaning. All three are dense small integers; equality is all that is
// ever asked of fine and base, so hashing every name changes nothing but the roles (all roleOther then).
//
// Cost: every step is linear in the sequence, except alignment of units that differ, which is banded
// (length × band, see maxBand) and memoised per distinct unit.

// A sequence is the input of the structural core. The slices have equal length.
type sequence struct {
	fine []int32
	base []int32
	role []role
	// begins holds the pairs of base names that layers are known to begin with; nil where no frames tell.
	begins map[uint64]bool
	// watch counts the kernels that loops work on, and unwinds to Analyze or Align when their context has ended; it may be nil.
	watch *stop.Watch
}

func (s *sequence) len() int { return len(s.fine) }

// slice returns the part [from, to); it shares memory.
func (s *sequence) slice(from, to int) *sequence {
	return &sequence{fine: s.fine[from:to], base: s.base[from:to], role: s.role[from:to], begins: s.begins, watch: s.watch}
}

// Alignment scores. A match of names outweighs a mismatch, so that an extension survives one foreign kernel when at least
// one known kernel follows it, but does not run into a prologue that shares an occasional element-wise kernel.
const (
	scoreName     = 2
	scoreRole     = 1
	scoreMismatch = -2
	scoreGap      = -2
)

// score compares kernel i of s with kernel j of t.
func (s *sequence) score(i int, t *sequence, j int) int {
	switch {
	case s.fine[i] == t.fine[j], s.base[i] == t.base[j]:
		return scoreName
	case s.role[i] == t.role[j] && interchangeable(s.role[i]):
		return scoreRole
	}
	return scoreMismatch
}

// equalNames says whether the two ranges have the same kernels by fine name, in the same order.
func equalNames(s *sequence, from, to int, t *sequence, tfrom, tto int) bool {
	if to-from != tto-tfrom {
		return false
	}
	for i := range to - from {
		if s.fine[from+i] != t.fine[tfrom+i] {
			return false
		}
	}
	return true
}

// hashNames is an FNV-1a hash of a range's names.
func hashNames(names []int32) uint64 {
	h := uint64(14695981039346656037)
	for _, n := range names {
		h = (h ^ uint64(uint32(n))) * 1099511628211
	}
	return h
}

// An interner gives names dense ids in order of first appearance.
type interner struct {
	ids   map[string]int32
	names []string
}

func newInterner() *interner { return &interner{ids: make(map[string]int32)} }

func (in *interner) id(s string) int32 {
	if id, ok := in.ids[s]; ok {
		return id
	}
	id := int32(len(in.names))
	in.ids[s] = id
	in.names = append(in.names, s)
	return id
}
