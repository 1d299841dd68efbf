package trace

import (
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/trace/internal/column"
)

// launchCall is what a call of an API does, as far as this package asks.
type launchCall uint8

// The calls; 0 is none of them.
const (
	otherCall launchCall = iota + 1
	kernelLaunch
	graphLaunch
	captureBegin // calls from here to CaptureEnd record a graph and run nothing
	captureEnd
)

// launchCallOf is the call of a name.
func launchCallOf(name string) launchCall {
	switch {
	case kind.IsGraphLaunch(name):
		return graphLaunch
	case kind.IsKernelLaunch(name):
		return kernelLaunch
	case kind.BeginsCapture(name):
		return captureBegin
	case kind.EndsCapture(name):
		return captureEnd
	}
	return otherCall
}

// Records of kernels are lost where leastLost calls and more than one in lostShare left none. In the real traces at
// hand none does between two that left one, but in a capture.
const leastLost, lostShare = 10, 100

// emptyLaunches counts the calls that launch a kernel without one in the trace, between calls of their thread that have
// one, and all that launch one. What a capture records does not run, and a kernel of an unknown launch may be any
// call's.
func emptyLaunches(g, launches *column.Columns, launchOf []int32, kernel func(i int) bool,
	call func(row int32) launchCall) (lost, of int) {
	used := make([]bool, launches.Len())
	unknown := 0
	for i, l := range launchOf {
		if l >= 0 {
			used[l] = true
		} else if kernel(i) {
			unknown++
		}
	}
	thread, capturing, began, since, until := int32(-1), false, false, 0, int64(0)
	for i := range launches.Start {
		if launches.Thread[i] != thread {
			thread, capturing, began, since, until = launches.Thread[i], false, false, 0, launches.Start[i]
		}
		switch call(int32(i)) {
		case captureBegin:
			capturing = true
		case captureEnd:
			capturing = false
		case kernelLaunch:
			if capturing || launches.Start[i] < until { // within the call of another API
				continue
			}
			of++
			until = launches.End(i)
			switch {
			case !used[i]:
				since++
			case began:
				lost += since
				since = 0
			default:
				began, since = true, 0
			}
		}
	}
	return max(0, lost-unknown), of
}
