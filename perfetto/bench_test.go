package perfetto_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// The figures of docs/perfetto.md, on a file of 1 GB:
//
//	go test ./perfetto -run '^$' -bench Copy -benchtime 1x -benchsize 1000000000
var benchSize = flag.Int64("benchsize", 20e6, "bytes of the generated trace that the benchmarks copy")

// bigTrace writes a generated trace with Python stacks, nine tenths of it
// frames, and loads what a copy needs to know of it.
func bigTrace(tb testing.TB, size int64) (string, *trace.Trace) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "big.json")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	cfg := gen.Large(36, 80, false)
	cfg.Size = size
	if err := gen.Write(f, cfg); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	tr, err := trace.Open(context.Background(), path,
		trace.Options{Lanes: []event.Lane{event.LaneGPU, event.LaneLaunch}})
	if err != nil {
		tb.Fatal(err)
	}
	return path, tr
}

// copies are the two ways to copy a trace.
var copies = []struct {
	name string
	copy func(tb testing.TB, tr *trace.Trace, src, dst string)
}{
	{"annotate", func(tb testing.TB, tr *trace.Trace, src, dst string) {
		if _, err := perfetto.Annotate(context.Background(), tr, src, dst, passTrack(tr),
			perfetto.CopyOptions{}); err != nil {
			tb.Fatal(err)
		}
	}},
	{"slice", func(tb testing.TB, tr *trace.Trace, src, dst string) {
		var keep []trace.EventID
		first := tr.Len(event.LaneGPU) / 2
		for i := first; i < tr.Len(event.LaneGPU) && i < first+500; i++ { // about one pass
			keep = append(keep, tr.LaneAt(event.LaneGPU, i).ID())
		}
		if _, err := perfetto.Slice(context.Background(), tr, keep, src, dst, perfetto.CopyOptions{}); err != nil {
			tb.Fatal(err)
		}
	}},
}

// heapPeak runs f and returns how far the heap grew over what was live before.
func heapPeak(f func()) int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		top := before
		for {
			select {
			case <-stop:
				peak <- top
				return
			case <-time.After(time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				top = max(top, m.HeapAlloc)
			}
		}
	}()
	f()
	close(stop)
	return int64(<-peak - before)
}

// TestCopiesNeedLittleMemory: the heap grows far less than the file is long, by
// the buffers of one scanner and one writer.
func TestCopiesNeedLittleMemory(t *testing.T) {
	if !testdata.Long() {
		t.Skip("SKIPPED without STRATA_LONG: a file that would show the difference takes too long")
	}
	const size = 60e6
	src, tr := bigTrace(t, size)
	for _, c := range copies {
		dst := filepath.Join(t.TempDir(), c.name)
		// The collector may let garbage double the live heap, which holds the trace.
		defer debug.SetGCPercent(debug.SetGCPercent(10))
		peak := heapPeak(func() { c.copy(t, tr, src, dst) })
		t.Logf("%s: %d bytes of heap for a file of %d", c.name, peak, int64(size))
		if peak > 16<<20 {
			t.Errorf("%s: the heap grew by %d bytes for a file of %d, want at most 16 MiB", c.name, peak, int64(size))
		}
	}
}

// resident returns a figure of /proc/self/status in bytes, 0 where there is none.
func resident(key string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			kb, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

// BenchmarkCopy reports, besides speed, how far the process's resident memory
// rose above what it had before (B-peak; Linux only).
func BenchmarkCopy(b *testing.B) {
	size := *benchSize
	if !testdata.Long() {
		size = 2e6
	}
	src, tr := bigTrace(b, size)
	for _, c := range copies {
		b.Run("op="+c.name, func(b *testing.B) {
			dst := filepath.Join(b.TempDir(), "out")
			b.SetBytes(size)
			b.ReportAllocs()
			debug.FreeOSMemory()
			// 5 sets the high-water mark back to what is resident now; a system
			// that does not allow it reports too much, never too little.
			_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
			before := resident("VmRSS")
			for b.Loop() {
				c.copy(b, tr, src, dst)
			}
			b.ReportMetric(float64(resident("VmHWM")-before), "B-peak")
		})
	}
}
