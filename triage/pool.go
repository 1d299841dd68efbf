package triage

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/stop"
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
)

// kernelFacts is what a canonical kernel name tells.
type kernelFacts struct {
	canonical string
	parsed    classify.Name // of the first raw name seen
	words     classify.Words
	result    classify.Result
	kind      trace.Kind
	bucket    Bucket
}

// pool holds the texts of all traces of one analysis, so that rows of a formal
// and a mapping trace can be compared by number.
type pool struct {
	watch *stop.Watch // every long loop of a run calls it; nil afterwards
	rules *classify.Ruleset
	names interned // canonical names
	facts []kernelFacts
	sites interned // locations
	ops   interned // op names; id 0 is ""
}

func newPool(rules *classify.Ruleset) *pool {
	p := &pool{rules: rules}
	p.sites.id(Unresolved)
	p.sites.id(GraphReplay)
	p.ops.id("")
	return p
}

// rowsPerName is how many rows of a plain loop the classification of a name costs.
const rowsPerName = 256

// kernel returns the id of an activity's canonical name.
func (p *pool) kernel(raw string, kind trace.Kind) int32 {
	canonical := classify.Canonical(raw)
	id := p.names.id(canonical)
	if int(id) == len(p.facts) {
		p.watch.Rows(rowsPerName)
		parsed := classify.Parse(raw)
		f := kernelFacts{canonical: canonical, parsed: parsed, words: parsed.Words(), result: p.rules.ClassifyName(&parsed), kind: kind}
		f.bucket = bucketOf(kind, f.result.Category, parsed.Family)
		p.facts = append(p.facts, f)
	}
	return id
}
