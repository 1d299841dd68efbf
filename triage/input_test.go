package triage_test

import (
	"os"
	"path/filepath"
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

func TestReadBesideReadsWhatTheServerSays(t *testing.T) {
	dir := tree(t, "run/1-TP-0-DECODE.trace.json", `server_args.json={"model_path": "Qwen/Qwen3-8B", "tp_size": 4}`)
	path := filepath.Join(dir, "run/1-TP-0-DECODE.trace.json")
	server, err := triage.ReadBeside(path)
	if want := (triage.Server{Model: "Qwen/Qwen3-8B", TPSize: 4}); err != nil || server != want {
		t.Errorf("ReadBeside = %+v, %v, want %+v", server, err, want)
	}
	tr, err := trace.Open(t.Context(), path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := input(t, tr, path)
	in.Server = server
	r, err := triage.Analyze(t.Context(), in, triage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Model != "Qwen/Qwen3-8B" || r.TPSize != 4 || r.Framework != "PyTorch" || r.Stages[0].Stage != "decode" {
		t.Errorf("report head: model %q, TP %d, framework %q, stage %q", r.Model, r.TPSize, r.Framework,
			r.Stages[0].Stage)
	}
	if s, err := triage.ReadBeside(filepath.Join(t.TempDir(), "x.json")); err != nil || s != (triage.Server{}) {
		t.Errorf("ReadBeside of nothing = %+v, %v", s, err)
	}
}

func TestDiffusionGate(t *testing.T) {
	dir := tree(t, "a.trace.json", "server.log=INFO Using diffusers backend for x\n")
	if _, err := triage.ReadBeside(filepath.Join(dir, "a.trace.json")); err == nil ||
		!strings.Contains(err.Error(), "diffusers backend") || !strings.Contains(err.Error(), "server.log") {
		t.Errorf("ReadBeside = %v, want an error that names the log", err)
	}
}

func TestServerArgsBeside(t *testing.T) {
	dir := tree(t, "server_args.json={")
	if _, err := triage.ReadBeside(filepath.Join(dir, "x.json")); err == nil {
		t.Error("a cut server_args.json is no error")
	}
	dir = tree(t, `server_args.json={"model": "m", "tensor_parallel_size": 2, "framework": "vllm"}`)
	s, err := triage.ReadBeside(filepath.Join(dir, "x.json"))
	if want := (triage.Server{Model: "m", TPSize: 2, Framework: "vLLM"}); err != nil || s != want {
		t.Errorf("ReadBeside = %+v, %v, want %+v", s, err, want)
	}
}
