package triage

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace"
)

// interned maps texts to small dense ids.
type interned struct {
	ids   map[string]int32
	texts []string
}

func (p *interned) id(s string) int32 {
	if id, ok := p.ids[s]; ok {
		return id
	}
	if p.ids == nil {
		p.ids = map[string]int32{}
	}
	id := int32(len(p.texts))
	p.ids[s] = id
	p.texts = append(p.texts, s)
	return id
}

// Site ids that are not source lines.
const (
	siteUnresolved int32 = iota
	siteReplay
	siteFromPrefill // where only a prefill's launches explain a decode; ids below are of source lines
)

// The texts of sites that are not source lines.
const (
	unresolvedText  = "unresolved"
	graphReplayText = "graph replay"
	fromPrefillText = "from prefill"
)

// kernelFacts is what a canonical kernel name tells.
type kernelFacts struct {
	canonical string
	parsed    classify.Name // of the first raw name seen
	words     classify.Words
	result    classify.Result
	facts     classify.Facts // by the default rules
	kind      trace.Kind
	effort    effort
}

// pool holds the texts of all traces of one analysis, so that rows of a formal
// and a mapping trace can be compared by number.
type pool struct {
	names interned // canonical name and category
	facts []kernelFacts
	sites interned // locations
	ops   interned // op names; id 0 is ""
	// operators are the operators of layers and the part that kernels have in them; id 0 is none.
	operators interned
	models    []modelLine // id 0 is none
	modelIDs  map[modelLine]int32
	classes   map[string]string // module paths without the numbers of instances
	labels    []string          // by kernel, see [classify.Labels]
}

// noOperator is the operator of what no operator is known of.
const noOperator = "other"

func newPool() *pool {
	p := &pool{}
	p.sites.id(unresolvedText)
	p.sites.id(graphReplayText)
	p.sites.id(fromPrefillText)
	p.ops.id("")
	p.operators.id(noOperator)
	p.models, p.modelIDs, p.classes = make([]modelLine, 1), map[modelLine]int32{{}: 0}, map[string]string{}
	return p
}

// label names the kernels that there are so far.
func (p *pool) label() {
	names := make([]string, len(p.facts))
	for i := range p.facts {
		names[i] = p.facts[i].canonical
	}
	p.labels = classify.Labels(names)
}

// name is the canonical name of a kernel.
func (p *pool) name(id int32) string { return p.facts[id].canonical }

// kernel returns the id of an activity's canonical name, of which there is one
// for each category that kernels of the name are counted under.
func (p *pool) kernel(raw string, kind trace.Kind, category classify.Category) int32 {
	canonical := classify.Canonical(raw)
	id := p.names.id(canonical + "\x00" + string(category))
	if int(id) == len(p.facts) {
		parsed := classify.Parse(raw)
		f := kernelFacts{canonical: canonical, parsed: parsed, words: parsed.Words(), result: classify.Default().ClassifyName(&parsed),
			facts: classify.Default().Facts(raw), kind: kind}
		if f.result.Category != category {
			f.result = classify.Result{Category: category}
		}
		f.effort = effortOf(kind, category)
		p.facts = append(p.facts, f)
	}
	return id
}

// siteTime is the part of a row launched from one site by one op for one operator.
type siteTime struct {
	site, op, operator int32
	model              int32
	prefill            bool // of an index of sites: seen in prefills only
	from               origin
	sure               float32 // of the operator, the least
	ns                 int64
	launches           int
}
