package compare

// Names that only tests use from outside.
var ErrBaseline = errBaseline
var ErrGate = errGate
var ErrNoise = errNoise

// Gate is the outcome of all gates together: one failure fails, else one undecided leaves it undecided.
func (r *Report) Gate() Outcome {
	out := Passed
	for _, g := range r.Gates {
		switch g.Outcome {
		case Failed:
			return Failed
		case Undecided:
			out = Undecided
		}
	}
	return out
}
