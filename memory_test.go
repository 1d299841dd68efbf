package strata_test

import (
	"bytes"
	"context"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// memoryTraces are those that the cost of an analysis is measured with: each makes a trace so long, and returns what
// loads it.
var memoryTraces = []struct {
	name string
	made func(tb testing.TB, times int) (load func() *trace.Trace)
}{
	{"torch with stacks", func(tb testing.TB, times int) func() *trace.Trace {
		return repeated(tb, gen.Large(36, 4, false), times)
	}},
	{"graph replays", func(tb testing.TB, times int) func() *trace.Trace {
		return repeated(tb, gen.Large(36, 0, true),
			times)
	}},
	{"nsys, two GPUs", exported},
}

// TestMemoryKept: an analysis keeps a few columns for each kernel, not a struct, and needs no more than a few others
// meanwhile. What is alive is counted where the context is looked at, which is between stages and passes, so that
// garbage does not count.
func TestMemoryKept(t *testing.T) {
	testdata.ManyInputs(t)
	analyzeAll(t, repeated(t, gen.Demo(), 1)()) // the rules of names are read once
	for _, c := range memoryTraces {
		t.Run(c.name, func(t *testing.T) {
			tr := c.made(t, 3)()
			before := heap()
			looks := &countingContext{Context: t.Context()}
			a, err := layer.Analyze(looks, tr, layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			kernels := float64(kernelsOf(a))
			kept, peak := float64(heap()-before)/kernels, float64(looks.most-before)/kernels
			runtime.KeepAlive(tr)
			const most, mostAtPeak = 24, 64
			if t.Logf("%.1f bytes kept a kernel, %.1f at the peak", kept, peak); kept > most || peak > mostAtPeak ||
				peak < kept {
				t.Errorf("%.1f bytes kept a kernel, want at most %d, and %.1f at the peak, want at most %d", kept, most,
					peak, mostAtPeak)
			}
			runtime.KeepAlive(a)
		})
	}
}

// countingContext counts what is alive on the heap at every fourth look.
type countingContext struct {
	context.Context
	looks int
	most  uint64
}

func (c *countingContext) Err() error {
	if c.looks++; c.looks%4 == 0 {
		runtime.GC()
		c.most = max(c.most, allocated())
	}
	return c.Context.Err()
}

// BenchmarkPeak reports the peak of live bytes per kernel, beside those of the trace, also within stages. Garbage
// that is made while the collector works counts, so the figure is too high if other work runs: see [TestMemoryKept].
func BenchmarkPeak(b *testing.B) {
	analyzeAll(b, repeated(b, gen.Demo(), 1)())
	for _, c := range memoryTraces {
		b.Run(c.name, func(b *testing.B) {
			tr := c.made(b, 12)()
			kernels := kernelsOf(analyzeAll(b, tr))
			before := heap()
			peak := uint64(0)
			for b.Loop() {
				peak = peakOf(func() { analyzeAll(b, tr) })
			}
			b.ReportMetric(float64(peak-before)/float64(kernels), "B/kernel")
			runtime.KeepAlive(tr)
		})
	}
}

func analyzeAll(tb testing.TB, t *trace.Trace) *layer.Analysis {
	tb.Helper()
	a, err := layer.Analyze(tb.Context(), t, layer.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func kernelsOf(a *layer.Analysis) (n int) {
	for i := range a.Devices {
		n += a.Devices[i].NumKernels()
	}
	return n
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers held
	return allocated()
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peakOf is the most that is alive on the heap while f runs, as a collector that never rests sees it.
func peakOf(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var done atomic.Bool
	most := make(chan uint64)
	go func() {
		var peak uint64
		var m runtime.MemStats
		for !done.Load() {
			runtime.GC()
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
		most <- peak
	}()
	f()
	done.Store(true)
	return <-most
}

// repeated is a trace whose passes are those of a configuration, that many times.
func repeated(tb testing.TB, cfg gen.Config, times int) func() *trace.Trace {
	tb.Helper()
	cfg.Passes = slices.Repeat(cfg.Passes, times)
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		tb.Fatal(err)
	}
	return func() *trace.Trace {
		return loaded(tb)(trace.Read(tb.Context(), bytes.NewReader(b.Bytes()), trace.Options{}))
	}
}

// exported is an export of two GPUs.
func exported(tb testing.TB, times int) func() *trace.Trace {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "a.sqlite")
	if _, err := nsysgen.Write(path, nsysgen.Large(1, 8_000*times)); err != nil {
		tb.Fatal(err)
	}
	return func() *trace.Trace {
		return loaded(tb)(trace.Open(tb.Context(), path, trace.Options{Formats: nsys.Formats()}))
	}
}

// loaded is a trace that could be loaded.
func loaded(tb testing.TB) func(*trace.Trace, error) *trace.Trace {
	tb.Helper()
	return func(t *trace.Trace, err error) *trace.Trace {
		if err != nil {
			tb.Fatal(err)
		}
		return t
	}
}
