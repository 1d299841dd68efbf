package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// minOperatorShare is the share of time with a known operator below which a table by operator says how much it is, and
// the kernels of a layer stay in their own order. An alignment that works finds nearly all, one that does not little.
const minOperatorShare = 0.9

// OperatorTable adds up the GPU time of a pass, or of its layers of one type, by operator.
type OperatorTable struct {
	// Scope is "pass", or the layers' type and variant; Layers counts them.
	Scope  string `json:"scope"`
	Layers int    `json:"layers"`
	// KnownShare is the part of the time inside layers whose operator is known, 0…1. Where it is 0 Rows is empty.
	KnownShare float64 `json:"known_share"`
	// Rows are in the order in which a model runs its operators. Kernels that fuse several have a row of their own.
	Rows []OperatorTotal `json:"rows"`
}

// OperatorTotal is one row of an OperatorTable.
type OperatorTotal struct {
	Operator profile.Operator `json:"operator"` // part of the model
	// TimeNS adds up durations, SharePct is percent of the scope's.
	TimeNS   int64   `json:"time_ns"`
	SharePct float64 `json:"share_pct"`
	Kernels  int     `json:"kernels"`
}

// operatorTables are the table of a full pass, then that of each type of layer; of is the type of each layer.
func operatorTables(a *layer.Device, fp *layer.ForwardPass, types []ClusterRow, of []int) []OperatorTable {
	out := []OperatorTable{{Scope: "pass", Layers: fp.NumLayers}}
	for _, c := range types {
		out = append(out, OperatorTable{Scope: VariantName(c.Type, c.Variant), Layers: c.Count})
	}
	sums := make([]map[profile.Operator]*OperatorTotal, len(out))
	known, all := make([]time.Duration, len(out)), make([]time.Duration, len(out))
	for k := range sums {
		sums[k] = map[profile.Operator]*OperatorTotal{}
	}
	for k := range a.Kernels() {
		at := k.Place()
		if at.Pass != fp.Index {
			continue
		}
		op, _, _ := k.Operator()
		d := k.Event().Duration()
		scopes := []int{0}
		if l := at.Layer - fp.FirstLayer; at.Layer != trace.None && l < len(of) {
			scopes = []int{0, 1 + of[l]}
			for _, s := range scopes {
				all[s] += d
				if op != opname.Other {
					known[s] += d
				}
			}
		}
		for _, s := range scopes {
			t := sums[s][op]
			if t == nil {
				t = &OperatorTotal{Operator: op}
				sums[s][op] = t
			}
			t.TimeNS += int64(d)
			t.Kernels++
		}
	}
	for k := range out {
		out[k].finish(sums[k], known[k], all[k])
	}
	return out
}

func (t *OperatorTable) finish(sums map[profile.Operator]*OperatorTotal, known, all time.Duration) {
	t.Rows = []OperatorTotal{}
	if all > 0 {
		t.KnownShare = float64(known) / float64(all)
	}
	if t.KnownShare == 0 {
		return
	}
	var total int64
	for _, s := range sums {
		total += s.TimeNS
		t.Rows = append(t.Rows, *s)
	}
	for i := range t.Rows {
		if total > 0 {
			t.Rows[i].SharePct = 100 * float64(t.Rows[i].TimeNS) / float64(total)
		}
	}
	slices.SortFunc(t.Rows, func(x, y OperatorTotal) int {
		return cmp.Or(compareOperators(string(x.Operator), string(y.Operator)), cmp.Compare(x.Operator, y.Operator))
	})
}

// operatorRank is the place of an operator in the order in which a model runs them.
var operatorRank = func() map[string]int {
	m := map[string]int{}
	for i, n := range opname.All {
		m[n] = i
	}
	return m
}()

// compareOperators orders by the first of fused operators, then by the others. An addition goes with the norm it is
// fused with: it precedes each of them.
func compareOperators(x, y string) int {
	x, y = strings.TrimPrefix(x, opname.ResidualAdd+"+"), strings.TrimPrefix(y, opname.ResidualAdd+"+")
	a, b := strings.FieldsFunc(x, fusedSign), strings.FieldsFunc(y, fusedSign)
	return cmp.Or(slices.CompareFunc(a, b, func(p, q string) int { return operatorRank[p] - operatorRank[q] }),
		strings.Compare(x, y))
}

func fusedSign(r rune) bool { return r == '+' || r == '|' }

// operatorTable prints the pass and the layer types side by side.
func (t *Timeline) operatorTable(p *table.Writer) {
	if len(t.Operators) == 0 {
		return
	}
	whole := &t.Operators[0]
	p.Heading(2, "GPU time by operator, forward pass #%d", t.FwdPass)
	if len(whole.Rows) == 0 {
		p.Say("No operator is known in these layers (use `--config`).")
		return
	}
	if whole.KnownShare < minOperatorShare {
		p.Say("Operators are known for only %s of the time in layers (use `--config`).", table.Pct(100*whole.KnownShare, 1))
	}
	cols := []table.Column{table.Text("Operator"), table.Number("Time(ms)"), table.Number("Share"),
		table.Number("Launches")}
	var scopes []*OperatorTable
	for i := 1; i < len(t.Operators); i++ {
		if s := &t.Operators[i]; len(s.Rows) > 0 && len(scopes) < maxScopes {
			scopes = append(scopes, s)
			cols = append(cols, table.Number(s.Scope+" µs/layer"))
		}
	}
	tab := table.New(cols...)
	for _, r := range whole.Rows {
		row := []string{string(r.Operator), table.Fixed(float64(r.TimeNS)/1e6, 3), table.Pct(r.SharePct, 1),
			strconv.Itoa(r.Kernels)}
		for _, s := range scopes {
			cell := table.None
			if k := slices.IndexFunc(s.Rows, func(l OperatorTotal) bool { return l.Operator == r.Operator }); k >= 0 {
				cell = table.Fixed(float64(s.Rows[k].TimeNS)/1e3/float64(s.Layers), 2)
			}
			row = append(row, cell)
		}
		tab.Row(row...)
	}
	p.Table(tab)
}

// maxScopes is how many types of layers the table has columns for: more do not fit a line.
const maxScopes = 6
