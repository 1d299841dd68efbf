package segment

// rules are fields that one comparison decides by: two inputs, on either side of the number.
var rules = map[string][]func(p *Params) bool{
	"CombUneven":     {func(p *Params) bool { return given(p, 1) }, func(p *Params) bool { return given(p, 7) }},
	"VotePasses":     {func(p *Params) bool { return votes(p, 4) }, func(p *Params) bool { return votes(p, 3) }},
	"VoteApart":      {func(p *Params) bool { return p.Contradicts(63, 61) }, func(p *Params) bool { return p.Contradicts(64, 61) }},
	"EndKernels":     {func(p *Params) bool { return p.Ended(1) }, func(p *Params) bool { return p.Ended(2) }},
	"BeginShare":     {func(p *Params) bool { return p.OftenBegins(2, 33) }, func(p *Params) bool { return p.OftenBegins(2, 32) }},
	"GraphLayers":    {func(p *Params) bool { return p.GraphStack(3) }, func(p *Params) bool { return p.GraphStack(4) }},
	"MarkShare":      {func(p *Params) bool { return p.MarksHold(79, 100) }, func(p *Params) bool { return p.MarksHold(80, 100) }},
	"DraftShare":     {func(p *Params) bool { return p.DraftsHold(59, 100) }, func(p *Params) bool { return p.DraftsHold(60, 100) }},
	"BesideShare":    {func(p *Params) bool { return p.Beside(5, 100) }, func(p *Params) bool { return p.Beside(5, 99) }},
	"SideRecurs":     {func(p *Params) bool { return p.Recurs(8, 33) }, func(p *Params) bool { return p.Recurs(8, 32) }},
	"HalfShare":      {func(p *Params) bool { return p.Half(100, 24, 24) }, func(p *Params) bool { return p.Half(100, 25, 25) }},
	"HalfNames":      {func(p *Params) bool { return p.Half(100, 100, 89) }, func(p *Params) bool { return p.Half(100, 100, 90) }},
	"IdleSimilarity": {func(p *Params) bool { return p.Idle(cutOf(0.59, 0.05)) }, func(p *Params) bool { return p.Idle(cutOf(0.6, 0.05)) }},
	"IdleUneven":     {func(p *Params) bool { return p.Idle(cutOf(0.7, 0.1)) }, func(p *Params) bool { return p.Idle(cutOf(0.7, 0.09)) }},
	"MinSimilarity":  {func(p *Params) bool { return p.Alike(cutOf(0.29, 0)) }, func(p *Params) bool { return p.Alike(cutOf(0.3, 0)) }},
	"MaxUneven":      {func(p *Params) bool { return repeats(p, 0.61) }, func(p *Params) bool { return repeats(p, 0.59) }},
	"DoubtForeign":   {func(p *Params) bool { return p.Foreign(readBy(8, 1)) }, func(p *Params) bool { return p.Foreign(readBy(7, 1)) }},
	"DoubtUnlike":    judged(func(x float64) Doubts { return Doubts{Unlike: x} }, 0.05),
	"DoubtOutside":   judged(func(x float64) Doubts { return Doubts{Outside: x} }, 0.02),
	"DoubtRest":      judged(func(x float64) Doubts { return Doubts{Rest: x} }, 0.025),
	"DoubtSingle":    judged(func(x float64) Doubts { return Doubts{Single: x} }, 0.2),
	"DoubtSome":      judged(func(x float64) Doubts { return Doubts{Single: x, Unstarted: 0.8} }, 0.045),
	"DoubtUneven":    judged(func(x float64) Doubts { return Doubts{Uneven: x, Unstarted: 0.2} }, 0.1),
	"DoubtUnstarted": judged(func(x float64) Doubts { return Doubts{Uneven: 0.2, Unstarted: x} }, 0.1),
	"DoubtMixed":     judged(func(x float64) Doubts { return Doubts{Unstarted: x} }, 0.25),
	"LayerMixers":    sides(func(p *Params, n int) bool { return p.Doubt(mixing(n)).Unlike > 0 }, 2, 3),
	"RaggedOff":      {func(p *Params) bool { return p.ragged([]int{0, 14, 24, 34, 44}) }, func(p *Params) bool { return p.ragged([]int{0, 15, 25, 35, 45}) }},
	"TrainingShare":  {func(p *Params) bool { return training(p, 100, 2) }, func(p *Params) bool { return training(p, 99, 2) }},
	"DoubleGap":      {func(p *Params) bool { return filled(p, 13) }, func(p *Params) bool { return filled(p, 12) }},
	"RegularOff":     {func(p *Params) bool { return regular(p, 22) }, func(p *Params) bool { return regular(p, 23) }},
	"RegularShare":   {func(p *Params) bool { return regularShare(p, 10, 3) }, func(p *Params) bool { return regularShare(p, 10, 4) }},
	"BreakLeast":     {func(p *Params) bool { return len(p.breaksOf([]int{0, 1, 0, 0, 0, 0, 1, 0, 0})) > 0 }, func(p *Params) bool { return len(p.breaksOf([]int{0, 2, 0, 0, 0, 0, 2, 0, 0})) > 0 }},
	"BreakShare":     {func(p *Params) bool { return len(p.breaksOf([]int{5, 0, 0, 0, 0, 0, 2, 0})) == 2 }, func(p *Params) bool { return len(p.breaksOf([]int{5, 0, 0, 0, 0, 0, 3, 0})) == 2 }},
	"BreakNear":      {func(p *Params) bool { return len(p.breaksOf([]int{5, 0, 0, 5})) == 2 }, func(p *Params) bool { return len(p.breaksOf([]int{5, 0, 0, 0, 5})) == 2 }},
	"MarkGap":        {func(p *Params) bool { return len(p.Clusters(spaced(6), norm)) == 2 }, func(p *Params) bool { return len(p.Clusters(spaced(7), norm)) == 2 }},
	"MarkRare":       {func(p *Params) bool { return len(p.StepGroups(steps(7))) > 0 }, func(p *Params) bool { return len(p.StepGroups(steps(8))) > 0 }},
	"MarkMembers":    {func(p *Params) bool { return len(p.StepGroups(members(2))) > 0 }, func(p *Params) bool { return len(p.StepGroups(members(3))) > 0 }},
	"ForeignShare":   {func(p *Params) bool { return goesOn(p, 3) }, func(p *Params) bool { return goesOn(p, 2) }},
	"RareUnits":      {func(p *Params) bool { return rare(p, 3) }, func(p *Params) bool { return rare(p, 2) }},
	"SameLength":     {func(p *Params) bool { return same(p, 20, 29, 20) }, func(p *Params) bool { return same(p, 20, 28, 20) }},
	"SameKernels":    {func(p *Params) bool { return same(p, 20, 20, 12) }, func(p *Params) bool { return same(p, 20, 20, 13) }},
}

// judged are two doubts, just below and just above a number.
func judged(d func(x float64) Doubts, at float64) []func(p *Params) bool {
	with := func(x float64) func(p *Params) bool {
		return func(p *Params) bool { return p.Judge(1, d(x)) < p.Judge(1, d(0)) }
	}
	return []func(p *Params) bool{with(at * 0.99), with(at * 1.01)}
}

// readBy is how much layers of so many kernels, two of which are cut, have in common with the only layer of the pass that they are read by, of which
// so many are others.
func readBy(kernels, others int) float64 {
	s, of := &Sequence{}, &Sequence{}
	f := &Fitted{Cut: &Cut{Starts: []int{0}}, CutFirst: true, CutLast: true}
	for range 4 {
		for k := range kernels {
			s.add(int32(k), 0)
		}
		f.Starts = append(f.Starts, s.Len())
	}
	for k := range kernels {
		if k < others {
			k += kernels
		}
		of.add(int32(k), 0)
	}
	return f.LikeReference(s, of, &Cut{Starts: []int{0, kernels}})
}

func cutOf(similarity, cost float64) *Cut {
	return &Cut{Similarity: similarity, Comb: Comb{Cost: cost}}
}

// stack is n units of equal kernels, base names 1, 2 …; every kernel's role is other.
func stack(n, period int) *Sequence {
	s := &Sequence{}
	for range n {
		for k := range period {
			s.add(int32(k), 0)
		}
	}
	return s
}

func (s *Sequence) add(id int32, r Role) {
	s.ID, s.Base, s.Role = append(s.ID, id), append(s.Base, id), append(s.Role, r)
}

func repeats(p *Params, cost float64) bool { return p.Repeats(stack(2, 4), cutOf(1, cost), 2) }

// given looks for a comb of eight kernels whose third gap is longer.
func given(p *Params, longer int) bool {
	s := &Sequence{}
	for k := range 8 {
		s.add(1, 0)
		n := 3
		if k == 3 {
			n = 3 + 3*longer
		}
		for i := range n {
			s.add(int32(10+10*k+i), 0)
		}
	}
	_, ok := p.GivenComb(s, 8)
	return ok
}

// votes asks so many passes of eight layers, and one of nine.
func votes(p *Params, eights int) bool {
	var all []*Sequence
	for range eights {
		all = append(all, layersOf(8))
	}
	return p.ClearVotes(append(all, layersOf(9))) == 8
}

// layersOf is a pass of n layers with a norm and a mixer each.
func layersOf(n int) *Sequence {
	s := &Sequence{}
	s.add(20, embed)
	for range n {
		for k, r := range []Role{norm, 0, mixer, 0, norm, 0, activation, 0} {
			s.add(int32(k), r)
		}
	}
	s.add(21, norm)
	s.add(22, sample)
	return s
}

// mixing is four layers of so many mixers behind a norm each.
func mixing(mixers int) (*Sequence, *Cut, bool) {
	s, starts := &Sequence{}, []int{0}
	for range 4 {
		for k := range mixers {
			s.add(int32(2*k), norm)
			s.add(int32(2*k+1), mixer)
		}
		starts = append(starts, s.Len())
	}
	return s, &Cut{Starts: starts, unit: unit{s, 0, 2 * mixers}}, false
}

// training has so many kernels, some of which compute gradients.
func training(p *Params, kernels, backwards int) bool {
	s := stack(1, kernels)
	for k := range backwards {
		s.Role[k] = backward
	}
	_, ok := p.Training(s)
	return ok
}

// filled has a comb with a gap of two units, and pairs of units that are off the median by so much of 10 at least.
func filled(p *Params, other int) bool {
	s := &Sequence{}
	var pos []int
	unit := func(n int) {
		pos = append(pos, s.Len())
		for k := range n {
			s.add(int32(k), 0)
		}
	}
	for range 4 {
		unit(10)
		unit(other)
	}
	unit(10)
	unit(10 + 10)
	unit(other)
	unit(10)
	pos = append(pos, s.Len())
	for k := pos[9] + 10; k < pos[10]; k++ {
		s.ID[k], s.Base[k] = int32(k-pos[9]-10), int32(k-pos[9]-10)
	}
	return len(p.fillGaps(s, pos, 0)) > len(pos)
}

// regular has breaks at distances of 20 but for one, which is another.
func regular(p *Params, other int) bool {
	foreign := make([]int, 20*2+other+2)
	for _, k := range []int{0, 20, 20 + other, 40 + other} {
		foreign[k] = 5
	}
	q := *p
	q.RegularShare = 1
	return len(q.breaksOf(foreign)) > 0
}

// regularShare has breaks at so many distances, of which some are off.
func regularShare(p *Params, distances, off int) bool {
	foreign := make([]int, 400)
	at := 0
	for k := range distances + 1 {
		foreign[at] = 5
		at += 20
		if k < off {
			at += 10 + 8*k
		}
	}
	return len(p.breaksOf(foreign)) > 0
}

// spaced has two norms, n kernels apart.
func spaced(n int) *Sequence {
	s := stack(1, 30)
	s.Role[10], s.Role[10+n] = norm, norm
	return s
}

// steps has three names that occur in turns, five times in n kernels each time.
func steps(n int) *Sequence {
	s := &Sequence{}
	for range 5 {
		for k := range n {
			s.add(int32(min(k, 3)), 0)
		}
	}
	return s
}

// members has n names that occur in step, among others.
func members(n int) *Sequence {
	s := &Sequence{}
	for range 5 {
		for k := range n {
			s.add(int32(k), 0)
		}
		for range 40 {
			s.add(100, 0)
		}
	}
	return s
}

// goesOn has ten kernels behind the last layer, of which so many are foreign.
func goesOn(p *Params, foreign int) bool {
	s := stack(4, 12)
	starts := []int{0, 12, 24, 36, 48}
	for k := range 10 {
		if k < foreign {
			s.add(int32(50+k), 0)
		} else {
			s.add(int32(k), 0)
		}
	}
	return p.GoesOn(s, starts)
}

// rare has twelve units; so many hold a foreign name.
func rare(p *Params, n int) bool {
	s := stack(12, 4)
	comb := make([]int, 13)
	for k := range comb {
		comb[k] = 4 * k
	}
	for k := range n {
		s.ID[4*k+1] = 99
	}
	s.add(0, 0)
	return p.foreignKernels(s, comb)[0] == 1
}

// same compares units of n and m kernels that share so many.
func same(p *Params, n, m, shared int) bool {
	s := &Sequence{}
	for k := range n {
		s.add(int32(k), 0)
	}
	for k := range m {
		if k < shared {
			s.add(int32(k), 0)
		} else {
			s.add(int32(100+k), 0)
		}
	}
	return p.sameLayer(s, 0, n, n, n+m)
}
