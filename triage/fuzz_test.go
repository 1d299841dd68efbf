package triage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// FuzzRegistry reads any bytes as a fusion file and as a catalogue, and analyses
// a trace with what is accepted.
func FuzzRegistry(f *testing.F) {
	tr, err := trace.Read(context.Background(), bytes.NewReader(demo.Trace()), trace.Options{})
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"fusion.json", "catalog.json"} {
		data, err := os.ReadFile(filepath.Join("..", "internal", "fusion", "data", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := fusion.Load(bytes.NewReader(data))
		if err != nil && !errors.Is(err, fusion.ErrRegistry) {
			t.Errorf("Load: %v, want ErrRegistry", err)
		}
		_, ferr := fusion.LoadFamilies(bytes.NewReader(data))
		if ferr != nil && !errors.Is(ferr, fusion.ErrRegistry) {
			t.Errorf("LoadFamilies: %v, want ErrRegistry", ferr)
		}
		if err != nil {
			return // a registry may be refused
		}
		r, err := triage.Analyze(t.Context(), input(t, tr, "x"), triage.Options{Registry: data})
		if err != nil {
			t.Fatalf("Analyze refuses a registry that Load takes: %v", err)
		}
		if err := r.WriteMarkdown(io.Discard); err != nil {
			t.Error(err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}

// FuzzBundle joins any text with itself, as two reports would be. What holds control characters is refused.
func FuzzBundle(f *testing.F) {
	f.Add("# Title\n\n- Model: `a`\n- Framework: SGLang\n\n## Summary\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
	f.Add("## \r\n```\n# not a heading\n")
	f.Add("# <script>\n#\n##\n###### x\n####### y\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "analysis.md")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b := triage.Bundle{Title: "all", Entries: []triage.BundleEntry{{Label: "one", Path: path}, {Path: path}}, TOC: true}
		var out strings.Builder
		err := b.WriteMarkdown(&out)
		control := strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune("\n\r\t", c) })
		if control != (err != nil) {
			t.Fatalf("control characters: %v, and the error is %v", control, err)
		}
		if err != nil {
			return
		}
		if !strings.HasPrefix(out.String(), "# all\n") {
			t.Errorf("the bundle begins %.40q", out.String())
		}
	})
}
