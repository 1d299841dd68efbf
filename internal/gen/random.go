package gen

// random is SplitMix64 (Steele, Lea, Flood 2014): a seeded source whose numbers
// are the same in every Go release, which committed files depend on.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// between returns a number in [lo, hi].
func (r *random) between(lo, hi int64) int64 {
	if hi <= lo {
		return lo
	}
	return lo + int64(r.next()%uint64(hi-lo+1))
}

// around returns n changed by at most permille thousandths of it, never below
// 1.
func (r *random) around(n, permille int64) int64 {
	return max(1, n+r.between(-n*permille/1000, n*permille/1000))
}
