package triage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/llmstrata/strata/triage"
)

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
		b := triage.Bundle{Title: "all", Entries: []triage.BundleEntry{{Label: "one", Path: path}, {Path: path}},
			TOC: true}
		var out strings.Builder
		err := b.WriteMarkdown(&out)
		control := strings.ContainsFunc(text, func(c rune) bool {
			return unicode.IsControl(c) &&
				!strings.ContainsRune("\n\r\t", c)
		})
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
