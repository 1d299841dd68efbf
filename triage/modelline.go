package triage

import (
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// modelLine is the line of the model that a kernel comes from.
type modelLine struct {
	line    string // "path:line func", "" none
	module  string // classes of the nn.Module frames around it, "" none
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
var generatedModules = set("GraphModule", "OptimizedModule")

// model returns the id of a kernel's line. Layers differ in the numbers of their modules only, which rows are not split by.
func (p *pool) model(l layer.ModelLine) int32 {
	classes, ok := p.classes[l.Module]
	if !ok {
		var parts []string
		for m := range strings.SplitSeq(l.Module, "/") {
			if m = classOf(m); !generatedModules[m] {
				parts = append(parts, m)
			}
		}
		classes = strings.Join(parts, "/")
		p.classes[l.Module] = classes
	}
	return p.modelID(modelLine{l.Line, classes, l.From == layer.StagePrefill})
}

func (p *pool) modelID(m modelLine) int32 {
	id, ok := p.modelIDs[m]
	if !ok {
		id = int32(len(p.models))
		p.modelIDs[m] = id
		p.models = append(p.models, m)
	}
	return id
}

// modelForDecode is a prefill's line as that of a decode: none where the server has its function once for each stage.
func (p *pool) modelForDecode(id int32) int32 {
	m := p.models[id]
	if m == (modelLine{}) {
		return id
	}
	m.prefill = true
	if _, _, fn := locationParts(m.line); framework.StageOfFunction(fn) == framework.Prefill {
		m.line = ""
	}
	return p.modelID(m)
}

// shownModules is how many of the innermost module classes tables show; those around them are the same in all rows.
const shownModules = 2

// modelStyle is how much of a model line a table shows.
type modelStyle struct {
	modules bool // also the modules around the line
	short   bool // the file without its folders, a prefill's line with prefillMark
}

// prefillMark stands before lines that are a prefill's.
const prefillMark = "*"

// cell is a line of the model in a table: "qwen2.py:91 forward in Qwen2MLP/Linear", the modules alone where no line is known.
func (st modelStyle) cell(l *Location) string {
	parts := strings.Split(l.Module, "/")
	in := strings.Join(parts[max(0, len(parts)-shownModules):], "/")
	line := l.Location
	if st.short {
		line = strings.TrimSuffix(line, " ("+FromPrefill+")")
		if path, _, ok := strings.Cut(line, " "); ok && line != FromPrefill {
			line = line[strings.LastIndexByte(path, '/')+1:]
			if fromPrefill(l) {
				line = prefillMark + line
			}
		}
	}
	switch {
	case line == "":
		return in
	case in == "" || !st.modules:
		return line
	}
	return line + " in " + in
}

// fromPrefill reports a line that was taken from a prefill.
func fromPrefill(l *Location) bool { return strings.HasSuffix(l.Location, " ("+FromPrefill+")") }

// cells shows the lines of the model, with shares where one does not say it all; "" for none.
func (st modelStyle) cells(list []Location) string {
	var out []string
	for i := range list {
		out = append(out, st.cell(&list[i])+siteShare(list[i].SharePct))
	}
	return table.Lines(out...)
}
