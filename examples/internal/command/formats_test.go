package command_test

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/internal/testdata"
)

// judging is a command on the demo with a condition that is met, and one that is not.
var judging = map[string][2]string{
	"report": {"idle=5%", "idle=90%"}, "layers": {"coverage=100.1%", "coverage=50%"},
	"breakdown": {"coverage=100.1%", "coverage=50%"}, "light": {"floor=40%", "floor=1%"},
	"triage": {"exposed-comm=5%", "exposed-comm=90%"}, "host": {"host-caused=5%", "host-caused=90%"},
	"export": {"coverage=100.1%", "coverage=50%"}, "perfetto": {"coverage=100.1%", "coverage=50%"},
}

// TestConditionsForBuildServers: every command with --fail-on writes what its conditions say, and nothing else, in
// each form, met or not, with its exit code; and without a condition there is nothing to write.
func TestConditionsForBuildServers(t *testing.T) {
	for command, conditions := range judging {
		for i, c := range conditions {
			code, name := []int{app.ExitFailed, app.ExitOK}[i], strings.Replace(c, "=", " ", 1)
			verdict := []string{"failed", "passed"}[i]
			get := func(format gate.Format) string {
				t.Helper()
				r := run(t, "", command, "--fail-on", c, "--format", string(format))
				if r.Code != code {
					t.Errorf("%s --fail-on %s --format %s: exit code %d, want %d: %s", command, c, format, r.Code, code,
						r.Stderr)
				}
				return r.Stdout
			}
			var suites struct {
				Suite struct {
					Tests    int `xml:"tests,attr"`
					Failures int `xml:"failures,attr"`
				} `xml:"testsuite"`
			}
			if err := xml.Unmarshal([]byte(get(gate.JUnit)), &suites); err != nil || suites.Suite.Tests != 1 ||
				suites.Suite.Failures != 1-i {
				t.Errorf("%s %s: JUnit says %+v (%v)", command, c, suites, err)
			}
			var log struct {
				Runs []struct{ Results []struct{ RuleID string } }
			}
			if err := json.Unmarshal([]byte(get(gate.SARIF)), &log); err != nil || len(log.Runs) != 1 ||
				len(log.Runs[0].Results) != 1-i {
				t.Errorf("%s %s: SARIF says %+v (%v)", command, c, log, err)
			}
			if i == 1 && command != "report" && !testdata.Long() {
				continue // one writer for all commands
			}
			if got, want := get(gate.Prometheus), `strata_check_state{program="`+command+`",check="`+name+`",verdict="`+
				verdict+`"} 1`; !strings.Contains(got, want) || !strings.HasPrefix(got, "# HELP") {
				t.Errorf("%s %s: Prometheus lacks %s:\n%s", command, c, want, got)
			}
			if got := get(gate.Markdown); !strings.Contains(got, "| "+name+" | "+verdict+" |") {
				t.Errorf("%s %s: Markdown lacks the condition:\n%s", command, c, got)
			}
			if got := get(gate.Benchfmt); command != "report" &&
				!strings.Contains(got, "/check="+strings.Replace(name, " ", "_", 1)+" 1 ") {
				t.Errorf("%s %s: benchfmt lacks the condition:\n%s", command, c, got)
			}
		}
		for _, format := range []string{string(gate.JUnit), string(gate.SARIF), string(gate.Prometheus)} {
			if r := run(t, "", command, "--format", format); r.Code != app.ExitUsage || r.Stdout != "" ||
				!strings.Contains(r.Stderr, "--fail-on") {
				t.Errorf("%s --format %s without a condition: exit code %d, %q", command, format, r.Code, r.Stderr)
			}
		}
	}
}

// TestHostCompareForBuildServers: its gate has a grammar of its own, and the same forms.
func TestHostCompareForBuildServers(t *testing.T) {
	old, target := testdata.Shared(t, "traces/nsys/synthetic-trtllm-baseline.sqlite"),
		testdata.Shared(t, "traces/nsys/synthetic-trtllm-target.sqlite")
	for _, c := range []struct {
		target, verdict string
		code            int
	}{{target, "failed", app.ExitFailed}, {old, "passed", app.ExitOK}} {
		r := run(t, "", "host-compare", "--baseline", old, "--target", c.target, "--fail-on", "3%", "--format",
			"prometheus")
		if r.Code != c.code || !strings.Contains(r.Stdout, `check="3% of a step",verdict="`+c.verdict+`"} 1`) {
			t.Errorf("exit code %d, want %d: %s%s", r.Code, c.code, r.Stdout, r.Stderr)
		}
	}
	if r := run(t, "", "host-compare", "--baseline", old, "--target", target, "--format",
		"junit"); r.Code != app.ExitUsage {
		t.Errorf("without --fail-on: exit code %d", r.Code)
	}
}

// TestFormatsAreDocumented: the table of docs/exit-codes.md has each command's formats, no more and no fewer, and a
// format of another command is refused in one line that says who has it.
func TestFormatsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testdata.Root(t), "docs", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "## Formats")
	rows := map[string][]string{}
	for line := range strings.Lines(part) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(cells[1], " `") {
			for _, command := range strings.Split(strings.Trim(cells[1], " "), ", ") {
				rows[strings.Trim(command, "`")] = strings.Fields(strings.NewReplacer("`", "", ",",
					"").Replace(cells[2] + cells[3]))
			}
		}
	}
	for _, command := range []string{"report", "answer", "layers", "breakdown", "light", "triage", "host", "compare",
		"host-compare", "export", "perfetto", "capture", "bundle"} {
		got := strings.Fields(run(t, "", "__complete", command, "--format", "").Stdout)
		want := rows[command]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, the table says %v", command, got, want)
		}
	}
	for format, who := range map[string]string{"csv": "strata export", "junit": "every command with --fail-on",
		"parquet": "docs/export.md", "compute-flow": "strata breakdown", "html": "--html FILE"} {
		if r := run(t, "", "capture", "--format", format); r.Code != app.ExitUsage ||
			!strings.Contains(r.Stderr, who) || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("capture --format %s: exit code %d, %q, want one line with %q", format, r.Code, r.Stderr, who)
		}
	}
}
