package activity

import (
	"strings"

	"github.com/llmstrata/strata/layer"
)

// modelLine is the line of the model that a kernel comes from.
type modelLine struct {
	line    string // "path:line func", "" none
	Module  string // classes of the nn.Module frames around it, "" none
	prefill bool   // of a decode that only a prefill's launches explain
}

// String is the line as tables show it.
func (m modelLine) String() string {
	switch {
	case !m.prefill:
		return m.line
	case m.line == "":
		return FromPrefill
	}
	return m.line + " (" + FromPrefill + ")"
}

// generatedModules are classes that torch.compile makes: nobody wrote them.
var generatedModules = map[string]bool{"GraphModule": true, "OptimizedModule": true}

// model returns the id of a kernel's line. Layers differ in the numbers of their modules only, which rows are not
// split by. Compiled code has no line: the operator is named in the module that was compiled.
func (p *Pool) model(l layer.ModelLine, operator int32) int32 {
	m := modelLine{l.Line, l.Module, l.From == layer.StagePrefill}
	if l.Line == "" && l.Module != "" && !m.prefill && operator != 0 {
		m.Module += "/." + p.Operators.Texts[operator]
	}
	id, ok := p.numbered[m]
	if !ok {
		var parts []string
		for part := range strings.SplitSeq(m.Module, "/") {
			if part = ClassOf(part); !generatedModules[part] {
				parts = append(parts, part)
			}
		}
		module := strings.TrimPrefix(strings.ReplaceAll(strings.Join(parts, "/"), "/.", "."), ".")
		id = p.modelID(modelLine{m.line, module, m.prefill})
		p.numbered[m] = id
	}
	return id
}

func (p *Pool) modelID(m modelLine) int32 {
	id := p.modelIDs.ID(m)
	if id == len(p.Models) {
		p.Models = append(p.Models, m)
	}
	return int32(id)
}
