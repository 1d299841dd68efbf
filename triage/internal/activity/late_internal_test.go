package activity

import (
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestHolds: of four kernels of a pass the third is launched 50 ns after all work ends. What the first two save is
// lost, unless the host waits for them before it launches the third: then it saves up to what the host waits. Waits
// after the last such launch, for work that has ended, and of threads that launch nothing on the GPU hold nothing.
func TestHolds(t *testing.T) {
	type call struct {
		name       string
		start, end int64
		thread     int64
	}
	const late, free = 0, -1 // held to nothing, and not held
	for _, c := range []struct {
		name string
		call call
		want [4]int64
	}{
		{"no wait", call{"cudaMalloc", 120, 320, 1}, [4]int64{late, late, free, free}},
		{"a wait for both", call{"cudaStreamSynchronize", 120, 320, 1}, [4]int64{170, 170, free, free}},
		{"a wait for the first", call{"cudaEventSynchronize", 120, 210, 1}, [4]int64{80, late, free, free}},
		{"a wait too late", call{"cudaDeviceSynchronize", 305, 320, 1}, [4]int64{late, late, free, free}},
		{"a wait of another thread", call{"cudaStreamSynchronize", 120, 320, 2}, [4]int64{late, late, free, free}},
		{"a wait at the end", call{"cudaStreamSynchronize", 470, 700, 1}, [4]int64{late, late, free, free}},
	} {
		b := trace.NewBuilder(trace.Options{})
		for i, k := range []struct{ launch, start int64 }{{100, 110}, {105, 200}, {350, 360}, {355, 460}} {
			id := uint64(i + 1)
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: k.launch, Duration: 4, Thread: 1,
				Correlation: id})
			b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: k.start, Duration: 90, Stream: 7,
				Correlation: id})
		}
		b.Add(trace.EventData{Kind: event.Runtime, Name: c.call.name, Start: c.call.start,
			Duration: c.call.end - c.call.start, Thread: c.call.thread})
		an, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := NewPool().Collect(t.Context(), an, "t", "")
		if len(w.Acts) != len(c.want) {
			t.Fatalf("%s: %d activities", c.name, len(w.Acts))
		}
		for i := range w.Acts {
			w.Acts[i].Pass = 0
		}
		for i, want := range c.want {
			got := int64(free)
			if h := w.Hold(int32(i)); h != nil {
				got = h.Room
			}
			if got != want {
				t.Errorf("%s: what kernel %d saves is held to %d ns, want %d", c.name, i, got, want)
			}
		}
	}
}
