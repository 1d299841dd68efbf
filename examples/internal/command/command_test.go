package command_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/command"
	"github.com/llmstrata/strata/internal/demo"
)

// run runs the joined program.
func run(t *testing.T, stdin string, args ...string) apptest.Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := command.Exec(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return apptest.Result{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

// traceFile writes the demo trace and returns its path.
func traceFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOverview(t *testing.T) {
	for _, args := range [][]string{nil, {"-h"}, {"--help"}, {"help"}} {
		r := run(t, "", args...)
		if r.Code != app.ExitOK {
			t.Fatalf("%q: exit code %d", args, r.Code)
		}
		apptest.Golden(t, "testdata/overview.golden", r.Stdout)
	}
}

// TestCommandsAndTheirOldNames: a command runs the program of its old name, under the command's name.
func TestCommandsAndTheirOldNames(t *testing.T) {
	for alone, name := range map[string]string{"layer-timeline": "layers", "layer-breakdown": "breakdown",
		"speed-of-light": "light", "triage": "triage", "host-detect": "host",
		"compare": "compare", "host-compare": "host-compare", "kernel-export": "export", "perfetto-map": "perfetto",
		"capture": "capture", "triage-bundle": "bundle", "report": "report"} {
		for _, word := range []string{name, alone} {
			for _, args := range [][]string{{word, "-h"}, {"help", word}} {
				r := run(t, "", args...)
				if r.Code != app.ExitOK || !strings.HasPrefix(r.Stdout, "strata "+name+" - ") ||
					!strings.Contains(r.Stdout, "\n  strata "+name+" ") {
					t.Errorf("%q: exit code %d, the help begins with %.60q", args, r.Code, r.Stdout)
				}
				if strings.Contains(r.Stdout, "go run") {
					t.Errorf("%q: the help of an installed program speaks of a checkout", args)
				}
			}
		}
	}
}

func TestSubCommandsKeepTheirNames(t *testing.T) {
	if r := run(t, "", "capture", "probe", "-h"); !strings.HasPrefix(r.Stdout, "strata capture probe - ") {
		t.Errorf("capture probe -h begins with %.60q", r.Stdout)
	}
}

// TestAFileIsReported: by its name, from the standard input, with flags on either
// side, several at once, a directory and a pattern.
func TestAFileIsReported(t *testing.T) {
	path := traceFile(t)
	dir := filepath.Dir(path)
	other := filepath.Join(dir, "second.json.gz")
	if err := os.WriteFile(other, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{path}, "strata report of " + path},
		{"", []string{path, "--width", "80"}, "strata report of " + path},
		{"", []string{"--width", "80", path}, "strata report of " + path},
		{"", []string{"report", path, "--format", "json"}, `"schema": "strata.report/2"`},
		{string(demo.Trace()), []string{"-"}, "strata report of -"},
		{"", []string{path, other}, "2 traces"},
		{"", []string{filepath.Join(dir, "*.json.gz")}, "2 traces"},
		{"", []string{dir}, "strata report of " + dir},
		{"", []string{"layers", path}, "Forward passes"},
	} {
		r := run(t, c.stdin, c.args...)
		if r.Code != app.ExitOK || !strings.Contains(r.Stdout, c.want) {
			t.Errorf("%q: exit code %d, want %q in\n%.300s%s", c.args, r.Code, c.want, r.Stdout, r.Stderr)
		}
	}
}

func TestWhatWasMeant(t *testing.T) {
	for word, want := range map[string]string{"layrs": "did you mean strata layers?",
		"reprot": "did you mean strata report?", "brekdown": "did you mean strata breakdown?",
		"host-detct": "did you mean strata host-detect?", "frobnicate": "neither a command nor a file (see"} {
		r := run(t, "", word)
		if r.Code != app.ExitUsage || !strings.Contains(r.Stderr, want) || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, want %q", word, r.Code, r.Stderr, want)
		}
	}
	if r := run(t, "", "layers", "--formatt", "json"); r.Code != app.ExitUsage ||
		!strings.Contains(r.Stderr, "did you mean --format?") {
		t.Errorf("exit code %d, %q", r.Code, r.Stderr)
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		if r := run(t, "", arg); r.Code != app.ExitOK || !strings.HasPrefix(r.Stdout, "strata ") ||
			!strings.Contains(r.Stdout, "go1.") {
			t.Errorf("%s: %d, %q", arg, r.Code, r.Stdout)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"re"}, []string{"report"}},
		{[]string{"h"}, []string{"host", "host-compare", "help"}},
		{[]string{"layers", "--form"}, []string{"--format"}},
		{[]string{"layers", "--format", "js"}, []string{"json"}},
		{[]string{"layers", "--boundaries", "anchor-o"}, []string{"anchor-opens"}},
		{[]string{"layers", "--config", ""}, nil},
		{[]string{"layers", "x.json", "--show"}, []string{"--show-all-passes"}},
		{[]string{"capture", "probe", "--prom"}, []string{"--prompt"}},
		{[]string{"completion", ""}, []string{"bash", "fish", "powershell", "zsh"}},
		{[]string{"x.json.gz", "--htm"}, []string{"--html"}},
		{[]string{"layers", ""}, nil},
		{[]string{"layers", "--format=js"}, []string{"--format=json"}},
		{[]string{"layers", "--format", "=", "js"}, []string{"json"}}, // as bash cuts words
		{[]string{"layers", "--boundaries", "="}, []string{"auto", "modules", "repeats", "anchor-closes", "anchor-opens"}},
		{[]string{"capture", ""}, []string{"collect", "doctor", "matrix", "probe", "stop"}},
		{[]string{"fleet", ""}, []string{"reduce", "trend"}},
		{[]string{"fleet", "trend", ""}, nil},
		{[]string{"schema", "what"}, []string{"what-if"}},
		{[]string{"skill", "--"}, []string{"--install"}},
		{[]string{"explain", "--format", ""}, []string{"text", "markdown", "json"}},
		{[]string{"help", "lay"}, []string{"layers"}},
		{[]string{"compare", "--normalize", ""}, []string{"none", "tokens"}},
	} {
		r := run(t, "", append([]string{"__complete"}, c.words...)...)
		if got := strings.Fields(r.Stdout); r.Code != app.ExitOK || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
}

// TestCompletionScripts: each shell that is there reads its script.
func TestCompletionScripts(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"-c", `eval "$(cat)" && complete -p strata`},
		"zsh": {"-n", "/dev/stdin"}, "fish": {"-n", "/dev/stdin"}} {
		r := run(t, "", "completion", shell)
		if r.Code != app.ExitOK || !strings.Contains(r.Stdout, "__complete") {
			t.Errorf("%s: exit code %d, script %q", shell, r.Code, r.Stdout)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		cmd := exec.Command(path, check...)
		cmd.Stdin = strings.NewReader(r.Stdout)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s does not read its script: %v: %s", shell, err, out)
		}
	}
	if r := run(t, "", "completion", "tcsh"); r.Code != app.ExitUsage {
		t.Errorf("tcsh: exit code %d, want %d", r.Code, app.ExitUsage)
	}
}
