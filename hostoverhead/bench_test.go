package hostoverhead_test

import (
	"bytes"
	"flag"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// benchSize is the size of the trace with Python stacks.
const benchSize = 100_000_000

// benchKernels is how many kernels the export has.
var benchKernels = flag.Int("kernels", 200_000, "kernels of the export that BenchmarkAnalyze reads")

// BenchmarkAnalyze reports how long passes and the host report take beside the load, as shares of it: "layer/load" and
// "host/load"; "all/load" is the time of all three. For an export of a busy server:
//
//	go test ./hostoverhead -run '^$' -bench Analyze/nsys -benchtime 1x -kernels 5000000
func BenchmarkAnalyze(b *testing.B) {
	b.Run("torch", func(b *testing.B) {
		cfg := gen.Large(36, 80, false)
		cfg.Size = benchSize
		var file bytes.Buffer
		if err := gen.Write(&file, cfg); err != nil {
			b.Fatal(err)
		}
		cost(b, func() (*trace.Trace, error) {
			return trace.Read(b.Context(), bytes.NewReader(file.Bytes()), trace.Options{})
		})
	})
	b.Run("nsys", func(b *testing.B) {
		path := b.TempDir() + "/run.sqlite"
		if _, err := nsysgen.Write(path, nsysgen.Large(1, *benchKernels)); err != nil {
			b.Fatal(err)
		}
		cost(b, func() (*trace.Trace, error) { return hosttest.Open(b, path), nil })
	})
}

func cost(b *testing.B, open func() (*trace.Trace, error)) {
	var load, passes, host time.Duration
	for b.Loop() {
		start := time.Now()
		tr, err := open()
		if err != nil {
			b.Fatal(err)
		}
		loaded := time.Now()
		a := analyzed(b, tr)
		found := time.Now()
		if _, err := hostoverhead.Analyze(b.Context(), []*layer.Analysis{a}, hostoverhead.Options{}); err != nil {
			b.Fatal(err)
		}
		load, passes, host = load+loaded.Sub(start), passes+found.Sub(loaded), host+time.Since(found)
	}
	b.ReportMetric(passes.Seconds()/load.Seconds(), "layer/load")
	b.ReportMetric(host.Seconds()/load.Seconds(), "host/load")
	b.ReportMetric((load+passes+host).Seconds()/load.Seconds(), "all/load")
}
