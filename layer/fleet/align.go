package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/llmstrata/strata/classify"
)

// member is a rank of a run with the number that it goes by.
type member struct {
	*Rank
	id    int
	label string
	mean  means
	// numbered: id is a rank's number, not that of a GPU, which says nothing of a job's size.
	numbered bool
}

// means are figures of a rank's complete steps, or of all if none is complete.
type means struct {
	wall, busy, tokens int64
	steps              int
}

func meansOf(r *Rank) (out means) {
	all := !slices.ContainsFunc(r.Steps, func(s Step) bool { return !s.Partial })
	for i := range r.Steps {
		if s := &r.Steps[i]; all || !s.Partial {
			out = means{out.wall + s.Wall, out.busy + s.Busy, out.tokens + s.Tokens, out.steps + 1}
		}
	}
	n := out.steps
	return means{each(out.wall, n), each(out.busy, n), each(out.tokens, n), n}
}

// identify gives the readable ranks of one part of a run their numbers, and takes out what is there twice. The trace's
// own rank counts, unless names of files separate more of them, as those of jobs do that each think to be rank 0.
func identify(ranks []*Rank) (members []*member, twice []Duplicate) {
	byPrint := map[string]*Rank{}
	var kept []*Rank
	for _, r := range ranks {
		switch first := byPrint[r.Fingerprint]; {
		case r.Fingerprint == "" || first == nil:
			byPrint[r.Fingerprint] = r
			kept = append(kept, r)
		case first.NameRank != first.Rank && r.NameRank == r.Rank: // the other one is the copy
			kept[slices.Index(kept, first)], byPrint[r.Fingerprint] = r, r
			twice = append(twice, Duplicate{File: first.File, Of: r.File, Why: sameContent})
		default:
			twice = append(twice, Duplicate{File: r.File, Of: first.File, Why: sameContent})
		}
	}
	type key struct{ n, device int }
	numbers := []func(i int) int{func(i int) int { return kept[i].Rank }, func(i int) int { return kept[i].NameRank },
		func(i int) int { return kept[i].Device }}
	best, most, numbered := numbers[0], -1, true
	for which, number := range numbers {
		seen := map[key]bool{}
		for i := range kept {
			if n := number(i); n >= 0 {
				seen[key{n, kept[i].Device}] = true
			}
		}
		// Every process may call the one GPU that it sees 0: then a device is nobody's number. Nor is it that of a GPU
		// alone.
		device := which == len(numbers)-1
		if device && (len(seen) < len(kept) || len(seen) < 2) {
			continue
		}
		if len(seen) > most {
			best, most, numbered = number, len(seen), !device
		}
	}
	devices := map[int]int{} // of a rank
	for i := range kept {
		devices[best(i)]++
	}
	several := len(devices) < len(kept)
	at := map[key]*member{}
	for i, r := range kept {
		k := key{best(i), r.Device}
		if first := at[k]; first != nil && k.n >= 0 {
			twice = append(twice, Duplicate{File: r.File, Of: first.File, Why: sameRank})
			continue
		}
		m := &member{Rank: r, id: k.n, label: "rank " + strconv.Itoa(k.n), mean: meansOf(r), numbered: numbered}
		if several {
			m.label += " GPU " + strconv.Itoa(r.Device)
		}
		if k.n < 0 {
			m.label = r.File
		}
		at[k] = m
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.Device, b.Device))
	})
	return members, twice
}

// endTogether says whether all ranks of a collective leave it together, so that who arrives last shows in the
// durations. The two ends of a point-to-point transfer need not. What hides its kind is a collective far more often.
func endTogether(c classify.Collective) bool {
	return c != classify.NotCollective && c != classify.SendRecv
}

// lane is one rank's part in a group.
type lane struct {
	*member
	steps []laneStep
	shift int64 // how far its clock is ahead of the first lane's
	met   bool  // the two run the same collectives
}

// laneStep is what one step of a rank exchanges within the group.
type laneStep struct {
	*Step
	at    int   // place in Rank.Steps
	calls []int // places in Step.Call
}

// calls is how many collectives a lane has.
func (l *lane) calls() (n int) {
	for i := range l.steps {
		n += len(l.steps[i].calls)
	}
	return n
}

func (s *laneStep) kind(r *Rank, i int) classify.Collective { return r.Calls[s.Call[s.calls[i]]].Kind }

// spans are the collectives of a step on the rank's clock.
func (s *laneStep) spans() []span {
	out := make([]span, len(s.calls))
	for i, c := range s.calls {
		start := s.Start + s.At[c]
		out[i] = span{start, start + s.Took[c]}
	}
	return out
}

// group is the ranks that exchange data with one another, and the steps that they have in common: the places of a row
// are by lane, −1 where a rank lacks the step.
type group struct {
	lanes []*lane
	rows  [][]int
}

// groupsOf divides the members of a run into groups: as the traces name them, else by who ends collectives together.
func groupsOf(members []*member) []*group {
	named := map[string]*group{}
	for _, m := range members {
		keys := make([]string, len(m.Groups))
		for i, g := range m.Groups {
			keys[i] = g.key()
		}
		of := make([]string, len(m.Calls)) // the group of each call
		for i, c := range m.Calls {
			if c.Group >= 0 && endTogether(c.Kind) {
				of[i] = keys[c.Group]
			}
		}
		for key, l := range lanesOf(m, func(call int) string { return of[call] }) {
			if named[key] == nil {
				named[key] = &group{}
			}
			named[key].lanes = append(named[key].lanes, l)
		}
	}
	var out []*group
	for _, key := range slices.Sorted(maps.Keys(named)) {
		out = append(out, named[key])
	}
	out = append(out, unnamed(members)...)
	for _, g := range out {
		g.align()
		g.setClocks()
	}
	return out
}

// lanesOf is what a rank exchanges, by the key of the call; calls with the zero key are left out. Digests are others'
// data, and may have as many distinct calls as collectives: each collective is looked at once.
func lanesOf[K comparable](m *member, key func(call int) K) map[K]*lane {
	var none K
	out := map[K]*lane{}
	for i := range m.Steps {
		s := &m.Steps[i]
		for at, c := range s.Call {
			k := key(c)
			if k == none {
				continue
			}
			l := out[k]
			if l == nil {
				l = &lane{member: m}
				out[k] = l
			}
			if n := len(l.steps); n == 0 || l.steps[n-1].Step != s {
				l.steps = append(l.steps, laneStep{Step: s, at: i})
			}
			last := &l.steps[len(l.steps)-1]
			last.calls = append(last.calls, at)
		}
	}
	return out
}

// fewCalls: the ends of at most so many collectives prove nothing, as the clocks of the ranks are set by them.
const fewCalls = 8

// unnamed finds the groups of collectives whose traces do not name them. Each kind is looked at by itself, as a rank
// may reduce with some ranks and gather from others; kinds of the same ranks are one group. A kind that is too rare
// belongs to the largest group of its rank, or to all ranks. Libraries run an all-to-all as a transfer to each rank:
// kernels of transfers are one where their ends show it.
func unnamed(members []*member) (out []*group) {
	type part struct {
		*member
		kind classify.Collective
	}
	of, rest := map[part]*group{}, &group{} // the group of rare calls of ranks that have no other
	var rare []part
	byRanks, sizes, largest := map[string]*group{}, map[*group]int{}, map[*member]*group{}
	for _, kind := range classify.Collectives() {
		var lanes []*lane
		for _, m := range members {
			l := lanesOf(m, func(call int) bool {
				return m.Calls[call].Kind == kind && m.Calls[call].Group < 0
			})[true]
			switch {
			case l == nil:
			case l.calls() > fewCalls:
				lanes = append(lanes, l)
			case endTogether(kind):
				rare = append(rare, part{m, kind})
			}
		}
		for _, c := range clusters(lanes) {
			if len(c.lanes) == 1 && !endTogether(kind) {
				continue
			}
			ranks := ""
			for _, l := range c.lanes {
				ranks += l.label + "\x00"
			}
			g := byRanks[ranks]
			if g == nil {
				g = &group{}
				byRanks[ranks], sizes[g], out = g, len(c.lanes), append(out, g)
			}
			for _, l := range c.lanes {
				of[part{l.member, kind}] = g
				if sizes[g] > sizes[largest[l.member]] {
					largest[l.member] = g
				}
			}
		}
	}
	for _, p := range rare {
		of[p] = cmp.Or(largest[p.member], rest)
	}
	for _, m := range members {
		for g, l := range lanesOf(m, func(call int) *group {
			if c := &m.Calls[call]; c.Group < 0 {
				return of[part{m, c.Kind}]
			}
			return nil
		}) {
			g.lanes = append(g.lanes, l)
		}
	}
	if len(rest.lanes) > 0 {
		out = append(out, rest)
	}
	return out
}

// key is what two ranks call the same group.
func (g ProcessGroup) key() string {
	if len(g.Ranks) == 0 {
		return g.Name
	}
	return fmt.Sprint(g.Ranks)
}

// Numbers that decide which ranks are one group.
const (
	// sampled is how many ranks are compared with one another to see how close together ends are in one group.
	sampled = 16
	// apartBy is how many times further than the closest ranks two ranks may end collectives and be one group, closest
	// below the resolution: recorders round to it, and the last bytes do not reach all ranks at once.
	apartBy = 4
	closest = 1000 // ns
	// enough collectives show how far apart two ranks end them: of more, steps that both run are left out evenly.
	enough = 2000
)

// clusters puts ranks into groups: a rank joins the first one whose first rank ends collectives with it, about as close
// as the closest ranks do.
func clusters(lanes []*lane) []*group {
	few := lanes[:min(sampled, len(lanes))]
	const none = math.MaxInt64
	best := slices.Repeat([]int64{none}, len(few)) // the distance of each rank's closest
	for i, a := range few {
		for k, b := range few[:i] {
			if off, ok := distance(a, b); ok {
				best[i], best[k] = min(best[i], off), min(best[k], off)
			}
		}
	}
	near := slices.DeleteFunc(best, func(off int64) bool { return off == none })
	limit := max(closest, apartBy*middle(near))
	var out []*group
next:
	for _, l := range lanes {
		for _, g := range out {
			if off, ok := distance(g.lanes[0], l); ok && off <= limit {
				g.lanes = append(g.lanes, l)
				continue next
			}
		}
		out = append(out, &group{lanes: []*lane{l}})
	}
	return out
}

// distance is how far apart two ranks end their collectives, the median; false where they do not exchange data.
func distance(a, b *lane) (int64, bool) {
	g := &group{lanes: []*lane{a, b}}
	g.align()
	calls := 0
	g.rows = slices.DeleteFunc(g.rows, func(row []int) bool {
		same := row[0] >= 0 && row[1] >= 0 && sameKinds(a, b, row[0], row[1])
		if same {
			calls += len(a.steps[row[0]].calls)
		}
		return !same
	})
	if every := calls / enough; every > 1 {
		i := -1
		g.rows = slices.DeleteFunc(g.rows, func([]int) bool { i++; return i%every != 0 })
	}
	mine, theirs := g.common(1)
	if !together(mine, theirs) {
		return 0, false
	}
	_, off := clockOf(mine, theirs)
	return off, true
}

func sameKinds(a, b *lane, i, j int) bool {
	x, y := &a.steps[i], &b.steps[j]
	if len(x.calls) != len(y.calls) {
		return false
	}
	for k := range x.calls {
		if x.kind(a.Rank, k) != y.kind(b.Rank, k) {
			return false
		}
	}
	return true
}

// place is what steps of one row have in common: the server's number, and which of several passes of that number; or
// the index of the step of the lane that others are compared with.
type place [2]int64

// numbers are the places of the steps by the server's number; nil where a step has none.
func (l *lane) numbers() []place {
	out, seen := make([]place, len(l.steps)), map[int64]int64{}
	for i := range l.steps {
		n := l.steps[i].Number
		if n < 0 {
			return nil
		}
		out[i] = place{n, seen[n]}
		seen[n]++
	}
	return out
}

// mostShift is how many steps two recordings of one run may begin or end apart without step numbers: profilers of all
// ranks are started by one request.
const mostShift = 8

// shiftOf is by how many steps b began to record earlier than a: the shift at which the steps run the same collectives.
// The one that leaves most steps paired counts, then that of the closest clocks, unless the collectives end more than
// twice as close together at another one.
func shiftOf(a, b *lane) (int, bool) {
	la, lb := len(a.steps), len(b.steps)
	type fit struct {
		by, odd, lost int
		off, clocks   int64
	}
	var fits []fit
	for _, middle := range slices.Compact([]int{lb - la, 0}) {
		for by := middle - mostShift; by <= middle+mostShift; by++ {
			f := fit{by: by, lost: min(la, lb)}
			var mine, theirs []span
			for i := max(0, -by); i < la && i+by < lb; i++ {
				f.lost--
				if !sameKinds(a, b, i, i+by) {
					f.odd++
					continue
				}
				mine, theirs = append(mine, a.steps[i].spans()...), append(theirs, b.steps[i+by].spans()...)
			}
			if len(mine) == 0 || 2*f.lost > min(la, lb) {
				continue
			}
			clock, off := clockOf(mine, theirs)
			if f.off = off; a.Clock != 0 && b.Clock != 0 {
				f.clocks = abs(clock + b.Clock - a.Clock)
			}
			fits = append(fits, f)
		}
	}
	if len(fits) == 0 {
		return 0, false
	}
	slices.SortStableFunc(fits, func(x, y fit) int {
		return cmp.Or(cmp.Compare(x.odd, y.odd), cmp.Compare(x.lost, y.lost), cmp.Compare(x.clocks, y.clocks))
	})
	best := fits[0]
	for _, f := range fits[1:] {
		if f.odd == best.odd && 2*f.off < best.off { // clearly closer
			best = f
		}
	}
	return best.by, true
}

func abs(x int64) int64 { return max(x, -x) }

// align finds the steps that the lanes have in common: by the server's numbers where all have them, else by comparing
// each lane with the one that has most steps.
func (g *group) align() {
	places := make([][]place, len(g.lanes))
	numbered := true
	for i, l := range g.lanes {
		places[i] = l.numbers()
		numbered = numbered && places[i] != nil
	}
	if !numbered {
		ref := slices.MaxFunc(g.lanes, func(a, b *lane) int { return cmp.Compare(len(a.steps), len(b.steps)) })
		for i, l := range g.lanes {
			by, ok := 0, true
			if l != ref {
				by, ok = shiftOf(ref, l)
			}
			places[i] = nil
			for j := 0; ok && j < len(l.steps); j++ {
				places[i] = append(places[i], place{int64(j - by)})
			}
		}
	}
	rows := map[place][]int{}
	for i := range g.lanes {
		for j, at := range places[i] {
			if rows[at] == nil {
				rows[at] = slices.Repeat([]int{-1}, len(g.lanes))
			}
			rows[at][i] = j
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(rows), func(a, b place) int { return slices.Compare(a[:], b[:]) }) {
		g.rows = append(g.rows, rows[at])
	}
}

// common are the collectives of the first lane and of another one in steps in which both run the same ones.
func (g *group) common(k int) (mine, theirs []span) {
	for _, row := range g.rows {
		if i, j := row[0], row[k]; i >= 0 && j >= 0 && sameKinds(g.lanes[0], g.lanes[k], i, j) {
			mine, theirs = append(mine, g.lanes[0].steps[i].spans()...), append(theirs, g.lanes[k].steps[j].spans()...)
		}
	}
	return mine, theirs
}

// setClocks measures how far the clock of each lane is from the first one's.
func (g *group) setClocks() {
	for k, l := range g.lanes {
		mine, theirs := g.common(k)
		if l.met = len(mine) > 0; l.met {
			clock, _ := clockOf(mine, theirs)
			l.shift = clock + l.Clock - g.lanes[0].Clock
		}
	}
}

// meeting is one collective on the lanes that run it: of each its place in Step.Call and how long it takes.
type meeting struct {
	lanes, calls []int
	took         []int64
}

// each calls take for every collective of a row that at least two lanes run, in the order of the first lane, and
// returns how many collectives of single lanes find no partner. The n-th collective of a kind is the same one on all
// lanes; a lane that runs another number of them than most lacks some, or has too many, and is left out for that kind.
// The lists are overwritten by the next one.
func (g *group) each(row []int, take func(meeting)) (unmatched int) {
	kinds := map[classify.Collective][][]int{} // places in Step.Call by lane
	var order []classify.Collective
	for k, l := range g.lanes {
		if row[k] < 0 {
			continue
		}
		s := &l.steps[row[k]]
		for i := range s.calls {
			kind := s.kind(l.Rank, i)
			if kinds[kind] == nil {
				kinds[kind] = make([][]int, len(g.lanes))
				order = append(order, kind)
			}
			kinds[kind][k] = append(kinds[kind][k], s.calls[i])
		}
	}
	for _, kind := range order {
		places := kinds[kind]
		counts := map[int]int{}
		for k := range places {
			if row[k] >= 0 {
				counts[len(places[k])]++
			}
		}
		var n, most int
		for count, lanes := range counts {
			if lanes > most || lanes == most && count > n {
				n, most = count, lanes
			}
		}
		var m meeting
		for k := range places {
			switch {
			case row[k] < 0:
			case len(places[k]) == n && most > 1:
				m.lanes = append(m.lanes, k)
			default:
				unmatched += len(places[k])
			}
		}
		m.calls, m.took = make([]int, len(m.lanes)), make([]int64, len(m.lanes))
		for i := range n {
			for at, k := range m.lanes {
				m.calls[at] = places[k][i]
				m.took[at] = g.lanes[k].steps[row[k]].Took[places[k][i]]
			}
			if len(m.lanes) > 1 {
				take(m)
			}
		}
	}
	return unmatched
}
