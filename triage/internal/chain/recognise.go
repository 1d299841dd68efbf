package chain

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/wordmatch"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Recogniser finds which steps kernels do. What a kernel's name and the name of
// its op say is looked up once for each of them: traces can have thousands of
// names, and many activities of each.
type Recogniser struct {
	reg    *fusion.Registry
	pool   *activity.Pool
	steps  []stepWords
	names  *wordmatch.Index     // of the steps by the names of their kernels
	active []wordmatch.Patterns // by pattern
	fused  wordmatch.Patterns   // of all patterns
	chains []compiled

	// By number of the kernel and op.
	kernels []kernelSteps
	ops     []*opSteps // nil until asked for
}

// stepWords are the word patterns of a step.
type stepWords struct {
	names, ops, templateOnly, without wordmatch.Patterns
	template                          []wordmatch.Patterns
}

// kernelSteps is what a kernel's own name, category and kind say.
type kernelSteps struct {
	asked  bool
	sure   fusion.Set // whatever the op is called
	likely fusion.Set // unless only template arguments decide
	pairs  uint64     // of its words, see [wordmatch.PairsOf]
}

// opSteps is what the name of an op says.
type opSteps struct {
	words string
	pairs uint64
	set   fusion.Set
}

// bit is the set of step i of the registry alone.
func bit(i int) fusion.Set { return 1 << i }

// NewRecogniser is for a pool that gets no more texts.
func NewRecogniser(reg *fusion.Registry, p *activity.Pool) *Recogniser {
	r := &Recogniser{reg: reg, pool: p, kernels: make([]kernelSteps, len(p.Facts)),
		ops: make([]*opSteps, len(p.Ops.Texts))}
	var names []wordmatch.Patterns
	for i := range reg.Steps {
		d := &reg.Steps[i]
		w := stepWords{names: wordmatch.CompileAll(d.Names), ops: wordmatch.CompileAll(d.Ops),
			templateOnly: wordmatch.CompileAll(d.TemplateOnly), without: wordmatch.CompileAll(d.Without)}
		for _, t := range d.Template {
			w.template = append(w.template, wordmatch.CompileAll([]string{t.Name}))
		}
		r.steps = append(r.steps, w)
		names = append(names, w.names)
	}
	r.names = wordmatch.NewIndex(names)
	r.chains = compile(reg)
	for i := range reg.Patterns {
		active := wordmatch.CompileAll(reg.Patterns[i].Active)
		r.active, r.fused = append(r.active, active), append(r.fused, active...)
	}
	return r
}

// stepsOf returns what kernels of one sort do.
func (r *Recogniser) stepsOf(k sortKey) fusion.Set {
	kernel, f := r.kernel(k.kernel), &r.pool.Facts[k.kernel]
	sure := kernel.sure | r.op(k.op).set
	set := sure | kernel.likely
	for rest := set; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(uint64(rest))
		d, w := &r.reg.Steps[i], &r.steps[i]
		onlyLikely := sure&bit(i) == 0
		if onlyLikely && w.templateOnly.Among(f.Words, kernel.pairs) || w.without.Among(f.Words, kernel.pairs) ||
			len(d.OnlyCategories) > 0 && !slices.Contains(d.OnlyCategories, f.Shown.Category) {
			set &^= bit(i)
		}
	}
	return set
}

// IsActive reports whether a sort of kernel is the fused one of pattern i.
func (r *Recogniser) IsActive(i int, k sortKey) bool { return r.named(r.active[i], k) }

// IsFused reports whether a sort of kernel is the fused one of some pattern.
func (r *Recogniser) IsFused(k sortKey) bool { return r.named(r.fused, k) }

// named reports whether one of the words is in the name of a sort of kernel or of its op.
func (r *Recogniser) named(words wordmatch.Patterns, k sortKey) bool {
	op := r.op(k.op)
	return words.Among(r.pool.Facts[k.kernel].Words, r.kernel(k.kernel).pairs) || words.Among(op.words, op.pairs)
}

func (r *Recogniser) kernel(id int32) *kernelSteps {
	k := &r.kernels[id]
	if k.asked {
		return k
	}
	f := &r.pool.Facts[id]
	k.asked, k.pairs = true, wordmatch.PairsOf(f.Words)
	in := func(l wordmatch.Patterns) bool { return l.Among(f.Words, k.pairs) }
	var room [1]uint64 // a bit for each step, as in a set
	named := fusion.Set(r.names.Candidates(k.pairs, room[:0])[0])
	for i := range r.reg.Steps {
		d, w, bit := &r.reg.Steps[i], &r.steps[i], bit(i)
		for n, t := range d.Template {
			if t.Index < len(f.Parsed.TemplateArgs) && f.Parsed.TemplateArgs[t.Index] == t.Value && in(w.template[n]) {
				k.sure |= bit
			}
		}
		if slices.ContainsFunc(d.Texts, func(t string) bool { return strings.Contains(f.Parsed.Demangled, t) }) {
			k.sure |= bit
		}
		if named&bit != 0 && in(w.names) || slices.Contains(d.Categories, f.Shown.Category) {
			k.likely |= bit
		}
		if d.ByFacts(f.Parsed, f.Facts) {
			k.sure |= bit
		}
	}
	return k
}

func (r *Recogniser) op(id int32) *opSteps {
	if o := r.ops[id]; o != nil {
		return o
	}
	o := &opSteps{words: wordsOf(r.pool.Ops.Texts[id])}
	o.pairs = wordmatch.PairsOf(o.words)
	for i := range r.steps {
		if r.steps[i].ops.Among(o.words, o.pairs) {
			o.set |= bit(i)
		}
	}
	r.ops[id] = o
	return o
}

// wordsOf returns the words of a name, none of "".
func wordsOf(name string) string {
	if name == "" {
		return ""
	}
	n := classify.Parse(name)
	return n.Words()
}
