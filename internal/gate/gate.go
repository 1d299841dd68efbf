package gate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Verdict is what a check says.
type Verdict string

// The verdicts.
const (
	Passed       Verdict = "passed"
	Failed       Verdict = "failed"
	Inconclusive Verdict = "inconclusive" // undecided
	Skipped      Verdict = "skipped"      // it does not apply
)

// Percent is the unit of shares.
const Percent = "percent"

// The exit codes of programs that judge.
const (
	ExitFailed       = 3
	ExitInconclusive = 4
)

// Check is one condition and what it said.
type Check struct {
	// Name separates the check from others of its suite, and stays the same from run to run: "attention=5%".
	Name    string
	Verdict Verdict
	// Value is what was found and Limit what was allowed, both in Unit. Nil where there is none.
	Value, Limit *float64
	Unit         string // of Value and Limit: Percent, "ns", "count"; "" for a plain number
	Message      string // one sentence for people
	Place        Place
}

// Place is where the cause is. The zero Place is nowhere in particular.
type Place struct {
	File string // source file, or the trace where no source is known
	Line int    // 1-based; 0 unknown
	// Within names a part of File that is no line: an operator, "trace time 12.345 … 12.900 ms".
	Within string
}

// Suite is a list of checks of one program on one input.
type Suite struct {
	Program string // "compare"
	Version string // of the program; may be empty
	Name    string // what was checked: a trace, a pair of traces
	Checks  []Check
	// AllowInconclusive lets undecided checks pass.
	AllowInconclusive bool
}

// Format is a form in which [Suite.Write] writes.
type Format string

// The forms that [Suite.Write] knows.
const (
	JUnit      Format = "junit"
	SARIF      Format = "sarif"
	Benchfmt   Format = "benchfmt"
	Prometheus Format = "prometheus"
	Markdown   Format = "markdown"
)

// Formats lists the forms that [Suite.Write] knows.
func Formats() []Format { return []Format{JUnit, SARIF, Benchfmt, Prometheus, Markdown} }

// ErrFormat is wrapped where a form is none of [Formats].
var ErrFormat = errors.New("unknown format")

// Write writes the suite in one of [Formats]. Other errors are the writer's.
func (s *Suite) Write(w io.Writer, format Format) error {
	switch format {
	case JUnit:
		return s.writeJUnit(w)
	case SARIF:
		return s.writeSARIF(w)
	case Benchfmt:
		return s.writeBenchfmt(w)
	case Prometheus:
		return s.writePrometheus(w)
	case Markdown:
		return s.writeMarkdown(w)
	}
	return fmt.Errorf("%w %q: want one of %s", ErrFormat, format, strings.Trim(fmt.Sprint(Formats()), "[]"))
}

// Outcome is what all checks say together: one failure fails, else an undecided one leaves it inconclusive
// (unless that is allowed). Without checks that apply nothing failed.
func (s *Suite) Outcome() Verdict {
	out := Passed
	for i := range s.Checks {
		switch s.Checks[i].Verdict {
		case Failed:
			return Failed
		case Inconclusive:
			if !s.AllowInconclusive {
				out = Inconclusive
			}
		}
	}
	return out
}

// Err is nil where the outcome is [Passed], else an error that says with which code a program exits: 3 for a failure,
// 4 if it is undecided. Its text names the checks.
func (s *Suite) Err() error {
	outcome := s.Outcome()
	if outcome == Passed {
		return nil
	}
	var which []string
	for i := range s.Checks {
		if c := &s.Checks[i]; c.Verdict == outcome {
			which = append(which, c.Text())
		}
	}
	text, code := "failed: "+strings.Join(which, "; "), ExitFailed
	if outcome == Inconclusive {
		text, code = "cannot be decided: "+strings.Join(which, "; ")+" (--allow-inconclusive lets it pass)",
			ExitInconclusive
	}
	return &outcomeError{text, code}
}

// outcomeError is the error of [Suite.Err].
type outcomeError struct {
	text string
	code int
}

func (e *outcomeError) Error() string { return e.text }

// ExitCode implements what the programs ask errors for.
func (e *outcomeError) ExitCode() int { return e.code }

// Text is the check in one line: its name and what it said.
func (c *Check) Text() string {
	if c.Message == "" || strings.HasPrefix(c.Message, c.Name) {
		return cmp.Or(c.Message, c.Name)
	}
	return c.Name + ": " + c.Message
}

// counts are how many checks have each verdict.
func (s *Suite) counts() (n map[Verdict]int) {
	n = map[Verdict]int{}
	for i := range s.Checks {
		n[s.Checks[i].Verdict]++
	}
	return n
}

// Number makes a pointer of a value, for [Check].
func Number(v float64) *float64 { return &v }
