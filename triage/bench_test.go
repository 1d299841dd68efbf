package triage_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

var benchTrace = flag.String("trace", "", "measure this trace instead of a generated one")

// benchSize is the size of the generated trace in bytes.
const benchSize = 64 << 20

// BenchmarkAnalyze measures triage beside the load that must come before it, on
// the same trace: op=triage may take half as long as op=load.
func BenchmarkAnalyze(b *testing.B) {
	for _, mode := range []struct {
		name  string
		graph bool
	}{{"eager", false}, {"replay", true}} {
		var data []byte
		if *benchTrace != "" {
			var err error
			if data, err = os.ReadFile(*benchTrace); err != nil {
				b.Fatal(err)
			}
		} else {
			cfg := gen.Large(36, 20, mode.graph)
			cfg.Size = benchSize
			var buf bytes.Buffer
			if err := gen.Write(&buf, cfg); err != nil {
				b.Fatal(err)
			}
			data = buf.Bytes()
		}
		var tr *trace.Trace
		b.Run("decode="+mode.name+"/op=load", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if tr, err = trace.Read(b.Context(), bytes.NewReader(data), trace.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		if tr == nil {
			continue
		}
		b.Run("decode="+mode.name+"/op=triage", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := triage.Analyze(b.Context(), input(b, tr, "x"), triage.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tr.Len(event.LaneGPU)),
				"ns/activity")
		})
	}
}

// BenchmarkManyNames measures triage of a trace in which every seventh
// activity brings a name of its own, as compiled kernels do.
func BenchmarkManyNames(b *testing.B) {
	const activities, names = 100_000, 7000
	tb := trace.NewBuilder(trace.Options{})
	for i := range activities {
		at, id := int64(i)*2000, uint64(i+1)
		tb.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 900, Thread: 1,
			Correlation: id})
		tb.Add(trace.EventData{Kind: event.Kernel, Name: fmt.Sprintf("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_%d",
			i%names),
			Start: at + 1000, Duration: 1800, Stream: 7, Correlation: id})
	}
	tr := built.Trace(tb)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := triage.Analyze(b.Context(), input(b, tr, "x"), triage.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
