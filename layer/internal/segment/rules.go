package segment

// The rules of package layer that are a comparison with a number: they stand here so that the numbers do, too.

// Repeats says whether a cut into n layers shows that s repeats n times.
func (p *Params) Repeats(s *Sequence, c *Cut, n int) bool {
	return (c.Similarity >= p.MinSimilarity || n <= 2) && c.Comb.Cost <= p.MaxUneven && !p.Overcounts(s, c, n)
}

// Alike says whether the units of a cut are like each other at all.
func (p *Params) Alike(c *Cut) bool { return c.Similarity >= p.MinSimilarity }

// Idle says whether a cut has the layers of other passes although no mixer tells.
func (p *Params) Idle(c *Cut) bool {
	return c.Similarity >= p.IdleSimilarity && c.Comb.Cost < p.IdleUneven
}

// GivenComb returns the comb of a number of layers that somebody gave, where no count of names makes one.
func (p *Params) GivenComb(s *Sequence, n int) (Comb, bool) {
	sets := p.Combs(s, n, 1)
	if len(sets) == 0 || sets[0].Cost >= p.CombUneven {
		return Comb{}, false
	}
	return sets[0], true
}

// ClearVotes returns the number of layers that all of the first few sequences show beyond doubt, 0 where one leaves a doubt.
func (p *Params) ClearVotes(passes []*Sequence) int {
	vote := 0
	for _, s := range passes[:min(len(passes), p.VotePasses)] {
		n := p.ClearVote(s)
		if n == 0 || vote != 0 && n != vote {
			return 0
		}
		vote = n
	}
	return vote
}

// Contradicts says whether a clear vote for n layers contradicts a given number: it is no part and no multiple of it, and not
// one or two more.
func (p *Params) Contradicts(n, given int) bool {
	return n > 0 && given%n != 0 && n%given != 0 && (n < given || n > given+p.VoteApart)
}

// Foreign says whether layers that have like in common with those of the pass that they were read by are others.
func (p *Params) Foreign(like float64) bool { return like < p.DoubtForeign }

// Ended says whether so many kernels behind the last layer are the end of a pass.
func (p *Params) Ended(kernels int) bool { return kernels >= p.EndKernels }

// OftenBegins says whether a pair of kernels that begins n of all layers is no stray.
func (p *Params) OftenBegins(n, all int) bool { return p.BeginShare*n >= all }

// GraphStack says whether n layers in a graph launch are a stack.
func (p *Params) GraphStack(n int) bool { return n >= p.GraphLayers }

// MarksHold says whether so many of the inner pieces between marks hold the layers that the marks are between passes.
func (p *Params) MarksHold(pieces, inner int) bool {
	return atLeast(float64(pieces), p.MarkShare, float64(inner))
}

// DraftsHold says the same of kernels in the pieces, where runs of a draft model stand in between.
func (p *Params) DraftsHold(kernels, inner int) bool {
	return atLeast(float64(kernels), p.DraftShare, float64(inner))
}

// Beside says whether a stream runs beside another one.
func (p *Params) Beside(overlapping, kernels int) bool { return p.BesideShare*overlapping > kernels }

// Recurs says whether a name that occurs n times beside layers belongs to them.
func (p *Params) Recurs(n, layers int) bool { return p.SideRecurs*n >= layers }

// Half says whether a stream with second kernels, of which shared have names of the first one's, may run the second half of a
// batch.
func (p *Params) Half(first, second, shared int) bool {
	return p.HalfShare*second >= first && atLeast(float64(shared), p.HalfNames, float64(second))
}

// Readable says whether so many of the kernels of a stretch are those of a pass.
func (p *Params) Readable(matched, kernels int) bool {
	return atLeast(float64(matched), p.ReadClose, float64(kernels))
}
