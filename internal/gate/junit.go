package gate

import (
	"cmp"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The elements of JUnit's XML, as the JUnit plugins of build servers read it. Names and order are theirs.
type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	Skipped *junitReason `xml:"skipped"`
	Error   *junitReason `xml:"error"`
	Failure *junitReason `xml:"failure"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes one test suite. An undecided check is an error, which build servers count as a failure,
// or skipped where that is allowed.
func (s *Suite) writeJUnit(w io.Writer) error {
	suite := junitSuite{Name: clean("strata " + s.Program), Tests: len(s.Checks)}
	for i := range s.Checks {
		c := &s.Checks[i]
		k := junitCase{Name: clean(c.Name), Class: clean("strata." + s.Program)}
		reason := &junitReason{Message: clean(c.Message), Type: string(c.Verdict), Text: clean(c.Place.text())}
		switch {
		case c.Verdict == Failed:
			k.Failure = reason
			suite.Failures++
		case c.Verdict == Inconclusive && !s.AllowInconclusive:
			k.Error = reason
			suite.Errors++
		case c.Verdict == Passed:
			k.Out = clean(c.Message)
		default:
			k.Skipped = &junitReason{Message: clean(cmp.Or(c.Message, string(c.Verdict)))}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, k)
	}
	all := junitSuites{Name: clean(s.Name), Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors,
		Suite: suite}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// text is the place in words, "" for nowhere.
func (p *Place) text() string {
	s := p.File
	if s != "" && p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
	}
	if p.Within != "" {
		s = strings.TrimPrefix(s+", "+p.Within, ", ")
	}
	return s
}

// clean makes a text of a trace fit for XML and JSON: valid UTF-8 without control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, r == 0xFFFE, r == 0xFFFF:
			return '?'
		case r < ' ', r == 0x7F:
			return ' '
		}
		return r
	}, s)
}
