package wordmatch

import (
	"math"
	"math/bits"
	"strings"
)

// The letters of a word text that begin an identifier, and that are between
// its words.
const (
	IdentSep = '.'
	WordSep  = '_'
)

// IsLower reports a lower-case letter of ASCII.
func IsLower(c byte) bool { return 'a' <= c && c <= 'z' }

// IsUpper reports an upper-case letter of ASCII.
func IsUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// IsDigit reports a digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsAlnum reports what words are made of: letters, those beyond ASCII too, and digits.
func IsAlnum(c byte) bool { return IsLower(c) || IsUpper(c) || IsDigit(c) || c >= 0x80 }

// Append adds one identifier to a word text.
func Append(dst []byte, ident string) []byte {
	start := len(dst)
	dst = append(dst, IdentSep)
	gap := true // at a word start
	for i := 0; i < len(ident); i++ {
		c := ident[i]
		if !IsAlnum(c) {
			gap = true
			continue
		}
		if IsUpper(c) {
			if !gap {
				prev := ident[i-1]
				switch {
				case !IsUpper(prev): // fooBar, sm100Bar
					gap = true
				case i+1 < len(ident) && IsLower(ident[i+1]): // RMSNorm
					gap = true
				}
			}
			c += 'a' - 'A'
		}
		if gap && len(dst) > start+1 {
			dst = append(dst, WordSep)
		}
		gap = false
		dst = append(dst, c)
	}
	if len(dst) == start+1 {
		return dst[:start]
	}
	return dst
}

// Text is Append for a list of identifiers.
func Text(idents ...string) string {
	var buf []byte
	for _, s := range idents {
		buf = Append(buf, s)
	}
	return string(buf)
}

// Pattern is a compiled pattern: the pairs, which are all that most comparisons look at, apart from the rest.
type Pattern struct {
	Pairs uint64 // see PairsOf
	*body
}

type body struct {
	lit                string // lower-case letters and digits only
	gaps               uint64 // bit k: a separator was before lit[k]
	openStart, openEnd bool
}

// maxPattern bounds a pattern: gaps has one bit a letter.
const maxPattern = 64

// Compile makes a pattern ready.
func Compile(s string) Pattern {
	p := &body{}
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "*") {
		p.openStart, s = true, s[1:]
	}
	if strings.HasSuffix(s, "*") {
		p.openEnd, s = true, s[:len(s)-1]
	}
	buf := make([]byte, 0, len(s))
	gap := false
	for i := 0; i < len(s) && len(buf) < maxPattern; i++ {
		c := s[i]
		if !IsAlnum(c) {
			gap = true
			continue
		}
		if IsUpper(c) {
			c += 'a' - 'A'
		}
		if gap {
			if len(buf) == 0 {
				p.openStart = false
			} else {
				p.gaps |= 1 << len(buf)
			}
			gap = false
		}
		buf = append(buf, c)
	}
	if gap {
		p.openEnd = false
	}
	p.lit = string(buf)
	return Pattern{PairsOf(p.lit), p}
}

// Patterns are patterns made ready for many names. They are safe for concurrent
// use.
type Patterns []Pattern

// CompileAll makes patterns ready; nothing is left of one without letters.
func CompileAll(list []string) Patterns {
	if len(list) == 0 {
		return nil
	}
	out := make(Patterns, 0, len(list))
	for _, s := range list {
		if p := Compile(s); p.lit != "" {
			out = append(out, p)
		}
	}
	return out
}

// Letters is how many letters and digits the pattern has; one without any is in nothing.
func (p Pattern) Letters() int { return len(p.lit) }

// In reports whether the pattern occurs in a word text.
func (p Pattern) In(text string) bool {
	if p.lit == "" {
		return false
	}
	first := p.lit[0]
	for i := 0; i < len(text); {
		k := strings.IndexByte(text[i:], first)
		if k < 0 {
			return false
		}
		i += k
		atWord := i == 0 || text[i-1] == WordSep || text[i-1] == IdentSep
		if (atWord || p.openStart) && p.at(text[i:], atWord) {
			return true
		}
		i++
	}
	return false
}

// at reports whether text begins with the pattern; atWord says that text begins
// with a word.
func (p Pattern) at(text string, atWord bool) bool {
	k, j := 0, 0
	for ; j < len(text) && k < len(p.lit); j++ {
		c := text[j]
		if c == WordSep {
			if !atWord && p.gaps&(1<<k) == 0 {
				return false
			}
			continue
		}
		if c != p.lit[k] {
			return false
		}
		k++
	}
	if k < len(p.lit) {
		return false
	}
	return p.openEnd || j == len(text) || text[j] == WordSep || text[j] == IdentSep
}

// In reports whether one of the patterns is in a word text.
func (l Patterns) In(text string) bool { return l.Among(text, PairsOf(text)) }

// Among is In with the text's pairs at hand, see [PairsOf].
func (l Patterns) Among(text string, pairs uint64) bool {
	if text == "" {
		return false
	}
	for i := range l {
		if p := &l[i]; p.Pairs&^pairs == 0 && p.In(text) {
			return true
		}
	}
	return false
}

// Index says which of many lists of patterns may have one in a text, without asking each.
type Index struct {
	// always are the lists that any text may have one of, a bit each. byPair are the patterns of the others by a pair
	// of letters. Each pattern is under one of its pairs, the rarest.
	always []uint64
	byPair [64][]listed
}

// listed is a pattern of a list.
type listed struct {
	pairs uint64 // its own
	list  int32
}

// NewIndex returns the index of lists. A list that is nil asks for nothing: any text may have it.
func NewIndex(lists []Patterns) *Index {
	var often [64]int
	for _, list := range lists {
		for i := range list {
			for set := list[i].Pairs; set != 0; set &= set - 1 {
				often[bits.TrailingZeros64(set)]++
			}
		}
	}
	x := &Index{always: make([]uint64, (len(lists)+63)/64)}
	for i, list := range lists {
		if list == nil {
			x.always[i/64] |= 1 << (i % 64)
		}
		for k := range list {
			rarest, least := -1, math.MaxInt
			for set := list[k].Pairs; set != 0; set &= set - 1 {
				if b := bits.TrailingZeros64(set); often[b] < least {
					rarest, least = b, often[b]
				}
			}
			if rarest < 0 {
				x.always[i/64] |= 1 << (i % 64)
				continue
			}
			x.byPair[rarest] = append(x.byPair[rarest], listed{list[k].Pairs, int32(i)})
		}
	}
	return x
}

// Candidates appends to set the lists that a text of these pairs may have one of, a bit each.
func (x *Index) Candidates(pairs uint64, set []uint64) []uint64 {
	set = append(set, x.always...)
	for rest := pairs; rest != 0; rest &= rest - 1 {
		for _, p := range x.byPair[bits.TrailingZeros64(rest)] {
			if p.pairs&^pairs == 0 {
				set[p.list/64] |= 1 << (p.list % 64)
			}
		}
	}
	return set
}

// PairsOf is a set of the pairs of neighbouring letters of a text, separators
// left out, as bits. A pattern with a pair that a text lacks is not in it, which
// spares nearly every comparison.
func PairsOf(text string) uint64 {
	var set uint64
	last := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == WordSep || c == IdentSep {
			continue
		}
		if last != 0 {
			set |= 1 << ((uint(last)*37 + uint(c)*11) & 63)
		}
		last = c
	}
	return set
}
