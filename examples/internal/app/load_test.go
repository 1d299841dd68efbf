package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/trace"
)

// loader is a program that loads its trace and prints the number of activities.
func loader() app.Program {
	return app.Program{
		Name: "loader", Common: app.TraceFlag | app.ProgressFlag,
		Run: func(ctx context.Context, env *app.Env) error {
			t, err := env.Load(ctx, trace.Options{Lanes: trace.Lanes(trace.LaneGPU, trace.LaneLaunch)})
			if err != nil {
				return err
			}
			fmt.Fprintln(env.Stdout, t.LaneLen(trace.LaneGPU))
			return nil
		},
	}
}

func TestLoadReadsTheDemoAFileOrADirectory(t *testing.T) {
	truth, err := demo.Truth()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintln(len(truth))
	dir := t.TempDir()
	path := filepath.Join(dir, "x-TP-0.trace.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		note string
	}{
		{nil, "built-in demo"},
		{[]string{"--trace", path}, ""},
		{[]string{"--trace", dir}, "reading " + path},
	} {
		got := apptest.MustRun(t, loader(), c.args...)
		if got.Stdout != want {
			t.Errorf("%v: printed %q, want %q", c.args, got.Stdout, want)
		}
		if !strings.Contains(got.Stderr, c.note) || c.note == "" && got.Stderr != "" {
			t.Errorf("%v: stderr %q, want %q in it", c.args, got.Stderr, c.note)
		}
	}
}

func TestLoadNamesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte("no trace"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "absent"), text, t.TempDir()} {
		got := apptest.Run(t, loader(), "--trace", path)
		if got.Code != app.ExitError || !strings.Contains(got.Stderr, filepath.Base(path)) || strings.Count(got.Stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, stderr %q, want 1 and one line that names it", path, got.Code, got.Stderr)
		}
	}
}

func TestLoadShowsHowFarItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	got := apptest.MustRun(t, loader(), "--trace", path, "--progress")
	if !strings.Contains(got.Stderr, "reading "+path) || !strings.HasSuffix(got.Stderr, "\r\x1b[K") {
		t.Errorf("stderr %q, want the file's name, and the line cleared at the end", got.Stderr)
	}
}
