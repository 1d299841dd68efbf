package table_test

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/table"
)

func TestPct(t *testing.T) {
	for v, want := range map[float64]string{3.14: "3.1%", 100: "100.0%", -0.01: "0.0%", math.Inf(1): table.None} {
		if got := table.Pct(v, 1); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if got := table.Pct(math.NaN(), 0); got != table.None {
		t.Errorf("NaN: %q", got)
	}
}

func TestTimes(t *testing.T) {
	for v, want := range map[float64]string{1.274: "1.27×", 100: "100.00×", math.Inf(1): table.None} {
		if got := table.Times(v, 2); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if got := table.Times(math.NaN(), 0); got != table.None {
		t.Errorf("NaN: %q", got)
	}
}

func TestWordsHaveTheirArticle(t *testing.T) {
	for number, want := range map[string]string{"1.27×": "a", "8.95×": "an", "11×": "an", "18.5×": "an", "80×": "an",
		"110×": "a", "11,000": "an", "1.00–8.00×": "a", "": "a", "object": "an", "list": "a",
		"image decoder": "an", "12-layer encoder": "a", "18-layer encoder": "an"} {
		if got := table.WithArticle(number); got != want+" "+number {
			t.Errorf("%q: %q, want %q", number, got, want)
		}
	}
}

// spaced is a formatted number with a space before the sign of percent, factor one with a sign of times that
// table.Times did not write.
var (
	spaced = regexp.MustCompile(`%[-+ #0]*[0-9.]*[a-z] %%|, [0-9]\) ?\+ ?" %|64\) ?\+ ?" %`)
	factor = regexp.MustCompile(`%[-+ #0]*[0-9.]*[efg] ?×|%\.[0-9]f(x"| ×)|, [0-9]\) ?\+ ?" ?×`)
)

// TestSignsHaveOneForm: texts have "3.1%" and "1.27×", never "3.1 %", "1.27 ×" or "1.27x", but for the words of
// published tables.
func TestSignsHaveOneForm(t *testing.T) {
	published := map[string]bool{"internal/published/notes.go": true}
	read := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel("../..", path)
		switch {
		case err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			if err == nil {
				err = fs.SkipDir
			}
			return err
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || published[filepath.ToSlash(name)]:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for sign, owner := range map[*regexp.Regexp]string{spaced: "table.Pct", factor: "table.Times"} {
			if m := sign.Find(text); m != nil {
				t.Errorf("%s: %s: no space before the sign, see %s", name, m, owner)
			}
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Errorf("%d files, error %v", read, err)
	}
	for text, want := range map[string]bool{`"%.1f%%"`: false, `"%.1f %%"`: true, `"3%%"`: false,
		`table.Fixed(v, 1) + " %"`: true} {
		if got := spaced.MatchString(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{`"%.2f×"`: true, `"%.1fx"`: true, `"%.2f × speedup"`: true,
		`table.Fixed(v, 2) + "×"`: true, `"%d × %s"`: false} {
		if got := factor.MatchString(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
