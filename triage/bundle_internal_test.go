package triage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesOfReports: a report opens with its title, within the first five lines; other kinds of files are none.
func TestFilesOfReports(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a.md", "# Triage View\n", true}, {"a.TXT", "Triage View\n", true}, {"a.log", "# Triage View\n", false},
		{"a.md", "\n\n\n\n# Triage View\n", true}, {"a.md", "\n\n\n\n\n# Triage View\n", false},
		{"a.md", "# Another View\n", false}, {"a.md", "", false},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := isReport(path); err != nil || got != c.want {
			t.Errorf("%s of %q: %v, %v; want %v", c.name, c.text, got, err, c.want)
		}
	}
	if got, err := isReport(filepath.Join(t.TempDir(), "none.md")); got || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
}

// TestReadAReport: text is read; what is too large for a report, or holds control characters, is refused with its name.
func TestReadAReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	for _, c := range []struct{ text, want string }{
		{"# Triage View\r\n\tµ\n", ""}, {"", ""},
		{"# Triage View\n\x1b[2J", "control characters"}, {"a\x00b", "control characters"},
		{strings.Repeat("x", maxReport), ""}, {strings.Repeat("x", maxReport+1), "more than 16 MB"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := readReport(path)
		if c.want == "" && (err != nil || got != c.text) {
			t.Errorf("%.20q: %.20q, %v", c.text, got, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), path)) {
			t.Errorf("%.20q: %v, want %q of %s", c.text, err, c.want, path)
		}
	}
}
