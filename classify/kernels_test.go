package classify_test

import (
	"os"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
)

// TestKernelNames holds the default rules to the names of testdata/kernels.txt,
// one by one.
func TestKernelNames(t *testing.T) {
	data, err := os.ReadFile("testdata/kernels.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		want, name, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("kernels.txt:%d: no name", i+1)
		}
		if j, dup := seen[name]; dup {
			t.Errorf("kernels.txt:%d: repeats line %d", i+1, j)
		}
		seen[name] = i + 1
		n := classify.Parse(name)
		got := classify.Default().ClassifyName(&n)
		category, sub, hasSub := strings.Cut(want, "/")
		if string(got.Category) != category || hasSub && got.Subcategory != sub {
			t.Errorf("kernels.txt:%d: got %s/%s (rule %s), want %s: %s = %.150s",
				i+1, got.Category, got.Subcategory, got.Rule, want, n.Display(), name)
		}
	}
}
