package profile

import (
	"errors"
	"fmt"
	"slices"
)

// Positions of the anchor kernel in its block. More may be added.
const (
	// anchorUnknown: the profile does not say; the analysis must find out.
	anchorUnknown = "unknown"
	// AnchorCloses: the anchor is the last kernel of its block.
	AnchorCloses = "closes"
	// AnchorOpens: the anchor is the first kernel of its block.
	AnchorOpens = "opens"
	// anchorInside: the anchor occurs once per block, at neither end. It counts
	// blocks; where they begin needs other evidence.
	anchorInside = "inside"
)

// The category rules that may follow a profile's own.
const (
	// baseUniversal: the universal rules of the reference tables (allreduce,
	// rmsnorm, quant, topk, gemm_*, activation, radixsort). The default.
	baseUniversal = "universal"
	// baseRich: the full rule set of package classify. Right for models whose
	// kernels the universal rules leave at "other".
	baseRich = "rich"
	// baseNone: nothing; what no own rule matches is "other".
	baseNone = "none"
)

// The rename rules that may follow a profile's own.
const (
	// baseStandard: the renames every reference table uses. The default.
	baseStandard = "standard"
	// baseVerbatim: nothing; names are only cut.
	baseVerbatim = "none"
)

// ModelProfile says how to cut a trace of one model family into layers, and how
// to categorise and name its kernels. It is data: copy it, change it, store it
// as JSON (docs/profiles.md describes the file). Treat a profile as immutable
// once it is in use; its methods are safe for concurrent callers.
type ModelProfile struct {
	// Name identifies the profile, e.g. "dsv4_csa_hca".
	Name string `json:"name"`
	// Description is one sentence for people.
	Description string `json:"description,omitempty"`
	// ModelTypes lists the model_type values of config.json that the profile is
	// meant for, for readers: inference has its own order.
	ModelTypes []string `json:"model_types,omitempty"`

	// Anchor is a substring of the name of the kernel that marks each block,
	// case-sensitive. Empty: none known; AutoAnchors are tried, or the user
	// gives one.
	Anchor string `json:"anchor"`
	// AnchorPosition is where the anchor is in its block: [AnchorCloses],
	// [AnchorOpens], "inside", or "unknown".
	AnchorPosition string `json:"anchor_position"`
	// AutoAnchors are tried in order when Anchor is empty; the first one that at
	// least [AutoAnchorMin] kernels of the trace contain is taken.
	AutoAnchors []string `json:"auto_anchors,omitempty"`
	// BlocksPerLayer is how many anchors one layer holds, at least 1.
	BlocksPerLayer int `json:"blocks_per_layer"`
	// HalfLabels names the blocks of a layer in order; BlocksPerLayer of them.
	HalfLabels []string `json:"half_labels"`
	// DefaultLayers is the layer count when neither config nor trace gives one,
	// at least 1.
	DefaultLayers int `json:"default_layers"`

	// Rules are the profile's own category rules; the first match wins.
	Rules []RuleSpec `json:"rules,omitempty"`
	// BaseRules follow them. They are "universal", "rich" or "none"; empty means "universal".
	BaseRules string `json:"base_rules,omitempty"`
	// Renames are the profile's own display-name replacements, applied in order.
	Renames []Rename `json:"renames,omitempty"`
	// BaseRenames follow them. They are "standard" or "none"; empty means "standard".
	BaseRenames string `json:"base_renames,omitempty"`
}

// AutoAnchorMin is how many kernels must contain an auto anchor before it is
// taken; the published script has the same number.
const AutoAnchorMin = 4

const (
	// MaxLayers bounds a layer count. The deepest published decoder has 126
	// layers (Llama-3.1-405B); a claim far beyond is a broken or hostile file.
	MaxLayers = 4096
	// maxBlocks bounds blocks per layer: two in every profile known.
	maxBlocks = 64
	// maxRules bounds the rules, patterns and renames of a profile. The longest
	// built-in table has 28 rules.
	maxRules = 4096
	// maxText bounds one name, label or pattern in bytes.
	maxText = 4096
)

// validate reports the first thing wrong with the profile, by
// the JSON field and index.
func (p *ModelProfile) validate() error {
	fail := func(field, format string, args ...any) error {
		return &documentError{Doc: "profile", Field: field, Err: fmt.Errorf(format, args...)}
	}
	if p.Name == "" {
		return fail("name", "must not be empty")
	}
	for _, f := range []struct{ field, text string }{{"name", p.Name}, {"description", p.Description},
		{"anchor", p.Anchor}} {
		if len(f.text) > maxText {
			return fail(f.field, "%w: longer than %d bytes", errLimit, maxText)
		}
	}
	if !slices.Contains([]string{"", anchorUnknown, AnchorCloses, AnchorOpens, anchorInside}, p.AnchorPosition) {
		return fail("anchor_position", "want closes, opens, inside or unknown, got %q", p.AnchorPosition)
	}
	for i, a := range p.AutoAnchors {
		if a == "" {
			return fail(fmt.Sprintf("auto_anchors[%d]", i), "must not be empty")
		}
	}
	if p.BlocksPerLayer < 1 || p.BlocksPerLayer > maxBlocks {
		return fail("blocks_per_layer", "%d is outside 1…%d", p.BlocksPerLayer, maxBlocks)
	}
	if len(p.HalfLabels) != p.BlocksPerLayer {
		return fail("half_labels", "%d labels for %d blocks per layer", len(p.HalfLabels), p.BlocksPerLayer)
	}
	for i, l := range p.HalfLabels {
		if l == "" {
			return fail(fmt.Sprintf("half_labels[%d]", i), "must not be empty")
		}
		if j := slices.Index(p.HalfLabels, l); j < i {
			return fail(fmt.Sprintf("half_labels[%d]", i), "%q is also half_labels[%d]", l, j)
		}
	}
	if p.DefaultLayers < 1 || p.DefaultLayers > MaxLayers {
		return fail("default_layers", "%d is outside 1…%d", p.DefaultLayers, MaxLayers)
	}
	switch p.BaseRules {
	case "", baseUniversal, baseRich, baseNone:
	default:
		return fail("base_rules", "want universal, rich or none, got %q", p.BaseRules)
	}
	switch p.BaseRenames {
	case "", baseStandard, baseVerbatim:
	default:
		return fail("base_renames", "want standard or none, got %q", p.BaseRenames)
	}
	if len(p.Rules) > maxRules || len(p.Renames) > maxRules {
		return fail("rules", "%w: more than %d rules or renames", errLimit, maxRules)
	}
	return p.validateRules(fail)
}

// validateRules checks rules and renames, one by one and with each other.
func (p *ModelProfile) validateRules(fail func(field, format string, args ...any) error) error {
	labels := make(map[string]string, len(p.Rules))
	for i, r := range p.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		if sub, err := r.check(); err != nil {
			return fail(at+sub, "%w", err)
		}
		// One key, one label: tables sum by key and print the label.
		if l, seen := labels[r.Key]; seen && l != r.Label {
			return fail(at+".label", "key %q already has the label %q", r.Key, l)
		}
		labels[r.Key] = r.Label
	}
	for i, r := range p.Renames {
		if r.Old == "" {
			return fail(fmt.Sprintf("renames[%d].old", i), "must not be empty")
		}
	}
	return nil
}

// clone returns a deep copy that may be changed.
func (p *ModelProfile) clone() *ModelProfile {
	c := *p
	c.ModelTypes = slices.Clone(p.ModelTypes)
	c.AutoAnchors = slices.Clone(p.AutoAnchors)
	c.HalfLabels = slices.Clone(p.HalfLabels)
	c.Renames = slices.Clone(p.Renames)
	c.Rules = slices.Clone(p.Rules)
	for i := range c.Rules {
		c.Rules[i].Patterns = slices.Clone(c.Rules[i].Patterns)
	}
	return &c
}

// WithAnchor returns a copy, which may be changed, with another anchor, as a user's --anchor-kernel gives it; "" is
// the profile's own. The position of a foreign anchor in its block is unknown; blocks per layer and half labels stay
// the profile's, as in the reference.
func (p *ModelProfile) WithAnchor(anchor string) *ModelProfile {
	c := p.clone()
	if anchor != "" && anchor != p.Anchor {
		c.Anchor, c.AnchorPosition = anchor, anchorUnknown
	}
	return c
}

// errNoMatch is the reason of a rule without anything to match.
var errNoMatch = errors.New("must hold at least one pattern")
