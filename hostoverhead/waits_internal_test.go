package hostoverhead

import (
	"testing"

	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer/finding"
)

// TestWaitsAreCauses: names of calls and functions say what a thread waits for.
func TestWaitsAreCauses(t *testing.T) {
	for name, want := range map[string]finding.Cause{"cudaStreamSynchronize": finding.Synchronisation,
		"cuModuleLoadData": finding.ModuleLoad,
		"hipMalloc":        finding.Allocation, "cudaLaunchKernel": finding.NoCause} {
		if got := waits.CallWait(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]waits.Wait{"pthread_mutex_lock": waits.WaitForThread(finding.Lock),
		"take_gil":   waits.WaitForThread(finding.GIL),
		"epoll_wait": {For: waits.Input, Cause: finding.SystemCall}, "pthread_cond_signal": {For: waits.Nobody}} {
		if got := waits.SystemWait(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := waits.FrameWait("a/threading.py(1): wait"); got != waits.WaitForThread(finding.Lock) {
		t.Errorf("a wait of Python's library: %v", got)
	}
}
