package segment

// The rules of package layer that are a comparison with a number: they are here so that the numbers are, too.

// Repeats says whether a cut into n layers shows that s repeats n times.
func Repeats(s *Sequence, c *Cut, n int) bool {
	return (c.Similarity >= minSimilarity || n <= 2) && c.Comb.Cost <= maxUneven && !Overcounts(s, c, n)
}

// Alike says whether the units of a cut are like each other at all.
func Alike(c *Cut) bool { return c.Similarity >= minSimilarity }

// Idle says whether a cut has the layers of other passes although no mixer shows.
func Idle(c *Cut) bool {
	return c.Similarity >= idleSimilarity && c.Comb.Cost < idleUneven
}

// GivenComb returns the comb of a number of layers that somebody gave, where no count of names makes one.
func GivenComb(s *Sequence, n int) (Comb, bool) {
	sets := Combs(s, n, 1)
	if len(sets) == 0 || sets[0].Cost >= combUneven {
		return Comb{}, false
	}
	return sets[0], true
}

// ClearVotes returns the number of layers that all of the first few sequences show beyond doubt, 0 where one leaves a
// doubt.
func ClearVotes(passes []*Sequence) int {
	vote := 0
	for _, s := range passes[:min(len(passes), votePasses)] {
		n := ClearVote(s)
		if n == 0 || vote != 0 && n != vote {
			return 0
		}
		vote = n
	}
	return vote
}

// Contradicts says whether a clear vote for n layers contradicts a given number: it is no part and no multiple of it,
// and not one or two more.
func Contradicts(n, given int) bool {
	return n > 0 && given%n != 0 && n%given != 0 && (n < given || n > given+voteApart)
}

// Foreign says whether layers that have like in common with those of the pass that they were read by are others.
func Foreign(like float64) bool { return like < doubtForeign }

// Ended says whether so many kernels after the last layer are the end of a pass.
func Ended(kernels int) bool { return kernels >= endKernels }

// GraphStack says whether n layers in a graph launch are a stack.
func GraphStack(n int) bool { return n >= graphLayers }

// MarksHold says whether so many of the inner pieces between marks hold the layers that the marks are between passes.
func MarksHold(pieces, inner int) bool {
	return atLeast(float64(pieces), markShare, float64(inner))
}

// DraftsHold says the same of kernels in the pieces, where runs of a draft model are in between.
func DraftsHold(kernels, inner int) bool {
	return atLeast(float64(kernels), draftShare, float64(inner))
}

// Half says whether a stream with second kernels, shared of them with names of the first one's, may run the second
// half of a batch.
func Half(first, second, shared int) bool {
	return halfShare*second >= first && atLeast(float64(shared), halfNames, float64(second))
}

// Readable says whether so many of the kernels of a stretch are those of a pass.
func Readable(matched, kernels int) bool {
	return atLeast(float64(matched), readClose, float64(kernels))
}
