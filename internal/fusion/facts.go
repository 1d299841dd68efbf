package fusion

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
)

// Inductor is the library of kernels that torch.compile wrote.
const Inductor = "inductor"

// ByFacts reports whether a kernel's name says that it does a step.
func (s *Step) ByFacts(n *classify.Name, f *classify.Facts) bool {
	if len(s.Roles)+len(s.Collectives) > 0 {
		role := len(s.Roles) == 0 || slices.Contains(s.Roles, f.Role)
		exchange := len(s.Collectives) == 0 && f.Collective == classify.NotCollective ||
			slices.Contains(s.Collectives, f.Collective)
		if role && exchange {
			return true
		}
	}
	if len(f.Ops) == 1 && slices.Contains(s.Computes, f.Ops[0]) {
		return true
	}
	if len(s.Inductor) == 0 || n.Family != Inductor {
		return false
	}
	_, ops, ok := strings.Cut(n.Function, "_fused_")
	if !ok {
		return false
	}
	words := strings.Split(ops, "_")
	return slices.ContainsFunc(s.Inductor, func(all []string) bool {
		return !slices.ContainsFunc(all, func(w string) bool { return !slices.Contains(words, w) })
	})
}
