package segment

// score compares kernel i of s with kernel j of t.
func (p *Params) score(s *Sequence, i int, t *Sequence, j int) int {
	switch {
	case s.ID[i] == t.ID[j], s.Base[i] == t.Base[j]:
		return p.ScoreName
	case s.Role[i] == t.Role[j] && interchangeable(s.Role[i]):
		return p.ScoreRole
	}
	return p.ScoreMismatch
}

// extend aligns a prefix of s with a prefix of t and returns how far the agreement reaches in each: the end point with the best
// score. step is +1 to walk forward from (si, ti), −1 to walk backward; sn and tn are the numbers of kernels available.
//
// It is used to ask how much of layer 0 precedes the first anchor, and how much of the last layer follows the last one.
func (p *Params) extend(s *Sequence, si, sn int, t *Sequence, ti, tn int, step int) (ns, nt int) {
	ns, nt, _ = p.agree(s, si, sn, t, ti, tn, step)
	return ns, nt
}

// agree is extend with the score.
func (p *Params) agree(s *Sequence, si, sn int, t *Sequence, ti, tn int, step int) (ns, nt, score int) {
	// Fast path: the common prefix by name needs no dynamic programming.
	k := 0
	for k < sn && k < tn && p.score(s, si+step*k, t, ti+step*k) == p.ScoreName {
		k++
	}
	if k == sn || k == tn {
		return k, k, k * p.ScoreName
	}
	ms, mt, more := p.extendDiffering(s, si+step*k, sn-k, t, ti+step*k, tn-k, step)
	return k + ms, k + mt, k*p.ScoreName + more
}

// dead is the score of a path that was given up.
const dead = -1 << 20

// extendDiffering is extend from the first difference on: dynamic programming along the diagonal, in which only the paths
// that have not lost too much against the best are followed.
func (p *Params) extendDiffering(s *Sequence, si, sn int, t *Sequence, ti, tn int, step int) (bestS, bestT, bestScore int) {
	const room = 128 // no allocation for the usual band
	var rows [2 * room]int
	width := 2*p.Band + 1
	prev, cur := rows[:min(width, room)], rows[room:room+min(width, room)]
	if width > room {
		prev, cur = make([]int, width), make([]int, width)
	}
	for d := range prev {
		prev[d], cur[d] = dead, dead
	}
	from, to := p.Band, p.Band // range of prev that is alive
	for d := p.Band; d < width; d++ {
		if prev[d] = (d - p.Band) * p.ScoreGap; prev[d] < -p.Drop-p.ScoreName {
			break
		}
		to = d
	}
	for i := 1; i <= sn; i++ {
		first, last := width, -1
		for d := max(0, from-1); d < width && (d <= to || cur[d-1] > dead); d++ {
			j := i + d - p.Band
			if j < 0 || j > tn {
				continue
			}
			best := dead
			if d+1 < width && prev[d+1] > dead { // gap in t
				best = prev[d+1] + p.ScoreGap
			}
			if d > 0 && cur[d-1] > dead { // gap in s
				best = max(best, cur[d-1]+p.ScoreGap)
			}
			if j > 0 && prev[d] > dead {
				best = max(best, prev[d]+p.score(s, si+step*(i-1), t, ti+step*(j-1)))
			}
			if best < bestScore-p.Drop {
				continue
			}
			cur[d], first, last = best, min(first, d), d
			if best > bestScore {
				bestScore, bestS, bestT = best, i, j
			}
		}
		for d := max(0, from-1); d <= min(to+1, width-1); d++ {
			prev[d] = dead
		}
		if last < 0 {
			break
		}
		prev, cur, from, to = cur, prev, first, last
	}
	return bestS, bestT, bestScore
}

// alignPositions aligns the whole of s[sfrom:sto) with the whole of t[tfrom:tto) and returns, for every position j of t (0…tn),
// the position in s where j begins: the index of the kernel aligned with it, or where it would stand. Offsets are relative.
func (p *Params) alignPositions(s *Sequence, sfrom, sto int, t *Sequence, tfrom, tto int) []int {
	sn, tn := sto-sfrom, tto-tfrom
	pos := make([]int, tn+1)
	// Strip the common prefix and suffix: in nearly equal units little is left.
	pre := 0
	for pre < sn && pre < tn && s.ID[sfrom+pre] == t.ID[tfrom+pre] {
		pos[pre] = pre
		pre++
	}
	suf := 0
	for suf < sn-pre && suf < tn-pre && s.ID[sto-1-suf] == t.ID[tto-1-suf] {
		suf++
		pos[tn-suf] = sn - suf
	}
	pos[tn] = sn
	n, m := sn-pre-suf, tn-pre-suf
	if m == 0 {
		return pos
	}
	band := abs(n-m) + p.Slack
	if band > 2*p.Band { // too different to align: keep both ends, spread the middle
		for j := range m {
			pos[pre+j] = pre + j*n/m
		}
		return pos
	}
	p.alignMiddle(s, sfrom+pre, n, t, tfrom+pre, m, band, func(j, i int, _ bool) { pos[pre+j] = pre + i })
	return pos
}

// AlignPairs aligns the two ranges and calls pair for every kernel of s that is aligned with one of t; the names need not match.
func (p *Params) AlignPairs(s *Sequence, sfrom, sto int, t *Sequence, tfrom, tto int, pair func(i, j int)) {
	for sfrom < sto && tfrom < tto && s.ID[sfrom] == t.ID[tfrom] {
		pair(sfrom, tfrom)
		sfrom, tfrom = sfrom+1, tfrom+1
	}
	for sfrom < sto && tfrom < tto && s.ID[sto-1] == t.ID[tto-1] {
		sto, tto = sto-1, tto-1
		pair(sto, tto)
	}
	n, m := sto-sfrom, tto-tfrom
	if n == 0 || m == 0 {
		return
	}
	band := abs(n-m) + p.Slack
	if band > 2*p.Band {
		return // what differs that much does not say where a kernel comes from
	}
	p.alignMiddle(s, sfrom, n, t, tfrom, m, band, func(j, i int, both bool) {
		if both {
			pair(sfrom+i, tfrom+j)
		}
	})
}

// alignMiddle is the banded Needleman–Wunsch alignment of n kernels of s with m of t. set is called for each j in
// [0, m) with the position i in [0, n] where j begins, and whether kernel i is aligned with it.
func (p *Params) alignMiddle(s *Sequence, si, n int, t *Sequence, ti, m, band int, set func(j, i int, both bool)) {
	width := 2*band + 1
	row := make([]int, width)
	next := make([]int, width)
	from := make([]uint8, (n+1)*width) // 1 diagonal, 2 consumes s, 3 consumes t
	for d := range row {
		row[d] = dead
		if j := d - band; j >= 0 && j <= m {
			row[d] = j * p.ScoreGap
			from[d] = 3
		}
	}
	for i := 1; i <= n; i++ {
		for d := range next {
			next[d] = dead
			j := i + d - band
			if j < 0 || j > m {
				continue
			}
			best, dir := dead, uint8(0)
			if j > 0 && row[d] > dead {
				best, dir = row[d]+p.score(s, si+i-1, t, ti+j-1), 1
			}
			if d+1 < width && row[d+1] > dead && row[d+1]+p.ScoreGap > best {
				best, dir = row[d+1]+p.ScoreGap, 2
			}
			if d > 0 && next[d-1] > dead && next[d-1]+p.ScoreGap > best {
				best, dir = next[d-1]+p.ScoreGap, 3
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
