package profile

import "github.com/llmstrata/strata/classify"

// Ruleset compiles the profile's categories: its own rules, then its BaseRules.
// Under BaseUniversal and "none" a kernel that no rule takes is "other" as in
// the reference tables. A result's Category and Rule are the rule's key, its
// Label the rule's label; under "rich" they may also be those of
// [classify.Default]. Each call compiles anew: keep the result.
func (p *ModelProfile) Ruleset() *classify.Ruleset {
	own := appendRules(nil, p.Rules)
	switch p.BaseRules {
	case baseRich:
		return classify.Default().With(own...)
	case baseNone:
		return classify.New(append(own, otherRule())...)
	}
	return classify.New(append(appendRules(appendRules(nil, p.Rules), universalRules), otherRule())...)
}

func appendRules(dst []classify.Rule, rules []RuleSpec) []classify.Rule {
	for _, r := range rules {
		dst = append(dst, classify.Substring(r.Key, r.Label, r.IgnoreCase, r.Patterns...))
	}
	return dst
}

func otherRule() classify.Rule { return classify.Otherwise(Other.Key, Other.Label) }
