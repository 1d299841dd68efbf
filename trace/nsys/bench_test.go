package nsys_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// kernels scales the generated export of the benchmarks. For the comparison with
// Python at full size, memory included, see internal/tools/perf -nsys.
var kernels = flag.Int("nsys.kernels", 50_000, "kernels in the benchmarks' export")

func benchmarkFile(b *testing.B) (path string, rows int) {
	path = filepath.Join(b.TempDir(), "big.sqlite")
	st, err := nsysgen.Write(path, nsysgen.Large(1, *kernels))
	if err != nil {
		b.Fatal(err)
	}
	return path, st.Kernels + st.Calls + st.Ranges
}

// BenchmarkOpen loads, sorts and links a whole export.
func BenchmarkOpen(b *testing.B) {
	path, rows := benchmarkFile(b)
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	b.ReportAllocs()
	for b.Loop() {
		t, err := nsys.Open(context.Background(), path, trace.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if t.Len() != rows {
			b.Fatalf("%d events, want %d", t.Len(), rows)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

// BenchmarkPythonQueries runs the queries of the published Python scripts on
// the same file, Python's start included, which is most of it where the file is
// small.
func BenchmarkPythonQueries(b *testing.B) {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip("no python3 on PATH")
	}
	path, rows := benchmarkFile(b)
	for b.Loop() {
		if out, err := exec.Command(python, filepath.Join("testdata", "reference_queries.py"),
			path).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}
