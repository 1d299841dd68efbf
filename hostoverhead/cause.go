package hostoverhead

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace"
)

// Cause is why a device was idle.
//
// New causes may be added; users must be robust to that.
type Cause string

// The causes. Every nanosecond of idle time has exactly one.
const (
	// CauseHostPrep: the launching thread was running host code that a range, op or
	// Python frame names, and had not launched the next kernel yet.
	CauseHostPrep Cause = "host-prep"
	// CauseBlockingCall: it was inside a call that waits: a synchronisation, a copy
	// to or from the host, an allocation, a launch that first loads its module.
	CauseBlockingCall Cause = "blocking-call"
	// CauseGraphLaunch: it was inside a graph launch call.
	CauseGraphLaunch Cause = "graph-launch"
	// CauseLaunchLatency: it was inside a kernel launch or another short API call,
	// or had made the call and the GPU had not started the kernel yet.
	CauseLaunchLatency Cause = "launch-latency"
	// CauseCollectiveWait: it was in a collective operation of the host
	// (broadcast, barrier, …), or the next kernel is a collective that was
	// launched long before.
	CauseCollectiveWait Cause = "collective-wait"
	// CauseProfiler: the profiler was flushing or instrumenting on that thread.
	CauseProfiler Cause = "profiler"
	// CauseTransfer: no kernel ran, but a copy or set did.
	CauseTransfer Cause = "memory-transfer"
	// CauseUnknown: the trace does not say.
	CauseUnknown Cause = "unknown"
)

// causes lists all causes in report order.
var causes = []Cause{CauseHostPrep, CauseBlockingCall, CauseGraphLaunch, CauseLaunchLatency, CauseCollectiveWait, CauseProfiler, CauseTransfer, CauseUnknown}

// queuedLimit is how long a kernel that was launched in time may take to start
// before its launch no longer explains it. Back-to-back kernels start within
// 1–2 µs, the first kernel after an idle time within 5–10 µs of its launch
// (real exports in shared/traces/nsys); above this the stream waited for an
// event, another rank or a host callback.
const queuedLimit = 50_000 // ns

// blockingCalls are API names, or parts of them, that return only when the
// device has caught up, or that allocate. cudaMemcpyAsync is not among them: it
// blocks only for pageable memory, which shows as its long duration (see
// [longCopyCall]).
var blockingCalls = []string{"Synchronize", "Malloc", "Free", "HostAlloc", "HostRegister", "ModuleLoad", "LibraryLoad", "HostUnregister", "StreamDestroy"}

// longCopyCall is the duration from which an asynchronous copy call has waited:
// queueing one takes a few µs.
const longCopyCall = 20_000 // ns

// blockedLaunch is the duration from which a kernel launch call did more than
// launch: while the device is idle its queue is not full, so the call loaded the
// kernel's module. Of 41,055 launch calls in 25 traces half take less than 6 µs,
// 99 % less than 0.3 ms, and 162 more than this.
const blockedLaunch = 1_000_000 // ns

// hostCollectives are parts of range and frame names in which ranks wait for
// each other on the CPU.
var hostCollectives = []string{"broadcast", "barrier", "all_gather", "allgather", "all_reduce", "allreduce", "reduce_scatter", "gather_object", "recv_obj", "ncclgroupend"}

// apiCause classifies the time inside an API call.
func apiCause(e trace.Event) Cause {
	name := e.Name()
	switch {
	case trace.IsGraphLaunchName(name):
		return CauseGraphLaunch
	case strings.Contains(name, "emcpy"):
		if !strings.Contains(name, "Async") || e.Duration() >= longCopyCall {
			return CauseBlockingCall
		}
		return CauseLaunchLatency
	case containsAny(name, blockingCalls), isKernelLaunch(name) && e.Duration() >= blockedLaunch:
		return CauseBlockingCall
	}
	return CauseLaunchLatency
}

// hostCause classifies host code by the name of what runs.
func hostCause(name string) Cause {
	if name == "" {
		return CauseUnknown
	}
	if containsAny(strings.ToLower(name), hostCollectives) {
		return CauseCollectiveWait
	}
	return CauseHostPrep
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// isProfilerOverhead reports whether an overhead event is the profiler's own
// work, unlike the CUDA driver's lazy loading or a full command buffer.
func isProfilerOverhead(name string) bool {
	l := strings.ToLower(name)
	return containsAny(l, []string{"profiler", "buffer flush", "buffer request", "instrumentation", "resource"})
}
