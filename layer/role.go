package layer

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer/internal/ladder"
)

// Role is what a model is to a run, [RoleUnknown] where no kernel shows it.
type Role string

// The roles of models.
const (
	RoleUnknown Role = ""
	// it writes a cache, samples, or attends with one query a request or to earlier tokens alone
	RoleLanguage Role = "language-model"
	RoleDraft    Role = "draft" // it drafts tokens for another model
	// it looks up tokens, neither samples nor keeps a cache, and each token attends to all, or it has no positions that
	// rotate and no head
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

// Title is what texts call a model of the role.
func (r Role) Title() string { return roleTitles[r] }

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
type roleSigns struct {
	embeds, convolves, upsamples, generates, samples, modulates, head, tower bool

	causal, both bool // queries attend to earlier tokens alone, or to later ones too

	mixers, rotations int // in the pass that has most
}

// add notes what the kernels of a pass show.
func (s *roleSigns) add(a *Device, w *work, r *ladder.Result) {
	s.modulates, s.tower = s.modulates || r.Modulated(), s.tower || r.Tower
	mixers, rotations := 0, 0
	for _, i := range r.Kernels {
		f := &w.Facts[w.ID[i]]
		switch f.Role {
		case classify.RoleCacheWrite:
			s.generates = true
		case classify.RoleSample:
			s.samples = true
		case classify.RoleEmbed:
			s.embeds = true
		}
		s.convolves, s.upsamples = s.convolves || f.Convolves(), s.upsamples || f.Upsamples()
		s.generates = s.generates || f.OneQuery
		mixes, rotates := w.RoleOf(i) == ladder.RoleMixer, f.Role == classify.RoleRope
		if w.op != nil {
			op, _, _ := a.Kernel(int(i)).Operator()
			mixes = mixes || f.Role == classify.RoleSoftmax && op == opname.Attention // written out
			s.modulates, s.head = s.modulates || op == opname.Modulation, s.head || op == opname.LMHead
			rotates = rotates || op == opname.Rope
		}
		mixers, rotations = mixers+stat.Int(mixes), rotations+stat.Int(rotates)
	}
	s.mixers, s.rotations = max(s.mixers, mixers), max(s.rotations, rotations)
	s.head = s.head || w.op == nil && s.samples // nobody has asked which product is the head
}

// role is what they make a model of so many layers.
func (s *roleSigns) role(layers int) Role {
	generates, mixes := s.generates || s.samples && s.head, s.mixers > 0
	rotates := 2*s.rotations > s.mixers // most layers do where any does
	switch {
	case s.modulates:
		return RoleDenoiser
	case s.tower:
		return RoleTower
	case s.convolves && s.upsamples && layers == 0 && s.mixers <= 1: // attention in the middle, at the smallest size
		return RoleDecoder
	case generates && mixes:
		return RoleLanguage
	case s.convolves && mixes && layers > 0 && !s.embeds && !generates:
		return RoleTower
	case s.embeds && mixes && layers > 0 && !generates && (s.both || !rotates && !s.head):
		return RoleEncoder
	case s.embeds && s.causal:
		return RoleLanguage
	}
	return RoleUnknown
}
