package classify

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// Rule gives a category to the kernels it matches. A rule with no condition
// at all matches nothing.
type Rule struct {
	// ID identifies the rule in results. IDs of the default rules are stable:
	// they are never reused for another meaning.
	ID string
	// Title says in a few words what the rule recognises.
	Title string
	// Category is what a match is counted as.
	Category Category
	// Label is shown instead of Category when set.
	Label string
	// Subcategory is more specific if the name is: "all_reduce", "decode".
	Subcategory string
	// Library is the library whose names the rule was written for, "" where its
	// words are those of several.
	Library string
	// Since is the release in which the rule appeared.
	Since string
	// When is the condition, as data.
	When Pattern
	// Func is a further condition in code; both must hold when both are set.
	Func func(*Name) bool
	// Refine returns a subcategory from the name; it is used when Subcategory
	// is empty.
	Refine func(*Name) string
}

// Pattern is a condition on a parsed name. Every field that is set must hold;
// within one field one entry is enough (All apart).
//
// Function, All, Wrapper, Scope, Name, Args and None hold word patterns:
// "topk" is found in top_k, TopK and topk_gating, but not in stopkey. A leading
// or trailing '*' lets a pattern begin or end inside a word: "*norm" finds
// rmsnorm. Separators in a pattern do not count: "top_k" is "topk".
type Pattern struct {
	// Family is the name's family.
	Family []string `json:"family,omitempty"`
	// Exact is the function's full name (that of the operation, when the
	// kernel is a generic one), compared letter by letter.
	Exact []string `json:"exact,omitempty"`
	// Prefix begins the function's name (or the operation's), letter by letter.
	Prefix []string `json:"prefix,omitempty"`
	// Function is looked for in the function's name, or, when the kernel is a
	// generic one, in the name of the operation it runs.
	Function []string `json:"function,omitempty"`
	// All is like Function, but every entry must be found.
	All []string `json:"all,omitempty"`
	// Wrapper is looked for in the name of a generic kernel.
	Wrapper []string `json:"wrapper,omitempty"`
	// Scope is looked for in the namespaces.
	Scope []string `json:"scope,omitempty"`
	// Name is looked for in function, operation and namespaces.
	Name []string `json:"name,omitempty"`
	// Args is looked for in the template arguments.
	Args []string `json:"args,omitempty"`
	// None must not be found in function, operation or namespaces.
	None []string `json:"none,omitempty"`
	// Substring is looked for in the name as the profiler wrote it.
	Substring []string `json:"substring,omitempty"`
	// Fold makes Substring ignore the case of ASCII letters.
	Fold bool `json:"fold,omitempty"`
}

func (p *Pattern) empty() bool {
	return len(p.Family) == 0 && len(p.Exact) == 0 && len(p.Prefix) == 0 && len(p.Function) == 0 &&
		len(p.All) == 0 && len(p.Wrapper) == 0 && len(p.Scope) == 0 && len(p.Name) == 0 &&
		len(p.Args) == 0 && len(p.Substring) == 0
}

// compiled is a rule made ready for matching.
type compiled struct {
	rule      *Rule
	standard  bool // one of the default rules
	families  []string
	function  wordmatch.Patterns
	all       wordmatch.Patterns
	wrapper   wordmatch.Patterns
	scope     wordmatch.Patterns
	name      wordmatch.Patterns
	args      wordmatch.Patterns
	none      wordmatch.Patterns
	substring []string
	fold      bool
	asks      bool // something: a rule without a condition matches nothing
}

func compileRule(r *Rule) compiled {
	w := &r.When
	c := compiled{
		rule:     r,
		families: w.Family,
		function: wordmatch.CompileAll(w.Function),
		all:      wordmatch.CompileAll(w.All),
		wrapper:  wordmatch.CompileAll(w.Wrapper),
		scope:    wordmatch.CompileAll(w.Scope),
		name:     wordmatch.CompileAll(w.Name),
		args:     wordmatch.CompileAll(w.Args),
		none:     wordmatch.CompileAll(w.None),
		fold:     w.Fold,
		asks:     !w.empty() || r.Func != nil,
	}
	for _, s := range w.Substring {
		if w.Fold {
			s = strings.ToLower(s)
		}
		c.substring = append(c.substring, s)
	}
	return c
}

// subject is a name under classification with what is derived from it once.
type subject struct {
	*Name
	workPairs, fnPairs, opPairs, scopePairs uint64 // see wordmatch.PairsOf

	args     string
	argsDone bool
	low      string
	lowDone  bool
}

func newSubject(n *Name) subject {
	s := subject{Name: n, fnPairs: wordmatch.PairsOf(n.fn), opPairs: wordmatch.PairsOf(n.op),
		scopePairs: wordmatch.PairsOf(n.scope)}
	s.workPairs = s.fnPairs
	if n.op != "" {
		s.workPairs = s.opPairs
	}
	return s
}

// anywhere looks for patterns in function, operation and namespaces.
func (s *subject) anywhere(patterns wordmatch.Patterns) bool {
	return patterns.Among(s.fn, s.fnPairs) || patterns.Among(s.op, s.opPairs) || patterns.Among(s.scope, s.scopePairs)
}

func (s *subject) argText() string {
	if !s.argsDone {
		s.args, s.argsDone = s.argWords(), true
	}
	return s.args
}

// work is the function that does the work: the operation of a generic kernel.
func (s *subject) work() string {
	return cmp.Or(s.Operation, s.Function)
}

func (s *subject) workText() string {
	return cmp.Or(s.op, s.fn)
}

func hasAnyPrefix(s string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(s, p) })
}

func (s *subject) lower() string {
	if !s.lowDone {
		s.low, s.lowDone = strings.ToLower(s.Raw), true
	}
	return s.low
}

// matches says whether a name whose family the rule takes is one of the rule.
func (c *compiled) matches(s *subject) bool {
	if !c.asks {
		return false
	}
	if w := &c.rule.When; w.Exact != nil && !slices.Contains(w.Exact, s.work()) ||
		w.Prefix != nil && !hasAnyPrefix(s.work(), w.Prefix) {
		return false
	}
	if c.function != nil && !c.function.Among(s.workText(), s.workPairs) {
		return false
	}
	for _, p := range c.all {
		if p.Pairs&^s.workPairs != 0 || !p.In(s.workText()) {
			return false
		}
	}
	if c.wrapper != nil && (s.Operation == "" || !c.wrapper.Among(s.fn, s.fnPairs)) {
		return false
	}
	if c.scope != nil && !c.scope.Among(s.scope, s.scopePairs) {
		return false
	}
	if c.name != nil && !s.anywhere(c.name) {
		return false
	}
	if c.args != nil && !c.args.In(s.argText()) {
		return false
	}
	if c.substring != nil && !c.contains(s) {
		return false
	}
	if c.none != nil && s.anywhere(c.none) {
		return false
	}
	return c.rule.Func == nil || c.rule.Func(s.Name)
}

func (c *compiled) contains(s *subject) bool {
	text := s.Raw
	if c.fold {
		text = s.lower()
	}
	return slices.ContainsFunc(c.substring, func(sub string) bool { return strings.Contains(text, sub) })
}

// Ruleset is an ordered list of rules; the first that matches wins. It is
// immutable and safe for concurrent use.
type Ruleset struct {
	rules    []Rule
	compiled []compiled
	// functions are the rules by the words that they ask of the function. byFamily are the rules that take names of a
	// family, a bit each; a family that no rule names has those of "".
	functions wordmatch.Index
	byFamily  map[string][]uint64
}

// verdict is what rules make of one name.
type verdict struct {
	category           Category
	label, subcategory string
	rule               string
	confidence         float32
}

// New returns a rule set of the given rules in order. A name that no rule
// matches is CategoryOther with an empty Rule.
func New(rules ...Rule) *Ruleset {
	s := &Ruleset{rules: append([]Rule(nil), rules...)}
	s.compiled = make([]compiled, len(s.rules))
	for i := range s.rules {
		s.compiled[i] = compileRule(&s.rules[i])
	}
	s.index()
	return s
}

// index sorts the rules by the words and the families that they ask for.
func (s *Ruleset) index() {
	lists := make([]wordmatch.Patterns, len(s.compiled))
	s.byFamily = map[string][]uint64{"": make([]uint64, (len(s.compiled)+63)/64)}
	for i := range s.compiled {
		lists[i] = s.compiled[i].function
		for _, f := range s.compiled[i].families {
			if s.byFamily[f] == nil {
				s.byFamily[f] = make([]uint64, (len(s.compiled)+63)/64)
			}
		}
	}
	s.functions = *wordmatch.NewIndex(lists)
	for family, set := range s.byFamily {
		for i := range s.compiled {
			if c := &s.compiled[i]; len(c.families) == 0 || slices.Contains(c.families, family) {
				set[i/64] |= 1 << (i % 64)
			}
		}
	}
}

// Rules returns the rules in the order in which they are asked.
func (s *Ruleset) Rules() []Rule { return slices.Clone(s.rules) }

// With returns a rule set that asks the given rules first, then those of s.
func (s *Ruleset) With(rules ...Rule) *Ruleset {
	if len(rules) == 0 {
		return s
	}
	front := New(rules...) // rules are compiled once: a set is put together for each trace
	both := &Ruleset{rules: append(front.rules, s.rules...), compiled: append(front.compiled, s.compiled...)}
	both.index()
	return both
}

// judge asks the rules of a parsed name.
func (s *Ruleset) judge(n *Name) verdict {
	sub := newSubject(n)
	ofFamily := s.byFamily[n.Family]
	if ofFamily == nil {
		ofFamily = s.byFamily[""]
	}
	var room [8]uint64
	for w, set := range s.functions.Candidates(sub.workPairs, room[:0]) {
		for set &= ofFamily[w]; set != 0; set &= set - 1 {
			if i := 64*w + bits.TrailingZeros64(set); s.compiled[i].matches(&sub) {
				return s.verdict(i, &sub)
			}
		}
	}
	return verdict{category: CategoryOther, label: string(CategoryOther)}
}

// verdict is what rule i, the first that matches, makes of a name.
func (s *Ruleset) verdict(i int, sub *subject) verdict {
	r := s.compiled[i].rule
	v := verdict{category: r.Category, label: r.Label, subcategory: r.Subcategory, rule: r.ID,
		confidence: s.confidence(i, sub)}
	if v.label == "" {
		v.label = string(r.Category)
	}
	if v.subcategory == "" && r.Refine != nil {
		v.subcategory = r.Refine(sub.Name)
	}
	if v.subcategory == "" && r.Category == CategoryGEMM {
		v.subcategory = string(sub.dType())
	}
	return v
}

// Confidence of a category, measured on names of libraries whose own rules were
// taken away (TestNamesOfUnseenLibraries).
const (
	sureUser    = 1    // a user said so
	sureRule    = 0.97 // a rule of a generator or of PyTorch's loops, or words of one kind of work
	sureGeneric = 0.85 // words that are in names of other work, too: copy, reduce, topk, metadata
	sureOneWord = 0.6  // a rule that rests on one word
)

// confidence is that in the category of rule i, the first that matches.
func (s *Ruleset) confidence(i int, sub *subject) float32 {
	r := s.compiled[i].rule
	switch {
	case !s.compiled[i].standard:
		return sureUser
	case strings.HasPrefix(r.ID, weakPrefix):
		return sureOneWord
	case len(r.When.Family) > 0 || len(r.When.Wrapper) > 0:
		return sureRule
	case r.generic() || sub.Family == familyInductor:
		return sureGeneric
	}
	for k := i + 1; k < len(s.compiled); k++ {
		if c := &s.compiled[k]; c.rule.Category != r.Category && !c.rule.generic() && c.matches(sub) {
			return sureGeneric // its words name two kinds of work
		}
	}
	return sureRule
}

// generic reports words that occur in names of other work, too.
func (r *Rule) generic() bool {
	switch r.Category {
	case CategoryMemory, CategoryReduceTopK, CategoryElementwise, CategorySamplingIO:
		return true
	}
	return strings.HasPrefix(r.ID, weakPrefix)
}

// weakPrefix begins the IDs of the rules that are asked last.
const weakPrefix = "weak."
