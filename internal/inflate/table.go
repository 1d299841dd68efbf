package inflate

import (
	"math/bits"
	"slices"
)

// Tables turn the next bits of the stream into what they mean. The first litBits (distBits) bits are an index; a longer code leads on
// to a second table behind the first one. An entry has these fields, from bit 0:
//
//	0–7    how many bits it uses up, extra bits included
//	8–11   copies: how many of them are the code; longer codes: the index bits of the second table
//	12–15  two: it gives two literals, or a literal and a length; blockEnds, longer; literal: what it is; none of the three is a length or a distance
//	16–31  the literals, the first one lowest; a length less the shortest, without the extra bits, and the literal in front of it, highest;
//	       a distance without the extra bits; where the second table begins
type entry uint32

const (
	two       entry = 1 << 12
	blockEnds entry = 1 << 13
	longer    entry = 1 << 14
	literal   entry = 1 << 15
	invalid         = blockEnds | longer // no code begins like this
)

const (
	maxCode    = 15  // bits of the longest code
	endOfBlock = 256 // the symbol

	litBits  = 11
	distBits = 9
	litMask  = 1<<litBits - 1
	distMask = 1<<distBits - 1

	// Room for the first table and all second tables: a complete code of 288 (32) symbols and 15 bits needs at most so many
	// entries (zlib's enough.c prints 2342 for 286 symbols and 11 bits, 594 for 30 and 9).
	litEntries  = 2400
	distEntries = 640
)

func (e entry) used() uint  { return uint(e & 63) }
func (e entry) code() uint  { return uint(e >> 8 & 15) }
func (e entry) value() int  { return int(e >> 16) }
func (e entry) count() int  { return 1 + int(e>>12&1) } // of literals
func (e entry) extra() uint { return e.used() - e.code() }
func (e entry) length() int { return shortest + int(e>>16&255) } // without the extra bits

// coded is the entry of a symbol whose code has n bits. Symbols are entries with their extra bits in place of what they use up.
func (e entry) coded(n int) entry { return e + entry(n)<<8 + entry(n) }

// lit and dist are what the symbols of RFC 1951, 3.2.5, mean.
var (
	lit  = slices.Concat(literals(), []entry{blockEnds}, ranges(28, 0, 4), []entry{(longest - shortest) << 16, invalid, invalid})
	dist = append(ranges(30, 1, 2), invalid, invalid)
)

func literals() (s []entry) {
	for b := range entry(256) {
		s = append(s, literal|b<<16)
	}
	return s
}

// ranges are n symbols, each for the values behind those of the one before, in groups. A group has one more extra bit than the one
// before, but for the first two, which have none.
func ranges(n, value, group int) (s []entry) {
	for i := range n {
		extra := max(0, i/group-1)
		s = append(s, entry(value)<<16|entry(extra))
		value += 1 << extra
	}
	return s
}

// order sorts the symbols that have a code by the code's length, and counts them by length. It reports whether the lengths make a
// code: a complete one, a single one of one bit, or none at all, as zlib and Go accept.
func order(room *[288]uint16, lengths []uint8) (sorted []uint16, count [maxCode + 1]int, ok bool) {
	for _, l := range lengths {
		count[l&maxCode]++
	}
	count[0] = 0
	var at [maxCode + 1]int
	total, space := 0, 1<<maxCode // space that no code takes
	for l, n := range count {
		at[l] = total
		total += n
		space -= n << (maxCode - l)
	}
	for s, l := range lengths {
		if l > 0 {
			room[at[l&maxCode]] = uint16(s)
			at[l&maxCode]++
		}
	}
	return room[:total], count, space == 0 || space > 0 && total == count[1]
}

// build fills table for the code whose lengths are given: lengths[i] bits for symbols[i], 0 for none. It reports whether the lengths
// make a code.
//
// Codes are gone through in their order, each turned around, as the stream has its first bit lowest. The table begins with what one
// bit tells and is doubled, one copy of what is there, for every further bit. Where an index tells a literal and the literal or length behind it,
// the entry gives both: it is written when the table has the size of both codes, as if they were one.
func build(table []entry, size int, lengths []uint8, symbols []entry) bool {
	var room [288]uint16
	sorted, count, ok := order(&room, lengths)
	if !ok {
		return false
	}
	table[0], table[1] = invalid, invalid // for codes that are not complete
	code, filled := 0, 2
	var short shortCodes
	for n := 1; n <= size; n++ {
		if n > 1 {
			copy(table[filled:], table[:filled])
			filled *= 2
		}
		short.pairs(table, n)
		for _, s := range sorted[:count[n]] {
			e := symbols[s].coded(n)
			if table[code] = e; e&invalid == 0 && n < size {
				short.add(e, code, n)
			}
			code = following(code, n)
		}
		sorted = sorted[count[n]:]
	}
	free := filled
	for n := size + 1; n <= maxCode; n++ {
		for left := count[n]; left > 0; left-- {
			begin := &table[code&(filled-1)]
			if *begin&longer == 0 || begin.value() == 0 {
				width := secondBits(n-size, left, count[size:])
				if free+1<<width > len(table) {
					return false
				}
				*begin = longer | entry(free)<<16 | entry(width)<<8 | entry(size)
				free += 1 << width
			}
			second := table[begin.value() : begin.value()+1<<begin.code()]
			for c := code >> size; c < len(second); c += 1 << (n - size) {
				second[c] = symbols[sorted[0]].coded(n - size)
			}
			sorted = sorted[1:]
			code = following(code, n)
		}
	}
	return true
}

// secondBits is how many bits the second table needs that begins with a code of n more bits, of which left are to come; count[i] codes
// have i more bits.
func secondBits(n, left int, count []int) int {
	for left < 1<<n && n+1 < len(count) {
		n++
		left = 2*left + count[n]
	}
	return n
}

// following is the code after one of n bits, both turned around: the highest bit that is 0 becomes 1, and those above it 0. After
// the last one, which has none, comes 0.
func following(code, n int) int {
	free := code ^ (1<<n - 1)
	if free == 0 {
		return 0
	}
	bit := 1 << (bits.Len(uint(free)) - 1)
	return code&(bit-1) | bit
}

// shortCodes are the literals and lengths with codes shorter than the index of the first table, shortest first.
type shortCodes struct {
	entries [288]entry
	codes   [288]uint16
	ends    [maxCode + 1]int // at n: so many have n bits at most
}

func (s *shortCodes) add(e entry, code, bits int) {
	at := s.ends[bits]
	s.entries[at], s.codes[at] = e, uint16(code)
	s.ends[bits]++
}

// pairs writes the entries of a literal and what follows it that have n bits together.
func (s *shortCodes) pairs(table []entry, n int) {
	s.ends[n] = s.ends[n-1] // so far
	for k := 1; k < n; k++ {
		seconds := s.entries[s.ends[n-k-1]:s.ends[n-k]]
		codes := s.codes[s.ends[n-k-1]:s.ends[n-k]]
		for i := s.ends[k-1]; i < s.ends[k]; i++ {
			e := s.entries[i]
			if e&literal == 0 {
				continue
			}
			twoLiterals, withLength := e&(literal|255<<16)|two|entry(n), e&(255<<16)<<8|two
			for j, f := range seconds {
				at := int(s.codes[i]) | int(codes[j])<<k
				if f&literal != 0 {
					table[at] = twoLiterals | f&(255<<16)<<8
				} else {
					table[at] = withLength | f.coded(k)
				}
			}
		}
	}
}
