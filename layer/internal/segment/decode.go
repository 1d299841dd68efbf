package segment

import (
	"math"
	"slices"
)

// passReading is a stretch of kernels as passes.
type passReading struct {
	Cost   float64
	Passes []Pass
}

// A Pass is one of them.
type Pass struct {
	Profile  int     // that it was read by; Outside where its kernels are of none
	From, To int     // its kernels
	Column   []int32 // of each kernel; NoColumn where it is between columns
	Missing  []Gap   // stretches of columns without a kernel
	Cut      Cuts    // the window cuts it there: what is missing at that end is none of Missing
	NoTime   int     // columns missing in stretches where the GPU did not idle long enough
}

// A Gap is columns [From, To) that are missing before kernel Before of the stretch.
type Gap struct {
	From, To, Before int

	Unsized   bool // how many are missing is open
	Doubtful  bool // whether any are missing is open
	Scattered bool // a few records, of many places where passes like it lack a few
}

// The values of Column and Profile for none.
const (
	NoColumn = -1
	Outside  = -1
)

// place is a state: a column of all profiles in a row, or outside.
type place struct {
	column int32 // of all profiles; outside: −1
	insert bool  // foreign, and follows that column
}

// node is the best way to a state at a kernel.
type node struct {
	place
	cost float64
	from int32 // index into the nodes of the kernel before; −1: it is the first
	// how it came here
	next bool // a pass begins here
}

type decoder struct {
	profiles []*Profile
	timely   bool      // nothing is skipped that the GPU did not idle for
	start    []int32   // of each profile's columns
	of       []int32   // profile of a column
	named    [][]int32 // by profile: the columns with the name of this kernel
	s        *Stretch
	nodes    [][]node // by kernel
	best     float64  // of the nodes of this kernel
	seen     []int32  // index of a state's node of this kernel, by state; valid where stamp is the kernel's
	stamp    []int32
}

// mostOf is what so many kernels of passes cost at most.
func mostOf(kernels int) float64 { return costGivenUp + costForeign*(1-ReadClose)*float64(kernels) }

// decode reads a stretch as passes of the profiles. What costs more than most is no such stretch. If it is not timely,
// columns may be skipped that the GPU did not idle for: what is read best so is none of these passes.
func decode(s Stretch, profiles []*Profile, most float64, timely bool) passReading {
	d := &decoder{profiles: profiles, s: &s, timely: timely}
	for q, p := range profiles {
		d.start = append(d.start, int32(len(d.of)))
		d.of = append(d.of, slices.Repeat([]int32{int32(q)}, p.Len())...)
	}
	d.seen, d.stamp = make([]int32, 2*len(d.of)+2), make([]int32, 2*len(d.of)+2)
	if s.Len() == 0 || len(d.of) == 0 {
		return passReading{}
	}
	d.nodes = make([][]node, s.Len())
	d.named = make([][]int32, len(profiles))
	for i := range s.Len() {
		for q, p := range profiles {
			d.named[q] = p.at[s.ID[i]]
		}
		if i == 0 {
			d.first()
		} else {
			d.step(i)
		}
		if d.best > most {
			return passReading{}
		}
	}
	return d.trace()
}

// local returns the profile of a column and its number there.
func (d *decoder) local(c int32) (*Profile, int) {
	q := d.of[c]
	return d.profiles[q], int(c - d.start[q])
}

func (d *decoder) index(p place) int {
	k := 2 * int(p.column+1)
	if p.insert {
		k++
	}
	return k
}

// reach notes a way to a state of kernel i.
func (d *decoder) reach(i int, p place, cost float64, from int32, next bool) {
	if cost > d.best+beam {
		return
	}
	d.best = min(d.best, cost)
	k := d.index(p)
	if d.stamp[k] == int32(i)+1 {
		if n := &d.nodes[i][d.seen[k]]; cost < n.cost {
			n.cost, n.from, n.next = cost, from, next
		}
		return
	}
	d.stamp[k], d.seen[k] = int32(i)+1, int32(len(d.nodes[i]))
	d.nodes[i] = append(d.nodes[i], node{p, cost, from, next})
}

// first enters the states of the first kernel.
func (d *decoder) first() {
	d.best = math.Inf(1)
	for q, p := range d.profiles {
		d.enter(0, q, 0, -1, d.s.idle(0))
		if !d.s.Open.Start {
			continue
		}
		for _, t := range d.named[q] {
			d.reach(0, place{d.start[q] + t, false}, math.Log(float64(p.Len()))+costName, -1, true)
		}
	}
	d.reach(0, place{Outside, false}, costLeave+costOutside, -1, true)
	d.prune(0)
}

// enter begins a pass of profile q at kernel i, whose first columns may be missing as the GPU idles so long.
func (d *decoder) enter(i, q int, cost float64, from int32, idle int64) {
	p := d.profiles[q]
	d.reach(i, place{d.start[q], false}, cost+p.emit(0, d.s.Sequence, i), from, true)
	for k, t := range d.named[q] {
		if t == 0 {
			continue
		}
		if k > maxJumps || p.takes(0, int(t)) > idle+slack {
			break
		}
		if d.skips(p, 0, int(t), idle) {
			d.reach(i, place{d.start[q] + t, false}, cost+p.skip(0, int(t), idle)+costName, from, true)
		}
	}
}

// step follows all paths to kernel i.
func (d *decoder) step(i int) {
	idle := d.s.idle(i)
	before := d.best
	d.best = math.Inf(1)
	// the best way to have ended a pass before i whose end is there, or to have been outside
	left, leftFrom := math.Inf(1), int32(-1)
	for k := range d.nodes[i-1] {
		n := &d.nodes[i-1][k]
		if n.column == Outside {
			d.reach(i, n.place, n.cost+costOutside, int32(k), false)
			if n.cost < left {
				left, leftFrom = n.cost, int32(k)
			}
			continue
		}
		p, j := d.local(n.column)
		if j+1 < p.Len() {
			d.reach(i, place{n.column + 1, false}, n.cost+p.emit(j+1, d.s.Sequence, i), int32(k), false)
		}
		if n.insert {
			d.reach(i, n.place, n.cost+costInsert2, int32(k), false)
		} else {
			d.reach(i, place{n.column, true}, n.cost+costInsert, int32(k), false)
		}
		if end := n.cost + p.skip(j+1, p.Len(), idle); end < left &&
			p.takes(j+1, p.Len()) <= idle+slack && d.skips(p, j+1, p.Len(), idle) {
			left, leftFrom = end, int32(k)
		}
	}
	exact := d.best // of what goes on without a gap
	for k := range d.nodes[i-1] {
		if d.nodes[i-1][k].column != Outside {
			d.jump(i, int32(k), !d.timely && exact > before+2*costBase)
		}
	}
	if leftFrom >= 0 {
		if n := d.nodes[i-1][leftFrom]; n.column != Outside {
			p, j := d.local(n.column)
			idle -= p.takes(j+1, p.Len())
			d.reach(i, place{Outside, false}, left+costLeave+costOutside, leftFrom, true)
		}
		for q := range d.profiles {
			d.enter(i, q, left+costNext, leftFrom, max(idle, 0))
		}
	}
	d.prune(i)
}

// jump skips columns from a node of the kernel before i on: few in any case, many where the GPU idles long enough,
// and, where nothing goes on, some although it does not.
func (d *decoder) jump(i int, k int32, stuck bool) {
	n, idle := &d.nodes[i-1][k], d.s.idle(i)
	p, j := d.local(n.column)
	most := p.least[j+1] + idle + slack // the least time up to where it may go on
	if j+1 < p.Len() && p.least[j+2] > most && p.ID[j+1] == d.s.ID[i] {
		return // it goes on, and nothing can be missing
	}
	for t := j + 2; t < min(j+2+fewDropped, p.Len()); t++ {
		if c := p.emit(t, d.s.Sequence, i); c < costForeign {
			d.reach(i, place{n.column + int32(t-j), false}, n.cost+p.skip(j+1, t, idle)+c, k, false)
		}
	}
	if !stuck && (j+2+fewDropped >= p.Len() || p.least[j+2+fewDropped] > most) {
		return
	}
	all := d.named[d.of[n.column]]
	first, _ := slices.BinarySearch(all, int32(j+2+fewDropped))
	for x, t := range all[first:] {
		if x >= maxJumps || p.least[t] > most && (!stuck || x >= maxWithout) {
			break
		}
		if d.skips(p, j+1, int(t), idle) {
			d.reach(i, place{n.column + t - int32(j), false}, n.cost+p.skip(j+1, int(t), idle)+costName, k, false)
		}
	}
}

// skips says whether the columns [from, to) of a profile may be skipped where the GPU idles so long.
func (d *decoder) skips(p *Profile, from, to int, idle int64) bool {
	return !d.timely || to-from <= fewDropped || p.fits(from, to, idle)
}

// prune gives up what costs too much.
func (d *decoder) prune(i int) {
	for width := float64(beam); ; width /= 2 {
		kept := 0
		for _, n := range d.nodes[i] {
			if n.cost <= d.best+width {
				d.nodes[i][kept] = n
				kept++
			}
		}
		if d.nodes[i] = d.nodes[i][:kept]; kept <= maxStates || width < 1 {
			return
		}
	}
}

// trace follows the best path back.
func (d *decoder) trace() passReading {
	last := d.s.Len() - 1
	at, out := -1, passReading{Cost: math.Inf(1)}
	for k, n := range d.nodes[last] {
		cost := n.cost
		if n.column != Outside {
			p, j := d.local(n.column)
			end := p.skip(j+1, p.Len(), d.s.After)
			if d.s.Open.End { // the window ends anywhere, as it begins anywhere
				end = min(end, math.Log(float64(p.Len())))
			}
			cost += end
		}
		if cost < out.Cost {
			out.Cost, at = cost, k
		}
	}
	if at < 0 {
		return out
	}
	path := make([]node, d.s.Len())
	for i := last; i >= 0; i-- {
		path[i] = d.nodes[i][at]
		at = int(path[i].from)
	}
	for i := 0; i < len(path); {
		to := i + 1
		for to < len(path) && !path[to].next {
			to++
		}
		out.Passes = append(out.Passes, d.pass(path, i, to))
		i = to
	}
	return out
}

// pass describes the kernels [from, to) of a path, which are one pass.
func (d *decoder) pass(path []node, from, to int) Pass {
	out := Pass{Profile: Outside, From: from, To: to, Column: make([]int32, to-from)}
	want := 0
	for i := from; i < to; i++ {
		n := path[i]
		out.Column[i-from] = NoColumn
		if n.column == Outside {
			continue
		}
		p, j := d.local(n.column)
		if i == from {
			out.Profile = int(d.of[n.column])
		}
		if n.insert {
			continue
		}
		out.Column[i-from] = int32(j)
		d.miss(&out, p, want, j, i, i == 0 && d.s.Open.Start)
		want = j + 1
	}
	if out.Profile == Outside {
		return out
	}
	p := d.profiles[out.Profile]
	if out.Cut.End = want < p.Len() && to == len(path) && d.s.Open.End; !out.Cut.End {
		d.miss(&out, p, want, p.Len(), to, false)
	}
	return out
}

// miss notes the columns [from, to) as missing before kernel i.
func (d *decoder) miss(out *Pass, p *Profile, from, to, i int, cut bool) {
	switch {
	case from >= to:
	case cut:
		out.Cut.Start = true
	default:
		late := to-from > fewDropped && !p.fits(from, to, d.s.idle(i))
		out.Missing = append(out.Missing, Gap{From: from, To: to, Before: i, Doubtful: late})
		if late {
			out.NoTime += to - from
		}
	}
}

// Matched counts the kernels of a pass that are columns of its profile.
func (p *Pass) Matched() (n int) {
	for _, c := range p.Column {
		if c != NoColumn {
			n++
		}
	}
	return n
}

// join takes passes of a few kernels, and what is of none, into the pass before or after: nothing begins there.
func (r *passReading) join() {
	small := func(p *Pass) bool { return p.Profile == Outside || p.To-p.From < shortest }
	none := func(kernels int) []int32 { return slices.Repeat([]int32{NoColumn}, kernels) }
	var out []Pass
	for _, p := range r.Passes {
		switch n := len(out); {
		case n > 0 && small(&p):
			q := &out[n-1]
			q.Column, q.To = slices.Concat(q.Column, none(p.To-p.From)), p.To
		case n == 1 && small(&out[0]):
			p.Column, p.From = slices.Concat(none(p.From-out[0].From), p.Column), out[0].From
			out[0] = p
		default:
			out = append(out, p)
		}
	}
	r.Passes = out
}
