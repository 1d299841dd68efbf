package compare

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/opname"
)

// together says for each row of both sides in which row it is compared. Operators that one kernel of either side computes together are one row, so that a
// fused kernel stands against the kernels that it replaces. A residual addition goes with whatever it is fused with: it would tie all norms together.
func together(a, b *Side) map[string]string {
	group := map[string]string{} // operator → another one of its group
	var root func(string) string
	root = func(s string) string {
		if next, ok := group[s]; ok && next != s {
			return root(next)
		}
		return s
	}
	var order []string // operators as they first appear
	var rows []string
	for _, s := range []*Side{a, b} {
		for i := range s.Runs {
			for _, n := range s.Runs[i].Rows {
				rows = append(rows, n.Operator)
				parts := operators(n.Operator)
				for _, p := range parts {
					if !slices.Contains(order, p) {
						order = append(order, p)
						group[p] = p
					}
					if x, y := root(parts[0]), root(p); x != y {
						group[y] = x
					}
				}
			}
		}
	}
	members := map[string][]string{}
	for _, p := range order {
		members[root(p)] = append(members[root(p)], p)
	}
	out := map[string]string{}
	for _, r := range rows {
		out[r] = strings.Join(members[root(operators(r)[0])], "+")
	}
	return out
}

// operators are the parts of a row's name.
func operators(row string) []string {
	parts := strings.Split(row, "+")
	if len(parts) > 1 {
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == opname.ResidualAdd })
	}
	if len(parts) == 0 {
		return []string{row}
	}
	return parts
}
