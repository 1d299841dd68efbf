package strata_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
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

// TestReadmeShowsWhatIs: the Go code of the README is compiled here. What it shows of the programs is held against
// them by a test of their own.
func TestReadmeShowsWhatIs(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(readme, []byte("\n")); n > 150 {
		t.Errorf("%d lines, want at most 150", n)
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
	unindented := func(s string) string { return strings.ReplaceAll(s, "\t", "") }
	if !strings.Contains(unindented(string(source)), unindented(code)) {
		t.Error("the Go code of the README is not that of readme_test.go")
	}
}
