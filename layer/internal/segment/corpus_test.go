package segment

import (
	"fmt"
	"hash/fnv"
	"math/rand"
	"strings"

	"github.com/llmstrata/strata/classify"
)

func hidden(in []string) []string {
	out := make([]string, len(in))
	for i, n := range in {
		h := fnv.New32a()
		h.Write([]byte(n))
		x := h.Sum32()
		b := make([]byte, 8)
		for k := range b {
			b[k] = byte('g' + x%16)
			x /= 16
		}
		out[i] = string(b)
	}
	return out
}

func tuned(r *rand.Rand, in []string) []string {
	out := append([]string(nil), in...)
	for i := range out {
		if strings.HasPrefix(out[i], "nvjet") && r.Intn(3) == 0 {
			out[i] += fmt.Sprintf("_%dx", 8<<r.Intn(4))
		}
	}
	return out
}

// corpusRoles keeps the roles that decide nothing here apart, too.
var corpusRoles = map[classify.Role]Role{
	classify.RoleNorm: Norm, classify.RoleAttention: Mixer, classify.RoleScan: Mixer, classify.RoleProduct: Product,
	classify.RoleMoE: MoE, classify.RoleRope: Rope,
	classify.RoleCollective: Collective, classify.RoleEmbed: Embed, classify.RoleSample: Sample,
	classify.RoleElementwise: Elementwise,
	classify.RoleActivation:  Activation, classify.RoleBackward: Backward,
	classify.RoleHeadNorm: Backward + 1, classify.RoleSoftmax: Backward + 2, classify.RoleRouter: Backward + 3,
	classify.RolePermute: Backward + 4,
	classify.RoleExperts: Backward + 5, classify.RoleFinalize: Backward + 6, classify.RoleCacheWrite: Backward + 7,
	classify.RoleCopy:     Backward + 8,
	classify.RoleQuantize: Backward + 9,
}

// sequenceOf makes a sequence of names.
func sequenceOf(names []string) *Sequence {
	ids, bases := map[string]int32{}, map[string]int32{}
	id := func(m map[string]int32, s string) int32 {
		if v, ok := m[s]; ok {
			return v
		}
		m[s] = int32(len(m))
		return m[s]
	}
	s := &Sequence{}
	known := map[string]classify.Facts{}
	for _, n := range names {
		f, ok := known[n]
		if !ok {
			f = classify.Default().Facts(n)
			known[n] = f
		}
		s.ID = append(s.ID, id(ids, n))
		s.Base = append(s.Base, id(bases, f.Base))
		s.Role = append(s.Role, corpusRoles[f.Role])
	}
	return s
}
