package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/docs/skill"
	"github.com/llmstrata/strata/examples/internal/app"
)

// TestSkill: it has the head that agents read, at most 150 lines, names only commands that there are, and is copied to
// where agents look, over an older copy of itself and over nothing else. Its commands are run by
// TestEveryCommandOfTheDocs and, those that need a server, by the tests of capture.
func TestSkill(t *testing.T) {
	text := skill.Text()
	if n := strings.Count(text, "\n"); n > 150 || !strings.HasPrefix(text, "---\nname: strata\ndescription: \"") {
		t.Errorf("%d lines, %.60q", n, text)
	}
	known := map[string]bool{}
	for _, c := range strings.Fields(run(t, "", "__complete", "").Stdout) {
		known[c] = true
	}
	for _, part := range strings.Split(text, "strata ")[1:] {
		word := strings.FieldsFunc(part, func(r rune) bool { return r == ' ' || r == '`' || r == '\n' || r == ',' })[0]
		if !known[word] && word != "help" {
			t.Errorf("it names strata %s, which is no command", word)
		}
	}
	if got := run(t, "", "skill"); got.Code != 0 || got.Stdout != text {
		t.Errorf("exit code %d, %.80q", got.Code, got.Stdout)
	}
	dir := t.TempDir()
	for range 2 {
		got := run(t, "", "skill", "--install", dir)
		if got.Code != 0 || strings.Count(got.Stdout, "SKILL.md\n") != 2 {
			t.Errorf("exit code %d, stdout %q, stderr %q", got.Code, got.Stdout, got.Stderr)
		}
		for _, f := range []string{".agents/skills", ".claude/skills"} {
			if b, err := os.ReadFile(filepath.Join(dir, f, "strata", "SKILL.md")); err != nil || string(b) != text {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
	other := filepath.Join(dir, ".agents/skills", "strata", "SKILL.md")
	if err := os.WriteFile(other, []byte("---\nname: mine\n---\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "skill", "--install", dir); got.Code != app.ExitError ||
		!strings.Contains(got.Stderr, "not replaced") {
		t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
	}
	if got := run(t, "", "skill", "--instal"); got.Code != app.ExitUsage {
		t.Errorf("exit code %d", got.Code)
	}
}
