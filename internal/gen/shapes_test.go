package gen_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// everything does what the programs do with a trace.
func everything(tb testing.TB, data []byte) {
	tb.Helper()
	ctx := context.Background()
	t, err := trace.Read(ctx, bytes.NewReader(data), trace.Options{Concurrency: 1})
	if err != nil {
		tb.Fatal(err)
	}
	a, err := layer.Analyze(ctx, t, layer.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := triage.Analyze(ctx, triage.Input{Formal: []*layer.Analysis{a}}, triage.Options{}); err != nil {
		tb.Fatal(err)
	}
	if _, err := hostoverhead.Analyze(ctx, []*layer.Analysis{a}, hostoverhead.Options{}); err != nil {
		tb.Fatal(err)
	}
	for e := range t.Events(event.LaneLaunch) {
		layer.ModulePath(e)
	}
}

// TestMemoryGrowsWithTheEvents: four times the events allocate four times the
// memory, whatever their shape. What compares each event with all others shows in
// the benchmark below and in the command.
func TestMemoryGrowsWithTheEvents(t *testing.T) {
	const times = 4
	const most = 1.4 * times // maps and slices double
	for _, s := range gen.Shapes() {
		t.Run(s.Name, func(t *testing.T) {
			small := 2000
			if s.Name == "no-order" {
				small = 16_000 // in few kernels, parts of them are taken for layers
			}
			var bytes [2]uint64
			for i, n := range []int{small, times * small} {
				data := s.Write(n)
				if i == 0 {
					everything(t, data) // what is made once
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				everything(t, data)
				runtime.ReadMemStats(&after)
				bytes[i] = after.TotalAlloc - before.TotalAlloc
			}
			if r := float64(bytes[1]) / float64(bytes[0]); r > most {
				t.Errorf("%d events allocate %d bytes, %d events %.1f times that; want at most %.1f", small, bytes[0],
					times*small, r, most)
			}
		})
	}
}

// BenchmarkShapes takes each shape at two sizes: the time of the larger one over
// that of the smaller one is to be near 4.
func BenchmarkShapes(b *testing.B) {
	n := 20_000
	if !testdata.Long() {
		n = 1000
	}
	for _, s := range gen.Shapes() {
		for _, n := range []int{n, 4 * n} {
			data := s.Write(n)
			b.Run(fmt.Sprintf("%s/%d", s.Name, n), func(b *testing.B) {
				for b.Loop() {
					everything(b, data)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
			})
		}
	}
}
