package strata_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// The README shows this function's body.
func decodeTimes(ctx context.Context, path string) error {
	t, err := trace.Open(ctx, path, trace.Options{})
	if err != nil {
		return err
	}
	if h := t.Health(); h.Status != trace.HealthOK {
		log.Printf("%s: %s: %v", path, h.Status, h.Findings)
	}
	a, err := layer.Analyze(ctx, t, layer.Options{})
	if err != nil {
		return err
	}
	gpu, err := a.Device(nil) // the one with most GPU time
	if err != nil {
		return err
	}
	for _, p := range gpu.Passes {
		fmt.Println(p.Index, p.Stage, p.Batch, p.Tokens, p.Wall(), p.NumLayers)
	}
	return nil
}

func Example_readme() {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("strata-readme-%d.json.gz", os.Getpid()))
	defer os.Remove(path)
	if err := os.WriteFile(path, demo.Trace(), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := decodeTimes(context.Background(), path); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0 prefill 1 640 2.345289ms 8
	// 1 decode 8 8 1.568697ms 8
	// 2 decode 8 8 1.574118ms 8
	// 3 decode 8 8 1.585692ms 8
	// 4 decode 8 8 1.02636ms 8
}

// TestReadmeShowsWhatIs: the programs' output in the README is theirs, apart
// from lines left out, and its Go code is compiled here.
func TestReadmeShowsWhatIs(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(readme, []byte("\n")); n > 150 {
		t.Errorf("%d lines, want at most 150", n)
	}
	commands := 0
	_, shown, _ := strings.Cut(string(readme), "## What it looks like\n")
	shown, _, _ = strings.Cut(shown, "\n## ")
	for _, block := range strings.Split(shown, "    $ ")[1:] {
		command, want, _ := strings.Cut(block, "\n")
		commands++
		t.Run(command, func(t *testing.T) {
			args := strings.Fields(command)
			out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).Output()
			if err != nil {
				t.Fatal(err)
			}
			within(t, want, string(out))
		})
	}
	if commands < 2 {
		t.Errorf("%d commands with their output, want at least 2", commands)
	}
	_, code, _ := strings.Cut(string(readme), "```go\n")
	code, _, ok := strings.Cut(code, "```\n")
	if !ok {
		t.Fatal("no Go code")
	}
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	within(t, code, string(source))
}

// within checks that the lines of part are lines of whole, in order. Part may
// cut lines off and leave lines out where it has "…".
func within(t *testing.T, part, whole string) {
	t.Helper()
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(line)
		if line == "" || line == "…" {
			continue
		}
		line, cut := strings.CutSuffix(line, "…")
		found := false
		for !found && whole != "" {
			var next string
			next, whole, _ = strings.Cut(whole, "\n")
			next = strings.TrimSpace(next)
			found = next == line || cut && strings.HasPrefix(next, line)
		}
		if !found {
			t.Fatalf("not there, or not in this order: %q", line)
		}
	}
}
