package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/profile"
)

// WritePlan writes a plan for people: one table per kind of layer, between the parts before and after the layers.
func WritePlan(w io.Writer, p *profile.Plan) error {
	out := table.NewWriter(w)
	dtype := ""
	if p.DType != "" {
		dtype = ", " + p.DType
	}
	out.Heading(1, "Plan of %s: %s of %s%s", p.Model, table.Counted(len(p.LayerKinds), "layer", "layers"),
		table.Counted(len(p.Kinds), "kind", "kinds"), dtype)
	section := func(title string, ops []profile.PlanOp) {
		out.Heading(2, "%s", title)
		out.Table(planTable(ops))
	}
	section("Before the layers", p.Before)
	for k := range p.Kinds {
		kind := &p.Kinds[k]
		section(fmt.Sprintf("%s: %s (%s)", kind.Name, table.Counted(kind.Layers, "layer", "layers"), layersOf(p, k)),
			kind.Operators)
	}
	section("After the layers", p.After)
	for _, n := range p.Notes {
		out.Say("Note: %s", n)
	}
	return out.Flush()
}

// maxRanges is how many ranges of layers a heading lists: alternating kinds would
// fill lines.
const maxRanges = 4

// layersOf lists the layers of a kind as ranges: "0-2, 5".
func layersOf(p *profile.Plan, kind int) string {
	var parts []string
	for i := 0; i < len(p.LayerKinds); i++ {
		if p.LayerKinds[i] != kind {
			continue
		}
		from := i
		for i+1 < len(p.LayerKinds) && p.LayerKinds[i+1] == kind {
			i++
		}
		if len(parts) == maxRanges {
			return strings.Join(parts, ", ") + ", …"
		}
		if s := strconv.Itoa(from); i > from {
			parts = append(parts, s+"-"+strconv.Itoa(i))
		} else {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}

func planTable(ops []profile.PlanOp) *table.Table {
	t := table.New(table.Text("Operator"), table.Number("K"), table.Number("N"), table.Text("Sizes"),
		table.Text("Weights"), table.Text("TP splits"), table.Text("Note"))
	for i := range ops {
		planRow(t, "", &ops[i])
		for j := range ops[i].Or {
			planRow(t, "  or ", &ops[i].Or[j])
		}
	}
	return t
}

func planRow(t *table.Table, prefix string, o *profile.PlanOp) {
	var sizes []string
	size := func(n int, unit string) {
		if n > 0 {
			sizes = append(sizes, strconv.Itoa(n)+" "+unit)
		}
	}
	size(o.Groups, "products")
	size(o.Experts, "experts")
	size(o.TopK, "per token")
	size(o.Heads, "heads")
	size(o.KVHeads, "kv heads")
	size(o.HeadDim, "head dim")
	if o.ValueDim != o.HeadDim {
		size(o.ValueDim, "value dim")
	}
	size(o.Window, "tokens window")
	size(o.TopTokens, "selected")
	if o.Ratio > 0 {
		sizes = append(sizes, "cache 1:"+strconv.Itoa(o.Ratio))
	}
	size(o.Width, "wide")
	notes := slices.Concat(cells(o.Module != "", o.Module), cells(o.Stage != "", o.Stage.String()), cells(o.Bias, "bias"),
		cells(o.Optional, "may be fused or absent"))
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	t.Row(prefix+string(o.Operator), number(o.K), number(o.N), strings.Join(sizes, ", "), o.WeightDType, o.Split.String(),
		strings.Join(notes, ", "))
}
