package layer

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer/internal/ladder"
)

// Role is what a model is to a run, [RoleUnknown] where no kernel shows it.
type Role string

// The roles of models.
const (
	RoleUnknown  Role = ""
	RoleLanguage Role = "language-model" // it writes a cache, samples, or attends with one query a request
	RoleDraft    Role = "draft"          // it drafts tokens for another model
	// it looks up tokens, has no positions that rotate, and neither samples, keeps a cache nor has a head
	RoleEncoder Role = "encoder"
	// it attends to pieces of images or sound, which a convolution makes, or one call runs it and then a language model
	RoleTower    Role = "tower"
	RoleDenoiser Role = "denoiser"      // a diffusion transformer: its layers are modulated
	RoleDecoder  Role = "image-decoder" // it makes images by convolutions, without layers
)

// roleTitles has what texts call a model of each role.
var roleTitles = map[Role]string{RoleLanguage: "language model", RoleDraft: "draft", RoleEncoder: "encoder",
	RoleTower: "tower", RoleDenoiser: "denoiser", RoleDecoder: "image decoder", RoleUnknown: "unnamed model"}

// Roles lists all roles of models.
func Roles() []Role {
	return []Role{RoleLanguage, RoleDraft, RoleEncoder, RoleTower, RoleDenoiser, RoleDecoder, RoleUnknown}
}

// String returns the role's word.
func (r Role) String() string { return string(r) }

// MarshalText returns the role's word. It refuses unknown words.
func (r Role) MarshalText() ([]byte, error) {
	return []byte(r), vocabulary.Check("role of a model", Roles(), r)
}

// UnmarshalText accepts the word of a role, or none.
func (r *Role) UnmarshalText(text []byte) error {
	return vocabulary.Set(r, "role of a model", text, Roles()...)
}

// roleSigns is what the kernels of a model show.
type roleSigns struct{ mixes, embeds, rotates, convolves, multiplies, generates, modulates, head, tower bool }

// add notes what the kernels of a pass show.
func (s *roleSigns) add(a *Device, w *work, r *ladder.Result) {
	s.modulates, s.tower = s.modulates || r.Modulated(), s.tower || r.Tower
	for _, i := range r.Kernels {
		f := &w.Facts[w.ID[i]]
		switch f.Role {
		case classify.RoleCacheWrite, classify.RoleSample:
			s.generates = true
		case classify.RoleEmbed:
			s.embeds = true
		case classify.RoleRope:
			s.rotates = true
		case classify.RoleProduct:
			s.convolves, s.multiplies = s.convolves || f.Convolves(), s.multiplies || !f.Convolves()
		}
		s.mixes = s.mixes || w.RoleOf(i) == ladder.RoleMixer
		s.generates = s.generates || f.OneQuery
		if w.op != nil {
			op, _, _ := a.Kernel(int(i)).Operator()
			s.modulates, s.head = s.modulates || op == opname.Modulation, s.head || op == opname.LMHead
			s.rotates = s.rotates || op == opname.Rope
		}
	}
}

// role is what they make the model.
func (s *roleSigns) role() Role {
	switch {
	case s.modulates:
		return RoleDenoiser
	case s.tower:
		return RoleTower
	case s.generates && s.mixes:
		return RoleLanguage
	case s.convolves && !s.mixes && !s.multiplies:
		return RoleDecoder
	case s.convolves && s.mixes && !s.embeds && !s.generates:
		return RoleTower
	case s.embeds && s.mixes && !s.generates && !s.rotates && !s.head:
		return RoleEncoder
	}
	return RoleUnknown
}
