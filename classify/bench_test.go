package classify_test

import (
	"os"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
)

// corpus returns the kernel names of testdata/kernels.txt.
func corpus(tb testing.TB) []string {
	tb.Helper()
	data, err := os.ReadFile("testdata/kernels.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if _, name, ok := strings.Cut(line, " "); ok && line[0] != '#' {
			names = append(names, name)
		}
	}
	if len(names) < 400 {
		tb.Fatalf("%d names, want at least 400", len(names))
	}
	return names
}

func BenchmarkParse(b *testing.B) {
	names := corpus(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		n := classify.Parse(names[i%len(names)])
		if n.Function == "" {
			b.Fatal(n.Raw)
		}
		i++
	}
}

func BenchmarkClassify(b *testing.B) {
	names := corpus(b)
	set := classify.Default()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if r := set.Classify(names[i%len(names)]); r.Category == "" {
			b.Fatal(names[i%len(names)])
		}
		i++
	}
}

func BenchmarkCanonical(b *testing.B) {
	names := corpus(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if classify.Canonical(names[i%len(names)]) == "" {
			b.Fatal("empty")
		}
		i++
	}
}
