package hostoverhead

import (
	"testing"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/layer/finding"
)

// TestWaitsAreCauses: names of calls and functions say what a thread waits for.
func TestWaitsAreCauses(t *testing.T) {
	for name, want := range map[string]finding.Cause{"cudaStreamSynchronize": finding.Synchronisation, "cuModuleLoadData": finding.ModuleLoad,
		"hipMalloc": finding.Allocation, "cudaLaunchKernel": finding.NoCause} {
		if got := names.CallWait(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]names.Wait{"pthread_mutex_lock": names.WaitForThread(finding.Lock), "take_gil": names.WaitForThread(finding.GIL),
		"epoll_wait": {For: names.Input}, "pthread_cond_signal": {For: names.Nobody}} {
		if got := names.SystemWait(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := names.FrameWait("a/threading.py(1): wait"); got != names.WaitForThread(finding.Lock) {
		t.Errorf("a wait of Python's library: %v", got)
	}
}
