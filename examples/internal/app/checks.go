package app

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/gate"
)

// Every program with --fail-on writes the results of its conditions for build servers, instead of its own results, in
// one of these forms. A program that has one of them among its own formats gives it a meaning of its own, and writes
// the conditions after it.

// checkFormats are the forms of conditions that are no formats of the program's own.
func (p Program) checkFormats() []Format {
	if len(p.FailOn) == 0 && !p.Judges {
		return nil
	}
	return slices.DeleteFunc(ofConditions(), func(f Format) bool { return slices.Contains(p.formats(), f) })
}

// checks is where the conditions go whose form was asked for.
type checks struct {
	program string
	format  Format    // "" where none was asked for
	out     io.Writer // of the conditions
	written bool
}

// divert makes room for the conditions where their form was asked for: the program prints its first format to nobody.
func (e *Env) divert(p Program) {
	e.checks.program = strings.TrimPrefix(p.Name, "strata ")
	if !slices.Contains(p.checkFormats(), e.Format) {
		return
	}
	e.checks.format, e.checks.out = e.Format, e.Stdout
	e.Format, e.Stdout = p.Formats[0], io.Discard
}

// undiverted is the error of a program that ended well without a word on its conditions.
func (e *Env) undiverted() error {
	if e.checks.format == "" || e.checks.written {
		return nil
	}
	return Usagef("--format %s: with these flags there is nothing to judge", e.checks.format)
}

// needsConditions refuses a form of conditions where there are none.
func (e *Env) needsConditions(p Program) error {
	if e.Given(failOn) || !slices.Contains(p.checkFormats(), e.Format) {
		return nil
	}
	return fmt.Errorf("--format %s needs --fail-on", e.Format)
}

// Judged writes what conditions say in the form that was asked for, and returns the error that the program ends with:
// nil where none is met. In Markdown they are a table after the results.
func (e *Env) Judged(s gate.Suite) error {
	s.Program, s.Name = cmp.Or(s.Program, e.checks.program), cmp.Or(s.Name, e.TraceName())
	for i := range s.Checks {
		if s.Checks[i].Place == (gate.Place{}) {
			s.Checks[i].Place.File = e.Trace
		}
	}
	var err error
	switch {
	case len(s.Checks) == 0:
	case e.checks.format != "":
		e.checks.written = true
		err = s.Write(e.checks.out, gate.Format(e.checks.format))
	case e.Format == Markdown:
		if _, err = io.WriteString(e.Stdout, "\n"); err == nil {
			err = s.Write(e.Stdout, gate.Markdown)
		}
	}
	if err != nil {
		return err
	}
	return s.Err()
}
