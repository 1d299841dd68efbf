package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/opname"
)

// together says for each row in which row it is compared. Operators that one kernel of either side computes together
// are one row, so that a fused kernel is compared with the kernels that it replaces. A residual addition goes with
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

// orderOf is where an operator is in a model; categories follow.
func orderOf(name string) int {
	name, _, _ = strings.Cut(name, "|")
	if i := slices.Index(opname.All[:], name); i >= 0 {
		return i
	}
	return len(opname.All)
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

// A use is what the compared passes of one side spend on kernels of one name.
type use struct {
	name   string
	labels map[string]float64 // launches a pass, by label
	count  float64            // launches a pass
	before map[string]bool    // bases of neighbours
	after  map[string]bool
}

// uses lists the kernels that the compared passes of a side run.
func (c *comparison) uses(side int) map[string]*use {
	out := map[string]*use{}
	n := float64(max(c.ch[side].count(), 1))
	for of, k := range c.ch[side].kernels() {
		u := out[of.Name]
		if u == nil {
			u = &use{name: of.Name, labels: map[string]float64{}, before: map[string]bool{}, after: map[string]bool{}}
			out[of.Name] = u
		}
		u.labels[of.label(c.categories)] += float64(k.Count) / n
		u.count += float64(k.Count) / n
		u.before[of.Before], u.after[of.After] = true, true
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
		return strings.Contains(p, "|") || slices.Contains(opname.All[:], p) && p != opname.Other
	})
}

// relabel makes both sides call the same kernels the same: where they disagree, and where a kernel has another name,
// as often and in the same place, the operator that is known holds, of two the one of the side that knows more. A
// kernel that one side always has for one operator is never another's. It returns the labels by the kernel's name on
// each side.
func (c *comparison) relabel() [2]map[string]string {
	out := [2]map[string]string{{}, {}}
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
		switch {
		case la != "" && lb != "" && c.anonymous(la) && !c.anonymous(lb), la == "" && lb != "" && !c.anonymous(lb):
			out[first][x.name] = lb
		case la != "" && lb != "", la != "" && !c.anonymous(la):
			out[second][y.name] = la
		}
	}
	var gone, fresh []*use
	for _, name := range sortedKeys(a) {
		if y := b[name]; y == nil {
			gone = append(gone, a[name])
		} else if equal(a[name], y) {
			join(a[name], y)
		}
	}
	for _, name := range sortedKeys(b) {
		if a[name] == nil {
			fresh = append(fresh, b[name])
		}
	}
	c.renamed = map[string]string{}
	for _, x := range gone {
		i := slices.IndexFunc(fresh, func(y *use) bool { return equal(x, y) && samePlace(x, y) })
		if i < 0 {
			continue
		}
		join(x, fresh[i])
		names := [2]string{}
		names[first], names[second] = x.name, fresh[i].name
		c.renamed[names[1]] = names[0]
		fresh = slices.Delete(fresh, i, i+1)
	}
	return out
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

// samePlace reports whether kernels run between the same ones, or on one side where the other neighbour has another
// name, too.
func samePlace(x, y *use) bool {
	both := func(p, q map[string]bool) bool {
		for name := range p {
			if name != "" && q[name] {
				return true
			}
		}
		return false
	}
	return both(x.before, y.before) || both(x.after, y.after)
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

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// rowSet is the rows in which both sides are compared.
type rowSet struct {
	names []string
	class []Class
	of    [2][][]int // row by side, run and part
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
		for r := range ch.side.Runs {
			parts := ch.side.Runs[r].Parts
			rows := make([]int, len(parts))
			for i := range rows {
				row, ok := at[joint[c.label(names, side, &parts[i])]]
				if rows[i] = row; !ok {
					rows[i] = -1 // of other passes
				}
			}
			rs.of[side] = append(rs.of[side], rows)
		}
	}
	c.rows = rs
}

// rowTimes are what one side spends on one row.
type rowTimes struct {
	exclusive, time []float64 // of each pass, or of each run its median
	full            []float64 // exclusive, with what lost records would have taken
	launches        float64   // a pass, in the mean
	most            int       // launches of a pass
	kernels         []kernelUse
	work            Work // a pass, in the mean
}

// usualLaunches is how many kernels of each row most of the compared passes of each side run: a pass with a few less
// has lost records, and its time is filled in where it is judged. Where a side has no two passes that agree, the
// other side's count holds if both run the same kernels.
func (c *comparison) usualLaunches() [2][]int {
	var usual [2][]int
	var agree [2][]int
	for side := range c.ch {
		usual[side], agree[side] = make([]int, len(c.rows.names)), make([]int, len(c.rows.names))
		counts := make([]map[int]int, len(c.rows.names))
		for i := range counts {
			counts[i] = map[int]int{}
		}
		for r, passes := range c.ch[side].passes {
			for _, p := range passes {
				for row, n := range c.launchesOf(side, r, p) {
					counts[row][n]++
				}
			}
		}
		for row := range counts {
			for n, passes := range counts[row] { // of equally frequent ones the larger: records are lost, none are made
				if passes > agree[side][row] || passes == agree[side][row] && n > usual[side][row] {
					usual[side][row], agree[side][row] = n, passes
				}
			}
		}
	}
	own := [2][]int{slices.Clone(usual[0]), slices.Clone(usual[1])}
	for side := range usual {
		for row := range usual[side] {
			if agree[side][row] < 2 && c.equal {
				usual[side][row] = max(own[0][row], own[1][row])
			}
		}
	}
	return usual
}

// launchesOf counts the kernels of each row in a pass.
func (c *comparison) launchesOf(side, run, pass int) []int {
	out := make([]int, len(c.rows.names))
	for _, t := range c.ch[side].side.Runs[run].Passes[pass].Parts {
		out[c.rows.of[side][run][t.Part]] += t.Count
	}
	return out
}

// fill is by what a row's time is multiplied where a few of its launches are missing.
func fill(launches, usual int) float64 {
	if launches > 0 && launches < usual && float64(usual-launches) <= lostRecords*float64(usual) {
		return float64(usual) / float64(launches)
	}
	return 1
}

// measure adds up the rows of one side; times of side B are scaled.
func (c *comparison) measure(side int) []rowTimes {
	usual := c.usualLaunches()
	scale := 1.0
	if side == 1 {
		scale = c.scale
	}
	out := make([]rowTimes, len(c.rows.names))
	names := make([]map[string]*kernelUse, len(out))
	ch := c.ch[side]
	n := float64(max(ch.count(), 1))
	at := -1 // pass of all runs
	for r, passes := range ch.passes {
		run := &ch.side.Runs[r]
		own := make([]rowTimes, len(out))
		for _, p := range passes {
			at++
			exclusive, kernel, launches := make([]float64, len(out)), make([]float64, len(out)), make([]int, len(out))
			for i := range run.Passes[p].Parts {
				k := &run.Passes[p].Parts[i]
				name := &run.Parts[k.Part]
				row := c.rows.of[side][r][k.Part]
				exclusive[row] += scale * float64(k.Exclusive)
				if !name.isKernel() {
					kernel[row] += scale * float64(k.Exclusive)
					continue
				}
				kernel[row] += scale * float64(k.Time)
				launches[row] += k.Count
				if names[row] == nil {
					names[row] = map[string]*kernelUse{}
				}
				u := names[row][name.Name]
				if u == nil {
					u = &kernelUse{name: name.Name, category: name.Category, times: make([]float64, ch.count())}
					names[row][name.Name] = u
				}
				u.launches += float64(k.Count) / n
				out[row].work.add(k, scale, n)
				u.work.add(k, scale, n)
				u.time, u.wait = u.time+k.Time, u.wait+k.Wait
				u.times[at] += scale * float64(k.Time)
			}
			for row := range out {
				full := exclusive[row]
				if f := fill(launches[row], usual[side][row]); f > 1 {
					kernel[row] *= f
					full *= f
					c.filled += usual[side][row] - launches[row]
				}
				own[row].full = append(own[row].full, full)
				own[row].exclusive, own[row].time = append(own[row].exclusive, exclusive[row]),
					append(own[row].time, kernel[row])
				out[row].launches += float64(launches[row]) / n
				out[row].most = max(out[row].most, launches[row])
			}
		}
		for row := range out {
			if c.runs && len(passes) > 0 {
				own[row].exclusive, own[row].time, own[row].full = []float64{median(own[row].exclusive)},
					[]float64{median(own[row].time)}, []float64{median(own[row].full)}
			}
			out[row].full = append(out[row].full, own[row].full...)
			out[row].exclusive, out[row].time = append(out[row].exclusive, own[row].exclusive...),
				append(out[row].time, own[row].time...)
		}
	}
	for row := range out {
		for _, u := range names[row] {
			u.time, u.wait = time.Duration(float64(u.time)*scale/n), time.Duration(float64(u.wait)*scale/n)
			u.times = c.units(ch, u.times)
			out[row].kernels = append(out[row].kernels, *u)
		}
		slices.SortFunc(out[row].kernels, func(x, y kernelUse) int {
			return cmp.Or(cmp.Compare(y.time, x.time),
				cmp.Compare(x.name, y.name))
		})
	}
	return out
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
		for r, passes := range c.ch[side].passes {
			for _, p := range passes {
				for _, t := range c.ch[side].side.Runs[r].Passes[p].Parts {
					if len(t.Layers) == 0 || c.rows.of[side][r][t.Part] != row {
						continue
					}
					sum = slices.Concat(sum, make([]time.Duration, max(0, len(t.Layers)-len(sum))))
					for l, d := range t.Layers {
						sum[l] += d
					}
				}
				if sum != nil {
					return sum
				}
			}
		}
		return nil
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
