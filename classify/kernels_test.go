package classify_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
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

// TestLabelledKernels holds the default rules to the labelled kernels of the
// sample traces: at least 99 % of GPU time and 97 % of the distinct names must
// get an accepted category.
func TestLabelledKernels(t *testing.T) {
	data, err := os.ReadFile(testdata.Shared(t, "labels/kernel-categories.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var names, okNames int
	var total, okTime float64
	for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		f := strings.SplitN(line, "\t", 4)
		if i == 0 || len(f) != 4 {
			continue
		}
		us, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		got := classify.Default().Classify(f[3])
		names++
		total += us
		accepted := false
		for a := range strings.SplitSeq(f[0], "|") {
			accepted = accepted || a == string(got.Category)
		}
		if accepted {
			okNames++
			okTime += us
		} else {
			t.Logf("line %d: got %s (rule %s), want %s: %.160s", i+1, got.Category, got.Rule, f[0], f[3])
		}
	}
	timeShare, nameShare := 100*okTime/total, 100*float64(okNames)/float64(names)
	t.Logf("accepted: %.3f %% of GPU time, %d of %d names (%.2f %%)", timeShare, okNames, names, nameShare)
	if timeShare < 99 || nameShare < 97 {
		t.Errorf("accepted %.2f %% of GPU time and %.2f %% of names, want at least 99 %% and 97 %%", timeShare, nameShare)
	}
}
