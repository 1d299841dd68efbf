package triage

import (
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// shownModules is how many of the innermost module classes tables show; those around them are the same in all rows.
const shownModules = 2

// modelStyle is how much of a model line a table shows.
type modelStyle struct {
	modules bool // also the modules around the line
	short   bool // the file without its folders, a prefill's line with prefillMark
}

// prefillMark precedes lines of a prefill.
const prefillMark = "*"

// cell is a line of the model in a table: "qwen2.py:91 forward in Qwen2MLP/Linear", the modules alone where no line
// is known.
func (st modelStyle) cell(l *Location) string {
	parts := strings.Split(l.Module, "/")
	in := strings.Join(parts[max(0, len(parts)-shownModules):], "/")
	line := l.Location
	if st.short {
		line = strings.TrimSuffix(line, " ("+fromPrefill+")")
		if path, _, ok := strings.Cut(line, " "); ok && line != fromPrefill {
			line = line[strings.LastIndexByte(path, '/')+1:]
			if isFromPrefill(l) {
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

// isFromPrefill reports a line that was taken from a prefill.
func isFromPrefill(l *Location) bool { return strings.HasSuffix(l.Location, " ("+fromPrefill+")") }

// cells shows the lines of the model, with shares where one does not say it all; "" for none.
func (st modelStyle) cells(list []Location) string {
	var out []string
	for i := range list {
		out = append(out, st.cell(&list[i])+siteShare(list[i].SharePct))
	}
	return table.Lines(out...)
}
