package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// decodeSteps is a trace of about that many GPU activities: decode steps of a model with experts, launched one by one.
func decodeSteps(tb testing.TB, kernels int, dialect gen.Dialect) []byte {
	tb.Helper()
	arch := gen.Arch{Family: "Qwen3Moe", Layers: gen.Uniform(48, gen.Layer{FFN: gen.MoE}), Hidden: 2048, Experts: 128,
		QKNorm: true}
	const perPass = 48*17 + 8
	passes := make([]gen.Pass, max(1, kernels/perPass))
	for i := range passes {
		passes[i] = gen.Pass{Decodes: 16, Context: 1000 + i}
	}
	var b bytes.Buffer
	if err := gen.Write(&b, gen.Config{Seed: 3, Arch: arch, Passes: passes, TP: 2, Dialect: dialect}); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// BenchmarkAnalyze finds passes and layers; ns/kernel stays the same where the cost is linear. Compare with
// BenchmarkLoad, which reads the same trace.
func BenchmarkAnalyze(b *testing.B) {
	for _, d := range []struct {
		name    string
		dialect gen.Dialect
	}{{"annotated", gen.SGLang}, {"unannotated", gen.NoAnnotations}} {
		for _, n := range []int{10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/kernels=%d", d.name, n), func(b *testing.B) {
				t, err := trace.Read(context.Background(), bytes.NewReader(decodeSteps(b, n, d.dialect)),
					trace.Options{})
				if err != nil {
					b.Fatal(err)
				}
				kernels := 0
				b.ReportAllocs()
				for b.Loop() {
					a, err := layer.Analyze(context.Background(), t, layer.Options{})
					if err != nil {
						b.Fatal(err)
					}
					kernels = a.Devices[0].NumKernels()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(kernels), "ns/kernel")
			})
		}
	}
}

// BenchmarkTuned finds the passes and layers of a hybrid whose products run other tiles in a third of the layers, and
// of a window that holds half a pass of it: hardly two layers run the same kernels, so nothing is searched once for
// all.
func BenchmarkTuned(b *testing.B) {
	for _, f := range families.All() {
		if f.Name != "Jamba-1.5-Mini, vLLM" {
			continue
		}
		for _, c := range []struct {
			name   string
			passes int
			cut    float64
		}{{"passes=3", 3, 0}, {"passes=30", 30, 0}, {"half", 1, 0.5}} {
			b.Run(c.name, func(b *testing.B) {
				acts := window(tuned(rand.New(rand.NewSource(1)), actsOf(f, make([]bool, c.passes)...), 0.3), 0, c.cut)
				t := traceOf(acts)
				for b.Loop() {
					if _, err := layer.Analyze(b.Context(), t, layer.Options{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(acts)), "ns/kernel")
			})
		}
	}
}

// BenchmarkLoad reads the traces of BenchmarkAnalyze.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("kernels=%d", n), func(b *testing.B) {
			data := decodeSteps(b, n, gen.SGLang)
			b.SetBytes(int64(len(data)))
			kernels := 0
			for b.Loop() {
				t, err := trace.Read(context.Background(), bytes.NewReader(data), trace.Options{})
				if err != nil {
					b.Fatal(err)
				}
				kernels = t.Len(event.LaneGPU)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(kernels), "ns/kernel")
		})
	}
}
