package roofline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// waterfall divides the pass's time. It adds up to it exactly: every instant was booked once, and a floor takes no more than was booked.
func (r *measured) waterfall() []Share {
	var floors, above [3]time.Duration
	for _, c := range r.cells {
		if c.group <= attentionCore {
			floors[c.group] += c.capped
			above[c.group] += c.booked - c.capped
		}
	}
	launches := map[group]int{}
	for _, c := range r.cells {
		launches[c.group] += c.launches
	}
	if r.pass.Floor == 0 {
		for g := range floors { // nothing to divide by
			above[g] += floors[g]
			floors[g] = 0
		}
		return r.named([]Share{
			{"products (weights)", above[products], ""},
			{"experts", above[experts], ""},
			{"attention", above[attentionCore], ""},
		}, launches)
	}
	return r.named([]Share{
		{"floor: products (weights)", floors[products], ""},
		{"floor: experts", floors[experts], r.expectation()},
		{"floor: attention (cache)", floors[attentionCore], ""},
		{"products above their floor", above[products], r.sharesOf(products)},
		{"experts above their floor", above[experts], r.sharesOf(experts)},
		{"attention above its floor", above[attentionCore], ""},
	}, launches)
}

// named appends the rows that have no floor.
func (r *measured) named(out []Share, launches map[group]int) []Share {
	return append(out, []Share{
		{"small operators", r.booked[small], fmt.Sprintf("%d launches; the GPU's shortest kernels take %s", launches[small], r.walk.shortest)},
		{"communication: transfer and waiting", r.booked[communication], "one rank alone does not tell them apart"},
		{"copies and fills", r.booked[copies], fmt.Sprintf("%d launches", launches[copies])},
		{"not placed", r.booked[unplaced], ""},
		{"outside layers", r.booked[outside], ""},
		{"kernels of no pass", r.given.others, ""},
		{"GPU idle inside the pass", r.given.inside, ""},
		{"GPU idle up to the next pass", r.given.after, ""},
	}...)
}

func (r *measured) expectation() string {
	for _, k := range r.order {
		if c := r.cells[k]; c.work.Expected {
			return fmt.Sprintf("expected: %.0f experts active", c.work.ActiveExperts)
		}
	}
	return ""
}

// sharesOf lists what share of the peak the operators of a group reach.
func (r *measured) sharesOf(g group) string {
	var parts []string
	for _, k := range r.order {
		if c := r.cells[k]; c.group == g && c.floor > 0 && c.raw > 0 {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", k.operator, 100*float64(c.floor)/float64(c.raw)))
		}
	}
	const most = 6
	if len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return strings.Join(parts, ", ")
}

// rows are the operators of the pass in the order in which they first ran.
func (r *measured) rows() []Row {
	out := []Row{}
	for _, k := range r.order {
		c := r.cells[k]
		row := Row{LayerType: "outside layers", Operator: k.operator, Stage: r.stage, Count: c.instances, M: c.work.M, N: c.work.N, K: c.work.K,
			GFLOP: float64(c.instances) * c.work.FLOP / 1e9, Bytes: int64(float64(c.instances)*c.work.Bytes() + 0.5), Time: c.raw, Floor: c.floor, Bound: c.bound}
		if k.kind >= 0 {
			row.LayerType = r.walk.plan.Kinds[k.kind].Name
		}
		if c.floor > 0 && c.raw > 0 {
			row.PeakShare = float64(c.floor) / float64(c.raw)
		}
		if c.floor == 0 && c.launches > 0 && float64(c.raw) <= nearShortest*float64(c.launches)*float64(r.walk.shortest) {
			row.Bound = BoundLatency
		}
		if c.work.Expected {
			note := fmt.Sprintf("%.0f experts active if chosen evenly", c.work.ActiveExperts)
			if row.PeakShare > 1 {
				row.PeakShare = 0
				row.Floor = 0
				note = fmt.Sprintf("at most %.0f experts active", c.work.ActiveExperts*float64(c.raw)/float64(c.floor))
			}
			c.notes = append(c.notes, note)
		}
		if c.work.AtMost {
			c.notes = append(c.notes, "at most: sums over requests do not tell more")
		}
		row.Note = strings.Join(c.notes, "; ")
		out = append(out, row)
	}
	return out
}

// recoverable are the largest times above what must be.
func (r *measured) recoverable() []Item {
	var items []Item
	add := func(what string, t time.Duration, why string) {
		if t > 0 && r.pass.Wall > 0 {
			items = append(items, Item{What: what, Time: t, Share: float64(t) / float64(r.pass.Wall), Why: why})
		}
	}
	for _, k := range r.order {
		if c := r.cells[k]; c.group <= attentionCore && c.floor > 0 && c.over == 0 && c.booked > c.capped {
			add(k.operator, c.booked-c.capped, fmt.Sprintf("at %.0f %% of what the GPU can do", 100*float64(c.floor)/float64(max(c.raw, 1))))
		}
	}
	launches := 0
	for _, c := range r.cells {
		if c.group == small {
			launches += c.launches
		}
	}
	add("small operators", r.booked[small], fmt.Sprintf("%d launches; fewer of them, by fusing, is what helps", launches))
	add("copies and fills", r.booked[copies], "kernels that move or clear data for others")
	add("idle inside the pass", r.given.inside, "no kernel runs")
	add("idle up to the next pass", r.given.after, "between two steps")
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(b.Time, a.Time) })
	const most = 3
	return items[:min(most, len(items))]
}
