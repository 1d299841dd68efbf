package triage_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

const tinyTrace = `{"traceEvents": [{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":2,"pid":0,"tid":7,"args":{"device":0,"stream":7}}]}`

// tree writes files below a fresh directory, each a minute newer than the one
// before it, and returns the directory.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for _, f := range files {
		name, text, ok := strings.Cut(f, "=")
		if !ok {
			text = tinyTrace
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  []string
	}{
		{"one inside", []string{"a.trace.json"}, []string{"a.trace.json"}},
		{"never the server's files", []string{"a.pt.trace.json", "server_args.json", "metadata.json", "config.json"}, []string{"a.pt.trace.json"}},
		{"other json only with events", []string{"b.json={\"x\": 1}", "a.json"}, []string{"a.json"}},
		{"inside before below", []string{"a.trace.json", "sub/b-DECODE.trace.json"}, []string{"a.trace.json"}},
		{"stages below", []string{"x/a.trace.json", "y/1-EXTEND.trace.json", "z/1-DECODE.trace.json"}, []string{"y/1-EXTEND.trace.json", "z/1-DECODE.trace.json"}},
		{"newest directory", []string{"old/a.trace.json", "new/b.trace.json"}, []string{"new/b.trace.json"}},
		{"rank 0", []string{"1-TP-1-DECODE.trace.json", "1-TP-0-DECODE.trace.json", "1-TP-2-DECODE.trace.json"}, []string{"1-TP-0-DECODE.trace.json"}},
		{"lowest rank", []string{"rank7.trace.json", "rank3.trace.json"}, []string{"rank3.trace.json"}},
		{"all coordinates", []string{"dp0_pp0_tp1_a.trace.json", "dp0_pp0_tp0_a.trace.json"}, []string{"dp0_pp0_tp0_a.trace.json"}},
		{"newest of a stage", []string{"1-TP-0-DECODE.trace.json", "2-TP-0-DECODE.trace.json", "1-TP-0-EXTEND.trace.json"}, []string{"1-TP-0-EXTEND.trace.json", "2-TP-0-DECODE.trace.json"}},
		{"merged only alone", []string{"merged-a.trace.json", "b.trace.json"}, []string{"b.trace.json"}},
		{"merged alone", []string{"merged-a.trace.json"}, []string{"merged-a.trace.json"}},
		{"empty files are none", []string{"a.trace.json=", "b.trace.json"}, []string{"b.trace.json"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, tt.files...)
			got, err := triage.Find(dir)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				rel, _ := filepath.Rel(dir, got[i])
				got[i] = filepath.ToSlash(rel)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Find = %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := triage.Find(tree(t, "a.txt")); err == nil || !strings.Contains(err.Error(), "no trace found") {
		t.Errorf("Find without traces = %v", err)
	}
	if _, err := triage.Find(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Find of nothing = %v", err)
	}
}

func open(t *testing.T) triage.Opener {
	return func(ctx context.Context, path string) (*trace.Trace, error) { return trace.Open(ctx, path) }
}

func TestLoadReadsWhatTheServerSays(t *testing.T) {
	dir := tree(t, "1-TP-0-DECODE.trace.json", `server_args.json={"model_path": "Qwen/Qwen3-8B", "tp_size": 4}`)
	sources, server, err := triage.Load(t.Context(), dir, open(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) != 1 || sources[0].Stage != triage.StageDecode {
		t.Errorf("sources = %+v", sources)
	}
	if want := (triage.Server{Model: "Qwen/Qwen3-8B", TPSize: 4}); server != want {
		t.Errorf("server = %+v, want %+v", server, want)
	}
	r, err := triage.Analyze(t.Context(), triage.Input{Formal: sources, Server: server})
	if err != nil {
		t.Fatal(err)
	}
	if r.Model != "Qwen/Qwen3-8B" || r.TPSize != 4 || r.Framework != triage.FrameworkPyTorch {
		t.Errorf("report head: model %q, TP %d, framework %q", r.Model, r.TPSize, r.Framework)
	}
}

func TestDiffusionGate(t *testing.T) {
	dir := tree(t, "a.trace.json", "server.log=INFO Using diffusers backend for x\n")
	if _, _, err := triage.Load(t.Context(), dir, open(t)); !errors.Is(err, triage.ErrDiffusers) || !strings.Contains(err.Error(), "server.log") {
		t.Errorf("Load = %v, want ErrDiffusers that names the log", err)
	}
}

func TestReadServerArgsErrors(t *testing.T) {
	if _, err := triage.ReadServerArgs(strings.NewReader("{")); err == nil {
		t.Error("a cut server_args.json is no error")
	}
	s, err := triage.ReadServerArgs(strings.NewReader(`{"model": "m", "tensor_parallel_size": 2, "framework": "vllm"}`))
	if want := (triage.Server{Model: "m", TPSize: 2, Framework: triage.FrameworkVLLM}); err != nil || s != want {
		t.Errorf("ReadServerArgs = %+v, %v, want %+v", s, err, want)
	}
}

func FuzzReadServerArgs(f *testing.F) {
	f.Add([]byte(`{"model_path": "a", "tp_size": 1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := triage.ReadServerArgs(strings.NewReader(string(data)))
		if err != nil && s != (triage.Server{}) {
			t.Errorf("error %v with result %+v", err, s)
		}
	})
}
