package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// An identity is what two passes have in common that are the same work, as far as it is known.
type identity struct {
	draft         bool
	stage         layer.Stage
	batch, tokens int64 // −1 unknown
	replayed      bool  // most kernels are launched by graph replays
}

// identityOf reads a pass.
func identityOf(r *Run, p *Pass) identity {
	id := identity{stage: p.Stage, batch: p.Batch, tokens: p.Tokens, replayed: p.Graph > 0.5}
	id.draft = r.model(p).Draft
	id.stage = cmp.Or(id.stage, layer.StageUnknown)
	return id
}

// passes names so many passes of the work.
func (x identity) passes(n int) string {
	kind := ""
	if x.stage != layer.StageUnknown {
		kind = string(x.stage) + " "
	}
	s := table.Counted(n, kind+"pass", kind+"passes")
	var sizes []string
	if x.batch >= 0 {
		sizes = append(sizes, fmt.Sprintf("batch %d", x.batch))
	}
	if x.tokens >= 0 {
		sizes = append(sizes, table.Counted(int(x.tokens), "token", "tokens"))
	}
	if len(sizes) == 0 {
		return s
	}
	return s + " (" + strings.Join(sizes, ", ") + ")"
}

// agrees reports whether two sizes are equal, or one is unknown.
func agrees(a, b int64) bool { return a == b || a < 0 || b < 0 }

// stagesAgree reports whether two stages are equal, or one is unknown.
func stagesAgree(a, b layer.Stage) bool {
	return a == b || a == layer.StageUnknown || b == layer.StageUnknown
}

// agrees reports whether nothing that is known of both differs.
func (x identity) agrees(y identity) bool {
	return x.sameKind(y) && x.replayed == y.replayed && agrees(x.batch, y.batch) && agrees(x.tokens, y.tokens)
}

// sameKind is agrees without sizes and path.
func (x identity) sameKind(y identity) bool {
	return x.draft == y.draft && stagesAgree(x.stage, y.stage)
}

// hasTokens reports whether times per token can be made.
func (x identity) hasTokens() bool { return x.tokens > 0 }

// shown reports which of stage and tokens are known.
func (x identity) shown() [2]bool { return [2]bool{x.stage != layer.StageUnknown, x.tokens >= 0} }

// known counts what is known: the more, the better a group is named by it.
func (x identity) known() int {
	n := 0
	for _, ok := range []bool{x.stage != layer.StageUnknown, x.batch >= 0, x.tokens >= 0} {
		if ok {
			n++
		}
	}
	return n
}

func (x identity) compare(y identity) int {
	return cmp.Or(cmp.Compare(stat.Int(x.draft), stat.Int(y.draft)), cmp.Compare(x.stage, y.stage),
		cmp.Compare(x.batch, y.batch), cmp.Compare(x.tokens, y.tokens),
		cmp.Compare(stat.Int(x.replayed), stat.Int(y.replayed)))
}

// A signature says which kernels a pass runs, and how often: counts by base name, sorted by name. Tile and size are
// left out, as they change with the length of a context.
type signature []signed2

type signed2 struct {
	base  string
	count int
}

func signatureOf(r *Run, p *Pass) signature {
	counts := map[string]int{}
	for of, t := range p.kernels(r) {
		if t.Count > 0 {
			counts[of.Base] += t.Count
		}
	}
	out := make(signature, 0, len(counts))
	for base, n := range counts {
		out = append(out, signed2{base, n})
	}
	slices.SortFunc(out, func(a, b signed2) int { return cmp.Compare(a.base, b.base) })
	return out
}

// common counts the kernels that two signatures share, and all of each.
func (s signature) common(t signature) (both, own, other int) {
	for _, x := range s {
		own += x.count
	}
	for _, x := range t {
		other += x.count
	}
	for i, j := 0, 0; i < len(s) && j < len(t); {
		switch c := cmp.Compare(s[i].base, t[j].base); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			both += min(s[i].count, t[j].count)
			i, j = i+1, j+1
		}
	}
	return both, own, other
}

// likeness of two signatures: the kernels that both have as a share of those that either has.
func (s signature) likeness(t signature) float64 {
	both, own, other := s.common(t)
	if own+other == 0 {
		return 1
	}
	return float64(both) / float64(own+other-both)
}

func (s signature) compare(t signature) int {
	return slices.CompareFunc(s, t, func(x, y signed2) int {
		return cmp.Or(cmp.Compare(x.base, y.base),
			cmp.Compare(x.count, y.count))
	})
}

// A place is one pass of one run of a side.
type place struct{ side, run, pass int }

// A group is the passes of both sides that do the same work.
type group struct {
	id     identity
	sig    signature
	passes []place
	size   int              // how often it was parted by size
	time   [2]time.Duration // GPU time of its passes on each side
}

// on reports whether a side has work in the group.
func (g *group) on(side int) bool { return g.time[side] > 0 }

// add puts a pass into the group.
func (g *group) add(at place, d time.Duration) {
	g.passes = append(g.passes, at)
	g.time[at.side] += d
}

// of are a side's passes, by run.
func (g *group) of(sides [2]*Side, side int) *chosen {
	c := &chosen{side: sides[side], id: g.id, passes: make([][]int, len(sides[side].Runs))}
	for _, p := range g.passes {
		if p.side == side {
			c.passes[p.run] = append(c.passes[p.run], p.pass)
		}
	}
	for _, p := range c.passes {
		slices.Sort(p)
	}
	return c
}

// gpuTime is what a pass's kernels take, waiting for other ranks apart.
func (p *Pass) gpuTime() time.Duration {
	var sum time.Duration
	for i := range p.Parts {
		sum += p.Parts[i].Time
	}
	return sum
}

// cut reports whether the window cuts a pass: its reader says so, or it is at an end of the run and runs a part of
// another pass's kernels.
func isCut(r *Run, sigs []signature, at int) bool {
	pass := &r.Passes[at]
	if pass.Partial != "" {
		return true
	}
	if pass.Lost > 0 || at != 0 && at != len(r.Passes)-1 {
		return false
	}
	for q := range r.Passes {
		if q == at || r.Passes[q].Partial != "" || !identityOf(r, &r.Passes[q]).sameKind(identityOf(r, pass)) {
			continue
		}
		if both, own, other := sigs[at].common(sigs[q]); float64(both) >= contained*float64(own) &&
			float64(own) < wholePass*float64(other) {
			return true
		}
	}
	return false
}

// bySize parts a group whose sizes are not known where the passes of one run are of two sizes: their times fall into
// two, and most kernels take that much longer. Where one kernel does, it is the same work.
func bySize(sides [2]*Side, g *group) []*group {
	if g.id.tokens >= 0 || len(g.passes) < 2 {
		return []*group{g}
	}
	pass := func(at place) *Pass { return &sides[at.side].Runs[at.run].Passes[at.pass] }
	all := slices.SortedStableFunc(slices.Values(g.passes), func(x, y place) int {
		return cmp.Compare(pass(x).gpuTime(), pass(y).gpuTime())
	})
	cutAt, widest := 0, 1+sizeGap
	for i := 1; i < len(all); i++ {
		if a, b := float64(pass(all[i-1]).gpuTime()), float64(pass(all[i]).gpuTime()); a > 0 && b/a > widest {
			cutAt, widest = i, b/a
		}
	}
	if cutAt == 0 {
		return []*group{g}
	}
	var parts [2]*group
	runs := map[place]int{} // in which parts a run has passes
	oneRun := false         // has passes of both
	for i, list := range [][]place{all[:cutAt], all[cutAt:]} {
		parts[i] = &group{id: g.id, sig: g.sig, size: g.size}
		for _, at := range list {
			parts[i].add(at, pass(at).gpuTime())
			at.pass = 0
			runs[at] |= 1 << i
			oneRun = oneRun || runs[at] == 3
		}
	}
	if !oneRun || !mostScale(sides, parts[0], parts[1]) {
		return []*group{g}
	}
	const depth = 8 // sizes of one kind of pass
	if g.size >= depth {
		return parts[:]
	}
	for i := range parts {
		parts[i].size = g.size + 1
	}
	return append(bySize(sides, parts[0]), bySize(sides, parts[1])...)
}

// mostScale reports whether the kernels of two groups of passes typically differ by at least half of what the passes
// do.
func mostScale(sides [2]*Side, x, y *group) bool {
	a, b := x.perBase(sides), y.perBase(sides)
	var sumA, sumB float64
	for _, base := range sortedKeys(a) {
		sumA, sumB = sumA+a[base], sumB+b[base]
	}
	var logs, weights []float64
	for _, base := range sortedKeys(a) {
		if da, db := a[base], b[base]; da > 0 && db > 0 {
			logs, weights = append(logs, math.Log(db/da)), append(weights, min(da/sumA, shareCap))
		}
	}
	return len(logs) > 0 && 2*weightedMedian(logs, weights) >= math.Log(sumB/sumA)
}

// perBase is the mean time of a pass by base name.
func (g *group) perBase(sides [2]*Side) map[string]float64 {
	out := map[string]float64{}
	for _, at := range g.passes {
		run := &sides[at.side].Runs[at.run]
		for of, t := range run.Passes[at.pass].kernels(run) {
			out[of.Base] += float64(t.Time) / float64(len(g.passes))
		}
	}
	return out
}

// mostLeaders bounds how many groups of one identity a pass is held against: with more, all passes differ, and the
// rest is one group.
const mostLeaders = 64

// groups sorts the passes of both sides by what they do, independently of the order of sides, runs and passes:
// frequent signatures lead a group, and passes join the first one that they are like. Passes that the window cuts are
// returned apart.
func groupPasses(sides [2]*Side) (out []*group, cut []place) {
	type member struct {
		id  identity
		sig signature
		at  place
		d   time.Duration
	}
	var all []member
	for s, side := range sides {
		for r := range side.Runs {
			run := &side.Runs[r]
			sigs := make([]signature, len(run.Passes))
			for i := range run.Passes {
				sigs[i] = signatureOf(run, &run.Passes[i])
			}
			for i := range run.Passes {
				pass := &run.Passes[i]
				switch at := (place{s, r, i}); {
				case pass.Wall <= 0:
				case isCut(run, sigs, i):
					cut = append(cut, at)
				default:
					all = append(all, member{identityOf(run, pass), sigs[i], at, pass.gpuTime()})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(x, y member) int { return cmp.Or(x.id.compare(y.id), x.sig.compare(y.sig)) })
	for from := 0; from < len(all); { // of one identity
		to := from
		var kinds [][]member // of one signature
		for to < len(all) && all[to].id == all[from].id {
			if to == from || all[to].sig.compare(all[to-1].sig) != 0 {
				kinds = append(kinds, nil)
			}
			kinds[len(kinds)-1] = append(kinds[len(kinds)-1], all[to])
			to++
		}
		slices.SortStableFunc(kinds, func(x, y []member) int { return cmp.Compare(len(y), len(x)) })
		first := len(out)
		for _, kind := range kinds {
			at := slices.IndexFunc(out[first:], func(g *group) bool { return g.sig.likeness(kind[0].sig) >= pooled })
			if at < 0 && len(out)-first < mostLeaders {
				out = append(out, &group{id: kind[0].id, sig: kind[0].sig})
				at = len(out) - 1 - first
			}
			if at < 0 {
				at = mostLeaders - 1
			}
			for _, m := range kind {
				out[first+at].add(m.at, m.d)
			}
		}
		from = to
	}
	var sized []*group
	for _, g := range joinUnknown(out) {
		sized = append(sized, bySize(sides, g)...)
	}
	return sized, cut
}

// joinUnknown merges a group with less known into the one group that agrees with it and runs the same kernels.
func joinUnknown(groups []*group) []*group {
	slices.SortStableFunc(groups, func(x, y *group) int { return cmp.Compare(x.id.known(), y.id.known()) })
	var out []*group
	for i, g := range groups {
		var into *group
		n := 0
		for _, h := range groups[i+1:] {
			if h.id.known() > g.id.known() && g.id.agrees(h.id) && g.sig.likeness(h.sig) >= pooled {
				into = h
				n++
			}
		}
		if n != 1 {
			out = append(out, g)
			continue
		}
		into.passes = append(into.passes, g.passes...)
		into.time[0], into.time[1] = into.time[0]+g.time[0], into.time[1]+g.time[1]
	}
	return out
}

// An account is what passes spend by label, as shares of their GPU time, and what launches their kernels.
type account struct {
	label  map[string]float64 // operator, or category
	op     map[string]bool    // of the CPU
	role   layer.Role         // of the model of its first pass that shows one
	layers int                // 0 unknown, the most of its passes
	counts float64            // launches per pass
}

// layers is how many the passes have, the most of any; 0 unknown.
func (c *chosen) layers() int {
	n := 0
	for _, pass := range c.all() {
		n = max(n, pass.NumLayers)
	}
	return n
}

// account adds up passes.
func (c *chosen) account(label func(*Part) string) *account {
	a := &account{label: map[string]float64{}, op: map[string]bool{}, layers: c.layers()}
	for run, pass := range c.all() {
		a.role = cmp.Or(a.role, run.model(pass).Role)
	}
	var time float64
	for of, t := range c.kernels() {
		time += float64(t.Time)
		a.label[label(of)] += float64(t.Time)
		a.counts += float64(t.Count)
		if of.Op != "" {
			a.op[of.Op] = true
		}
	}
	for name := range a.label {
		a.label[name] /= max(time, 1)
	}
	a.counts /= float64(c.count())
	return a
}

// label is what a part counts as: its operator, or its category where that is unknown or not asked for.
func (p *Part) label(categories bool) string {
	if !p.isKernel() || p.Operator == rowCopies || !categories && p.Operator != "" && p.Operator != opname.Other {
		return p.Operator
	}
	return p.Category
}
