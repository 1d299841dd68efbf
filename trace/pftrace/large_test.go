package pftrace_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/pftrace"
)

// BenchmarkLarge reads the largest reference trace, 219 000 events, in both forms and as JSON, uncompressed.
func BenchmarkLarge(b *testing.B) {
	packed, err := os.ReadFile(testdata.Shared(b, "traces/torch/xdit-flux1-mi300.json.gz"))
	if err != nil {
		b.Fatal(err)
	}
	doc := plain(b, packed)
	bench := func(name string, data []byte, load func([]byte) (*trace.Trace, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				tr, err := load(data)
				if err != nil {
					b.Fatal(err)
				}
				n = tr.Len()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
	bench("form=json", doc, func(data []byte) (*trace.Trace, error) {
		return trace.Read(context.Background(), bytes.NewReader(data), trace.Options{})
	})
	for _, form := range forms {
		bench("form="+form.String(), bytes.Join(encode(b, doc, form), nil), func(data []byte) (*trace.Trace, error) {
			return trace.Read(context.Background(), bytes.NewReader(data), trace.Options{Formats: []trace.Format{pftrace.Format()}})
		})
	}
}
