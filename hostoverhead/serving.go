package hostoverhead

import (
	"fmt"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Serving is what a server was told about how it runs the model; nil: not told.
type Serving struct {
	// Framework is the server's name, for messages.
	Framework string
	// Graphs says that decode steps replay graphs, Compile that the model is compiled.
	Graphs, Compile *bool
	// Source says where that comes from: a file, a flag, or the framework's default.
	Source string
}

// ServingIssue is a way in which the window does not show what the server does.
type ServingIssue struct {
	Code    string `json:"code"`    // "no-graphs", "unexpected-graphs", "no-compiled-code", "unexpected-compiled-code"
	Message string `json:"message"` // one sentence with the figures
}

// servingIssues compares what the server was told with what the deciding device ran.
func (v *Verdict) servingIssues(a *account, s *Serving) []ServingIssue {
	out := []ServingIssue{}
	s = serving(s, a.l.w.server())
	add := func(code, format string, args ...any) {
		out = append(out, ServingIssue{code, fmt.Sprintf(format, args...)})
	}
	var paths pathSums
	steps, launched := 0, 0
	for i := range a.steps {
		st := &a.steps[i]
		if st.step == nil || st.step.stage != layer.StageDecode && st.step.stage != layer.StageVerify {
			continue
		}
		steps++
		paths.add(&st.paths)
		if st.paths[pathGraph].kernels > 0 {
			launched++
		}
	}
	all := 0
	for p := range paths {
		all += paths[p].kernels
	}
	empty := a.l.w.t.Health().EmptyGraphs > 0
	who := s.Framework
	if who == "" {
		who = "the server"
	}
	if s.Graphs != nil && steps > 0 && !empty {
		switch {
		case *s.Graphs && launched == 0 && 2*paths[pathUnknown].kernels < all:
			add("no-graphs", "%s replays graphs in decode (%s), but none of the %s of this window does: the window does not show what the server does", who, s.Source, counted(steps, "decode step"))
		case !*s.Graphs && launched > 0:
			add("unexpected-graphs", "%s replays no graphs (%s), but %d of %s of this window do", who, s.Source, launched, counted(steps, "decode step"))
		}
	}
	compiled := a.l.w.inductorKernels(a.d)
	if s.Compile != nil && all > 0 {
		switch {
		case *s.Compile && compiled == 0:
			add("no-compiled-code", "%s compiles the model (%s), but no kernel of this window is of compiled code", who, s.Source)
		case !*s.Compile && compiled > 0:
			add("unexpected-compiled-code", "%s does not compile the model (%s), but %s of this window are of compiled code", who, s.Source, counted(compiled, "kernel"))
		}
	}
	return out
}

// inductorKernels counts kernels that a compiler wrote, replayed ones included.
func (w *workload) inductorKernels(d *deviceWork) (n int) {
	for i, k := range d.kernels {
		if d.path[i] == pathCompiled {
			n++
			continue
		}
		if e := w.t.LaneAt(trace.LaneGPU, int(k)); w.names.kernel(e.NameID()).Library == inductor {
			n++
		}
	}
	return n
}

// serving is what a server does, as it was told, else by its defaults: SGLang and TensorRT-LLM replay graphs in decode,
// vLLM does and compiles the model.
func serving(told *Serving, f framework.Framework) *Serving {
	s := Serving{Framework: f.Name}
	if told != nil {
		s = *told
	}
	if s.Framework == "" {
		s.Framework = f.Name
	}
	yes := true
	byDefault := map[string]Serving{
		framework.SGLang().Name: {Graphs: &yes}, framework.TensorRTLLM().Name: {Graphs: &yes}, framework.VLLM().Name: {Graphs: &yes, Compile: &yes},
	}[s.Framework]
	if s.Source == "" {
		s.Source = "by default"
	}
	if told == nil {
		s.Graphs, s.Compile = byDefault.Graphs, byDefault.Compile
	}
	return &s
}
