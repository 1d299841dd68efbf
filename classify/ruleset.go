package classify

// Ruleset is an ordered list of rules; the first that matches wins. It is
// immutable and safe for concurrent use.
type Ruleset struct {
	rules    []Rule
	compiled []compiled
}

// Result is the verdict on one name.
type Result struct {
	Category Category `json:"category"`
	Label    string   `json:"label"`
	// Subcategory is the kind of work within the category when the name tells
	// it, else, for a gemm, its data type.
	Subcategory string `json:"subcategory,omitempty"`
	// DType is the narrowest operand type the name of a gemm, moe or attention
	// kernel shows ([Name.DType]), else empty.
	DType string `json:"dtype,omitempty"`
	// Rule is the ID of the rule that matched, empty when none did.
	Rule string `json:"rule,omitempty"`
}

// New returns a rule set of the given rules in order. A name that no rule
// matches is CategoryOther with an empty Rule.
func New(rules ...Rule) *Ruleset {
	s := &Ruleset{rules: append([]Rule(nil), rules...)}
	s.compiled = make([]compiled, len(s.rules))
	for i := range s.rules {
		s.compiled[i] = compileRule(&s.rules[i])
	}
	return s
}

// With returns a rule set that asks the given rules first, then those of s.
func (s *Ruleset) With(rules ...Rule) *Ruleset {
	all := make([]Rule, 0, len(rules)+len(s.rules))
	all = append(all, rules...)
	return New(append(all, s.rules...)...)
}

// AppendRules appends the rules in order to dst.
func (s *Ruleset) AppendRules(dst []Rule) []Rule {
	return append(dst, s.rules...)
}

// Len returns the number of rules.
func (s *Ruleset) Len() int { return len(s.rules) }

// Classify parses a raw kernel name and returns its category. The result
// depends on the name only, so callers with many events classify each distinct
// name once.
func (s *Ruleset) Classify(raw string) Result {
	n := Parse(raw)
	return s.ClassifyName(&n)
}

// ClassifyName is Classify for a name already parsed.
func (s *Ruleset) ClassifyName(n *Name) Result {
	sub := subject{Name: n}
	for i := range s.compiled {
		c := &s.compiled[i]
		if !c.matches(&sub) {
			continue
		}
		r := c.rule
		res := Result{Category: r.Category, Label: r.Label, Subcategory: r.Subcategory, Rule: r.ID}
		if res.Label == "" {
			res.Label = string(r.Category)
		}
		if res.Subcategory == "" && r.Refine != nil {
			res.Subcategory = r.Refine(n)
		}
		switch r.Category {
		case CategoryGEMM:
			res.DType = n.DType()
			if res.Subcategory == "" {
				res.Subcategory = res.DType
			}
		case CategoryMoE, CategoryAttention:
			res.DType = n.DType()
		}
		return res
	}
	return Result{Category: CategoryOther, Label: string(CategoryOther)}
}
