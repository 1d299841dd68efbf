package decompress

import (
	"math/bits"
	"slices"
)

// Tables turn the next bits of the stream into what they mean. The first litBits (distBits) bits are an index; a
// longer code leads on to a second table after the first one, whose index are all the other bits that a code can
// have. An entry has these fields, from bit 0:
//
//	0–7    how many bits it uses up, extra bits included
//	8–11   how many of them are the code (of a second table: its bits there)
//	12–15  two: it gives a literal and another symbol; blockEnds, longer; literal: what it is;
//	       none of the three is a length or a distance
//	16–23  a literal; of two symbols the first one
//	24–31  the second literal; a length less the shortest, without the extra bits
//	16–31  a distance without the extra bits; where the second table begins
type entry uint32

const (
	two       entry = 1 << 12
	blockEnds entry = 1 << 13
	longer    entry = 1 << 14
	literal   entry = 1 << 15
	invalid         = blockEnds | longer // no code begins like this
	first     entry = 255 << 16
)

const (
	maxCode    = 15  // bits of the longest code
	endOfBlock = 256 // the symbol

	litBits, distBits = 11, 9
	litMore, distMore = maxCode - litBits, maxCode - distBits // bits of the second tables
	lengthBits        = 7                                     // of the code of lengths, which has no longer ones

	// A second table belongs to two symbols or more.
	litEntries  = 1<<litBits + 288/2<<litMore
	distEntries = 1<<distBits + 32/2<<distMore
)

func (e entry) used() uint  { return uint(e & 63) }
func (e entry) code() uint  { return uint(e >> 8 & 15) }
func (e entry) value() int  { return int(e >> 16) }
func (e entry) count() int  { return 1 + int(e>>12&1) } // of symbols
func (e entry) extra() uint { return e.used() - e.code() }
func (e entry) length() int { return shortest + int(e>>24) } // without the extra bits

// coded is the entry of a symbol whose code has n bits more. Symbols are entries with their extra bits in place of
// what they use up.
func (e entry) coded(n int) entry { return e + entry(n)<<8 + entry(n) }

// lit and dist are what the symbols of RFC 1951, 3.2.5, mean.
var (
	lit = slices.Concat(ranges(256, 0, 256, literal, 16), []entry{blockEnds}, ranges(28, 0, 4, 0, 24),
		[]entry{(longest - shortest) << 24, invalid, invalid})
	dist = append(ranges(30, 1, 2, 0, 16), invalid, invalid)
)

// ranges are n symbols of a kind, each for the values after those of the one before, in groups. A group has one more
// extra bit than the one before, but for the first two, which have none. The value is at a bit of the entry.
func ranges(n, value, group int, kind entry, at int) (s []entry) {
	for i := range n {
		extra := max(0, i/group-1)
		s = append(s, kind|entry(value)<<at|entry(extra))
		value += 1 << extra
	}
	return s
}

// codes are the two codes of a block.
type codes struct {
	lits    [litEntries]entry
	dists   [distEntries]entry
	lengths [288 + 32]uint8 // of the codes: those of literals and lengths, after them those of distances
}

// build makes the tables of the lengths, and reports whether they make codes.
func (c *codes) build(nlit, ndist int) bool {
	return build(c.lits[:], litBits, c.lengths[:nlit], lit) &&
		build(c.dists[:], distBits, c.lengths[nlit:nlit+ndist], dist)
}

// order sorts the symbols that have a code by its length; ends[n] is after the last one whose code has n bits. It
// reports whether the lengths make a code: a complete one, a single one of one bit, or none at all, as zlib and Go
// accept.
func order(sorted *[288]uint16, lengths []uint8) (ends [maxCode + 1]int, ok bool) {
	var count [maxCode + 1]int
	for _, n := range lengths {
		count[n&maxCode]++
	}
	count[0] = 0
	total, space := 0, 1<<maxCode // space that no code takes
	for n := range count {
		ends[n] = total
		total += count[n]
		space -= count[n] << (maxCode - n)
	}
	for s, n := range lengths {
		if n > 0 {
			sorted[ends[n&maxCode]] = uint16(s)
			ends[n&maxCode]++
		}
	}
	return ends, space == 0 || space > 0 && total == count[1]
}

// build fills table for the code whose lengths are given: lengths[i] bits for symbols[i], 0 for none. It reports
// whether the lengths make a code.
//
// The table begins as that of no bits and is doubled, one copy of what is there, for every further bit; then the
// codes that have so many bits are written, each turned around, as the stream has its first bit lowest. Where an
// index selects a literal and the symbol after it, and the entry has both: it is written when the table is as large as
// both codes, as if they were one.
func build(table []entry, size int, lengths []uint8, symbols []entry) bool {
	var sorted [288]uint16 // literals first
	ends, ok := order(&sorted, lengths)
	if !ok {
		return false
	}
	var firsts, seconds [288]entry // what sorted[i] is before another symbol, and after one
	var codes [288]uint16          // its code, turned around
	table[0] = invalid             // where no code leads in one that is not complete
	filled, code, more := 1, uint16(0), maxCode-size
	for n := 1; n <= maxCode; n++ {
		if n <= size {
			copy(table[filled:], table[:filled])
			filled *= 2
		}
		for k := 1; k < n && n <= size; k++ {
			from, to := ends[n-k-1], ends[n-k]
			for i := ends[k-1]; i < ends[k] && firsts[i] != 0; i++ {
				for j := from; j < to; j++ {
					table[codes[i]|codes[j]<<k] = seconds[j] + firsts[i]
				}
			}
		}
		code <<= 1
		for i := ends[n-1]; i < ends[n]; i++ {
			c, e := bits.Reverse16(code)>>(16-n), symbols[sorted[i]]
			code++
			if n > size {
				begin := &table[c&(1<<size-1)]
				if *begin == invalid {
					*begin = longer | entry(filled)<<16
					filled += 1 << more
				}
				for at := int(c >> size); at < 1<<more; at += 1 << (n - size) {
					table[begin.value()+at] = e.coded(n - size)
				}
				continue
			}
			e = e.coded(n)
			if codes[i], table[c], seconds[i] = c, e, e+two; e&literal != 0 {
				firsts[i], seconds[i] = (e & first).coded(n), e&^first+two+e&first<<8
			}
		}
	}
	return true
}
