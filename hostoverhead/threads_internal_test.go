package hostoverhead

import (
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestThreadsWorkForTheirDevices: a thread works for the devices that it launched on; one that launched nothing for
// those of its process, and one of a process that launched nothing for any.
func TestThreadsWorkForTheirDevices(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	add := func(kind event.Kind, process int64, thread int64, device trace.DeviceID, corr uint64, at int64) {
		b.Add(trace.EventData{Kind: kind, Name: "cudaLaunchKernel", Start: at, Duration: 5, Process: process,
			Thread: thread, Device: device, Correlation: corr})
	}
	for i, l := range []struct {
		process int64
		thread  int64
		device  trace.DeviceID
	}{{1, 10, 0}, {1, 10, 0}, {1, 11, 1}, {2, 20, 2}} {
		add(event.Runtime, l.process, l.thread, 0, uint64(i+1), int64(i)*10)
		add(event.Kernel, 0, 0, l.device, uint64(i+1), int64(i)*10+6)
	}
	add(event.Frame, 1, 12, 0, 0, 50)
	add(event.Frame, 3, 30, 0, 0, 50)
	tr := built.Trace(b)
	works := drivesOf(tr)
	want := map[int64][]trace.DeviceID{10: {0}, 11: {1}, 12: {0, 1}, 20: {2}, 30: nil}
	seen := 0
	for i, th := range tr.Threads() {
		w, ok := want[th.ID]
		if !ok {
			continue
		}
		seen++
		if !slices.Equal(works[i], w) {
			t.Errorf("thread %d works for %v, want %v", th.ID, works[i], w)
		}
		for d := range trace.DeviceID(3) {
			if got, wants := works.drive(trace.ThreadIndex(i), d), len(w) == 0 || slices.Contains(w, d); got != wants {
				t.Errorf("thread %d works for GPU %d: %v, want %v", th.ID, d, got, wants)
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d threads, want %d", seen, len(want))
	}
	if !works.drive(-1, 7) {
		t.Error("a thread that is not known may work for any GPU")
	}
	if d := (drives{{0}}); d.drive(0, 7) || !d.drive(0, 0) {
		t.Error("the first thread works for GPU 0 alone")
	}
}

func TestOnlyGPU(t *testing.T) {
	for _, c := range []struct {
		gpus int
		want bool
	}{{1, false}, {2, true}} {
		b := trace.NewBuilder(trace.Options{})
		for d := range c.gpus {
			for i := range 20 {
				b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: int64(i) * 10, Duration: 5,
					Device: trace.DeviceID(d)})
			}
		}
		one := trace.DeviceID(0)
		a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a.Devices = a.Devices[:1]
		if got := onlyGPU(a); (got != nil) != c.want || got != nil && *got != one {
			t.Errorf("one of %d GPUs: only %v, want one: %v", c.gpus, got, c.want)
		}
	}
}
