package layer

// maxBand bounds the number of insertions or deletions an alignment may accumulate. Units of one model differ by a split-K
// reduction here and an indexer there (at most 12 kernels in the traces seen); 48 leaves room and keeps the cost linear.
const maxBand = 48

// extend aligns a prefix of s with a prefix of t and returns how far the agreement reaches in each: the end point with the best
// score. step is +1 to walk forward from (si, ti), −1 to walk backward; sn and tn are the numbers of kernels available.
//
// It is used to ask how much of layer 0 precedes the first anchor, and how much of the last layer follows the last one.
func extend(s *sequence, si, sn int, t *sequence, ti, tn int, step int) (ns, nt int) {
	// Fast path: the common prefix by name needs no dynamic programming.
	k := 0
	for k < sn && k < tn && s.score(si+step*k, t, ti+step*k) == scoreName {
		k++
	}
	if k == sn || k == tn {
		return k, k
	}
	bestScore, bestS, bestT := 0, k, k
	si, ti, sn, tn = si+step*k, ti+step*k, sn-k, tn-k
	const drop = 8 // give up when every path has lost this much against the best
	width := 2*maxBand + 1
	const dead = -1 << 20
	prev, cur := make([]int, width), make([]int, width)
	for d := range prev {
		prev[d] = dead
		if d >= maxBand { // row 0: j = d − maxBand gaps
			prev[d] = (d - maxBand) * scoreGap
		}
	}
	for i := 1; i <= sn; i++ {
		s.watch.Rows(width)
		alive := false
		for d := range cur {
			cur[d] = dead
			j := i + d - maxBand
			if j < 0 || j > tn {
				continue
			}
			best := dead
			if d+1 < width && prev[d+1] > dead { // gap in t
				best = prev[d+1] + scoreGap
			}
			if d > 0 && cur[d-1] > dead && cur[d-1]+scoreGap > best { // gap in s
				best = cur[d-1] + scoreGap
			}
			if j > 0 && prev[d] > dead {
				if v := prev[d] + s.score(si+step*(i-1), t, ti+step*(j-1)); v > best {
					best = v
				}
			}
			if best < bestScore-drop {
				continue
			}
			cur[d] = best
			alive = true
			if best > bestScore {
				bestScore, bestS, bestT = best, k+i, k+j
			}
		}
		if !alive {
			break
		}
		prev, cur = cur, prev
	}
	return bestS, bestT
}

// alignPositions aligns the whole of s[sfrom:sto) with the whole of t[tfrom:tto) and returns, for every position j of t (0…tn),
// the position in s where j begins: the index of the kernel aligned with it, or where it would stand. Offsets are relative.
func alignPositions(s *sequence, sfrom, sto int, t *sequence, tfrom, tto int) []int {
	sn, tn := sto-sfrom, tto-tfrom
	pos := make([]int, tn+1)
	// Strip the common prefix and suffix: in nearly equal units little is left.
	pre := 0
	for pre < sn && pre < tn && s.fine[sfrom+pre] == t.fine[tfrom+pre] {
		pos[pre] = pre
		pre++
	}
	suf := 0
	for suf < sn-pre && suf < tn-pre && s.fine[sto-1-suf] == t.fine[tto-1-suf] {
		suf++
		pos[tn-suf] = sn - suf
	}
	pos[tn] = sn
	n, m := sn-pre-suf, tn-pre-suf
	if m == 0 {
		return pos
	}
	band := abs(n-m) + 8
	if band > 2*maxBand { // too different to align: keep both ends, spread the middle
		for j := range m {
			pos[pre+j] = pre + j*n/m
		}
		return pos
	}
	alignMiddle(s, sfrom+pre, n, t, tfrom+pre, m, band, func(j, i int, _ bool) { pos[pre+j] = pre + i })
	return pos
}

// alignPairs aligns the two ranges and calls pair for every kernel of s that is aligned with one of t; the names need not match.
func alignPairs(s *sequence, sfrom, sto int, t *sequence, tfrom, tto int, pair func(i, j int)) {
	for sfrom < sto && tfrom < tto && s.fine[sfrom] == t.fine[tfrom] {
		pair(sfrom, tfrom)
		sfrom, tfrom = sfrom+1, tfrom+1
	}
	for sfrom < sto && tfrom < tto && s.fine[sto-1] == t.fine[tto-1] {
		sto, tto = sto-1, tto-1
		pair(sto, tto)
	}
	n, m := sto-sfrom, tto-tfrom
	if n == 0 || m == 0 {
		return
	}
	band := abs(n-m) + 8
	if band > 2*maxBand {
		return // what differs that much does not say where a kernel comes from
	}
	alignMiddle(s, sfrom, n, t, tfrom, m, band, func(j, i int, both bool) {
		if both {
			pair(sfrom+i, tfrom+j)
		}
	})
}

// alignMiddle is the banded Needleman–Wunsch alignment of n kernels of s with m of t. set is called for each j in
// [0, m) with the position i in [0, n] where j begins, and whether kernel i is aligned with it.
func alignMiddle(s *sequence, si, n int, t *sequence, ti, m, band int, set func(j, i int, both bool)) {
	width := 2*band + 1
	const dead = -1 << 29
	row := make([]int, width)
	next := make([]int, width)
	from := make([]uint8, (n+1)*width) // 1 diagonal, 2 consumes s, 3 consumes t
	for d := range row {
		row[d] = dead
		if j := d - band; j >= 0 && j <= m {
			row[d] = j * scoreGap
			from[d] = 3
		}
	}
	for i := 1; i <= n; i++ {
		s.watch.Rows(width)
		for d := range next {
			next[d] = dead
			j := i + d - band
			if j < 0 || j > m {
				continue
			}
			best, dir := dead, uint8(0)
			if j > 0 && row[d] > dead {
				best, dir = row[d]+s.score(si+i-1, t, ti+j-1), 1
			}
			if d+1 < width && row[d+1] > dead && row[d+1]+scoreGap > best {
				best, dir = row[d+1]+scoreGap, 2
			}
			if d > 0 && next[d-1] > dead && next[d-1]+scoreGap > best {
				best, dir = next[d-1]+scoreGap, 3
			}
			next[d], from[i*width+d] = best, dir
		}
		row, next = next, row
	}
	for i, j := n, m; j > 0; {
		d := j - i + band
		dir := uint8(3)
		if d >= 0 && d < width {
			dir = from[i*width+d]
		}
		switch {
		case dir == 1:
			i, j = i-1, j-1
			set(j, i, true)
		case dir == 2 && i > 0:
			i--
		default:
			j--
			set(j, i, false)
		}
	}
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
