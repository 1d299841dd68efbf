package compare

import "time"

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

// MadePart is a part of a made run, named as its operator; kernels are what neither waits nor lacks a kernel.
func MadePart(operator, kernel string, class Class) Part {
	p := Part{Name: kernel, Base: kernel, Operator: operator, Category: "gemm", Class: class}
	if class == Waiting {
		p.Name, p.Base, p.Category = operator, "", ""
	}
	return p
}

// AddPass adds a pass in which the run's parts take these times, its kernels in so many launches each.
func (r *Run) AddPass(p Pass, launches int, times ...time.Duration) {
	for i, d := range times {
		t := PartTime{Part: i, Exclusive: d}
		if r.Parts[i].isKernel() && (d > 0 || launches > 0) {
			t.Count, t.Time = launches, d
		}
		p.Parts = append(p.Parts, t)
		p.Wall += d
	}
	r.Passes = append(r.Passes, p)
}
