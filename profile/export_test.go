package profile

import (
	"strings"
)

// Names that only tests use from outside.

// Error is what is wrong in a document.
type Error = documentError

// Name is the name that summaries show.
func (c *Config) Name() string { return c.displayName() }

// Validate reports what is wrong with a profile.
func (p *ModelProfile) Validate() error { return p.validate() }

var Builtin = builtinNamed

const AnchorUnknown = anchorUnknown
const BaseStandard = baseStandard
const DSV3 = dsv3
const FFNMoE = ffnMoE
const Generic = generic

// FindConfigWith is FindConfig under another environment, with what was passed over.
func FindConfigWith(getenv func(string) string, tracePath string) (c *Config, source string, tried []string, err error) {
	s := &search{getenv: getenv}
	err = s.find(tracePath)
	return s.config, s.source, s.tried, err
}

// UniversalRules are universalRules.
func UniversalRules() []RuleSpec { return universalRules }

// Other is the class of a kernel no rule takes.
var Other = Class{Key: otherKey, Label: otherLabel}

// LayerTypes labels layers by these parts of a config.
func LayerTypes(n int, ratios []int, numHash int, hashLast bool) []LayerType {
	c := Config{CompressRatios: ratios, NumHashLayers: numHash, HashLast: hashLast}
	return c.LayerTypes(n)
}

// Names are builtinNames.
var Names = builtinNames

const DSV4 = dsv4

var ErrLimit = errLimit
var ErrNotConfig = errNotConfig
var ErrSyntax = errSyntax
var ErrUnknownProfile = errUnknownProfile
var ParseServerArgs = parseServerArgs

// matches reports whether the rule takes a name; lower is its lower-case form.
func (r RuleSpec) matches(name, lower string) bool {
	for _, p := range r.Patterns {
		if r.IgnoreCase && strings.Contains(lower, strings.ToLower(p)) || !r.IgnoreCase && strings.Contains(name, p) {
			return true
		}
	}
	return false
}

// Class is the category of a kernel under a profile's substring rules.
type Class struct {
	// Key is the machine key, Label what tables show.
	Key, Label string
}

// Classify returns the category the reference tables give a kernel: the
// profile's own rules in order, then the universal ones, then "other". BaseRules
// is not consulted. It gives what [ModelProfile.Ruleset] gives under "universal", without
// parsing the name; callers with many kernels classify each distinct name once.
func (p *ModelProfile) Classify(name string) Class {
	lower := strings.ToLower(name)
	for _, rules := range [...][]RuleSpec{p.Rules, universalRules} {
		for _, r := range rules {
			if r.matches(name, lower) {
				return Class{r.Key, r.Label}
			}
		}
	}
	return Other
}
