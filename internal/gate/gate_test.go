package gate_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gate"
)

func suite() *gate.Suite {
	return &gate.Suite{Program: "compare", Version: "1.2.3", Name: "old.json.gz, new.json.gz", Checks: []gate.Check{
		{Name: "3%", Verdict: gate.Passed, Value: gate.Number(1.25), Limit: gate.Number(3), Unit: "percent",
			Message: "+1.2%"},
		{Name: "attention=5%", Verdict: gate.Failed, Value: gate.Number(60), Limit: gate.Number(5), Unit: "percent",
			Message: "+60.0% | slower",
			Place:   gate.Place{File: "/srv/model dir/attention.py", Line: 138, Within: "attention"}},
		{Name: "wall=5%", Verdict: gate.Inconclusive, Message: "four passes", Place: gate.Place{File: "new.json.gz"}},
		{Name: "spec=5%", Verdict: gate.Skipped},
	}}
}

// hostile has names that each form could trip over.
func hostile() *gate.Suite {
	names := []string{"", "a\x00b\n\"c\\<&>]]>", "\xff\xfe bad utf8 \ufffe\uffff", "lower case", "Ünïcode # HELP x",
		"a=b{c=\"d\"}", "colon: x\t|*_`", "c:\\dir\\file", strings.Repeat("x", 5000)}
	s := &gate.Suite{Program: "a program\n", Name: names[1]}
	for i, n := range names {
		for _, v := range []gate.Verdict{gate.Passed, gate.Failed, gate.Inconclusive, gate.Skipped} {
			s.Checks = append(s.Checks, gate.Check{Name: n, Verdict: v, Message: names[(i+1)%len(names)],
				Value: gate.Number(float64(i) / 0.3), Unit: n,
				Place: gate.Place{File: names[(i+2)%len(names)], Line: i, Within: names[(i+3)%len(names)]}})
		}
	}
	return s
}

func write(t *testing.T, s *gate.Suite, format gate.Format) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b, format); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

// Each form is valid for an ordinary suite, an empty one, and one of hostile names.
func TestFormsAreValid(t *testing.T) {
	allowed := suite()
	allowed.AllowInconclusive = true
	for name, s := range map[string]*gate.Suite{"ordinary": suite(), "empty": {}, "hostile": hostile(),
		"allowed": allowed} {
		if err := checkJUnit(write(t, s, gate.JUnit)); err != nil {
			t.Errorf("%s: JUnit: %v\n%s", name, err, write(t, s, gate.JUnit))
		}
		if err := checkSARIF([]byte(write(t, s, gate.SARIF))); err != nil {
			t.Errorf("%s: SARIF: %v\n%s", name, err, write(t, s, gate.SARIF))
		}
		for line := range strings.Lines(write(t, s, gate.Benchfmt)) {
			if !benchLine.MatchString(line) {
				t.Errorf("%s: no line of a benchmark: %q", name, line)
			}
		}
		seen := map[string]bool{}
		for line := range strings.Lines(write(t, s, gate.Prometheus)) {
			key, _, _ := strings.Cut(line, "} ")
			if !promLine.MatchString(line) || seen[key] {
				t.Errorf("%s: no line of Prometheus' text format, or twice: %q", name, line)
			}
			seen[key] = true
		}
	}
}

var (
	benchLine = regexp.MustCompile(`^(Benchmark[^\p{Ll}\s]?\S* 1 -?[0-9][0-9.e+]* \S+|[^\p{Lu}\s:]+: .*)\n$`)
	promLine  = regexp.MustCompile(`^(# (HELP|TYPE) strata_check_[a-z]+ .+|strata_check_[a-z]+\{([a-z]+="([^"\\]|\\["\\n])*",?)+\} [-+0-9.e]+)\n$`)
)

// The validators refuse what is wrong: each edit breaks one rule.
func TestValidatorsRefuse(t *testing.T) {
	junit, sarif := write(t, suite(), gate.JUnit), write(t, suite(), gate.SARIF)
	for _, e := range [][2]string{{`tests="4"`, `tests="5"`}, {`name="wall=5%"`, ``}, {`<skipped`, `<left`},
		{`classname=`, `class=`}, {`failures="1"`, ``}, {`</testsuites>`, ``}} {
		if bad := strings.ReplaceAll(junit, e[0], e[1]); bad == junit || checkJUnit(bad) == nil {
			t.Errorf("JUnit with %q for %q is taken", e[1], e[0])
		}
	}
	for _, e := range [][2]string{{`"2.1.0"`, `"2.0.0"`}, {`"text"`, `"words"`},
		{`"level": "none"`, `"level": "error"`}, {`"startLine": 138`, `"startLine": 0`},
		{`"ruleIndex": 1`, `"ruleIndex": 0`},
		{`"kind": "open"`, `"kind": "unknown"`}, {`file:///srv/model%20dir`, `/srv/model dir`},
		{`"driver"`, `"name"`}} {
		if bad := strings.ReplaceAll(sarif, e[0], e[1]); bad == sarif || checkSARIF([]byte(bad)) == nil {
			t.Errorf("SARIF with %q for %q is taken", e[1], e[0])
		}
	}
}

// Each form has what people and programs look for.
func TestForms(t *testing.T) {
	for format, want := range map[gate.Format][]string{
		gate.JUnit: {`tests="4" failures="1" errors="1" skipped="1"`,
			`<failure message="+60.0% | slower" type="failed">/srv/model dir/attention.py:138, attention</failure>`,
			`<error message="four passes" type="inconclusive">`},
		gate.SARIF: {`"uri": "file:///srv/model%20dir/attention.py"`, `"startLine": 138`, `"kind": "open"`,
			`"ruleId": "attention=5%"`, `"version": "1.2.3"`},
		gate.Benchfmt: {"program: strata compare\n", "BenchmarkCompare/check=attention=5% 1 60 percent\n"},
		gate.Prometheus: {`strata_check_state{program="compare",check="wall=5%",verdict="inconclusive"} 1`,
			`strata_check_limit{program="compare",check="3%",unit="percent"} 3`},
		gate.Markdown: {"### strata compare: failed", "4 checks: 1 failed, 1 inconclusive, 1 passed, 1 skipped",
			"| 60% | 5% | +60.0% \\| slower |"},
	} {
		got := write(t, suite(), format)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s lacks %q:\n%s", format, w, got)
			}
		}
	}
	if got := write(t, suite(), gate.SARIF); strings.Count(got, `"kind"`) != 2 {
		t.Errorf("SARIF has results for checks that passed or do not apply:\n%s", got)
	}
	if err := suite().Write(&bytes.Buffer{}, "yaml"); !errors.Is(err, gate.ErrFormat) {
		t.Errorf("format yaml: %v, want it refused", err)
	}
}

func TestOutcome(t *testing.T) {
	check := func(v ...gate.Verdict) (out []gate.Check) {
		for _, v := range v {
			out = append(out, gate.Check{Name: string(v), Verdict: v})
		}
		return out
	}
	for _, c := range []struct {
		checks  []gate.Check
		allow   bool
		want    gate.Verdict
		code    int
		message string
	}{
		{nil, false, gate.Passed, 0, ""},
		{check(gate.Passed, gate.Skipped), false, gate.Passed, 0, ""},
		{check(gate.Passed, gate.Inconclusive), false, gate.Inconclusive, 4,
			"cannot be decided: inconclusive (--allow-inconclusive lets it pass)"},
		{check(gate.Passed, gate.Inconclusive), true, gate.Passed, 0, ""},
		{check(gate.Inconclusive, gate.Failed), false, gate.Failed, 3, "failed: failed"},
		{check(gate.Failed), true, gate.Failed, 3, "failed: failed"},
	} {
		s := &gate.Suite{Checks: c.checks, AllowInconclusive: c.allow}
		if got := s.Outcome(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.checks, got, c.want)
		}
		err := s.Err()
		var coded interface{ ExitCode() int }
		switch {
		case c.code == 0 && err != nil:
			t.Errorf("%+v: %v, want no error", c.checks, err)
		case c.code != 0 && (!errors.As(err, &coded) || coded.ExitCode() != c.code || err.Error() != c.message):
			t.Errorf("%+v: %v, want code %d: %s", c.checks, err, c.code, c.message)
		}
	}
}
