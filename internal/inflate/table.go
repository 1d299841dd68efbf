package inflate

// Tables turn the next bits of the stream into what they mean. The first
// litBits (distBits) bits are an index; a longer code leads on to a second table
// behind the first one.
//
// An entry has these fields, from bit 0:
//
//	0–3    how many bits it uses up, extra bits not counted
//	4–5    how many literals it gives, 0 to 3
//	8–31   the literals, the first one lowest
//
// and, where it gives no literal,
//
//	6–7    its kind
//	8–12   kindCopy: the number of extra bits; kindMore: the second table's index bits
//	13–31  kindCopy: length or distance before extra bits; kindMore: where the second table begins
type entry uint32

const (
	kindCopy    entry = 0 << 6 // a length, or a distance
	kindMore    entry = 1 << 6 // the code is longer than the first table's index
	kindEnd     entry = 2 << 6 // the block ends
	kindInvalid entry = 3 << 6 // no code begins like this
	kindMask    entry = 3 << 6
)

const (
	maxCode    = 15  // bits of the longest code
	endOfBlock = 256 // the symbol

	litBits  = 11
	distBits = 9

	// Room for the first table and all second tables: a complete code of 288
	// (32) symbols and 15 bits needs at most so many entries (zlib's enough.c
	// prints 2342 for 286 symbols and 11 bits, 594 for 30 and 9).
	litEntries  = 2400
	distEntries = 640
)

func (e entry) used() uint    { return uint(e & 15) }
func (e entry) literals() int { return int(e >> 4 & 3) }
func (e entry) extra() uint   { return uint(e >> 8 & 31) }
func (e entry) base() int     { return int(e >> 13) }

func literal(b int) entry            { return 1<<4 | entry(b)<<8 }
func copyOf(base, extra int) entry   { return kindCopy | entry(extra)<<8 | entry(base)<<13 }
func further(at int, bits int) entry { return kindMore | entry(bits)<<8 | entry(at)<<13 }

// lit and dist are what the symbols of RFC 1951, 3.2.5, mean.
var lit, dist = litSymbols(), distSymbols()

func litSymbols() (s [288]entry) {
	for i := range 256 {
		s[i] = literal(i)
	}
	s[endOfBlock] = kindEnd
	length := 3
	for i := range 28 {
		extra := max(0, i/4-1)
		s[257+i] = copyOf(length, extra)
		length += 1 << extra
	}
	s[285] = copyOf(258, 0)
	s[286], s[287] = kindInvalid, kindInvalid
	return s
}

func distSymbols() (s [32]entry) {
	d := 1
	for i := range 30 {
		extra := max(0, i/2-1)
		s[i] = copyOf(d, extra)
		d += 1 << extra
	}
	s[30], s[31] = kindInvalid, kindInvalid
	return s
}

// build fills table for the code whose lengths are given: lengths[i] bits for
// symbols[i], 0 for none. It reports whether the lengths make a code: a complete
// one, a single one of one bit, or none at all, as zlib and Go accept.
func build(table []entry, bits int, lengths []uint8, symbols []entry) bool {
	var count, next [maxCode + 1]int
	for _, l := range lengths {
		count[l]++
	}
	count[0] = 0
	longest, code := 0, 0
	for l := 1; l <= maxCode; l++ {
		code = code << 1
		next[l] = code
		if code += count[l]; code > 1<<l {
			return false
		}
		if count[l] > 0 {
			longest = l
		}
	}
	first := table[:1<<bits]
	if code != 1<<maxCode {
		if longest > 1 {
			return false
		}
		for i := range first {
			first[i] = kindInvalid
		}
	}
	for s, l := range lengths {
		n := int(l)
		if n == 0 || n > bits {
			continue
		}
		e := symbols[s] | entry(n)
		for c := reverse(next[n], n); c < len(first); c += 1 << n {
			first[c] = e
		}
		next[n]++
	}
	if longest <= bits {
		return true
	}
	return buildSecond(table, bits, lengths, symbols, next, count)
}

// buildSecond fills the second tables, behind the first one: one for each
// beginning that codes longer than bits share, as wide as the longest of them
// needs. next holds, for those lengths, the first code.
func buildSecond(table []entry, bits int, lengths []uint8, symbols []entry, next, count [maxCode + 1]int) bool {
	var width [1 << litBits]int
	for l := bits + 1; l <= maxCode; l++ {
		for c := range count[l] {
			width[reverse(next[l]+c, l)&(1<<bits-1)] = l - bits
		}
	}
	free := 1 << bits
	for s, l := range lengths {
		n := int(l)
		if n <= bits {
			continue
		}
		c := reverse(next[n], n)
		next[n]++
		begin := c & (1<<bits - 1)
		if w := width[begin]; w > 0 {
			if free+1<<w > len(table) {
				return false
			}
			table[begin] = further(free, w) | entry(bits)
			free += 1 << w
			width[begin] = 0
		}
		e := table[begin]
		second := table[e.base() : e.base()+1<<e.extra()]
		for c >>= bits; c < len(second); c += 1 << (n - bits) {
			second[c] = symbols[s] | entry(n-bits)
		}
	}
	return true
}

// pack lets entries of literals give the literals that follow, too, where the
// bits of the index tell them all.
func pack(table []entry) {
	first := table[:1<<litBits]
	var single [1 << litBits]entry
	copy(single[:], first)
	for i, e := range single {
		if e.literals() != 1 {
			continue
		}
		used := e.used()
		lits, n := e>>8, uint(1)
		for n < 3 {
			next := single[i>>used]
			if next.literals() != 1 || used+next.used() > litBits {
				break
			}
			lits |= next >> 8 << (8 * n)
			used += next.used()
			n++
		}
		first[i] = entry(used) | entry(n)<<4 | lits<<8
	}
}

// reverse turns a code of n bits around: the stream has its first bit lowest.
func reverse(code, n int) int {
	r := 0
	for range n {
		r = r<<1 | code&1
		code >>= 1
	}
	return r
}
