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

// glued is a formatted number with the sign of percent right behind it.
var glued = regexp.MustCompile(`%[-+ #0]*[0-9.]*[a-z]%%|, [0-9]\) ?\+ ?"%|64\) ?\+ ?"%`)

// TestPercentHasOneForm: texts have "3.1 %", never "3.1%", but for what people give to flags.
func TestPercentHasOneForm(t *testing.T) {
	flags := map[string]bool{"layer/compare/gate.go": true, "examples/internal/programs/report/gates.go": true}
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
		if m := glued.Find(text); m != nil {
			t.Errorf("%s: %s: a space belongs in front of the sign, see table.Pct", name, m)
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
}
