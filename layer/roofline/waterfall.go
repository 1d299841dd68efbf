package roofline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/layer"
)

// heads are the groups of operators that have floors, as the waterfall calls their floor and what is above it.
var heads = [...]struct{ floor, above, alone string }{
	products:      {"floor: products (weights)", "products above their floor", "products (weights)"},
	experts:       {"floor: experts", "experts above their floor", "experts"},
	attentionCore: {"floor: attention (cache)", "attention above its floor", "attention"},
}

// waterfall divides the pass's time. It adds up to it exactly: every instant was booked once, and a floor takes no more than was booked.
func (r *measured) waterfall() []Share {
	var floors, rest [len(heads)]time.Duration
	for _, c := range r.order {
		if c.group <= attentionCore {
			floors[c.group] += c.capped
			rest[c.group] += c.booked - c.capped
		}
	}
	if r.pass.Floor == 0 { // nothing to divide by
		for g := range floors {
			rest[g] += floors[g]
			floors[g] = 0
		}
	}
	notes := [len(heads)]string{experts: r.expectation()}
	var out []Share
	for g := range heads {
		if floors[g] > 0 {
			out = append(out, Share{heads[g].floor, floors[g], notes[g]})
		}
	}
	for g := range heads {
		name, note := heads[g].above, r.sharesOf(group(g))
		if floors[g] == 0 {
			name, note = heads[g].alone, r.missing(group(g))
		}
		out = append(out, Share{name, rest[g], note})
	}
	return r.named(out)
}

// missing says why operators of a group have no floor.
func (r *measured) missing(g group) string {
	for _, c := range r.order {
		if c.group == g && len(c.notes) > 0 {
			return c.notes[0]
		}
	}
	if g == attentionCore && r.load != nil && !r.load.KnownSeen {
		return "how many tokens it sees is not known"
	}
	return ""
}

// named appends the rows that have no floor.
func (r *measured) named(out []Share) []Share {
	out = append(out, Share{"small operators", r.booked[small], fmt.Sprintf("%s; the GPU's shortest kernels take %s µs", r.launches(small), us(r.walk.shortest))})
	out = append(out, r.exchanged()...)
	return append(out, []Share{
		{"copies and fills", r.booked[copies], r.launches(copies)},
		{"not placed", r.booked[unplaced], ""},
		{"outside layers", r.booked[outside], ""},
		{"kernels of no pass", r.given.others, ""},
		{"GPU idle inside the pass", r.given.inside, ""},
		{"GPU idle up to the next pass", r.given.after, ""},
	}...)
}

// launches says how many kernels of a group there are.
func (r *measured) launches(g group) string {
	n, layers := r.counts[g], r.walk.device.Passes[r.pass.Index].NumLayers
	if layers > 1 && n%layers == 0 && n > 0 {
		return fmt.Sprintf("%d launches, %d a layer", n, n/layers)
	}
	return fmt.Sprintf("%d launches", n)
}

// expectation says what the floor of experts rests on, or why there is none.
func (r *measured) expectation() string {
	for _, c := range r.order {
		if c.work.Expected && c.floor > 0 {
			return fmt.Sprintf("expected: %.0f experts active", c.work.ActiveExperts)
		}
	}
	return ""
}

// sharesOf lists what share of the peak the operators of a group reach, those of one name in all types of layers together.
func (r *measured) sharesOf(g group) string {
	var parts []string
	for _, c := range r.byOperator(g) {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", c.operator, 100*float64(c.floor)/float64(c.raw)))
	}
	const most = 6
	if len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return strings.Join(parts, ", ")
}

// merged is one operator of all types of layers.
type merged struct {
	operator    string
	raw, floor  time.Duration
	above       time.Duration // booked, less what is floor
	layers      int
	longest     layer.Kernel
	launches    int
	unreachable bool // an instance was faster than possible
}

// byOperator adds up the cells of a group that have a floor, by operator, in the order in which they first ran.
func (r *measured) byOperator(g group) []merged {
	var out []merged
	for _, c := range r.order {
		if c.group != g || c.floor == 0 || c.raw == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(m merged) bool { return m.operator == c.operator })
		if i < 0 {
			i = len(out)
			out = append(out, merged{operator: c.operator})
		}
		m := &out[i]
		m.raw += c.raw
		m.floor += c.floor
		m.above += c.booked - c.capped
		m.layers += c.instances
		m.launches += c.launches
		m.longest = longer(m.longest, c.longest)
		m.unreachable = m.unreachable || c.over > 0
	}
	return out
}

// rows are the operators of the pass in the order in which they first ran.
func (r *measured) rows() []Row {
	out := []Row{}
	for _, c := range r.order {
		if c.instances == 0 { // only copies for it
			continue
		}
		f := floor{bound: c.bound}
		row := Row{LayerType: "outside layers", Operator: c.operator, Stage: r.stage, Count: c.instances, Cost: costOf(&c.work, &f, c.instances, c.floor, c.raw), Time: c.raw}
		if c.kind >= 0 {
			row.LayerType = r.walk.plan.Kinds[c.kind].Name
		}
		if c.raw > 0 && (!c.work.Expected || c.floor > 0) { // else more was expected than can have been
			row.TFLOPs, row.TBs = row.GFLOP/1e3/c.raw.Seconds(), float64(row.Bytes)/1e12/c.raw.Seconds()
		}
		if c.floor == 0 && c.launches > 0 && float64(c.raw) <= nearShortest*float64(c.launches)*float64(r.walk.shortest) {
			row.Bound = boundLatency
		}
		if c.work.AtMost {
			c.notes = append(c.notes, "at most: sums over requests do not tell more")
		}
		if r.walk.cached(c, row.TBs) {
			c.notes = append(c.notes, "cache: what it reads was still there")
		}
		row.Note = strings.Join(c.notes, "; ")
		out = append(out, row)
	}
	return out
}

// cached says that an operator moves activations faster than the memory does, and that they fit into the cache in front of it.
func (w *walk) cached(c *cell, tbs float64) bool {
	return w.gpu != nil && c.work.Weights+c.work.Cache == 0 && c.work.Activations <= float64(w.gpu.Cache) &&
		w.gpu.Bandwidth.Known() && tbs*1e12 > w.gpu.Bandwidth.Value
}

// recoverable are the largest times above what must be.
func (r *measured) recoverable() []Item {
	var items []Item
	add := func(it Item) {
		if it.Time > 0 && r.pass.Wall > 0 {
			it.Share = float64(it.Time) / float64(r.pass.Wall)
			items = append(items, it)
		}
	}
	for g := range heads {
		for _, m := range r.byOperator(group(g)) {
			if !m.unreachable {
				add(Item{What: m.operator, Kernel: m.longest.Facts().Short, Place: fmt.Sprintf("%d kernels of %d layers", m.launches, m.layers), Time: m.above,
					Why: fmt.Sprintf("at %.0f %% of what the GPU can do", 100*float64(m.floor)/float64(m.raw))})
			}
		}
	}
	for _, g := range []group{small, copies} {
		it := Item{What: "small operators", Place: r.launches(g), Time: r.booked[g], Why: "fewer of them, by fusing, is what helps"}
		if g == copies {
			it.What, it.Why = "copies and fills", "kernels that move or clear data for others"
		}
		if k := r.longest[g]; k.Valid() {
			it.Kernel = k.Facts().Short
		}
		add(it)
	}
	add(Item{What: "idle inside the pass", Time: r.given.inside, Why: "no kernel runs"})
	add(Item{What: "idle up to the next pass", Time: r.given.after, Why: "between two steps"})
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(b.Time, a.Time) })
	const most = 3
	return items[:min(most, len(items))]
}
