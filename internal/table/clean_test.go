package table_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/table"
)

// clean writes a text in pieces of n bytes.
func clean(t testing.TB, c *table.Cleaner, text string, n int) {
	t.Helper()
	for len(text) > 0 {
		k := min(n, len(text))
		if m, err := io.WriteString(c, text[:k]); err != nil || m != k {
			t.Fatalf("Write = %d, %v; want %d", m, err, k)
		}
		text = text[k:]
	}
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
}

func TestCleanerLetsNothingActOnATerminal(t *testing.T) {
	const bad = string(utf8.RuneError)
	for in, want := range map[string]string{
		"plain\ttext\n":      "plain\ttext\n",
		"µs — 漢字\n":          "µs — 漢字\n",
		"a\x1b[2Jb\x07":      "a" + bad + "[2Jb" + bad,
		"\x1b]0;title\x1b\\": bad + "]0;title" + bad + "\\",
		"a\r\nb":             "a\nb",
		"c1 \u009b31m":       "c1 " + bad + "31m",
		"bidi \u202eabc":     "bidi " + bad + "abc",
		"\xff\xc3":           bad + bad,
		"\x1b[1mbold\x1b[0m": bad + "[1mbold" + bad + "[0m",
	} {
		for n := 1; n <= 9; n++ {
			var out bytes.Buffer
			clean(t, table.NewCleaner(&out), in, n)
			if out.String() != want {
				t.Errorf("%q in pieces of %d: %q, want %q", in, n, out.String(), want)
			}
		}
	}
}

func TestCleanerLetsStylesPass(t *testing.T) {
	in := table.Bold + "a" + table.Plain + "\x1b[2J" + table.Red
	for n := 1; n <= 9; n++ {
		var out bytes.Buffer
		c := table.NewCleaner(&out)
		c.Styles = table.Styles()
		clean(t, c, in, n)
		if want := strings.Replace(in, "\x1b[2J", string(utf8.RuneError)+"[2J", 1); out.String() != want {
			t.Errorf("pieces of %d: %q, want %q", n, out.String(), want)
		}
	}
}

func TestCleanerKeepsJSONTheSameDocument(t *testing.T) {
	want := "a\u009bb\u202ec\u007fd\u2028"
	in, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := table.NewCleaner(&out)
	c.JSON = true
	clean(t, c, string(in), 2)
	var got string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != want ||
		strings.ContainsFunc(out.String(), unicode.IsControl) {
		t.Errorf("%q is %q, %v; want %q without control characters", out.String(), got, err, want)
	}
}

func TestCleanerReturnsErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := table.NewCleaner(errorWriter{broken}).Write([]byte("µ")); !errors.Is(err, broken) {
		t.Errorf("Write = %v, want %v", err, broken)
	}
}

type errorWriter struct{ err error }

func (w errorWriter) Write([]byte) (int, error) { return 0, w.err }

// FuzzCleaner: whatever comes in which pieces, nothing that acts goes out, and all else does.
func FuzzCleaner(f *testing.F) {
	f.Add("a\x1b[2Jµ\xff\u202e\n", 3)
	f.Fuzz(func(t *testing.T, in string, n int) {
		if n < 1 || n > 64 {
			return
		}
		var whole, pieces bytes.Buffer
		clean(t, table.NewCleaner(&whole), in, max(1, len(in)))
		clean(t, table.NewCleaner(&pieces), in, n)
		if whole.String() != pieces.String() {
			t.Fatalf("%q: %q in pieces of %d, %q at once", in, pieces.String(), n, whole.String())
		}
		if !utf8.ValidString(whole.String()) {
			t.Fatalf("%q: %q is not UTF-8", in, whole.String())
		}
		for _, r := range whole.String() {
			if r != '\n' && r != '\t' && unicode.IsControl(r) {
				t.Fatalf("%q: %q holds %U", in, whole.String(), r)
			}
		}
	})
}
