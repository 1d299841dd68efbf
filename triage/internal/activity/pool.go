package activity

import (
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/trace/event"
)

// Interned maps texts to small dense ids.
type Interned struct {
	ids   intern.Keys[string]
	Texts []string // by id
}

// ID is the number of a text, a new one for a text not seen yet.
func (p *Interned) ID(s string) int32 {
	id := p.ids.ID(s)
	if id == len(p.Texts) {
		p.Texts = append(p.Texts, s)
	}
	return int32(id)
}

// Site ids that are not source lines.
const (
	SiteUnresolved int32 = iota
	SiteReplay
	SiteFromPrefill // where only a prefill's launches explain a decode; ids below are of source lines
)

// The texts of sites that are not source lines.
const (
	Unresolved  = "unresolved"
	GraphReplay = "graph replay"
	FromPrefill = "from prefill"
)

// Kernel is what a canonical kernel name says.
type Kernel struct {
	Canonical string         // its name, see [classify.Canonical]
	Parsed    *classify.Name // of the first raw name seen
	Words     string
	Shown     Class
	Facts     *classify.Facts // by the default rules
	Kind      event.Kind
}

// Work is the kind of work that the exposure ledger separates.
func (k *Kernel) Work() classify.Work {
	switch k.Kind {
	case event.Memcpy, event.Memset:
		return classify.WorkMemory
	case event.Graph:
		return classify.WorkCompute
	}
	return k.Shown.Category.Work()
}

// Class is what tables count a kernel as; see [classify.Facts].
type Class struct {
	Category    classify.Category // where the kernel is counted
	Subcategory string            // "" where the rules give another category
	Rule        string            // the one that gave Category; "" where none did
}

// Pool holds the texts of all traces of one analysis, so that rows of a formal
// and a mapping trace can be compared by number.
type Pool struct {
	names map[classify.Category]map[string]int32 // number in Facts by the category and the canonical name
	Facts []Kernel
	Sites Interned // locations
	Ops   Interned // op names; id 0 is ""
	// operators are the operators of layers and the part that kernels have in them; id 0 is none.
	Operators Interned
	Models    []modelLine // id 0 is none
	modelIDs  intern.Keys[modelLine]
	numbered  map[modelLine]int32 // by modules with the numbers of instances
	Labels    []string            // by kernel, see [classify.Labels]
}

// NoOperator is the operator of what no operator is known of.
const NoOperator = "other"

// NewPool returns a pool that holds the sites and operators that mean none.
func NewPool() *Pool {
	p := &Pool{names: map[classify.Category]map[string]int32{}}
	p.Sites.ID(Unresolved)
	p.Sites.ID(GraphReplay)
	p.Sites.ID(FromPrefill)
	p.Ops.ID("")
	p.Operators.ID(NoOperator)
	p.numbered = map[modelLine]int32{}
	p.modelID(modelLine{})
	return p
}

// Label names the kernels that there are so far.
func (p *Pool) Label() {
	names, parts := make([]string, len(p.Facts)), make([]*classify.Name, len(p.Facts))
	for i := range p.Facts {
		k := &p.Facts[i]
		names[i] = k.Canonical
		if k.Parsed.Raw == k.Canonical || strings.HasPrefix(k.Parsed.Demangled, k.Canonical) { // else an address differs
			parts[i] = k.Parsed
		}
	}
	p.Labels = classify.Labels(names, parts)
}

// Name is the canonical name of a kernel.
func (p *Pool) Name(id int32) string { return p.Facts[id].Canonical }

// kernel returns the id of an activity's canonical name, one
// for each category that kernels of the name are counted under.
func (p *Pool) kernel(raw string, kind event.Kind, category classify.Category, facts *classify.Facts) int32 {
	canonical := classify.Canonical(raw)
	names := p.names[category]
	if names == nil {
		names = map[string]int32{}
		p.names[category] = names
	}
	id, ok := names[canonical]
	if !ok {
		id = int32(len(p.Facts))
		names[canonical] = id
		f := Kernel{Canonical: canonical, Parsed: facts.Name, Words: facts.Name.Words(), Shown: Class{Category: category},
			Facts: facts, Kind: kind}
		if facts.Category == category {
			f.Shown.Subcategory, f.Shown.Rule = facts.Subcategory, facts.Rule
		}
		p.Facts = append(p.Facts, f)
	}
	return id
}

// SiteTime is the part of a row launched from one site by one op for one operator.
type SiteTime struct {
	// Site, Op, Operator and Model are numbers of the pool.
	Site, Op, Operator, Model int32
	From                      Origin
	Sure                      float32 // of the operator, the least
	Ns                        int64
	Launches                  int
}
