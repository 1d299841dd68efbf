package trace_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
)

// TestEveryCodeIsExplained: each declared code has one row, whose texts are sentences.
func TestEveryCodeIsExplained(t *testing.T) {
	source, err := os.ReadFile("health.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`Code\w+ +Code = "([a-z-]+)"`).FindAllSubmatch(source, -1) {
		declared[string(m[1])] = true
	}
	for _, c := range trace.Codes() {
		if !declared[string(c.Code)] || c.Title == "" || !strings.HasSuffix(c.Means, ".") || !strings.HasSuffix(c.Do, ".") {
			t.Errorf("%+v: not declared, there twice, or incomplete", c)
		}
		delete(declared, string(c.Code))
	}
	for c := range declared {
		t.Errorf("%s is not explained", c)
	}
}
