package app_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/layer"
)

// hello is a program that prints its flags; --fail makes it fail half-way.
func hello() app.Program {
	var who, fail string
	var color *string
	return app.Program{
		Name:     "hello",
		Summary:  "greets, and shows what a program can do.",
		Examples: []string{"hello --who me    # greets me"},
		Common:   app.AllFlags,
		Formats:  []app.Format{app.Text, app.JSON},
		Obsolete: []app.Obsolete{{Name: "no-toc", Note: "has no effect"}, {Name: "old", Value: true, Note: "is gone"}},
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&who, "who", "world", "`NAME` to greet")
			fs.StringVar(&fail, "fail", "", "`HOW` to fail")
			color = app.Choice(fs, "color", "a `COLOR` of", "red", "blue")
		},
		Run: func(ctx context.Context, env *app.Env) error {
			env.Step("greeting", 1, 2)
			fmt.Fprintf(env.Stdout, "hello %s in %s as %s, %s, %s, layers %d, demo %v\n",
				who, *color, env.Format, env.Boundaries, env.HashLayers, env.NumLayers, env.Demo())
			env.Notef("a note\nof two lines")
			switch fail {
			case "":
				return nil
			case "usage":
				return app.Usagef("--fail %s: not like this", fail)
			case "wait":
				<-ctx.Done()
				return fmt.Errorf("reading: %w", ctx.Err())
			}
			return errors.New("it broke:\n" + fail)
		},
	}
}

func TestExitCodesAndStreams(t *testing.T) {
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"defaults", nil, 0,
			"hello world in red as text, auto, first, layers 0, demo true\n", "a note of two lines\n"},
		{"every flag, one dash or two", strings.Fields("-who me --color blue -format json --boundaries anchor-opens " +
			"--hash-layers=last --num-layers 7 --trace x --progress=false"), 0,
			"hello me in blue as json, anchor-opens, last, layers 7, demo false\n", "a note of two lines\n"},
		{"an error is one line", []string{"--fail", "badly"}, 1,
			"hello world in red as text, auto, first, layers 0, demo true\n",
			"a note of two lines\nhello: it broke: badly\n"},
		{"usage found late", []string{"--fail", "usage"}, 2,
			"hello world in red as text, auto, first, layers 0, demo true\n",
			"a note of two lines\nhello: --fail usage: not like this (see hello -h)\n"},
		{"unknown flag", []string{"--nope"}, 2, "", "hello: unknown flag --nope (see hello -h)\n"},
		{"mistyped flag", []string{"--colour", "red"}, 2, "",
			"hello: unknown flag --colour: did you mean --color? (see hello -h)\n"},
		{"letters swapped", []string{"--froamt", "json"}, 2, "",
			"hello: unknown flag --froamt: did you mean --format? (see hello -h)\n"},
		{"the argument is the trace, flags behind it", []string{"file", "--who", "me"}, 0,
			"hello me in red as text, auto, first, layers 0, demo false\n", "a note of two lines\n"},
		{"after two dashes all is arguments", []string{"--", "--who"}, 0,
			"hello world in red as text, auto, first, layers 0, demo false\n", "a note of two lines\n"},
		{"two traces", []string{"file", "other"}, 2, "",
			"hello: 2 traces are named, file and other among them, and hello reads one: name a directory, or see strata " +
				"report for several (see hello -h)\n"},
		{"the trace twice", []string{"file", "--trace", "x"}, 2, "",
			"hello: two traces are named: --trace x and file (see hello -h)\n"},
		{"a switch in two words", []string{"--progress", "auto", "--who", "me"}, 0,
			"hello me in red as text, auto, first, layers 0, demo true\n", "a note of two lines\n"},
		{"too narrow", []string{"--width", "39"}, 2, "",
			"hello: --width 39: want a number from 40 to 10000, or 0 for the terminal's (see hello -h)\n"},
		{"an old flag", []string{"--no-toc", "--old=7"}, 0,
			"hello world in red as text, auto, first, layers 0, demo true\n",
			"--no-toc has no effect\n--old is gone\na note of two lines\n"},
		{"bad choice", []string{"--boundaries", "x"}, 2, "",
			"hello: invalid value \"x\" for flag --boundaries: want one of auto, modules, repeats, anchor-closes, " +
				"anchor-opens (see hello -h)\n"},
		{"negative number", []string{"--num-layers", "-1"}, 2, "",
			"hello: --num-layers -1: want a positive number, or 0 to find it (see hello -h)\n"},
		{"more layers than a model has", []string{"--num-layers", "999999"}, 2, "",
			"hello: --num-layers 999999: want at most 4096 (see hello -h)\n"},
		{"output in no directory", []string{"--output", filepath.Join("no", "such", "dir")}, 1, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := apptest.Run(t, hello(), c.args...)
			if got.Code != c.code {
				t.Errorf("exit code %d, want %d; stderr: %s", got.Code, c.code, got.Stderr)
			}
			if diff := cmp.Diff(c.stdout, got.Stdout); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.stderr, got.Stderr); diff != "" && c.stderr != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			if n := strings.Count(got.Stderr, "\n"); c.code != 0 && n > 2 {
				t.Errorf("%d lines on stderr:\n%s", n, got.Stderr)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	got := apptest.Run(t, hello(), "-h")
	if got.Code != app.ExitOK || got.Stderr != "" {
		t.Errorf("-h: exit code %d, stderr %q, want 0 and nothing", got.Code, got.Stderr)
	}
	apptest.Golden(t, "testdata/help.golden", got.Stdout)
}

// closedPipe is a stdout that nobody reads.
type closedPipe struct{ err error }

func (c closedPipe) Write([]byte) (int, error) { return 0, c.err }

func TestClosedPipeEndsQuietly(t *testing.T) {
	for _, err := range []error{syscall.EPIPE, io.ErrClosedPipe,
		&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}} {
		var stderr strings.Builder
		p := hello()
		p.Run = func(ctx context.Context, env *app.Env) error {
			for range 10_000 { // more than the buffer holds
				if _, err := io.WriteString(env.Stdout, "a line of output\n"); err != nil {
					return fmt.Errorf("writing: %w", err)
				}
			}
			return nil
		}
		if code := p.Exec(context.Background(), nil, nil, closedPipe{err}, &stderr); code != app.ExitOK ||
			stderr.Len() > 0 {
			t.Errorf("%v: exit code %d, stderr %q, want 0 and nothing", err, code, stderr.String())
		}
		if code := p.Exec(context.Background(), []string{"-h"}, nil, closedPipe{err}, &stderr); code != app.ExitOK ||
			stderr.Len() > 0 {
			t.Errorf("%v: help: exit code %d, stderr %q, want 0 and nothing", err, code, stderr.String())
		}
	}
}

func TestFullDiskIsAnError(t *testing.T) {
	var stderr strings.Builder
	code := hello().Exec(context.Background(), nil, nil, closedPipe{syscall.ENOSPC}, &stderr)
	if code != app.ExitError || !strings.Contains(stderr.String(), "no space") {
		t.Errorf("exit code %d, stderr %q, want 1 and the reason", code, stderr.String())
	}
}

// TestBrokenPipeOfAnotherFileIsAnError: only stdout's reader may leave.
func TestBrokenPipeOfAnotherFileIsAnError(t *testing.T) {
	p := hello()
	p.Run = func(context.Context, *app.Env) error { return fmt.Errorf("server: %w", syscall.EPIPE) }
	if got := apptest.Run(t, p); got.Code != app.ExitError {
		t.Errorf("exit code %d, want 1", got.Code)
	}
}

func TestInterruptIsToldAsSuch(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stderr strings.Builder
	code := hello().Exec(ctx, []string{"--fail", "wait"}, nil, io.Discard, &stderr)
	if code != app.ExitError || !strings.HasSuffix(stderr.String(), "hello: interrupted\n") {
		t.Errorf("exit code %d, stderr %q, want 1 and interrupted", code, stderr.String())
	}
}

func TestOutputFileAppearsOnlyOnSuccess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.txt")
	link := filepath.Join(dir, "link.txt")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if got := apptest.Run(t, hello(), "--output", path, "--fail", "x"); got.Code != app.ExitError {
		t.Errorf("exit code %d, want 1", got.Code)
	}
	if text, _ := os.ReadFile(path); string(text) != "old" {
		t.Errorf("after an error the file holds %q, want what it held before", text)
	}
	got := apptest.Run(t, hello(), "--output", link)
	if got.Code != app.ExitOK || got.Stdout != "" {
		t.Errorf("exit code %d, stdout %q, want 0 and nothing", got.Code, got.Stdout)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "hello world") {
		t.Errorf("the file holds %q (%v), want the greeting", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v (%v), want the old file's 0640", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%d files left in the directory (%v), want the file and the link", len(entries), err)
	}
}

func TestOutputToADeviceIsWrittenInPlace(t *testing.T) {
	if got := apptest.Run(t, hello(), "--output", os.DevNull); got.Code != app.ExitOK {
		t.Errorf("exit code %d, want 0: %s", got.Code, got.Stderr)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s was replaced by a file", os.DevNull)
	}
}

func TestProgressOnRequest(t *testing.T) {
	got := apptest.Run(t, hello(), "--progress")
	want := "\r\x1b[Kgreeting: 50% of 2 B\r\x1b[Ka note of two lines\n"
	if diff := cmp.Diff(want, got.Stderr); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"--version", "-version"} {
		got := apptest.MustRun(t, hello(), arg)
		if !strings.HasPrefix(got.Stdout, "hello ") || !strings.Contains(got.Stdout, "go1.") {
			t.Errorf("%s prints %q, want the name and what built it", arg, got.Stdout)
		}
	}
}

// TestNearest: a slip is one letter in three; another word is none.
func TestNearest(t *testing.T) {
	names := []string{"format", "fwd-pass", "min-share", "tp", "show-all-passes"}
	for word, want := range map[string]string{"fromat": "format", "fmt": "", "frm": "", "formet": "format",
		"fwd_pass": "fwd-pass", "min-shares": "min-share",
		"minsahre": "min-share", "tpp": "tp", "show-all": "show-all-passes", "f": "", "": "", "something": "",
		strings.Repeat("x", 1000): ""} {
		if got := app.Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// TestPlainErrors: a command line shows an error without packages and system calls; what only resembles them stays.
func TestPlainErrors(t *testing.T) {
	_, gone := os.Open("/nonexistent/x.json")
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("strata: %w", gone), "/nonexistent/x.json: no such file or directory"},
		{fmt.Errorf("a.json: %w", layer.ErrNoKernels), "a.json: " +
			strings.TrimPrefix(layer.ErrNoKernels.Error(), "layer: ")},
		{errors.New("my layer: 3 of trace"), "my layer: 3 of trace"},
		{errors.New("not a layer: trace"), "not a layer: trace"},
	} {
		if got := app.Plain(c.err); got != c.want {
			t.Errorf("Plain(%q) = %q, want %q", c.err, got, c.want)
		}
	}
}
