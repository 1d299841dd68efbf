package hostoverhead

import (
	"strings"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// hostName is what the name of a call, range, operator or frame says about the host. Names are asked once.
type hostName struct {
	known bool
	callName
	system                  waits.Wait // of system calls: what the thread waits for
	frame                   waits.Wait // of Python frames: the wait that the function is
	step, gil               bool       // of ranges
	exchange, rangeExchange bool       // of operators and frames; of ranges
	summed                  summed     // of frames
}

// summed is where the time of frames of a name is added up in one round: as long as all around them stays the same.
type summed struct {
	round uint32
	kind  event.Kind
	cause finding.Cause
	sum   *nameSum
}

// callName is what the name of an API call says.
type callName struct {
	does                      finding.Cause // beside queueing work
	kernelLaunch, graphLaunch bool
	copies, async             bool
}

func callNamed(name string) callName {
	return callName{does: waits.CallWait(name), kernelLaunch: kind.IsKernelLaunch(name),
		graphLaunch: kind.IsGraphLaunch(name),
		copies:      strings.Contains(name, "emcpy"), async: strings.Contains(name, "Async")}
}

// name is what a name says.
func (l *ledger) name(id trace.NameID) *hostName {
	n := &l.names[id]
	if !n.known {
		name := l.w.t.Name(id)
		*n = hostName{known: true, callName: callNamed(name), system: waits.SystemWait(name),
			frame: waits.FrameWait(name), step: l.w.layers.IsStep(name), gil: waits.WaitsForGIL(name),
			exchange: waits.Exchanges(event.Op, name), rangeExchange: waits.Exchanges(event.Range, name)}
	}
	return n
}

// callCause classifies the time inside an API call.
func (p *params) callCause(e trace.Event, n callName) finding.Cause {
	switch {
	case n.graphLaunch:
		return finding.GraphLaunch
	case n.kernelLaunch:
		if e.Duration() >= p.BlockedLaunch {
			return finding.ModuleLoad
		}
		return finding.LaunchCall
	case n.copies:
		if p.copyBlocks(e, n.async) {
			return finding.BlockingCopy
		}
		return finding.LaunchCall
	case n.does != finding.NoCause:
		return n.does
	}
	return finding.LaunchCall
}

// copyBlocks reports whether a copy call returns only when its copy is done, see [waits.RunsOn]. Where the trace does
// not show the copy, a long call is taken for a blocking one.
func (p *params) copyBlocks(call trace.Event, async bool) bool {
	for a := range call.Activities() {
		if waits.RunsOn(call, a) {
			return false
		}
	}
	return !async || call.Duration() >= p.LongCopyCall
}

// waitsForDevice reports whether a call returns only when the device has caught up, so that the queue is empty then.
func waitsForDevice(c finding.Cause) bool {
	return c == finding.Synchronisation || c == finding.BlockingCopy
}

// waitCause is what a wait costs: one for another thread or process, and one for input within a step. The device's
// waits show waiting for input between steps.
func waitCause(w waits.Wait) finding.Cause {
	switch w.For {
	case waits.Thread, waits.Input:
		return w.Cause
	}
	return finding.SystemCall
}
