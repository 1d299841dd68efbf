package roofline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// heads are the groups of operators that have floors, as the waterfall calls them, their floor, what is above it, and
// what may have to be.
var heads = [...]struct{ name, floor, above, open string }{
	products: {"GEMMs", "floor: GEMMs (weights)", "GEMMs above their floor", ""},
	experts:  {"experts", "floor: experts", "experts above their floor", "experts of more tokens"},
	attentionCore: {"attention", "floor: attention (cache)", "attention above its floor",
		"attention: work that recorded inputs leave open"},
	others: {"element-wise and others", "floor: element-wise and others", "element-wise and others above their floor",
		""},
}

// bare says that a cell has no floor.
func (r *measured) bare(c *cell) bool { return c.floor == 0 || r.pass.Floor == 0 }

// waterfall divides the pass's time. It adds up to it exactly: every instant was booked once, and a floor takes no
// more than was booked.
func (r *measured) waterfall() []Share {
	heads := heads
	if r.walk.model == nil {
		for g := range heads { // what is weights and cache of it, no recording says
			h := &heads[g]
			h.floor, _, _ = strings.Cut(h.floor, " (")
		}
	}
	var floors, rest, open, bare [len(heads)]time.Duration
	for _, c := range r.order {
		own := min(c.capped, c.booked)
		switch {
		case c.group > others:
		case r.bare(c):
			bare[c.group] += c.booked
		default:
			floors[c.group] += own
			rest[c.group] += c.booked - own
			open[c.group] += c.even
		}
		if r.walk.model != nil || r.pass.Floor == 0 {
			continue
		}
		if c.group > others && c.group != communication { // small kernels that are ops have a floor, too
			floors[others] += own
			r.booked[c.group] -= own
		}
		copied := min(c.capped-own, c.copied) // and so have copies
		floors[others] += copied
		r.booked[copies] -= copied
	}
	for g := range open {
		open[g] = min(open[g], rest[g])
		rest[g] -= open[g]
	}
	var out []Share
	for g := range heads {
		share := Share{Name: heads[g].floor, Time: floors[g], Kind: Floor, group: group(g)}
		switch {
		case group(g) == experts && r.walk.model != nil:
			share.Note = "experts of one token"
		case group(g) == others:
			if share.Note = "of the kernels as launched; fusing them goes below it"; r.walk.model != nil {
				// The floor of a plan has no activations.
				share = Share{Name: heads[g].name + " at the memory's speed", Time: share.Time, group: groups,
					Note: "as one kernel for each operator; fusing them goes below it"}
			}
		}
		if share.Time > 0 {
			out = append(out, share)
		}
	}
	for g := range heads {
		if open[g] > 0 {
			name, note := heads[g].open, ""
			if r.walk.model != nil && group(g) == experts {
				name, note = heads[g].open+", if chosen evenly", r.noteOf(experts)
			}
			out = append(out, Share{Name: name, Time: open[g], Note: note, group: groups})
		}
	}
	for g := range heads {
		out = append(out, Share{Name: heads[g].above, Time: rest[g], Note: sharesOf(r.byOperator(group(g))), Kind: Above,
			group: group(g)})
	}
	for g := range heads {
		note := r.bareOf(group(g))
		if r.walk.model != nil && bare[g] > 0 {
			why, _ := r.missing(group(g))
			note += ". " + why
		}
		out = append(out, Share{Name: heads[g].name + " without a floor", Time: bare[g], Note: note, group: group(g)})
	}
	return r.named(out)
}

// bareOf lists the operators of a group that have no floor, those with most time first.
func (r *measured) bareOf(g group) string {
	took := map[string]time.Duration{}
	var booked, hidden time.Duration
	var names []string
	for _, c := range r.order {
		if c.group != g || !r.bare(c) {
			continue
		}
		booked, hidden = booked+c.booked, hidden+c.hidden
		if c.booked == 0 {
			continue
		}
		if took[c.operator] == 0 {
			names = append(names, c.operator)
		}
		took[c.operator] += c.booked
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(took[b], took[a]) })
	const most = 4
	parts := slices.Clone(names[:min(most, len(names))])
	if more := len(names) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return joined(strings.Join(parts, ", "), besideOthers(hidden, booked))
}

// joined are the remarks of a row that are not empty.
func joined(remarks ...string) string {
	return strings.Join(slices.DeleteFunc(remarks, func(s string) bool { return s == "" }), "; ")
}

// besideOthers says how much longer kernels run than the time that is booked to them; "" where that is little.
func besideOthers(hidden, booked time.Duration) string {
	if float64(hidden) <= muchTime*float64(booked) {
		return ""
	}
	return table.Duration(hidden) + " more beside other kernels"
}

// showsShort reports whether the trace shows what short kernels take: some are short, and enough ran.
func (w *walk) showsShort() bool {
	return w.shortest > 0 && w.shortest < mostShortest && float64(w.device.NumKernels())*shortest >= 1
}

// lasting says how long most of the GPU's kernels take at least; "" where the trace does not show it.
func (w *walk) lasting() string {
	if !w.showsShort() {
		return ""
	}
	return "nine in ten kernels take at least " + table.Duration(w.shortest)
}

// missing says why operators of a group have no floor, and what would give them one.
func (r *measured) missing(g group) (why, do string) {
	switch {
	case r.walk.gpu == nil:
		return "The GPU is not known.", "Name the GPU: `--gpu H100` (of `strata light`: `--device H100`)."
	case r.withheld:
		return "Floors are withheld: operators are faster than the GPU can be.", "Check `--tokens`, `--config` and the GPU."
	case r.walk.model == nil:
		do = table.UpperFirst(wanted(r.walk.names(), r.role)) + "."
		switch {
		case r.walk.refused:
			why = "The model config or number of layers that was given contradicts the trace."
		case beyondConfigs(r.role):
			why = "No config.json describes " + table.WithArticle(r.role.Title()) +
				", and the inputs of these operators were not recorded."
		default:
			why = "No model config was found, and the inputs of these operators were not recorded."
		}
		return why, do
	case r.walk.uncounted:
		return "The sizes of the model on one GPU are not known.", "Pass `--tp` and `--ep`."
	case g == attentionCore && r.load != nil && !r.load.KnownSeen:
		return "How many tokens attention sees is not known.", "Pass `--kv-len`."
	case g == others && r.load != nil && r.load.AtLeast:
		return "How many tokens a pass has is not known.", "Pass `--tokens`."
	}
	why, do = "Neither the config nor recorded inputs give their sizes.", "Run `strata light` for what is known of each "+
		"operator."
	if is := r.bases(g); is[BasisCache] && len(is) > 1 {
		why = "Some are faster than the memory, as what they read was in a cache; of others the sizes are not known."
	} else if is[BasisCache] {
		why = "They are faster than the memory: what they read was in a cache."
	}
	return why, do
}

// bases are what the floors of a group's operators without one would rest on.
func (r *measured) bases(g group) map[Basis]bool {
	out := map[Basis]bool{}
	for _, c := range r.order {
		if c.group == g && r.bare(c) && c.booked > 0 {
			out[c.basis] = true
		}
	}
	return out
}

// named appends the rows that have no floor.
func (r *measured) named(out []Share) []Share {
	out = append(out, Share{Name: "small kernels", Time: r.booked[small],
		Note:  joined(r.launches(small), besideOthers(r.hidden[small], r.booked[small]), r.walk.lasting()),
		group: small})
	out = append(out, r.communicated()...)
	out = append(out, []Share{
		{Name: "copies and fills", Time: r.booked[copies], Note: r.launches(copies), group: copies},
		{Name: "kernels of no known operator", Time: r.booked[unplaced], group: unplaced},
		{Name: "other, outside layers", Time: r.booked[outside], group: outside},
		{Name: "kernels outside passes", Time: r.given.others, group: groups},
	}...)
	if r.given.lost > 0 {
		out = append(out, Share{Name: "not recorded", Time: r.given.lost, Note: table.Counted(
			r.walk.device.Passes[r.pass.Index].Lost, "record is", "records are") + " missing", group: groups})
	}
	return append(out,
		Share{Name: "GPU idle inside the pass", Time: r.given.inside, Kind: Idle, group: groups},
		Share{Name: "GPU idle up to the next pass", Time: r.given.after, Kind: Idle, group: groups})
}

// noteOf is the first remark on an operator of a group.
func (r *measured) noteOf(g group) string {
	for _, c := range r.order {
		if c.group == g && len(c.notes) > 0 {
			return c.notes[0]
		}
	}
	return ""
}

// launches says how many kernels of a group there are.
func (r *measured) launches(g group) string { return r.number(r.counts[g]) }

// number says how many launches there are, and how many in each layer.
func (r *measured) number(n int) string {
	layers := r.walk.device.Passes[r.pass.Index].NumLayers
	if layers > 1 && n%layers == 0 && n > 0 {
		return fmt.Sprintf("%s launches, %d per layer", table.Count(int64(n)), n/layers)
	}
	return table.Counted(n, "launch", "launches")
}

// sharesOf lists what share of the peak the operators of a group reach, those of one name in all types of layers
// together: those that lose most first. Those that run well or lose next to nothing are counted only.
func sharesOf(list []merged) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b merged) int { return cmp.Compare(b.above, a.above) })
	var all time.Duration
	for _, m := range list {
		all += m.above
	}
	n := len(list)
	lost := func(m merged) bool {
		return float64(m.above) >= leastLoss*float64(all) && float64(m.floor) < wellRun*float64(m.raw)
	}
	if slices.ContainsFunc(list, lost) {
		list = slices.DeleteFunc(list, func(m merged) bool { return !lost(m) })
	}
	var parts []string
	for _, c := range list {
		least := fmt.Sprintf("%s %.0f", c.operator, 100*float64(c.floor)/float64(c.raw))
		if c.open > 0 {
			least += fmt.Sprintf(" to %.0f", 100*float64(c.floor+c.open)/float64(c.raw))
		}
		parts = append(parts, least+"%")
	}
	const most = 6
	parts = parts[:min(most, len(parts))]
	if n > len(parts) {
		parts = append(parts, fmt.Sprintf("%d more", n-len(parts)))
	}
	return strings.Join(parts, ", ")
}

// merged is one operator of all types of layers.
type merged struct {
	operator    string
	raw, floor  time.Duration
	above       time.Duration // booked, less floor and open
	open        time.Duration // that work may need which is not certain
	launches    int
	longest     layer.Kernel
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
		m.above += max(0, c.booked-c.capped-c.even)
		m.open += c.even
		m.launches += c.launches
		m.longest = longer(m.longest, c.longest)
		m.unreachable = m.unreachable || c.over > 0
	}
	return out
}

// byLayerType are the operators of the pass in the order in which they first ran, those of one type of layer together.
func (r *measured) byLayerType() []*cell {
	first := map[int]int{} // where each type begins
	at := make(map[*cell]int, len(r.order))
	for i, c := range r.order {
		at[c] = i
		if c.kind >= 0 {
			if _, seen := first[c.kind]; !seen {
				first[c.kind] = i
			}
			at[c] = first[c.kind]
		} else if len(first) > 0 { // after layers
			at[c] = len(r.order)
		}
	}
	out := slices.Clone(r.order)
	slices.SortStableFunc(out, func(a, b *cell) int { return cmp.Compare(at[a], at[b]) })
	return out
}

// rows are the operators of the pass, those of one type of layer together.
func (r *measured) rows() []Row {
	out := make([]Row, 0, len(r.order))
	for _, c := range r.byLayerType() {
		if c.instances == 0 { // only copies for it
			continue
		}
		row := Row{LayerType: "outside layers", Operator: c.operator, Stage: r.stage, Count: c.instances,
			Cost: r.costOf(c), Time: c.raw}
		if c.longest.Valid() {
			row.Kernels, row.Kernel, row.Category = c.launches, shortName(c.longest), string(c.longest.Category())
		}
		if r.walk.model == nil && c.ops != nil {
			row.Count = c.ops.count
		}
		if c.kind >= 0 {
			row.LayerType = r.walk.plan.Kinds[c.kind].Name
		}
		if c.raw > 0 {
			row.TFLOPs, row.TBs = row.GFLOP/1e3/c.raw.Seconds(), float64(row.Bytes)/1e12/c.raw.Seconds()
		}
		if c.group >= small && c.floor == 0 && c.launches > 0 &&
			float64(c.raw) <= nearShortest*float64(c.launches)*float64(r.walk.shortest) {
			row.Bound = boundLatency
		}
		if c.work.AtMost {
			c.notes = append(c.notes, "at most: sums over requests do not show more")
		}
		if r.walk.cached(c, row.TBs) {
			c.notes = append(c.notes, "cache: what it reads was still there")
		}
		if c.apart > 0 {
			c.notes = append(c.notes, "without "+table.Duration(c.apart)+" of copies")
		}
		row.Note = strings.Join(c.notes, "; ")
		out = append(out, row)
	}
	if r.apart.Kernels > 0 {
		r.apart.LayerType, r.apart.Operator, r.apart.Stage, r.apart.Count = AllLayers, "copies and fills", r.stage, 1
		if slices.ContainsFunc(r.order, func(c *cell) bool { return c.group == copies && c.instances > 0 }) {
			r.apart.Operator = "other copies and fills"
		}
		k := r.apartLongest
		r.apart.Kernel, r.apart.Category = shortName(k), string(k.Category())
		out = append(out, r.apart)
	}
	return out
}

// cached says that an operator moves activations faster than the memory does, and that they fit into the cache in
// front of it.
func (w *walk) cached(c *cell, tbs float64) bool {
	return w.gpu != nil && c.work.Known && c.work.Weights+c.work.Cache == 0 &&
		c.work.Activations <= float64(w.gpu.Cache) &&
		w.gpu.Bandwidth.Known() && tbs*1e12 > w.gpu.Bandwidth.Value
}

// costOf is the cost of all instances of an operator.
func (r *measured) costOf(c *cell) Cost {
	f := floor{bound: c.bound}
	least := c.floor
	if r.withheld {
		least = 0
	}
	out := costOf(&c.work, &f, c.instances, least, c.raw)
	if c.ops != nil {
		w := &c.ops.work
		out.M, out.N, out.K, out.GFLOP, out.Bytes = w.M, w.N, w.K, w.FLOP/1e9, int64(w.Bytes+0.5)
		out.bounds(w)
	} else if r.load != nil && r.load.AtLeast {
		out.M, out.GFLOP = 0, 0
	}
	if out.Basis = c.basis; r.withheld && c.floor > 0 {
		out.Basis = BasisWithheld
	}
	return out
}

// launched counts the launches of a group's operators with a floor, or of those without, and returns the longest.
func (r *measured) launched(g group, bare bool) (n int, longest layer.Kernel) {
	for _, c := range r.order {
		if c.group == g && c.launches > 0 && r.bare(c) == bare {
			n, longest = n+c.launches, longer(longest, c.longest)
		}
	}
	return n, longest
}

// recoverable is all time of the pass above its floor, the largest items first: what the waterfall shows beside the
// floors, so that it adds up to the same.
func (r *measured) recoverable() []Item {
	var items []Item
	add := func(it Item) {
		if it.Time > 0 && r.pass.Wall > 0 {
			it.Share = float64(it.Time) / float64(r.pass.Wall)
			items = append(items, it)
		}
	}
	for _, s := range r.pass.Waterfall {
		if s.Kind != Floor {
			add(Item{What: s.Name, Time: s.Time, Why: s.Note, NoFloor: s.Kind == NoFloor, kind: s.Kind, group: s.group})
		}
	}
	for i := range items {
		it := &items[i]
		if it.group == groups {
			continue
		}
		n, longest := r.counts[it.group], r.longest[it.group]
		if it.group <= others {
			n, longest = r.launched(it.group, it.NoFloor)
		}
		if list := r.byOperator(it.group); !it.NoFloor && len(list) > 0 { // that of the operator which loses most
			longest = slices.MaxFunc(list, func(a, b merged) int { return cmp.Compare(a.above, b.above) }).longest
		}
		if longest.Valid() {
			it.Kernel = shortName(longest)
		}
		it.Place = r.number(n)
	}
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(b.Time, a.Time) })
	return items
}
