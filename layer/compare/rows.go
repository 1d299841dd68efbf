package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/trace"
)

// together says for each row in which row it is compared. Operators that one kernel of either side computes together
// are one row, so that a fused kernel is compared with the kernels that it replaces, and so are those that one side
// could not separate, so that they are compared with what the other side calls them. A residual addition goes with
// whatever it is fused with: it would tie all norms together.
func together(rows []string) map[string]string {
	group := map[string]string{} // operator → another one of its group
	var root func(string) string
	root = func(s string) string {
		if next, ok := group[s]; ok && next != s {
			return root(next)
		}
		return s
	}
	var order []string
	for _, row := range rows {
		parts := operators(row)
		for _, p := range parts {
			if _, ok := group[p]; !ok {
				order = append(order, p)
				group[p] = p
			}
			if x, y := root(parts[0]), root(p); x != y {
				group[y] = x
			}
		}
	}
	slices.SortStableFunc(order, func(x, y string) int {
		return cmp.Or(cmp.Compare(orderOf(x), orderOf(y)),
			cmp.Compare(x, y))
	})
	members, joint := map[string][]string{}, map[string]string{}
	for _, p := range order {
		members[root(p)], joint[root(p)] = append(members[root(p)], p), "|"
	}
	for _, row := range rows {
		if strings.Contains(row, "+") {
			joint[root(operators(row)[0])] = "+"
		}
	}
	out := map[string]string{}
	for _, row := range rows {
		of := root(operators(row)[0])
		out[row] = strings.Join(members[of], joint[of])
	}
	return out
}

// orderOf is where an operator is in a model; categories follow.
func orderOf(name string) int {
	if i := slices.Index(opname.All[:], name); i >= 0 {
		return i
	}
	return len(opname.All)
}

// operators are those that a row's name joins.
func operators(row string) []string {
	parts := slices.DeleteFunc(strings.FieldsFunc(row, func(r rune) bool { return r == '+' || r == '|' }),
		func(p string) bool { return p == opname.ResidualAdd })
	if len(parts) == 0 {
		return []string{row}
	}
	return parts
}

// A use is what the compared passes of one side spend on kernels of one name.
type use struct {
	name   string
	labels map[string]float64 // launches a pass, by label
	count  float64            // launches a pass
	near   map[neighbour]bool
}

// A neighbour is the base name of the kernel that most often runs before another one, or after it.
type neighbour struct {
	base  string
	after bool
}

// uses lists the kernels that the compared passes of a side run.
func (c *comparison) uses(side int) map[string]*use {
	out := map[string]*use{}
	n := float64(c.ch[side].count())
	for of, k := range c.ch[side].kernels() {
		u := out[of.Name]
		if u == nil {
			u = &use{name: of.Name, labels: map[string]float64{}, near: map[neighbour]bool{}}
			out[of.Name] = u
		}
		u.labels[of.label(c.categories)] += float64(k.Count) / n
		u.count += float64(k.Count) / n
		u.near[neighbour{of.Before, false}], u.near[neighbour{of.After, true}] = true, true
	}
	return out
}

// chooseLabels makes rows of operators where enough of both sides' time has one, be it by the other side's kernels,
// else of categories.
func (c *comparison) chooseLabels() [2]map[string]string {
	c.categories = c.ch[0].side.categories() && c.ch[1].side.categories()
	names := c.relabel()
	for side, ch := range c.ch {
		var have, all time.Duration
		for of, t := range ch.kernels() {
			all += t.Time
			if !c.anonymous(c.label(names, side, of)) {
				have += t.Time
			}
		}
		if !c.categories && ch.side.categories() && !enough(have, all) {
			c.categories = true
			return c.relabel()
		}
	}
	return names
}

// label is what a kernel of a side counts as.
func (c *comparison) label(names [2]map[string]string, side int, n *Part) string {
	if l, ok := names[side][n.Name]; ok && n.isKernel() {
		return l
	}
	return n.label(c.categories)
}

// anonymous reports whether a label is a category, because nothing says which operator it is.
func (c *comparison) anonymous(label string) bool {
	return !c.categories && label != rowCopies && !slices.ContainsFunc(operators(label), func(p string) bool {
		return slices.Contains(opname.All[:], p) && p != opname.Other
	})
}

// relabel makes both sides call the same kernels the same: where they disagree, and where a kernel has another name,
// as often and in the same place, the operator that is known holds, of two the one of the side that knows more; where
// the other kernel computes more or less of the same operators, each keeps its own. A
// kernel that one side always has for one operator is never another's, and a fill is no copy renamed. It returns the
// labels by the kernel's name on each side.
func (c *comparison) relabel() [2]map[string]string {
	out := [2]map[string]string{{}, {}}
	c.renamed, c.unsure = map[string]string{}, map[string]bool{}
	of := [2]map[string]*use{c.uses(0), c.uses(1)}
	first := 0 // of the sides, whichever is called A
	if c.lessKnown(of[0], of[1]) {
		first = 1
	}
	second := 1 - first
	a, b := of[first], of[second]
	equal := func(x, y *use) bool { return math.Abs(x.count-y.count) <= renameCount*max(x.count, y.count) }
	join := func(x, y *use) {
		la, lb := only(x.labels), only(y.labels)
		known := func(label string) bool { return label != "" && !c.anonymous(label) }
		switch {
		case known(lb) && !known(la):
			out[first][x.name] = lb
		case known(la) && known(lb) && x.name != y.name && overlap(la, lb): // one row in any case, see together
		case la != "" && lb != "", known(la):
			out[second][y.name] = la
		}
	}
	gone, fresh := map[neighbour][]*use{}, map[neighbour][]*use{}
	for _, name := range sortedKeys(a) {
		if y := b[name]; y == nil {
			a[name].list(gone)
		} else if equal(a[name], y) {
			join(a[name], y)
			if out[first][name] == "" && out[second][name] == "" {
				c.divideOf(a[name], y)
			}
		}
	}
	for _, name := range sortedKeys(b) {
		if a[name] == nil {
			b[name].list(fresh)
		}
	}
	paired := map[*use]bool{}
	single := func(u *use) bool { return paired[u] }
	for _, at := range slices.SortedFunc(maps.Keys(gone), func(x, y neighbour) int {
		return cmp.Or(cmp.Compare(stat.Int(x.after), stat.Int(y.after)), cmp.Compare(x.base, y.base))
	}) {
		for _, p := range pairUp(slices.DeleteFunc(gone[at], single), slices.DeleteFunc(fresh[at], single),
			func(x, y *use) int { return cmp.Or(cmp.Compare(x.count, y.count), cmp.Compare(x.name, y.name)) },
			func(x, y *use) bool {
				return equal(x, y) && (only(x.labels) != rowCopies || only(y.labels) != rowCopies)
			}) {
			join(p[0], p[1])
			paired[p[0]], paired[p[1]] = true, true
			c.renamed[p[second].name] = p[first].name
		}
	}
	return out
}

// overlap reports whether two labels of kernels have an operator in common, and neither leaves open which it is: one of
// the kernels is fused of what the other computes.
func overlap(x, y string) bool {
	return !strings.Contains(x+y, "|") && slices.ContainsFunc(operators(x), func(p string) bool {
		return slices.Contains(operators(y), p)
	})
}

// divideOf notes the categories that have more of a kernel's launches on one side, which runs as many of them: there,
// other launches have an operator.
func (c *comparison) divideOf(x, y *use) {
	for _, labels := range []map[string]float64{x.labels, y.labels} {
		for l := range labels {
			if a, b := x.labels[l], y.labels[l]; c.anonymous(l) && math.Abs(a-b) > renameCount*max(a, b) {
				c.unsure[l] = true
			}
		}
	}
}

// list adds a kernel to those that have a known neighbour in common with it.
func (u *use) list(of map[neighbour][]*use) {
	for at := range u.near {
		if at.base != "" {
			of[at] = append(of[at], u)
		}
	}
}

// lessKnown reports whether a side knows the operator of fewer launches than the other; where both know as many,
// their names decide.
func (c *comparison) lessKnown(a, b map[string]*use) bool {
	of := func(uses map[string]*use) (known float64, text string) {
		var all strings.Builder
		for _, name := range sortedKeys(uses) {
			for _, l := range sortedKeys(uses[name].labels) {
				n := uses[name].labels[l]
				if !c.anonymous(l) {
					known += n
				}
				fmt.Fprintln(&all, name, l, n)
			}
		}
		return known, all.String()
	}
	knownA, textA := of(a)
	knownB, textB := of(b)
	return cmp.Or(cmp.Compare(knownA, knownB), cmp.Compare(textA, textB)) < 0
}

// only is the one name of a map, "" where it has several.
func only(m map[string]float64) string {
	for name := range m {
		if len(m) == 1 {
			return name
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// rowSet is the rows in which both sides are compared.
type rowSet struct {
	names []string
	class []Class
	of    [2]map[*Run][]int // row by side, run and part
}

// divide finds the rows of the compared passes, in the order of a model, then categories and waiting.
func (c *comparison) divide() {
	names := c.chooseLabels()
	labels := map[string]map[Class]time.Duration{}
	for side, ch := range c.ch {
		for run, pass := range ch.all() {
			for i := range pass.Parts {
				of := &run.Parts[pass.Parts[i].Part]
				label := c.label(names, side, of)
				if labels[label] == nil {
					labels[label] = map[Class]time.Duration{}
				}
				labels[label][of.Class] += pass.Parts[i].Exclusive + 1
			}
		}
	}
	joint := together(sortedKeys(labels))
	times := map[string]map[Class]time.Duration{}
	for label, row := range joint {
		if times[row] == nil {
			times[row] = map[Class]time.Duration{}
		}
		for class, d := range labels[label] {
			times[row][class] += d
		}
	}
	rs := &rowSet{names: sortedKeys(times)}
	at := map[string]int{}
	slices.SortStableFunc(rs.names, func(x, y string) int {
		return cmp.Compare(orderOf(operators(x)[0]),
			orderOf(operators(y)[0]))
	})
	for i, name := range rs.names {
		at[name] = i
		rs.class = append(rs.class, slices.MaxFunc(classes,
			func(x, y Class) int { return cmp.Compare(times[name][x], times[name][y]) }))
	}
	for side, ch := range c.ch {
		rs.of[side] = map[*Run][]int{}
		for r := range ch.side.Runs {
			run := &ch.side.Runs[r]
			rows := make([]int, len(run.Parts))
			for i := range rows {
				row, ok := at[joint[c.label(names, side, &run.Parts[i])]]
				if rows[i] = row; !ok {
					rows[i] = trace.None // of other passes
				}
			}
			rs.of[side][run] = rows
		}
	}
	c.rows = rs
}

// rowTimes are what one side spends on one row.
type rowTimes struct {
	exclusive, time []float64 // of each pass, or of each run its median
	full            []float64 // exclusive, with what lost records would have taken
	counts          []int     // launches of each pass
	launches        float64   // a pass, in the mean
	kernels         []kernelUse
	work            Work // a pass, in the mean
}

// leading is the kernel of most time, "" for what is no kernel.
func (r *rowTimes) leading() string {
	if len(r.kernels) == 0 {
		return ""
	}
	return r.kernels[0].name
}

// mode is the most frequent of some counts and how often it occurs; of equally frequent ones the larger, as records
// are lost and none are made.
func mode(counts []int) (value, times int) {
	of := map[int]int{}
	for _, n := range counts {
		of[n]++
		if of[n] > times || of[n] == times && n > value {
			value, times = n, of[n]
		}
	}
	return value, times
}

// fillIn multiplies the times of passes that lack a few of a row's usual launches, whose records are lost. Where a side
// has no two passes that agree on what is usual, the other side's count holds if both run the same kernels.
func (c *comparison) fillIn() {
	for row := range c.rows.names {
		var usual, agree [2]int
		for side := range c.parts {
			usual[side], agree[side] = mode(c.parts[side][row].counts)
		}
		for side := range c.parts {
			t, want := &c.parts[side][row], usual[side]
			if agree[side] < 2 && c.equal {
				want = max(usual[0], usual[1])
			}
			t.full = slices.Clone(t.exclusive)
			for p, n := range t.counts {
				if f := fill(n, want); f > 1 {
					t.time[p], t.full[p] = f*t.time[p], f*t.full[p]
					c.filled += want - n
				}
			}
		}
	}
}

// fill is by what a row's time is multiplied where a few of its launches are missing.
func fill(launches, usual int) float64 {
	if launches < usual && float64(usual-launches) <= lostRecords*float64(usual) {
		return float64(usual) / float64(launches)
	}
	return 1
}

// measure adds up the rows of both sides by pass; times of side B are scaled.
func (c *comparison) measure() {
	for side, scale := range []float64{1, c.scale} {
		ch := c.ch[side]
		passes, n := ch.count(), float64(ch.count())
		out, names := make([]rowTimes, len(c.rows.names)), make([]map[string]*kernelUse, len(c.rows.names))
		for row := range out {
			out[row] = rowTimes{exclusive: make([]float64, passes), time: make([]float64, passes),
				counts: make([]int, passes)}
			names[row] = map[string]*kernelUse{}
		}
		at := 0
		for run, pass := range ch.all() {
			for i := range pass.Parts {
				k := &pass.Parts[i]
				of, row := &run.Parts[k.Part], c.rows.of[side][run][k.Part]
				t := &out[row]
				t.exclusive[at] += scale * float64(k.Exclusive)
				if !of.isKernel() {
					t.time[at] += scale * float64(k.Exclusive)
					continue
				}
				t.time[at] += scale * float64(k.Time)
				t.counts[at] += k.Count
				t.launches += float64(k.Count) / n
				t.work.add(k, scale, n)
				u := names[row][of.Name]
				if u == nil {
					u = &kernelUse{name: of.Name, category: of.Category, times: make([]float64, passes)}
					names[row][of.Name] = u
				}
				u.launches += float64(k.Count) / n
				u.work.add(k, scale, n)
				u.time, u.wait = u.time+k.Time, u.wait+k.Wait
				u.times[at] += scale * float64(k.Time)
			}
			at++
		}
		for row := range out {
			for _, u := range names[row] {
				u.time, u.wait = time.Duration(float64(u.time)*scale/n), time.Duration(float64(u.wait)*scale/n)
				out[row].kernels = append(out[row].kernels, *u)
			}
			slices.SortFunc(out[row].kernels, func(x, y kernelUse) int {
				return cmp.Or(cmp.Compare(y.time, x.time), cmp.Compare(x.name, y.name))
			})
		}
		c.parts[side] = out
	}
	c.fillIn()
	for side, ch := range c.ch {
		for row := range c.parts[side] {
			t := &c.parts[side][row]
			t.exclusive, t.time, t.full = c.units(ch, t.exclusive), c.units(ch, t.time), c.units(ch, t.full)
			for i := range t.kernels {
				t.kernels[i].times = c.units(ch, t.kernels[i].times)
			}
		}
	}
}

// units are the values that are compared: those of passes, or the median of each run's.
func (c *comparison) units(ch *chosen, values []float64) []float64 {
	if !c.runs {
		return values
	}
	var out []float64
	for _, passes := range ch.passes {
		if len(passes) > 0 {
			out = append(out, median(values[:len(passes)]))
			values = values[len(passes):]
		}
	}
	return out
}

// layers are the log ratios of a row's layers, where a side has one pass and both know their layers.
func (c *comparison) layers(row int) []float64 {
	of := func(side int) (sum []time.Duration) {
		for run, pass := range c.ch[side].all() {
			for _, t := range pass.Parts {
				if c.rows.of[side][run][t.Part] != row {
					continue
				}
				sum = slices.Concat(sum, make([]time.Duration, max(0, len(t.Layers)-len(sum))))
				for l, d := range t.Layers {
					sum[l] += d
				}
			}
			if sum != nil {
				break
			}
		}
		return sum
	}
	la, lb := of(0), of(1)
	if len(la) != len(lb) {
		return nil
	}
	var out []float64
	for i := range la {
		if la[i] > 0 && lb[i] > 0 {
			out = append(out, math.Log(float64(lb[i])/float64(la[i])))
		}
	}
	return out
}
