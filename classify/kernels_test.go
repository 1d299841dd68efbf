package classify_test

import (
	"os"
	"slices"
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
		got := classify.Default().Facts(name)
		category, sub, hasSub := strings.Cut(want, "/")
		if string(got.Category) != category || hasSub && got.Subcategory != sub {
			t.Errorf("kernels.txt:%d: got %s/%s (rule %s), want %s: %s = %.150s",
				i+1, got.Category, got.Subcategory, got.Rule, want, n.Label(), name)
		}
	}
}

// TestLabelledKernels holds the default rules to the labelled kernels of the
// sample traces: at least 99% of GPU time and of the distinct names must
// get an accepted category.
func TestLabelledKernels(t *testing.T) {
	score(t, testdata.Shared(t, "labels/kernel-categories.tsv"), 0, 3, 2, 99)
}

// TestLabelledNames holds them to names of public kernels that were labelled by
// meaning, independently of any tool.
func TestLabelledNames(t *testing.T) {
	score(t, testdata.Shared(t, "labels/kernel-names.tsv"), 1, 0, -1, 99)
}

// TestHeldOutNames holds them to names that the rules were not written for. The
// first run over each half, before any rule was changed, gave 87.6% (156 of
// 178) and 87.7% (64 of 73); what was missing was then mended by cause.
func TestHeldOutNames(t *testing.T) {
	score(t, "testdata/heldout.tsv", 0, 2, -1, 98)
}

// TestPublicNames holds them to names of many projects that were collected after
// all others. The first run, before any rule was changed, gave 78.1% (100 of
// 128); the names of the three that are missing now do not say.
func TestPublicNames(t *testing.T) {
	score(t, "testdata/public.tsv", 0, 2, -1, 97)
}

// TestLateNames holds them to names of 2026 that were collected after those. The first run, before any rule was changed,
// gave 84.2% (155 of 184); what a general word could not mend is left.
func TestLateNames(t *testing.T) {
	score(t, "testdata/late.tsv", 0, 2, -1, 92)
}

// score compares the categories of a table's names with those it accepts. The
// columns are those of the accepted categories, the name and the GPU time in
// microseconds, −1 where the table has none; the first line is a heading. least
// is the share of names in percent; of GPU time it is 99.
func score(t *testing.T, path string, accepted, name, us int, least float64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names, right int
	var total, rightTime float64
	for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		f := strings.Split(line, "\t")
		if i == 0 || strings.HasPrefix(line, "#") || len(f) <= max(accepted, name) {
			continue
		}
		weight := 0.0
		if us >= 0 {
			if weight, err = strconv.ParseFloat(f[us], 64); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		}
		names++
		total += weight
		got := classify.Default().Facts(f[name])
		if slices.Contains(strings.Split(f[accepted], "|"), string(got.Category)) {
			right++
			rightTime += weight
			continue
		}
		t.Logf("line %d: got %s (rule %s), want %s: %.160s", i+1, got.Category, got.Rule, f[accepted], f[name])
	}
	share := 100 * float64(right) / float64(names)
	t.Logf("accepted: %d of %d names (%.2f%%)", right, names, share)
	if names < 100 || share < least {
		t.Errorf("accepted %.2f%% of %d names, want at least %.0f%% of 100 and more", share, names, least)
	}
	if us >= 0 {
		t.Logf("accepted: %.3f%% of GPU time", 100*rightTime/total)
		if rightTime < 0.99*total {
			t.Errorf("accepted %.2f%% of GPU time, want at least 99%%", 100*rightTime/total)
		}
	}
}
