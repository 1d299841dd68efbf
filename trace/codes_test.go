package trace_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
)

// declared are the identifiers that a pattern finds in a file of this package.
func declared(t *testing.T, file, pattern string) map[string]bool {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(source, -1) {
		out[string(m[1])] = true
	}
	if len(out) < 10 {
		t.Fatalf("%s declares %d: the pattern is wrong", file, len(out))
	}
	return out
}

// TestEveryCodeIsExplained: each declared code has one row, whose texts are sentences.
func TestEveryCodeIsExplained(t *testing.T) {
	rows := declared(t, "codes.go", `\t\{(Code\w+), `)
	for code := range declared(t, "health.go", `\t(Code\w+) +Code = `) {
		if !rows[code] {
			t.Errorf("%s is not explained", code)
		}
	}
	seen := map[trace.Code]bool{}
	for _, c := range trace.Codes() {
		if seen[c.Code] || c.Title == "" || !strings.HasSuffix(c.Means, ".") || !strings.HasSuffix(c.Do, ".") {
			t.Errorf("%+v: there twice, or incomplete", c)
		}
		seen[c.Code] = true
	}
}
