package segment

// score compares kernel i of s with kernel j of t.
func scoreOf(s *Sequence, i int, t *Sequence, j int) int {
	switch {
	case s.ID[i] == t.ID[j], s.Base[i] == t.Base[j]:
		return scoreName
	case s.Role[i] == t.Role[j] && interchangeable(s.Role[i]):
		return scoreRole
	}
	return scoreMismatch
}

// extend aligns a prefix of s with a prefix of t and returns how far the agreement reaches in each, the end point
// with the best score, and that score. step is +1 to walk forward from (si, ti), −1 to walk backward; sn and tn are
// the numbers of kernels available.
//
// It is used to ask how much of layer 0 precedes the first anchor, and how much of the last layer follows the last one.
func extend(s *Sequence, si, sn int, t *Sequence, ti, tn int, step int) (ns, nt, score int) {
	// Fast path: the common prefix by name needs no dynamic programming.
	k := 0
	for k < sn && k < tn && scoreOf(s, si+step*k, t, ti+step*k) == scoreName {
		k++
	}
	if k < sn && k < tn {
		const width = 2*maxBand + 1
		var rows [2 * width]int
		ns, nt, score = alignBand(rows[:], maxDrop, s, si+step*k, sn-k, t, ti+step*k, tn-k, step, nil)
	}
	return k + ns, k + nt, k*scoreName + score
}

// dead is the score of a path that was given up.
const dead = -1 << 20

// Where the best path to two ends of an alignment comes from.
const (
	fromBoth = iota + 1 // the kernels before them are aligned
	fromS               // the one of s is foreign to t
	fromT               // the one of t is missing in s
)

// alignBand aligns n kernels of s with m of t, along the diagonal: rows has room for two rows of a band around it. Only
// paths that have not lost more than drop against the best are followed. It returns the ends with the best score, and
// that score; ways, where it is not nil, gets where the best path to each two ends comes from.
func alignBand(rows []int, drop int, s *Sequence, si, n int, t *Sequence, ti, m, step int, ways []uint8) (bestS,
	bestT, bestScore int) {
	width := len(rows) / 2
	band := width / 2
	for d := range rows {
		rows[d] = dead
	}
	prev, cur := rows[:width], rows[width:]
	from, to := band, band // range of prev that is alive
	for d := band; d < width && (d-band)*scoreGap >= -drop-scoreName; d++ {
		prev[d], to = (d-band)*scoreGap, d
		if ways != nil {
			ways[d] = fromT
		}
	}
	for i := 1; i <= n; i++ {
		first, last := width, -1
		for d := max(0, from-1); d < width && (d <= to || cur[d-1] > dead); d++ {
			j := i + d - band
			if j < 0 || j > m {
				continue
			}
			best, way := dead, uint8(0)
			if j > 0 && prev[d] > dead {
				best, way = prev[d]+scoreOf(s, si+step*(i-1), t, ti+step*(j-1)), fromBoth
			}
			if d+1 < width && prev[d+1] > dead && prev[d+1]+scoreGap > best {
				best, way = prev[d+1]+scoreGap, fromS
			}
			if d > 0 && cur[d-1] > dead && cur[d-1]+scoreGap > best {
				best, way = cur[d-1]+scoreGap, fromT
			}
			if best < bestScore-drop {
				continue
			}
			if cur[d], first, last = best, min(first, d), d; ways != nil {
				ways[i*width+d] = way
			}
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

// alignPositions aligns all of s[sfrom:sto) with all of t[tfrom:tto) and returns, for every position j of
// t (0…tn), the position in s where j begins: the index of the kernel aligned with it, or where it would be.
// Offsets are relative.
func alignPositions(s *Sequence, sfrom, sto int, t *Sequence, tfrom, tto int) []int {
	pos := make([]int, tto-tfrom+1)
	pos[tto-tfrom] = sto - sfrom
	alignRanges(s, sfrom, sto, t, tfrom, tto, func(i, j int, _ bool) { pos[j-tfrom] = i - sfrom })
	return pos
}

// AlignPairs aligns the two ranges and calls pair for every kernel of s that is aligned with one of t; the names need
// not match.
func AlignPairs(s *Sequence, sfrom, sto int, t *Sequence, tfrom, tto int, pair func(i, j int)) {
	alignRanges(s, sfrom, sto, t, tfrom, tto, func(i, j int, both bool) {
		if both {
			pair(i, j)
		}
	})
}

// align calls set for each j in [tfrom, tto) with the position i in s where j begins, and whether the two kernels are
// aligned.
func alignRanges(s *Sequence, sfrom, sto int, t *Sequence, tfrom, tto int, set func(i, j int, both bool)) {
	// Strip the common prefix and suffix: in nearly equal units little is left.
	for sfrom < sto && tfrom < tto && s.ID[sfrom] == t.ID[tfrom] {
		set(sfrom, tfrom, true)
		sfrom, tfrom = sfrom+1, tfrom+1
	}
	for sfrom < sto && tfrom < tto && s.ID[sto-1] == t.ID[tto-1] {
		sto, tto = sto-1, tto-1
		set(sto, tto, true)
	}
	n, m := sto-sfrom, tto-tfrom
	if band := abs(n-m) + bandSlack; m > 0 && band <= 2*maxBand {
		alignMiddle(s, sfrom, n, t, tfrom, m, band, func(j, i int, both bool) { set(sfrom+i, tfrom+j, both) })
		return
	}
	for j := range m { // too different to align: spread
		set(sfrom+j*n/m, tfrom+j, false)
	}
}

// alignMiddle aligns all of n kernels of s with all of m of t. set is called for each j in [0, m) with the position i
// in [0, n] where j begins, and whether kernel i is aligned with it.
func alignMiddle(s *Sequence, si, n int, t *Sequence, ti, m, band int, set func(j, i int, both bool)) {
	width := 2*band + 1
	ways := make([]uint8, (n+1)*width)
	alignBand(make([]int, 2*width), -dead/2, s, si, n, t, ti, m, +1, ways)
	for i, j := n, m; j > 0; {
		way := uint8(fromT)
		if d := j - i + band; d >= 0 && d < width {
			way = ways[i*width+d]
		}
		switch {
		case way == fromBoth:
			i, j = i-1, j-1
			set(j, i, true)
		case way == fromS && i > 0:
			i--
		default:
			j--
			set(j, i, false)
		}
	}
}
