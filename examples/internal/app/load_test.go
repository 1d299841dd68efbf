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
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// loader is a program that loads its trace and prints the number of activities.
func loader() app.Program {
	return app.Program{
		Name: "loader", Common: app.TraceFlag | app.ProgressFlag,
		Run: func(ctx context.Context, env *app.Env) error {
			t, err := env.Load(ctx, trace.Options{Lanes: []event.Lane{event.LaneGPU, event.LaneLaunch}})
			if err != nil {
				return err
			}
			fmt.Fprintln(env.Stdout, t.Len(event.LaneGPU))
			return nil
		},
	}
}

func TestLoadReadsTheDemoAFileOrADirectory(t *testing.T) {
	truth, err := gen.Truths(gen.Demo())
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

// A changed clock is noted even if the trace is in order otherwise; an unchanged one is not.
func TestLoadTellsOfChangedClocks(t *testing.T) {
	for low, want := range map[string]bool{"1900": true, "1990": false} {
		path := filepath.Join(t.TempDir(), "x.json")
		doc := `{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":100,"args":{"device":0,"stream":7,"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1,"dur":2,"args":{"correlation":1}},
{"ph":"C","name":"SM Clock (MHz)","pid":"GPU 0 Counters","ts":20,"args":{"":2000}},{"ph":"C","name":"SM Clock (MHz)","pid":"GPU 0 Counters","ts":30,"args":{"":` + low + `}}]}`
		if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		p := loader()
		run := p.Run
		p.Run = func(ctx context.Context, env *app.Env) error {
			t, err := env.Load(ctx, trace.Options{})
			if err != nil {
				return err
			}
			env.NoteHealth(t)
			return run(ctx, env)
		}
		got := apptest.MustRun(t, p, "--trace", path)
		if strings.Contains(got.Stderr, "clock of GPU 0 ran between") != want {
			t.Errorf("from %s MHz: stderr %q, the clock in it: want %v", low, got.Stderr, want)
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
		if got.Code != app.ExitError || !strings.Contains(got.Stderr, filepath.Base(path)) ||
			strings.Count(got.Stderr, "\n") != 1 {
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
