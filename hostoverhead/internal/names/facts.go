package names

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/kernelword"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Facts answers questions about names once per name.
type Facts struct {
	Trace    *trace.Trace // whose names they are
	kernels  map[trace.NameID]*classify.Facts
	steps    map[trace.NameID]bool
	generals map[trace.NameID]string
}

// Kernel is what a kernel's name tells.
func (n *Facts) Kernel(id trace.NameID) *classify.Facts {
	f, ok := n.kernels[id]
	if !ok {
		if n.kernels == nil {
			n.kernels = map[trace.NameID]*classify.Facts{}
		}
		v := classify.Default().Facts(n.Trace.Name(id))
		f = &v
		n.kernels[id] = f
	}
	return f
}

// Step reports whether a name is a step annotation.
func (n *Facts) Step(id trace.NameID, patterns []layer.StepPattern) bool {
	v, ok := n.steps[id]
	if !ok {
		if n.steps == nil {
			n.steps = map[trace.NameID]bool{}
		}
		v = IsStep(n.Trace.Name(id), patterns)
		n.steps[id] = v
	}
	return v
}

// IsStep reports whether a name is a step annotation. Names of graph captures are none.
func IsStep(name string, patterns []layer.StepPattern) bool {
	s, found := layer.ParseStep(name, patterns...)
	return found && s.Stage != layer.StageCapture
}

// General is the generalised form of a name.
func (n *Facts) General(id trace.NameID) string {
	g, ok := n.generals[id]
	if !ok {
		if n.generals == nil {
			n.generals = map[trace.NameID]string{}
		}
		g = Generalise(n.Trace.Name(id))
		n.generals[id] = g
	}
	return g
}

// Collective reports whether a kernel exchanges data between GPUs.
func (n *Facts) Collective(id trace.NameID) bool {
	return n.Kernel(id).Collective != kernelword.NotCollective
}

// The phases of a step.
const (
	Context    = "context"    // some context (prefill) requests
	Generation = "generation" // generation (decode) requests only
)

// Phase puts the stages into the two phases that thresholds are known for:
// context requests make a context step, generation requests alone a generation
// step.
func Phase(s layer.Stage) string {
	switch s {
	case layer.StagePrefill, layer.StageMixed:
		return Context
	case layer.StageDecode, layer.StageVerify, layer.StageDraft:
		return Generation
	}
	return ""
}
