package nsys_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// TestWhatThreadsDid: calls of the C library, times off the CPU, samples and what the recorder reported.
func TestWhatThreadsDid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	if err := nsysgen.WriteRows(path, []nsysgen.Row{
		{Kind: nsysgen.RowCall, Name: "cudaLaunchKernel", Start: 1000, End: 2000, Thread: 5, Correlation: 1},
		{Kind: nsysgen.RowKernel, Name: "gemm", Start: 2500, End: 9000, Stream: 7, Correlation: 1},
		{Kind: nsysgen.RowOS, Name: "pthread_mutex_lock", Start: 3000, End: 4500, Thread: 5},
		{Kind: nsysgen.RowOff, Start: 5000, End: 6000, Thread: 5},
		{Kind: nsysgen.RowSample, Name: "PyEval_EvalFrameDefault", Start: 7000, Thread: 5},
		{Kind: nsysgen.RowMessage, Name: "Profiling has started.", Start: 0, Node: 1},
		{Kind: nsysgen.RowMessage, Name: "Not all events were collected; some were dropped.", Start: 10, Node: 2},
		{Kind: nsysgen.RowMessage, Name: "Thread names could not be read.", Start: 20, Node: 2},
		{Kind: nsysgen.RowMessage, Name: "CUDA tracing failed.", Start: 30, Node: 3},
	}); err != nil {
		t.Fatal(err)
	}
	tr, err := nsys.Open(t.Context(), path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range tr.Events(event.LaneSync) {
		got = append(got, e.Kind().String()+" "+e.Name()+" "+e.Duration().String())
		if thread := tr.Thread(e.Thread()); thread.ID != 5 {
			t.Errorf("%s on thread %d, want 5", e.Name(), thread.ID)
		}
	}
	want := "os_call pthread_mutex_lock 1.5µs|off_cpu off the CPU 1µs|sample PyEval_EvalFrameDefault 0s"
	if strings.Join(got, "|") != want {
		t.Errorf("events %s\nwant   %s", strings.Join(got, "|"), want)
	}
	var lost *trace.Loss
	for i, l := range tr.Health().Losses {
		if l.Reason == event.Dropped {
			lost = &tr.Health().Losses[i]
		}
	}
	if lost == nil || lost.Count != 2 || !strings.Contains(lost.Detail, "some were dropped") ||
		!strings.Contains(lost.Detail, "tracing failed") || strings.Contains(lost.Detail, "Thread names") {
		t.Errorf("loss %+v, want the warning about dropped events and the error", lost)
	}
	if tr.Health().Status != trace.HealthDegraded {
		t.Errorf("health %s, want degraded", tr.Health().Status)
	}
}
