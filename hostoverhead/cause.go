package hostoverhead

import (
	"github.com/llmstrata/strata/internal/apicall"
	"slices"
	"strings"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/trace"
)

// Cause is why a device was idle. Every nanosecond of idle time has exactly one.
//
// New causes may be added; users must be robust to that.
//
// It is one of host-code, launch-call, graph-launch, synchronisation, blocking-copy,
// allocation, module-load, lock, gil, descheduled, system-call, gpu-dispatch,
// dependency, other-ranks, transfer, no-requests, profiler and unknown.
type Cause string

// The causes.
const (
	// causeHostCode: the thread that launches next was running code, named where a range, op or frame was recorded.
	causeHostCode Cause = "host-code"
	// causeLaunch: it was in the call that launches the next kernel or in another short call, or the call was made
	// while the device was idle and its work had not started yet.
	causeLaunch Cause = "launch-call"
	// causeGraphLaunch: the same for the launch of a graph.
	causeGraphLaunch Cause = "graph-launch"
	// causeSync: it was in a synchronising call, or caught up after one that had emptied the queue in the middle of a step.
	causeSync Cause = "synchronisation"
	// causeCopyCall: the same for a copy call that blocks.
	causeCopyCall Cause = "blocking-copy"
	// causeAllocation: it was allocating, freeing or registering memory.
	causeAllocation Cause = "allocation"
	// causeModule: it was loading a kernel's module, compiling, or creating objects of the runtime.
	causeModule Cause = "module-load"
	// causeLock: it waited for another thread: a lock, a condition, a queue.
	causeLock Cause = "lock"
	// causeGIL: it waited for Python's global interpreter lock.
	causeGIL Cause = "gil"
	// causeDescheduled: the operating system ran something else on its core.
	causeDescheduled Cause = "descheduled"
	// causeSystemCall: it was in a system call, or slept, inside a step.
	causeSystemCall Cause = "system-call"
	// causeDispatch: the work was queued before the gap began; the device took this long to start it.
	causeDispatch Cause = "gpu-dispatch"
	// causeDependency: the work was queued before, but started so late that it waited for an event or a signal.
	causeDependency Cause = "dependency"
	// causeRanks: the host exchanged something with other ranks, or the next kernel is a collective that was queued before.
	causeRanks Cause = "other-ranks"
	// causeTransfer: no kernel ran, but a copy or set did.
	causeTransfer Cause = "transfer"
	// causeNoRequests: the host waited for input between two steps, or ran a step without requests.
	causeNoRequests Cause = "no-requests"
	// causeProfiler: the profiler was flushing or instrumenting on that thread.
	causeProfiler Cause = "profiler"
	// causeUnknown: the trace does not say.
	causeUnknown Cause = "unknown"
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
	{causeHostCode, groupWork}, {causeLaunch, groupWork}, {causeGraphLaunch, groupWork},
	{causeSync, groupWaiting}, {causeCopyCall, groupWaiting}, {causeAllocation, groupWaiting}, {causeModule, groupWaiting},
	{causeLock, groupWaiting}, {causeGIL, groupWaiting}, {causeDescheduled, groupWaiting}, {causeSystemCall, groupWaiting},
	{causeDispatch, groupDispatch}, {causeDependency, groupDispatch},
	{causeRanks, groupRanks}, {causeTransfer, groupTransfer}, {causeNoRequests, groupRequests}, {causeProfiler, groupProfiler},
	{causeUnknown, groupUnknown},
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

// hostName is what the name of a call, range, operator or frame says about the host. Names are asked once.
type hostName struct {
	known                     bool
	call                      Cause // of API calls: what they do beside queueing work
	kernelLaunch, graphLaunch bool
	copies, async             bool
	system                    Cause // of system calls: what the thread waits for
	frame                     Cause // of Python frames: the wait that the function is
	step, gil                 bool  // of ranges
	exchange, rangeExchange   bool  // of operators and frames; of ranges
}

// name is what a name says.
func (l *ledger) name(id trace.NameID) *hostName {
	n := &l.names[id]
	if !n.known {
		name := l.w.t.Name(id)
		*n = hostName{known: true, call: Cause(names.CallWait(name)), kernelLaunch: names.IsKernelLaunch(name), graphLaunch: apicall.IsGraphLaunch(name),
			copies: strings.Contains(name, "emcpy"), async: strings.Contains(name, "Async"), system: Cause(names.SystemWait(name)), frame: Cause(names.FrameWait(name)),
			step: names.IsStep(name, l.w.steps), gil: names.WaitsForGIL(name), exchange: names.Exchanges(trace.KindOp, name), rangeExchange: names.Exchanges(trace.KindRange, name)}
	}
	return n
}

// callCause classifies the time inside an API call.
func (p *Params) callCause(e trace.Event, n *hostName) Cause {
	switch {
	case n.graphLaunch:
		return causeGraphLaunch
	case n.kernelLaunch:
		if e.Duration() >= p.BlockedLaunch {
			return causeModule
		}
		return causeLaunch
	case n.copies:
		if !n.async || e.Duration() >= p.LongCopyCall {
			return causeCopyCall
		}
		return causeLaunch
	case n.call != "":
		return n.call
	}
	return causeLaunch
}

// waitsForDevice reports whether a call returns only when the device has caught up, so that the queue is empty then.
func waitsForDevice(c Cause) bool { return c == causeSync || c == causeCopyCall }

// inStep says what waiting for input is: without anything to do between two steps, a system call within one.
func inStep(c Cause, between bool) Cause {
	switch {
	case c == names.Input && between:
		return causeNoRequests
	case c == names.Input, c == names.Wakes, c == "":
		return causeSystemCall
	}
	return c
}
