package app_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
)

// copier is a program with an output of its own beside --output, a list of
// labelled inputs and arguments. Where it runs, it has written.
func copier(ran *bool) app.Program {
	var html string
	var labelled app.List
	return app.Program{
		Name: "copier", Summary: "copies.", Args: "[FILE...]", Common: app.AllFlags, Formats: []app.Format{app.Text},
		Flags: func(fs *flag.FlagSet) {
			app.OutputFile(fs, &html, "html", "also write this `FILE`")
			fs.Var(&labelled, "also", "read this, too: `[LABEL=]FILE`")
		},
		Run: func(context.Context, *app.Env) error { *ran = true; return nil },
	}
}

// TestNoOutputReplacesAnInput: whatever name it has.
func TestNoOutputReplacesAnInput(t *testing.T) {
	const events = `{"traceEvents":[]}`
	for name, c := range map[string]struct {
		args, says string // says is "" where the program must run
	}{
		"trace":                {"--trace in.json --output in.json", "--output in.json is read by --trace"},
		"other spelling":       {"--trace in.json --html ./sub/../in.json", "is read by --trace"},
		"symbolic link":        {"--trace in.json --html soft", "--html soft is read by --trace"},
		"hard link":            {"--trace hard --output in.json", "is read by --trace"},
		"config":               {"--trace in.json --config old.txt --html old.txt", "is read by --config"},
		"argument":             {"--html in.json in.json", "is read by the argument"},
		"labelled, in list":    {"--also a=old.txt --also b=in.json --output in.json", "is read by --also"},
		"trace of directory":   {"--trace sub --output sub/r0.trace.json", "is read by --trace"},
		"two outputs":          {"--output new --html ./new", "--html and --output both write new"},
		"two old outputs":      {"--output soft --html in.json", "both write"},
		"new beside":           {"--trace in.json --output new --html new2", ""},
		"old report":           {"--trace in.json --output old.txt", ""},
		"report in directory":  {"--trace sub --output sub/report.md", ""},
		"devices":              {"--output /dev/null --html /dev/null --trace /dev/null", ""},
		"standard output":      {"--trace in.json --output -", ""},
		"no file of that name": {"--html -", "--html -: standard output has the results"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for file, text := range map[string]string{"in.json": events, "old.txt": "old", "sub/r0.trace.json": events,
				"sub/report.md": "old"} {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("in.json", "soft"); err != nil {
				t.Fatal(err)
			}
			if err := os.Link("in.json", "hard"); err != nil {
				t.Fatal(err)
			}
			ran := false
			var stdout, stderr strings.Builder
			code := copier(&ran).Exec(t.Context(), strings.Fields(c.args), strings.NewReader(""), &stdout, &stderr)
			if c.says == "" {
				if code != app.ExitOK || !ran {
					t.Errorf("exit code %d, want 0: %s", code, &stderr)
				}
				return
			}
			if code != app.ExitUsage || ran || !strings.Contains(stderr.String(), c.says) {
				t.Errorf("exit code %d, ran %v, stderr %q; want %d before anything runs and %q", code, ran, &stderr,
					app.ExitUsage, c.says)
			}
			for _, file := range []string{"in.json", "sub/r0.trace.json"} {
				if text, err := os.ReadFile(file); err != nil || string(text) != events {
					t.Errorf("%s holds %q, %v", file, text, err)
				}
			}
		})
	}
}

// TestOutputDirectoryIsCheckedFirst: a missing directory is named before a large trace is read for nothing.
func TestOutputDirectoryIsCheckedFirst(t *testing.T) {
	dir := t.TempDir()
	for path, says := range map[string]string{
		filepath.Join(dir, "missing", "x.html"): "the directory " + filepath.Join(dir, "missing") + " does not exist",
		dir:                                     dir + " is a directory",
	} {
		ran := false
		var stderr strings.Builder
		code := copier(&ran).Exec(t.Context(), []string{"--html", path}, strings.NewReader(""), &strings.Builder{}, &stderr)
		if code != app.ExitError || ran || !strings.Contains(stderr.String(), "--html "+path) ||
			!strings.Contains(stderr.String(), says) {
			t.Errorf("exit code %d, ran %v, stderr %q; want %q", code, ran, &stderr, says)
		}
	}
}

func TestOutputIsNotTheStandardInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.json")
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ran := false
	var stdout, stderr strings.Builder
	code := copier(&ran).Exec(t.Context(), []string{"--trace", "-", "--output", path}, f, &stdout, &stderr)
	if code != app.ExitUsage || ran || !strings.Contains(stderr.String(), "standard input") {
		t.Errorf("exit code %d, ran %v, stderr %q; want %d and the standard input named", code, ran, &stderr,
			app.ExitUsage)
	}
}
