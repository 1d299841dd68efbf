package hostoverhead

import "slices"

// Cause is why a device was idle. Every nanosecond of idle time has exactly one.
//
// New causes may be added; users must be robust to that.
type Cause string

// The causes.
const (
	// CauseHostCode: the thread that launches next was running code, named where a range, op or frame was recorded.
	CauseHostCode Cause = "host-code"
	// CauseLaunch: it was in the call that launches the next kernel or in another short call, or the call was made
	// while the device was idle and its work had not started yet.
	CauseLaunch Cause = "launch-call"
	// CauseGraphLaunch: the same for the launch of a graph.
	CauseGraphLaunch Cause = "graph-launch"
	// CauseSync: it was in a synchronising call, or caught up after one that had emptied the queue in the middle of a step.
	CauseSync Cause = "synchronisation"
	// CauseCopyCall: the same for a copy call that blocks.
	CauseCopyCall Cause = "blocking-copy"
	// CauseAllocation: it was allocating, freeing or registering memory.
	CauseAllocation Cause = "allocation"
	// CauseModule: it was loading a kernel's module, compiling, or creating objects of the runtime.
	CauseModule Cause = "module-load"
	// CauseLock: it waited for another thread: a lock, a condition, a queue.
	CauseLock Cause = "lock"
	// CauseGIL: it waited for Python's global interpreter lock.
	CauseGIL Cause = "gil"
	// CauseDescheduled: the operating system ran something else on its core.
	CauseDescheduled Cause = "descheduled"
	// CauseSystemCall: it was in a system call, or slept, inside a step.
	CauseSystemCall Cause = "system-call"
	// CauseDispatch: the work was queued before the gap began; the device took this long to start it.
	CauseDispatch Cause = "gpu-dispatch"
	// CauseDependency: the work was queued before, but started so late that it waited for an event or a signal.
	CauseDependency Cause = "dependency"
	// CauseRanks: the host exchanged something with other ranks, or the next kernel is a collective that was queued before.
	CauseRanks Cause = "other-ranks"
	// CauseTransfer: no kernel ran, but a copy or set did.
	CauseTransfer Cause = "transfer"
	// CauseNoRequests: the host waited for input between two steps, or ran a step without requests.
	CauseNoRequests Cause = "no-requests"
	// CauseProfiler: the profiler was flushing or instrumenting on that thread.
	CauseProfiler Cause = "profiler"
	// CauseUnknown: the trace does not say.
	CauseUnknown Cause = "unknown"
)

// The groups of causes, in report order. The time of the first two is what the host costs.
const (
	groupWork     = "host work"
	groupWaiting  = "host waiting"
	groupDispatch = "GPU dispatch"
	groupRanks    = "other ranks"
	groupTransfer = "transfers"
	groupRequests = "no requests"
	groupProfiler = "profiler"
	groupUnknown  = "unknown"
)

// causeGroup is a cause and its group.
type causeGroup struct {
	cause Cause
	group string
}

// causes lists all causes in report order. The place in it is a cause's number in sums.
var causes = [...]causeGroup{
	{CauseHostCode, groupWork}, {CauseLaunch, groupWork}, {CauseGraphLaunch, groupWork},
	{CauseSync, groupWaiting}, {CauseCopyCall, groupWaiting}, {CauseAllocation, groupWaiting}, {CauseModule, groupWaiting},
	{CauseLock, groupWaiting}, {CauseGIL, groupWaiting}, {CauseDescheduled, groupWaiting}, {CauseSystemCall, groupWaiting},
	{CauseDispatch, groupDispatch}, {CauseDependency, groupDispatch},
	{CauseRanks, groupRanks}, {CauseTransfer, groupTransfer}, {CauseNoRequests, groupRequests}, {CauseProfiler, groupProfiler},
	{CauseUnknown, groupUnknown},
}

// number is the cause's place in causes.
func (c Cause) number() int {
	return slices.IndexFunc(causes[:], func(g causeGroup) bool { return g.cause == c })
}

// Group is the row of the headroom that the cause counts for: "host work", "host waiting", "GPU dispatch", "other ranks",
// "transfers", "no requests", "profiler" or "unknown".
func (c Cause) Group() string {
	if i := c.number(); i >= 0 {
		return causes[i].group
	}
	return groupUnknown
}

// Host reports whether the host costs this time: the groups "host work" and "host waiting".
func (c Cause) Host() bool { g := c.Group(); return g == groupWork || g == groupWaiting }
