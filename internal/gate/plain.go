package gate

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
)

// Benchmark is one measured value in Go's benchmark format.
type Benchmark struct {
	Name  string
	Value float64
	Unit  string // as in "ns/op"
}

// Setting is a line of configuration, which holds for the benchmarks after it.
type Setting struct{ Key, Value string }

// WriteBenchmarks writes measured values so that benchstat reads them. Names are made fit: each letter that the
// format does not allow is an underscore.
func WriteBenchmarks(w io.Writer, settings []Setting, values []Benchmark) error {
	b := bufio.NewWriter(w)
	for _, s := range settings {
		fmt.Fprintf(b, "%s: %s\n", benchKey(s.Key), clean(s.Value))
	}
	for _, v := range values {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			continue
		}
		fmt.Fprintf(b, "Benchmark%s 1 %s %s\n", benchName(v.Name), number(v.Value), benchUnit(v.Unit))
	}
	return b.Flush()
}

// writeBenchfmt writes the values of the checks that have one.
func (s *Suite) writeBenchfmt(w io.Writer) error {
	var values []Benchmark
	for i := range s.Checks {
		if c := &s.Checks[i]; c.Value != nil {
			values = append(values, Benchmark{s.Program + "/check=" + c.Name, *c.Value, cmp.Or(c.Unit, "value")})
		}
	}
	return WriteBenchmarks(w, []Setting{{"program", "strata " + s.Program}, {"input", s.Name}}, values)
}

// benchName has no spaces and does not go on in lower case.
func benchName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, s)
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// benchUnit has no spaces.
func benchUnit(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, cmp.Or(s, "value"))
}

// benchKey begins in lower case and has no spaces, upper-case letters or colons.
func benchKey(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == ':' {
			return '-'
		}
		return unicode.ToLower(r)
	}, cmp.Or(s, "key"))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// writePrometheus writes the text format that node_exporter's textfile collector reads: a state set for the verdicts,
// and the values and limits of the checks that have them. A name that occurs twice is written once, as its first
// check.
func (s *Suite) writePrometheus(w io.Writer) error {
	b := bufio.NewWriter(w)
	family := func(name, help string, of func(c *Check, labels string)) {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		seen := map[string]bool{}
		for i := range s.Checks {
			c := &s.Checks[i]
			if seen[clean(c.Name)] {
				continue
			}
			seen[clean(c.Name)] = true
			of(c, fmt.Sprintf(`program="%s",check="%s"`, label(s.Program), label(c.Name)))
		}
	}
	family("strata_check_state", "What a check says: 1 for the verdict that holds.", func(c *Check, labels string) {
		for _, v := range []Verdict{Passed, Failed, Inconclusive, Skipped} {
			fmt.Fprintf(b, "strata_check_state{%s,verdict=\"%s\"} %d\n", labels, v, stat.Int(v == c.Verdict))
		}
	})
	family("strata_check_value", "What was found, in its unit.", func(c *Check, labels string) {
		if c.Value != nil {
			fmt.Fprintf(b, "strata_check_value{%s,unit=\"%s\"} %s\n", labels, label(c.Unit), number(*c.Value))
		}
	})
	family("strata_check_limit", "What is allowed, in its unit.", func(c *Check, labels string) {
		if c.Limit != nil {
			fmt.Fprintf(b, "strata_check_limit{%s,unit=\"%s\"} %s\n", labels, label(c.Unit), number(*c.Limit))
		}
	})
	return b.Flush()
}

// label escapes the value of a label.
func label(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(clean(s))
}

// writeMarkdown writes the summary of a workflow step: the outcome, then a table, failures first.
func (s *Suite) writeMarkdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	n := s.counts()
	fmt.Fprintf(b, "### strata %s: %s\n\n", table.EscapeMarkdown(s.Program), s.Outcome())
	if s.Name != "" {
		fmt.Fprintf(b, "%s\n\n", table.EscapeMarkdown(s.Name))
	}
	word := "checks"
	if len(s.Checks) == 1 {
		word = "check"
	}
	fmt.Fprintf(b, "%d %s: %d failed, %d inconclusive, %d passed, %d skipped\n\n", len(s.Checks), word, n[Failed],
		n[Inconclusive], n[Passed], n[Skipped])
	t := table.New(table.Text("Check"), table.Text("Verdict"), table.Number("Value"), table.Number("Limit"),
		table.Text("What was found"), table.Text("Where"))
	for _, v := range []Verdict{Failed, Inconclusive, Passed, Skipped} {
		for i := range s.Checks {
			if c := &s.Checks[i]; c.Verdict == v {
				t.Row(c.Name, string(v), c.amount(c.Value), c.amount(c.Limit), c.Message, c.Place.text())
			}
		}
	}
	if err := t.WriteMarkdown(b); err != nil {
		return err
	}
	return b.Flush()
}

// amount is a value with its unit, "" for none.
func (c *Check) amount(v *float64) string {
	const digits = 6 // more is noise of floating point
	switch {
	case v == nil:
		return ""
	case c.Unit == Percent:
		return strconv.FormatFloat(*v, 'g', digits, 64) + "%"
	}
	return strings.TrimSpace(strconv.FormatFloat(*v, 'g', digits, 64) + " " + c.Unit)
}
