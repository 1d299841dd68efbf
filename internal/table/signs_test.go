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
	for v, want := range map[float64]string{3.14: "3.1 %", 100: "100.0 %", -0.01: "0.0 %", math.Inf(1): table.None} {
		if got := table.Pct(v, 1); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if got := table.Pct(math.NaN(), 0); got != table.None {
		t.Errorf("NaN: %q", got)
	}
}

func TestTimes(t *testing.T) {
	for v, want := range map[float64]string{1.274: "1.27 ×", 100: "100.00 ×", math.Inf(1): table.None} {
		if got := table.Times(v, 2); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if got := table.Times(math.NaN(), 0); got != table.None {
		t.Errorf("NaN: %q", got)
	}
}

// glued is a formatted number with the sign of percent right behind it, factor one with a sign of times that table.Times did not write.
var (
	glued  = regexp.MustCompile(`%[-+ #0]*[0-9.]*[a-z]%%|, [0-9]\) ?\+ ?"%|64\) ?\+ ?"%`)
	factor = regexp.MustCompile(`%[-+ #0]*[0-9.]*[efgs]×|%\.[0-9]f(x"| ×)|, [0-9]\) ?\+ ?" ?×`)
)

// TestSignsHaveOneForm: texts have "3.1 %" and "1.27 ×", never "3.1%" and "1.27×" or "1.27x", but for what people give to flags and the
// words of published tables.
func TestSignsHaveOneForm(t *testing.T) {
	flags := map[string]bool{"layer/compare/gate.go": true, "examples/internal/programs/report/gates.go": true, "internal/published/blocks/notes.go": true}
	read := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel("../..", path)
		switch {
		case err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			if err == nil {
				err = fs.SkipDir
			}
			return err
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || flags[filepath.ToSlash(name)]:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for sign, owner := range map[*regexp.Regexp]string{glued: "table.Pct", factor: "table.Times"} {
			if m := sign.Find(text); m != nil {
				t.Errorf("%s: %s: a space belongs in front of the sign, see %s", name, m, owner)
			}
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Errorf("%d files, error %v", read, err)
	}
	for text, want := range map[string]bool{`"%.1f%%"`: true, `"%.1f %%"`: false, `"3%%"`: false, `table.Fixed(v, 1) + "%"`: true} {
		if got := glued.MatchString(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{`"%.2f×"`: true, `"%.1fx"`: true, `"%.2f × as fast"`: true, `table.Fixed(v, 2) + "×"`: true, `"%d × %s"`: false} {
		if got := factor.MatchString(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
