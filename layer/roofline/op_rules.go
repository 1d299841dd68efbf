package roofline

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/goccy/go-json"
)

// Rule says what an op has to do that the table does not know, or knows wrongly. Rules come before the table.
type Rule struct {
	// Op is the op's name in traces; one that ends in * is the beginning of names.
	Op string `json:"op"`
	// Like is an op of the table that it counts as. Inputs are the places of those of its inputs that take the places
	// of Like's, in order; empty: as they are, −1: absent.
	Like   string `json:"like"`
	Inputs []int  `json:"inputs,omitempty"`
	// Count counts it instead of Like.
	Count func(in *Inputs) (Work, bool) `json:"-"`
}

// errRule is wrapped by the errors of [LoadRules].
var errRule = errors.New("not a rule of work")

// LoadRules reads rules from a JSON list: [{"op": "mylib::gemm", "like": "aten::mm", "inputs": [1, 2]}].
func LoadRules(r io.Reader) ([]Rule, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var rules []Rule
	if err := d.Decode(&rules); err != nil {
		return nil, fmt.Errorf("%w: %w", errRule, err)
	}
	_, err := withRules(rules)
	return rules, err
}

// baseTable holds the ops that are known without rules.
var baseTable = sync.OnceValue(func() *opIndex { return indexOps(opRows) })

// withRules returns the table with rules before it.
func withRules(rules []Rule) (*opIndex, error) {
	if len(rules) == 0 {
		return baseTable(), nil
	}
	rows := make([]opRow, 0, len(rules))
	for i := range rules {
		r := &rules[i]
		row := opRow{names: r.Op, count: r.Count}
		if r.Op == "" || strings.ContainsAny(r.Op, " \t\n") {
			return nil, fmt.Errorf("%w: rule %d: op %q", errRule, i+1, r.Op)
		}
		if row.count == nil {
			like := baseTable().find(r.Like)
			if like == nil {
				return nil, fmt.Errorf("%w: rule %d for %s: the table has no op %q", errRule, i+1, r.Op, r.Like)
			}
			row.count, row.kind, row.composite = like.count, like.kind, like.composite
			if places := r.Inputs; len(places) > 0 {
				row.count = func(in *Inputs) (Work, bool) { return like.count(in.arranged(places)) }
			}
		}
		rows = append(rows, row)
	}
	own := indexOps(rows)
	own.next = baseTable()
	return own, nil
}

// arranged returns the inputs at some places in their order.
func (in *Inputs) arranged(places []int) *Inputs {
	out := &Inputs{Assumed: in.Assumed, Element: in.Element}
	for _, p := range places {
		out.Dims, out.Strides = append(out.Dims, in.Dim(p)), append(out.Strides, at(in.Strides, p))
		out.Lists, out.Types, out.Values = append(out.Lists, at(in.Lists, p)), append(out.Types, at(in.Types, p)),
			append(out.Values, at(in.Values, p))
	}
	return out
}

// at is an element of a list, the zero value where there is none.
func at[T any](list []T, i int) (none T) {
	if i < 0 || i >= len(list) {
		return none
	}
	return list[i]
}

// OpWork counts the work of an op from its recorded inputs; false where neither a rule nor the table knows the op, or
// its inputs contradict each other.
func OpWork(op string, in *Inputs, rules ...Rule) (Work, bool) {
	x, err := withRules(rules)
	if err != nil {
		return Work{}, false
	}
	row := x.find(op)
	if row == nil {
		return Work{}, false
	}
	return row.work(in)
}

// work counts; figures that cannot be are none.
func (r *opRow) work(in *Inputs) (Work, bool) {
	w, ok := r.count(in)
	if !ok || !w.sane() {
		return Work{}, false
	}
	if r.kind != OpOther {
		w.Kind = r.kind
	}
	return w, true
}
