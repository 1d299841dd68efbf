package compare

// Names that only tests use from outside.
var ErrBaseline = errBaseline
var ErrGate = errGate
var ErrNoise = errNoise

// Gate is the outcome of all gates together: one failure fails, else one undecided leaves it undecided.
func (r *Report) Gate() string {
	out := passed
	for _, g := range r.Gates {
		switch g.Outcome {
		case failed:
			return failed
		case undecided:
			out = undecided
		}
	}
	return out
}

// Enough says whether rows are operators.
var Enough = enough
