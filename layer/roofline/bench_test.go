package roofline_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// recordings are traces of several kinds with the config of their model: real replays and eager steps, and generated
// replays of one graph.
func recordings(tb testing.TB) map[string]func() (*trace.Trace, *profile.Config) {
	out := map[string]func() (*trace.Trace, *profile.Config){}
	for _, k := range known {
		path := shared + "traces/torch/" + k.file
		if _, err := os.Stat(path); err != nil {
			continue
		}
		out[strings.TrimSuffix(k.file, ".json.gz")] = func() (*trace.Trace, *profile.Config) {
			t, err := open(path)
			if err != nil {
				tb.Fatal(err)
			}
			c, err := profile.LoadConfig(shared + "configs/" + k.config + ".json")
			if err != nil {
				tb.Fatal(err)
			}
			return t, c
		}
	}
	var b bytes.Buffer
	if _, err := gen.Llama70B(0).Write(&b); err != nil {
		tb.Fatal(err)
	}
	out["generated-llama70b"] = func() (*trace.Trace, *profile.Config) {
		t, err := trace.Read(context.Background(), bytes.NewReader(b.Bytes()), trace.Options{})
		if err != nil {
			tb.Fatal(err)
		}
		return t, config(tb, llama)
	}
	return out
}

// BenchmarkShareOfLoad prints what the report costs in per cent of loading the trace and finding its passes, layers
// and operators: the shortest of all runs of each, as other work on the machine only makes them longer.
func BenchmarkShareOfLoad(b *testing.B) {
	for name, read := range recordings(b) {
		b.Run(name, func(b *testing.B) {
			before, light := time.Hour, time.Hour
			for b.Loop() {
				start := time.Now()
				t, c := read()
				a, err := layer.Analyze(context.Background(), t, layer.Options{Config: c})
				if err != nil {
					b.Fatal(err)
				}
				found := time.Now()
				r, err := roofline.Analyze(context.Background(), a, roofline.Options{})
				if err != nil {
					b.Fatal(err)
				}
				light, before = min(light, time.Since(found)), min(before, found.Sub(start))
				if len(r.Passes) == 0 {
					b.Fatal("no passes")
				}
			}
			b.ReportMetric(100*float64(light)/float64(before), "%-of-load")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkAnalyze is the report alone.
func BenchmarkAnalyze(b *testing.B) {
	for name, read := range recordings(b) {
		b.Run(name, func(b *testing.B) {
			t, c := read()
			a, err := layer.Analyze(context.Background(), t, layer.Options{Config: c})
			if err != nil {
				b.Fatal(err)
			}
			kernels := 0
			b.ReportAllocs()
			for b.Loop() {
				if _, err := roofline.Analyze(context.Background(), a, roofline.Options{}); err != nil {
					b.Fatal(err)
				}
				kernels = a.Devices[0].NumKernels()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(kernels), "ns/kernel")
		})
	}
}
