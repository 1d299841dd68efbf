package compare

import (
	"fmt"
	"time"
)

// Names that only tests use from outside.
var ErrBaseline = errBaseline
var ErrGate = errGate

// Gate is the outcome of all gates together: one failure fails, else one undecided leaves it undecided.
func (r *Report) Gate() GateOutcome {
	out := GatePassed
	for _, g := range r.Gates {
		switch g.Outcome {
		case GateFailed:
			return GateFailed
		case GateUndecided:
			out = GateUndecided
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

// Opposite is the outcome of the same comparison the other way round.
func Opposite(o Outcome) Outcome {
	switch o {
	case Faster:
		return Slower
	case Slower:
		return Faster
	}
	return o
}

// Mirrors says in what a comparison of A with B is not the opposite of that of B with A, "" where it is.
func Mirrors(x, y *Report) string {
	if x.Verdict != Opposite(y.Verdict) || (x.Delta+y.Delta).Abs() > 1 || len(x.Findings) != len(y.Findings) {
		return fmt.Sprintf("%s and %s, %d and %d findings", x.Text, y.Text, len(x.Findings), len(y.Findings))
	}
	opposite := map[Change]Change{New: Removed, Removed: New, Renamed: Renamed}
	rows := map[string]*Row{}
	for i := range y.Rows {
		rows[y.Rows[i].Operator] = &y.Rows[i]
	}
	for i := range x.Rows {
		a := &x.Rows[i]
		b := rows[a.Operator]
		if b == nil || len(x.Rows) != len(y.Rows) {
			return fmt.Sprintf("%d and %d rows, %s is in one alone", len(x.Rows), len(y.Rows), a.Operator)
		}
		if a.A != b.B || a.B != b.A || a.KernelA != b.KernelB || a.KernelB != b.KernelA ||
			b.Status != opposite[a.Status] || a.Significant != b.Significant || (a.Low+b.High).Abs() > 2 {
			return fmt.Sprintf("%s: %s (%v to %v) and %s (%v to %v)", a.Operator, a.Text, a.Low, a.High, b.Text, b.Low,
				b.High)
		}
	}
	return ""
}
