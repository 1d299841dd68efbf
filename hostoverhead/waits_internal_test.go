package hostoverhead

import (
	"testing"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
)

// TestWaitsAreCauses: what names say of waits are causes that this package knows.
func TestWaitsAreCauses(t *testing.T) {
	for name, want := range map[string]string{
		names.CallWait("cudaStreamSynchronize"): causeSync, names.CallWait("cuModuleLoadData"): causeModule, names.CallWait("hipMalloc"): causeAllocation,
		names.SystemWait("pthread_mutex_lock"): causeLock, names.SystemWait("take_gil"): causeGIL, names.FrameWait("a/threading.py(1): wait"): causeLock,
	} {
		if name != want || causeNumber(want) < 0 {
			t.Errorf("%q, want %s", name, want)
		}
	}
	for name, want := range map[string]string{names.SystemWait("epoll_wait"): names.Input, names.SystemWait("pthread_cond_signal"): names.Wakes, names.CallWait("cudaLaunchKernel"): ""} {
		if name != want {
			t.Errorf("%q, want %q", name, want)
		}
	}
}
