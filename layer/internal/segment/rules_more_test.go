package segment

import "fmt"

func init() {
	for name, rule := range map[string][]func(p *Params) bool{
		"MixerShare":      sides(func(p *Params, x int) bool { return p.mixedLayers(lacking(20, x)) }, 3, 2),
		"InFront":         sides(func(p *Params, x int) bool { return displaced(p, x) }, 1, 2),
		"Lookups":         sides(closedByNorm, 2, 3),
		"NearSupport":     sides(func(p *Params, x int) bool { return worn(p, x, 0) }, 9, 10),
		"LostShare":       sides(func(p *Params, x int) bool { return worn(p, 14, x) }, 2, 1),
		"MinUnit":         sides(func(p *Params, x int) bool { return isStack(p, 8, 0.9, x, 0, true) }, 2, 3),
		"LongUnit":        sides(func(p *Params, x int) bool { return isStack(p, 3, 0.9, x, 0, true) }, 400, 401),
		"MaxKinds":        sides(func(p *Params, x int) bool { return kindsOfLayers(p, x, 0) == x }, 8, 9),
		"KindApart":       sides(func(p *Params, x int) bool { return kindsOfLayers(p, 2, x) == 2 }, 17, 16),
		"ReadCells":       sides(func(p *Params, x int) bool { return p.readable(x, 2) }, 1<<21, 1<<21+1),
		"ReadClose":       sides(func(p *Params, x int) bool { return p.readsAsMuch(x, 100) }, 90, 89),
		"BehindShare":     sides(func(p *Params, x int) bool { s := sampled(8, x); return p.untilSampling(s).Len() < s.Len() }, 2, 3),
		"LongCount":       sides(onceMore, 3, 4),
		"StackLayers":     sides(func(p *Params, x int) bool { return isStack(p, x, 0.4, 10, 0, true) }, 3, 4),
		"SmallSupport":    sides(func(p *Params, x int) bool { return isStack(p, 3, float64(x)/100, 10, 0, true) }, 49, 50),
		"SmallUnit":       sides(func(p *Params, x int) bool { return isStack(p, 3, 0.6, x, 0, true) }, 5, 6),
		"RolesKnown":      sides(func(p *Params, x int) bool { return isStack(p, 5, 0.7, 10, x, false) }, 13, 12),
		"OddLayers":       sides(func(p *Params, x int) bool { return isStack(p, x, 0.7, 10, 60, false) }, 7, 8),
		"OddSupport":      sides(func(p *Params, x int) bool { return isStack(p, 8, float64(x)/100, 10, 60, false) }, 59, 60),
		"HashedSupport":   sides(func(p *Params, x int) bool { return isStack(p, 5, float64(x)/100, 10, 0, false) }, 34, 35),
		"ForcedUneven":    sides(func(p *Params, x int) bool { return overcounts(p, float64(x)/100) }, 9, 11),
		"UsualOff":        sides(filledBetween, 14, 13),
		"TwoSimilarity":   sides(twoUnits, 6, 5),
		"Leading":         sides(func(p *Params, x int) bool { return leadingLayers(p, x, 6) }, 5, 4),
		"LeadLength":      sides(func(p *Params, x int) bool { return leadingLayers(p, 1, x) }, 11, 10),
		"WholeUnit":       sides(partBehind, 6, 7),
		"Missing":         sides(settles, 67, 66),
		"Turns":           sides(func(p *Params, x int) bool { s, pos := cycle(x); return likeness(s, pos, p.Turns) >= 0.7 }, 5, 4),
		"Parts":           sides(func(p *Params, x int) bool { return parts(p, 40, x) }, 5, 4),
		"TurnsLeast":      sides(func(p *Params, x int) bool { return parts(p, x, 5) }, 24, 23),
		"TurnsMixers":     sides(func(p *Params, x int) bool { return p.turns(mixed(x, 0)) }, 12, 13),
		"TurnsSimilarity": sides(func(p *Params, x int) bool { return p.turns(mixed(15, x)) }, 4, 2),
		"ScoreName":       sides(func(p *Params, x int) bool { return survives(p, 0, 1, x) }, 1, 2),
		"ScoreMismatch":   sides(func(p *Params, x int) bool { return survives(p, 0, 1, x) }, 1, 2),
		"ScoreRole":       sides(func(p *Params, x int) bool { return survives(p, 0, -x, 0) }, 2, 3),
		"ScoreGap":        sides(func(p *Params, x int) bool { return survives(p, 1, 0, x) }, 1, 2),
		"Drop":            sides(func(p *Params, x int) bool { return survives(p, 0, x, 12) }, 5, 4),
		"Band":            sides(drifts, 25, 24),
		"Slack":           sides(slack, 9, 8),
		"WeightBegins":    better(phaseOf{begins: true}, phaseOf{mixers: true, norms: true, input: true}, phaseOf{mixers: true, open: true, norms: true}),
		"WeightMixer":     better(phaseOf{mixers: true}, phaseOf{open: true, norms: true, input: true}, phaseOf{begins: true}),
		"WeightOpen":      better(phaseOf{open: true}, phaseOf{norms: true, input: true}, phaseOf{mixers: true}),
		"WeightTorn":      better(phaseOf{torn: true}, phaseOf{}, phaseOf{input: true}),
		"WeightNorm":      better(phaseOf{norms: true}, phaseOf{input: true}, phaseOf{open: true}),
		"WeightInput":     better(phaseOf{input: true}, phaseOf{torn: true}, phaseOf{norms: true}),
	} {
		rules[name] = rule
	}
}

// sides are two inputs, one on either side of a number.
func sides(f func(p *Params, x int) bool, a, b int) []func(p *Params) bool {
	return []func(p *Params) bool{func(p *Params) bool { return f(p, a) }, func(p *Params) bool { return f(p, b) }}
}

// lacking is n layers, of which some without a mixer have little in common with the others.
func lacking(n, without int) (s *Sequence, starts []int) {
	s = &Sequence{}
	for l := range n {
		starts = append(starts, s.Len())
		for k, r := range []Role{norm, product, mixer, product} {
			if id := int32(k); l%5 == 2 && l/5 < without {
				s.add(10+id, []Role{norm, product, activation, product}[k])
			} else {
				s.add(id, r)
			}
		}
	}
	return s, append(starts, s.Len())
}

// kindsOfLayers counts the kinds of layers of 20 kernels, each of which comes twice; so many kernels are the same in all of them.
func kindsOfLayers(p *Params, kinds, shared int) int {
	s := &Sequence{}
	starts := []int{0}
	for l := range 2 * kinds {
		for k := range 20 {
			id := k
			if k >= shared {
				id += 20 * (1 + l%kinds)
			}
			s.add(int32(id), 0)
		}
		starts = append(starts, s.Len())
	}
	return len(p.layerKinds(s, starts))
}

// sampled has so many mixers in front of the sampling and behind it.
func sampled(before, behind int) *Sequence {
	s := &Sequence{}
	for k := range before + behind {
		s.add(0, norm)
		s.add(1, mixer)
		s.add(2, activation)
		if k == before-1 {
			s.add(3, sample)
		}
	}
	return s
}

// onceMore asks whether a name that occurs once more than twice as often as another one supports the other one's count.
func onceMore(p *Params, count int) bool {
	var names []string
	for k := range 2*count + 1 {
		names = append(names, "often")
		if k < count {
			names = append(names, "one")
		}
	}
	for _, g := range p.counts(sequenceOf(names), false) {
		if g.N == count {
			return g.Support == 1
		}
	}
	return false
}

// worn asks whether 20 units of 20 kernels are a stack of which so many kernels recur, each lost in so many units. No name of them has its
// whole number where some are lost.
func worn(p *Params, recurring, lost int) bool {
	const n = 20
	var names []string
	var pos []int
	for u := range n {
		pos = append(pos, len(names))
		for k := range n {
			if name := fmt.Sprintf("k%d", k); k < recurring && (u+k)%n >= lost {
				names = append(names, name)
			} else {
				names = append(names, fmt.Sprintf("k%d of %d", k, u))
			}
		}
	}
	return p.plausible(sequenceOf(names), &Guess{N: n, Combs: []Comb{{Pos: pos}}}, true)
}

// isStack asks whether n units are a stack: of a support, a length and with so many kernels of known roles.
func isStack(p *Params, n int, support float64, unit, known int, mixers bool) bool {
	s := stack(n, unit)
	for k := range min(known, s.Len()) {
		s.Role[k] = norm
	}
	var pos []int
	for k := range n {
		pos = append(pos, k*unit)
	}
	return p.plausible(s, &Guess{N: n, Support: support, Combs: []Comb{{Pos: pos}}}, mixers)
}

// overcounts asks whether nine layers of some unevenness are forced on six.
func overcounts(p *Params, cost float64) bool {
	pos := []int{1, 5, 10, 14, 20, 25, 30, 36, 42}
	s := layersOf(6)
	for i, r := range s.Role {
		if r == activation {
			s.Role[i] = mixer // where each of the nine holds a mixer nothing but their unevenness tells
		}
	}
	return p.Overcounts(s, &Cut{Comb: Comb{Pos: pos, Cost: cost}, Similarity: 0.5}, 9)
}

// filledBetween has a gap of two units, and other units of which every second one has another length than ten.
func filledBetween(p *Params, other int) bool {
	s := &Sequence{}
	var pos []int
	unit := func(n, from int) {
		pos = append(pos, s.Len())
		for k := range n {
			s.add(int32((from+k)%16), 0)
		}
	}
	for range 3 {
		unit(10, 0)
		unit(other, 0)
	}
	unit(10, 0)
	pos = append(pos, s.Len())
	for range 2 {
		for k := range 10 {
			s.add(int32(k), 0)
		}
	}
	for range 2 {
		unit(10, 0)
		unit(other, 0)
	}
	unit(10, 0)
	pos = append(pos, s.Len())
	return len(p.fillGaps(s, pos, 0)) > len(pos)
}

// twoUnits asks whether twenty kernels, so many of them foreign, hold two units of ten.
func twoUnits(p *Params, foreign int) bool {
	s := stack(4, 10)
	for k := range foreign {
		s.ID[3*k], s.Base[3*k] = int32(50+k), int32(50+k)
	}
	return p.holdsTwo(s, 0, 20, 20, 30, 40)
}

// leadingLayers puts so many layers of a length without experts in front of eight with them, and asks whether all are found from a comb of
// experts.
func leadingLayers(p *Params, k, length int) bool {
	s := &Sequence{}
	s.add(30, embed)
	for range k {
		for i, r := range []Role{norm, 0, mixer, 0, norm, 0} {
			s.add(int32(i), r)
		}
		for i := 6; i < length; i++ {
			s.add(int32(50+i), 0)
		}
	}
	var pos []int
	for range 8 {
		for i, r := range []Role{norm, 0, mixer, 0, norm, moe, 0} {
			if r == moe {
				pos = append(pos, s.Len())
			}
			s.add(int32(i+i/5*10), r)
		}
	}
	s.add(31, norm)
	s.add(32, sample)
	c := p.complete(s, p.CutAt(s, Comb{Pos: pos, Stride: 1}, nil), 0)
	return c.Layers() == 8+k
}

// partBehind has so many kernels of a layer of ten behind the last one.
func partBehind(p *Params, kernels int) bool {
	s := stack(6, 10)
	starts := []int{0, 10, 20, 30, 40, 50}
	s = s.Slice(0, 50+kernels)
	for k := range 12 {
		s.add(int32(60+k), 0)
	}
	_, ok := p.layerAfter(s, starts)
	return ok
}

// settles asks whether a pass of n layers outvotes two that say 60.
func settles(p *Params, n int) bool {
	return p.Settle([]*Sequence{layersOf(n)}, map[int]int{60: 2, n: 1}) == n
}

// cycle is units of so many kinds in turns that have nothing in common.
func cycle(kinds int) (*Sequence, []int) {
	s := &Sequence{}
	var pos []int
	for k := range 8 * kinds {
		pos = append(pos, s.Len())
		for i := range 5 {
			s.add(int32(10*(k%kinds)+i), 0)
		}
	}
	return s, append(pos, s.Len())
}

// parts asks about n units, of which every period-th holds a mixer.
func parts(p *Params, n, period int) bool {
	s := stack(n, 4)
	var pos []int
	for k := range n {
		pos = append(pos, 4*k)
		if k%period == 0 {
			s.Role[4*k+1] = mixer
		}
	}
	return p.partsOfLayers(mixesOf(s, append(pos, s.Len())))
}

// mixed is thirty units of ten kernels that begin with a norm: so many hold a mixer and the others something else, and so many
// kernels of each occur nowhere else.
func mixed(mixers, unique int) (*Sequence, []int) {
	s := &Sequence{}
	var pos []int
	with := 0
	for k := range 30 {
		pos = append(pos, s.Len())
		has := k%5 == 0 || k%5 == 3
		if mixers > 12 && (k == 6 || k == 12 || k == 19) && with < mixers {
			has = true
		}
		if has = has && with < mixers; has {
			with++
		}
		s.add(0, norm)
		for i := range 9 {
			id, r := int32(20+i), Role(0)
			if has {
				id = int32(40 + i)
			}
			if has && i == 0 {
				r = mixer
			}
			if i > 0 && i <= unique {
				id = int32(100 + 20*k + i)
			}
			s.add(id, r)
		}
	}
	return s, append(pos, s.Len())
}

// survives asks whether an alignment reaches beyond inserted and foreign kernels when so many known ones follow; negative
// foreign stands for one foreign kernel and then that many of the same role only.
func survives(p *Params, inserted, foreign, known int) bool {
	s, t := &Sequence{}, &Sequence{}
	roles := 0
	if foreign < 0 {
		roles, foreign = -foreign, 1
	}
	for k := range inserted {
		s.add(int32(200+k), 0)
	}
	for k := range foreign {
		s.add(int32(100+k), 0)
		t.add(int32(150+k), 0)
	}
	for k := range roles {
		s.add(int32(300+k), norm)
		t.add(int32(350+k), norm)
	}
	for k := range known {
		s.add(int32(k), 0)
		t.add(int32(k), 0)
	}
	ns, _, _ := p.extend(s, 0, s.Len(), t, 0, t.Len(), +1)
	return ns > 0
}

// drifts aligns sequences that drift apart by two kernels so many times.
func drifts(p *Params, times int) bool {
	s, t := &Sequence{}, &Sequence{}
	for k := range times {
		s.add(9000, 0)
		s.add(9001, 0)
		for i := range 6 {
			s.add(int32(10*k+i), 0)
			t.add(int32(10*k+i), 0)
		}
	}
	ns, _, _ := p.extend(s, 0, s.Len(), t, 0, t.Len(), +1)
	return ns == s.Len()
}

// shifted are two ranges of one length, of which the first begins with so many kernels of its own and the other ends with as many.
func shifted(by int) (one, other *Sequence) {
	one, other = &Sequence{}, &Sequence{}
	for k := range by {
		one.add(int32(500+k), 0)
	}
	for k := range 60 {
		one.add(int32(k), 0)
		other.add(int32(k), 0)
	}
	for k := range by {
		other.add(int32(600+k), 0)
	}
	return one, other
}

// slack aligns equally long ranges that are shifted against each other by so many kernels.
func slack(p *Params, by int) bool {
	s, t := shifted(by)
	m := p.alignPositions(s, 0, s.Len(), t, 0, t.Len())
	return m[0] == by
}

// phaseOf is what speaks for a phase.
type phaseOf struct{ begins, mixers, norms, open, torn, input bool }

func (f phaseOf) score(p *Params) float64 {
	s := stack(4, 4)
	starts := []int{0, 4, 8, 12, 16}
	for l := range 4 {
		if f.norms {
			s.Role[starts[l]] = norm
		}
		if f.mixers {
			s.Role[starts[l]+2] = mixer
		}
	}
	if f.begins {
		s.Begins = map[uint64]bool{s.Pair(0): true}
	}
	k := &cutter{p: p, s: s, c: unit{s, 0, 4}}
	lo, hi, input := 2, 3, -1
	if f.open {
		lo, hi = 0, 3
	}
	if f.torn {
		lo, hi = 3, 0
	}
	if f.input {
		input = 1
	}
	return k.weighPhase(starts, 1, lo, hi, input)
}

// better are two comparisons: a phase is better than one, and not than the other.
func better(a, than, not phaseOf) []func(p *Params) bool {
	beats := func(b phaseOf) func(p *Params) bool {
		return func(p *Params) bool { return a.score(p) > b.score(p) }
	}
	return []func(p *Params) bool{beats(than), beats(not)}
}

// displaced is whether layers of a b c n, of which the first runs another kernel in the place of n, begin with it behind so many
// kernels, that one included.
func displaced(p *Params, front int) bool {
	const layers = 8
	s := &Sequence{}
	for k := range front {
		s.add(int32(20+k), other)
	}
	for range layers {
		for kernel := range 4 {
			s.add(int32(1+kernel), other)
		}
	}
	s.add(30, product)
	c, ok := p.Best(s, layers)
	return ok && c.Starts[0] == front-1
}

// closedByNorm is whether layers of a mixer and a feed-forward part, of the same kernels whether norms stand in front of the halves or behind them,
// end with a norm where a pass looks up so many embeddings.
func closedByNorm(p *Params, lookups int) bool {
	const layers = 8
	s := &Sequence{}
	for range lookups {
		s.add(1, embed)
		s.add(2, elementwise)
	}
	s.add(3, norm)
	for range layers {
		for _, r := range []Role{product, mixer, product, elementwise, norm, product, activation, product, elementwise, norm} {
			s.add(map[Role]int32{product: 10, mixer: 11, activation: 12, elementwise: 2, norm: 3}[r], r)
		}
	}
	s.add(20, product)
	c, ok := p.Best(s, layers)
	return ok && s.Role[c.Starts[0]-1] == norm && s.Role[c.Starts[layers]-1] == norm
}
