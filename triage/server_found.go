package triage

import (
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// frameworks are those whose signs are looked for.
var frameworks = framework.All()

// nameOf is the name in reports of the framework that s spells, "" for none.
func nameOf(s string) string {
	f, _ := framework.ByName(frameworks, s)
	return f.Name
}

// serverKey is the registry's key of the server in a report, "" where no
// server was recognised.
func serverKey(name string) string {
	if f, ok := framework.ByName(frameworks, name); ok && f.Server() {
		return f.Key()
	}
	return ""
}

// frameworkOf tells the server that made the traces: as given, as the server
// says, from the path, from the trace.
func (a *analysis) frameworkOf(list []*layer.Analysis, paths []string) string {
	if a.Framework != "" {
		return a.Framework
	}
	if a.in.Server.Framework != "" {
		return a.in.Server.Framework
	}
	for _, p := range paths {
		if f, ok := framework.InPath(frameworks, p); ok {
			return f.Name
		}
	}
	for _, x := range list {
		if f := frameworkInTrace(frameworks, x.Trace()); f != "" {
			return f
		}
	}
	return framework.PyTorch().Name
}

// frameworkInTrace returns the server whose code appears most among a trace's
// Python frames, else among its cpu ops, else the one whose step annotations
// it has. Kernel names are no sign: servers borrow each other's kernels.
func frameworkInTrace(list []framework.Framework, t *trace.Trace) string {
	frames := make([]int, len(list))
	ops := make([]int, len(list))
	for i := range t.NumNames() {
		name := t.Name(trace.NameID(i))
		fr, isFrame := parseFrame(name)
		for k := range list {
			switch {
			case isFrame && list[k].OwnsFile(fr.path):
				frames[k]++
			case !isFrame && list[k].OwnsOp(name):
				ops[k]++
			}
		}
	}
	for _, counts := range [][]int{frames, ops} {
		best := 0
		for k, n := range counts {
			if n > counts[best] {
				best = k
			}
		}
		if counts[best] > 0 {
			return list[best].Name
		}
	}
	seen := make([]bool, t.NumNames())
	for a := range t.Events(trace.LaneAnnotation) {
		if seen[a.NameID()] {
			continue
		}
		seen[a.NameID()] = true
		if f, _, ok := framework.ReadStep(list, a.Name()); ok && f.Server() {
			return f.Name
		}
	}
	return ""
}
