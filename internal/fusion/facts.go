package fusion

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
)

// roleNames are the words of a registry for roles.
var roleNames = map[string]classify.Role{
	"norm": classify.RoleNorm, "head_norm": classify.RoleHeadNorm, "mixer": classify.RoleMixer, "product": classify.RoleProduct,
	"router": classify.RoleRouter, "experts": classify.RoleExperts, "finalize": classify.RoleFinalize, "rope": classify.RoleRope,
	"cache_write": classify.RoleCacheWrite, "collective": classify.RoleCollective, "activation": classify.RoleActivation,
	"quantize": classify.RoleQuantize, "elementwise": classify.RoleElementwise,
}

// collectiveNames are the words of a registry for exchanges between GPUs.
var collectiveNames = map[string]classify.Collective{
	"all_reduce": classify.AllReduce, "all_gather": classify.AllGather, "reduce_scatter": classify.ReduceScatter,
	"all_to_all": classify.AllToAll, "other": classify.OtherCollective,
}

// inductor is the library of kernels that torch.compile wrote.
const inductor = classify.Family("inductor")

// ByFacts reports whether what a kernel's name tells says that it does a step.
func (s *Step) ByFacts(n *classify.Name, f *classify.Facts) bool {
	if len(s.Roles)+len(s.Collectives) > 0 {
		role := len(s.Roles) == 0 || slices.ContainsFunc(s.Roles, func(r string) bool { return roleNames[r] == f.Role })
		exchange := len(s.Collectives) == 0 && f.Collective == classify.NotCollective ||
			slices.ContainsFunc(s.Collectives, func(c string) bool { return collectiveNames[c] == f.Collective })
		if role && exchange {
			return true
		}
	}
	if len(s.Inductor) == 0 || n.Family != inductor {
		return false
	}
	_, ops, ok := strings.Cut(n.Function, "_fused_")
	if !ok {
		return false
	}
	words := strings.Split(ops, "_")
	return slices.ContainsFunc(s.Inductor, func(all []string) bool {
		for _, w := range all {
			if !slices.Contains(words, w) {
				return false
			}
		}
		return true
	})
}
