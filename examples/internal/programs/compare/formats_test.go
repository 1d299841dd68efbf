package compare

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer/compare"
)

// fasterSide is a saved side of the demo whose attention takes half of the time.
func fasterSide(t *testing.T, demo string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.side.json")
	apptest.MustRun(t, Program(), "--b", demo, "--save", path)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := compare.ReadSide(f)
	if err != nil {
		t.Fatal(err)
	}
	run := &s.Runs[0]
	for p := range run.Passes {
		pass := &run.Passes[p]
		for i := range pass.Parts {
			if k := &pass.Parts[i]; run.Parts[k.Part].Operator == "attention" {
				half := k.Exclusive / 2
				k.Exclusive, k.Time, pass.Wall = k.Exclusive-half, k.Time-k.Time/2, pass.Wall-half
			}
		}
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := s.Write(out); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each format says the same: attention became slower. Without gates the exit code is 0 whatever was found.
func TestFormats(t *testing.T) {
	demo := demoFile(t)
	old := fasterSide(t, demo)
	for format, want := range map[string][]string{
		"text":       {"B is slower", "attention"},
		"markdown":   {"### B is slower", "| attention |"},
		"html":       {"<!DOCTYPE html>", "Parts of the step by difference", "attention"},
		"junit":      {`<testcase name="attention" classname="strata.compare">`, `<failure message="attention `},
		"sarif":      {`"version": "2.1.0"`, `"ruleId": "attention"`},
		"benchfmt":   {"side: A\n", "side: B\n", "BenchmarkPass/row=attention 1 "},
		"prometheus": {`strata_check_state{program="compare",check="attention",verdict="failed"} 1`},
		"json":       {`"schema": "strata.compare/4"`, `"operator": "attention"`},
	} {
		got := apptest.MustRun(t, Program(), "--baseline", old, "--b", demo, "--format", format).Stdout
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s lacks %q:\n%.2000s", format, w, got)
			}
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	r := apptest.MustRun(t, Program(), "--baseline", old, "--b", demo, "--open")
	if name := filepath.Base(demo) + ".html"; !strings.Contains(r.Stderr, name) {
		t.Errorf("the page to open: %q, want it called %s", r.Stderr, name)
	}
}

// With gates the files for build servers hold the gates, and no more.
func TestFormatsOfGates(t *testing.T) {
	demo := demoFile(t)
	old := fasterSide(t, demo)
	args := []string{"--baseline", old, "--b", demo, "--fail-on", "attention=5%", "--fail-on", "rope=50%", "--format"}
	r := apptest.Run(t, Program(), append(args, "junit")...)
	var suites struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(r.Stdout), &suites); err != nil || r.Code != 3 || suites.Suite.Tests != 2 ||
		suites.Suite.Failures != 1 {
		t.Errorf("JUnit: exit code %d, %+v (%v), want 3, two tests, one failure", r.Code, suites, err)
	}
	r = apptest.Run(t, Program(), append(args, "sarif")...)
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID string `json:"ruleId"`
			}
		}
	}
	if err := json.Unmarshal([]byte(r.Stdout), &log); err != nil || len(log.Runs) != 1 ||
		len(log.Runs[0].Results) != 1 || log.Runs[0].Results[0].RuleID != "attention=5%" {
		t.Errorf("SARIF: %+v (%v), want the one gate that failed", log, err)
	}
}

// --noise sets by how much equal runs differ, and is refused where it is no percentage.
func TestNoise(t *testing.T) {
	demo := demoFile(t)
	r := apptest.MustRun(t, Program(), "--a", demo, "--b", demo, "--noise", "1.5%")
	if !strings.Contains(r.Stdout, "between-run floor 1.50% (given)") {
		t.Errorf("the report does not say where its floor is from:\n%s", r.Stdout)
	}
	for _, noise := range []string{"0", "-1", "51", "NaN", demo} {
		if r := apptest.Run(t, Program(), "--a", demo, "--b", demo, "--noise", noise); r.Code != 2 {
			t.Errorf("--noise %s: exit code %d, want 2 (%s)", noise, r.Code, r.Stderr)
		}
	}
}

// A trace whose decode steps replay no graphs although its server was started with them says nothing of the server,
// until that is allowed.
func TestServingPath(t *testing.T) {
	demo := demoFile(t)
	args := filepath.Join(filepath.Dir(demo), "server_args.json")
	run := func(text string, more ...string) string {
		t.Helper()
		if err := os.WriteFile(args, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		out := apptest.MustRun(t, Program(), append([]string{"--a", demo, "--b", demo}, more...)...).Stdout
		return strings.Join(strings.Fields(out), " ") // whatever its lines
	}
	const no, yes = `{"disable_cuda_graph": true}`, `{"disable_cuda_graph": false}`
	if got := run(no); !strings.HasPrefix(got, "inconclusive") || !strings.Contains(got, "--allow serving") {
		t.Errorf("the demo replays a graph, its server does not:\n%s", got)
	}
	if got := run(no, "--allow", "serving"); !strings.HasPrefix(got, "same within") {
		t.Errorf("allowed:\n%s", got)
	}
	if got := run(yes); !strings.HasPrefix(got, "same within") {
		t.Errorf("the demo replays a graph, as its server does:\n%s", got)
	}
	if r := apptest.Run(t, Program(), "--a", demo, "--b", demo, "--allow", "all"); r.Code != 2 {
		t.Errorf("--allow all: exit code %d, want 2", r.Code)
	}
}

// The check of a row fails by what is judged: its kernels, also where others hide more of them than before.
func TestRowCheck(t *testing.T) {
	for _, c := range []struct {
		step, kernels time.Duration
		judged, found bool
		word          string
		want          gate.Verdict
	}{
		{-9, 9, true, true, "yes", gate.Failed}, {9, -9, true, true, "yes", gate.Passed},
		{9, 9, true, false, "", gate.Passed}, {9, 9, true, false, "not clear", gate.Skipped},
		{9, 9, false, false, "not judged", gate.Skipped},
	} {
		row := &compare.Row{Operator: "rope", Interval: compare.Interval{Delta: c.step}, KernelA: 10, KernelB: 10 + c.kernels,
			Judged: c.judged, Significant: c.found, Found: c.word}
		if got := rowCheck(&compare.Report{}, row); got.Verdict != c.want || *got.Value != float64(c.kernels) {
			t.Errorf("%+v: %+v, want %v", c, got, c.want)
		}
	}
}
