package hostoverhead

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/apicall"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// The causes: why a device was idle, see [IdleCause]. Every nanosecond of idle time has exactly one.
const (
	// causeHostCode: the thread that launches next was running code, named where a range, op or frame was recorded.
	causeHostCode string = "host-code"
	// causeLaunch: it was in the call that launches the next kernel or in another short call, or the call was made
	// while the device was idle and its work had not started yet.
	causeLaunch string = "launch-call"
	// causeGraphLaunch: the same for the launch of a graph.
	causeGraphLaunch string = "graph-launch"
	// causeSync: it was in a synchronising call, or caught up after one that had emptied the queue in the middle of a step.
	causeSync string = "synchronisation"
	// causeCopyCall: the same for a copy call that blocks.
	causeCopyCall string = "blocking-copy"
	// causeAllocation: it was allocating, freeing or registering memory.
	causeAllocation string = "allocation"
	// causeModule: it was loading a kernel's module, compiling, or creating objects of the runtime.
	causeModule string = "module-load"
	// causeLock: it waited for another thread: a lock, a condition, a queue.
	causeLock string = "lock"
	// causeGIL: it waited for Python's global interpreter lock.
	causeGIL string = "gil"
	// causeDescheduled: the operating system ran something else on its core.
	causeDescheduled string = "descheduled"
	// causeSystemCall: it was in a system call, or slept, inside a step.
	causeSystemCall string = "system-call"
	// causeDispatch: the work was queued before the gap began; the device took this long to start it.
	causeDispatch string = "gpu-dispatch"
	// causeDependency: the work was queued before, but started so late that it waited for an event or a signal.
	causeDependency string = "dependency"
	// causeRanks: the host exchanged something with other ranks, or the next kernel is a collective that was queued before.
	causeRanks string = "other-ranks"
	// causeTransfer: no kernel ran, but a copy or set did.
	causeTransfer string = "transfer"
	// causeNoRequests: the host waited for input between two steps, or ran a step without requests.
	causeNoRequests string = "no-requests"
	// causeProfiler: the profiler was flushing or instrumenting on that thread.
	causeProfiler string = "profiler"
	// causeUnknown: the trace does not say.
	causeUnknown string = "unknown"
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
	cause string
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

// causeNumber is a cause's place in causes, none of no cause.
func causeNumber(c string) int {
	return slices.IndexFunc(causes[:], func(g causeGroup) bool { return g.cause == c })
}

// hostGroup reports whether the host costs the time of a group.
func hostGroup(g string) bool { return g == groupWork || g == groupWaiting }

// hostName is what the name of a call, range, operator or frame says about the host. Names are asked once.
type hostName struct {
	known                     bool
	call                      string // of API calls: what they do beside queueing work
	kernelLaunch, graphLaunch bool
	copies, async             bool
	system                    string // of system calls: what the thread waits for
	frame                     string // of Python frames: the wait that the function is
	step, gil                 bool   // of ranges
	exchange, rangeExchange   bool   // of operators and frames; of ranges
}

// name is what a name says.
func (l *ledger) name(id trace.NameID) *hostName {
	n := &l.names[id]
	if !n.known {
		name := l.w.t.Name(id)
		*n = hostName{known: true, call: names.CallWait(name), kernelLaunch: names.IsKernelLaunch(name), graphLaunch: apicall.IsGraphLaunch(name),
			copies: strings.Contains(name, "emcpy"), async: strings.Contains(name, "Async"), system: names.SystemWait(name), frame: names.FrameWait(name),
			step: names.IsStep(name, l.w.steps), gil: names.WaitsForGIL(name), exchange: names.Exchanges(event.Op, name), rangeExchange: names.Exchanges(event.Range, name)}
	}
	return n
}

// callCause classifies the time inside an API call.
func (p *params) callCause(e trace.Event, n *hostName) string {
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
func waitsForDevice(c string) bool { return c == causeSync || c == causeCopyCall }

// inStep says what waiting for input is: without anything to do between two steps, a system call within one.
func inStep(c string, between bool) string {
	switch {
	case c == names.Input && between:
		return causeNoRequests
	case c == names.Input, c == names.Wakes, c == "":
		return causeSystemCall
	}
	return c
}
