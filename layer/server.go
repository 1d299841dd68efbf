package layer

import (
	"slices"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Framework returns the server that made the trace, in the spelling of reports ("SGLang"): the one whose code appears
// most among the Python frames, else among the cpu ops, else the one whose step annotations the trace has; "" if
// unknown. Kernel names are no sign: servers borrow each other's kernels.
func (a *Analysis) Framework() string {
	if a.framework == nil { // of no trace
		return ""
	}
	return a.framework()
}

// frameworkOf looks for [Analysis.Framework].
func frameworkOf(t *trace.Trace, frameworks []framework.Framework) string {
	frames, ops := make([]int, len(frameworks)), make([]int, len(frameworks))
	for i := range t.NumNames() {
		name := t.Name(trace.NameID(i))
		fr, isFrame := framework.ParseFrame(name)
		for k := range frameworks {
			switch {
			case isFrame && frameworks[k].OwnsFile(fr.Path):
				frames[k]++
			case !isFrame && frameworks[k].OwnsOp(name):
				ops[k]++
			}
		}
	}
	for _, counts := range [][]int{frames, ops} {
		if most := slices.Max(counts); most > 0 {
			return frameworks[slices.Index(counts, most)].Name
		}
	}
	return frameworkOfSteps(t, frameworks)
}

// frameworkOfSteps returns the server whose step annotations a trace has.
func frameworkOfSteps(t *trace.Trace, frameworks []framework.Framework) string {
	seen := make([]bool, t.NumNames())
	for a := range t.Events(event.LaneAnnotation) {
		if seen[a.NameID()] {
			continue
		}
		seen[a.NameID()] = true
		if f, _, ok := framework.ReadStep(frameworks, a.Name()); ok && f.Server() {
			return f.Name
		}
	}
	return ""
}
