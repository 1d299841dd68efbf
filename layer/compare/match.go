package compare

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// chosen are the passes of one side that are compared: by run, indices into its Passes.
type chosen struct {
	side   *Side
	id     identity
	passes [][]int
}

// all are the passes, each with its run.
func (c *chosen) all() iter.Seq2[*Run, *Pass] {
	return func(yield func(*Run, *Pass) bool) {
		for r, passes := range c.passes {
			for _, p := range passes {
				if run := &c.side.Runs[r]; !yield(run, &run.Passes[p]) {
					return
				}
			}
		}
	}
}

// kernels are what the passes spend on kernels.
func (c *chosen) kernels() iter.Seq2[*Part, *PartTime] {
	return func(yield func(*Part, *PartTime) bool) {
		for run, pass := range c.all() {
			for of, t := range pass.kernels(run) {
				if !yield(of, t) {
					return
				}
			}
		}
	}
}

// count is how many passes those are.
func (c *chosen) count() int {
	n := 0
	for range c.all() {
		n++
	}
	return n
}

// products is how many matrix products a pass launches.
func (c *chosen) products() float64 {
	n := 0
	for of, t := range c.kernels() {
		if of.Category == string(classify.CategoryGEMM) || of.Category == string(classify.CategoryMoE) {
			n += t.Count
		}
	}
	return float64(n) / float64(c.count())
}

// walls are the times of the passes of each run.
func (c *chosen) walls() [][]float64 {
	out := make([][]float64, len(c.passes))
	for r, passes := range c.passes {
		for _, p := range passes {
			out[r] = append(out[r], float64(c.side.Runs[r].Passes[p].Wall))
		}
	}
	return out
}

// drop leaves out some passes of each run in which so many others remain.
func (c *chosen) drop(remain int, of func(*Pass) bool) {
	for r, passes := range c.passes {
		kept := slices.DeleteFunc(slices.Clone(passes), func(p int) bool { return of(&c.side.Runs[r].Passes[p]) })
		if len(kept) >= remain {
			c.passes[r] = kept
		}
	}
}

// followed leaves out passes that no complete one follows, where each run has others. It reports whether all that
// remain are followed.
func (c *chosen) followed(cut func(run, pass int) bool) bool {
	kept := make([][]int, len(c.passes))
	for r, passes := range c.passes {
		kept[r] = slices.DeleteFunc(slices.Clone(passes),
			func(p int) bool { return !c.side.Runs[r].Passes[p].Followed || cut(r, p+1) })
		if len(kept[r]) == 0 && len(passes) > 0 {
			return false
		}
	}
	c.passes = kept
	return true
}

// withoutTails cuts the compared passes of a side at their last kernel, as nothing is known of what follows passes of
// the other side.
func (c *chosen) withoutTails() {
	s := *c.side
	s.Runs = slices.Clone(s.Runs)
	c.side = &s
	for r, passes := range c.passes {
		run := &s.Runs[r]
		run.Passes = slices.Clone(run.Passes)
		for _, p := range passes {
			pass := &run.Passes[p]
			pass.Parts = slices.Clone(pass.Parts)
			for i := range pass.Parts {
				t := &pass.Parts[i]
				t.Exclusive, pass.Wall = t.Exclusive-t.Tail, pass.Wall-t.Tail
			}
		}
	}
}

// A pair is a group of each side that are compared: one group that has passes of both, or two that are alike.
type pair struct {
	a, b     *group
	likeness float64 // 1 for the same kernels
	sizes    bool    // the passes are of different sizes
}

// weight is how much of both sides' GPU time a pair has.
func (p *pair) weight(all [2]time.Duration) float64 {
	return shareOf(p.a.time[0], all[0]) + shareOf(p.b.time[1], all[1])
}

// A matching says which passes are compared with which.
type matching struct {
	pairs []pair // the one with most GPU time first
	alone [2][]*group
	all   [2]time.Duration
	left  []string
	cut   []place
	part  bool // one side's only pass may be a part of the other's
	// why says in a sentence why there is no verdict, "" where there may be one.
	why string
}

// share is how much of a side's GPU time has a partner.
func (m *matching) share(side int) float64 {
	var sum time.Duration
	for _, p := range m.pairs {
		sum += [2]*group{p.a, p.b}[side].time[side]
	}
	return shareOf(sum, m.all[side])
}

// matched reports whether enough of both sides has a partner.
func (m *matching) matched() bool { return min(m.share(0), m.share(1)) >= leastMatched }

// shareOf is a part as a share of the whole, 0 of nothing.
func shareOf(part, whole time.Duration) float64 { return float64(part) / float64(max(whole, 1)) }

// match finds the passes of both sides that do the same work: by identity and kernels, else by model and stage.
// Neither the order of the sides nor that of files decides.
func match(sides [2]*Side, o *Options) *matching {
	groups, cut := groupPasses(sides)
	if len(o.Stages) > 0 {
		groups = slices.DeleteFunc(groups, func(g *group) bool { return !slices.Contains(o.Stages, g.id.stage) })
	}
	m := &matching{cut: cut}
	for _, g := range groups {
		m.all[0], m.all[1] = m.all[0]+g.time[0], m.all[1]+g.time[1]
		switch {
		case g.on(0) && g.on(1):
			if onlyPart(sides, g, g) {
				a, b := g.apart()
				m.alone[0], m.alone[1] = append(m.alone[0], a), append(m.alone[1], b)
				continue
			}
			m.pairs = append(m.pairs, pair{a: g, b: g, likeness: 1})
		case g.on(0):
			m.alone[0] = append(m.alone[0], g)
		case g.on(1):
			m.alone[1] = append(m.alone[1], g)
		}
	}
	for side, s := range sides {
		for i := range s.Runs {
			m.all[side] += s.Runs[i].Outside
		}
	}
	matchAlike(m, sides, func(x, y identity) bool { return agrees(x.batch, y.batch) && agrees(x.tokens, y.tokens) },
		false)
	if !m.matched() { // other sizes of the same work, which is a doubt
		sized := func(x, y identity) bool { return !o.PerToken || x.hasTokens() && y.hasTokens() }
		matchAlike(m, sides, sized, true)
	}
	slices.SortStableFunc(m.pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.weight(m.all), x.weight(m.all)), x.a.id.compare(y.a.id), x.b.id.compare(y.b.id),
			cmp.Compare(x.a.size, y.a.size))
	})
	m.describe(sides, cut)
	return m
}

// matchAlike pairs groups that have no partner yet with the likest of the other side whose sizes fit.
func matchAlike(m *matching, sides [2]*Side, fit func(x, y identity) bool, sizes bool) {
	var found []pair
	for side := range m.alone {
		slices.SortStableFunc(m.alone[side], func(x,
			y *group) int {
			return cmp.Or(cmp.Compare(y.time[side], x.time[side]), x.id.compare(y.id))
		})
	}
	const most = 32 // groups of a side: the rest is a small part of its time
	for _, a := range m.alone[0][:min(most, len(m.alone[0]))] {
		for _, b := range m.alone[1][:min(most, len(m.alone[1]))] {
			if !a.id.sameKind(b.id) || !fit(a.id, b.id) {
				continue
			}
			if onlyPart(sides, a, b) {
				m.part = true
				continue
			}
			if l := alike(sides, a, b); l > 0 {
				found = append(found, pair{a: a, b: b, likeness: l, sizes: sizes &&
					(!agrees(a.id.batch, b.id.batch) || !agrees(a.id.tokens, b.id.tokens))})
			}
		}
	}
	worth := func(x *pair) float64 { return x.likeness * x.weight(m.all) }
	slices.SortStableFunc(found, func(x, y pair) int {
		return cmp.Or(cmp.Compare(worth(&y), worth(&x)), x.a.id.compare(y.a.id), x.b.id.compare(y.b.id),
			cmp.Compare(x.a.size, y.a.size))
	})
	for _, f := range found {
		i, j := slices.Index(m.alone[0], f.a), slices.Index(m.alone[1], f.b)
		if i >= 0 && j >= 0 {
			m.pairs = append(m.pairs, f)
			m.alone[0], m.alone[1] = slices.Delete(m.alone[0], i, i+1), slices.Delete(m.alone[1], j, j+1)
		}
	}
}

// alike is how like the work of two groups is that do not run the same kernels, 0 where it is another model's: by
// names, or by operators where both sides have them. Numbers of layers that are known and differ separate two models
// apart.
func alike(sides [2]*Side, ga, gb *group) float64 {
	names := ga.sig.likeness(gb.sig)
	if names >= leastAlike {
		return names
	}
	c := &comparison{ch: [2]*chosen{ga.of(sides, 0), gb.of(sides, 1)}}
	labels := c.chooseLabels()
	a := c.ch[0].account(func(n *Part) string { return c.label(labels, 0, n) })
	b := c.ch[1].account(func(n *Part) string { return c.label(labels, 1, n) })
	if c.categories || otherLayers(a.layers, b.layers) {
		return 0
	}
	if likeness := commonLabels(a.label, b.label); likeness >= leastAlike {
		return likeness
	}
	return 0
}

// otherLayers reports whether two numbers of layers are known and differ.
func otherLayers(a, b int) bool { return a != b && min(a, b) > 0 }

// onlyPart reports whether one side's passes are a single one at an end of its run that runs a part of the kernels of
// the other side's, as a pass does that the window cuts: where layers are known, fewer of most kernels or without
// several that run once, at its end.
func onlyPart(sides [2]*Side, ga, gb *group) bool {
	var sigs [2]signature
	var alone [2]bool
	layers := true
	for side, g := range []*group{ga, gb} {
		n := 0
		for _, at := range g.passes {
			if at.side != side {
				continue
			}
			run := &sides[side].Runs[at.run]
			pass := &run.Passes[at.pass]
			layers = layers && pass.NumLayers > 0
			sigs[side] = signatureOf(run, pass)
			alone[side] = pass.Lost == 0 && (at.pass == 0 || at.pass == len(run.Passes)-1)
			n++
		}
		alone[side] = alone[side] && n == 1
	}
	part := func(x, y signature) bool {
		both, own, other := x.common(y)
		return float64(both) >= contained*float64(own) && float64(own) < wholePass*float64(other) &&
			(!layers || x.cutOff(y))
	}
	return alone[0] && part(sigs[0], sigs[1]) || alone[1] && part(sigs[1], sigs[0])
}

// cutOff reports whether a signature lacks what the end of a window takes: some of most kernels that run often, or
// several that run once.
func (s signature) cutOff(t signature) bool {
	own := map[string]int{}
	for _, x := range s {
		own[x.base] = x.count
	}
	const often = 4 // launches: fewer are not of each layer
	fewer, all, once := 0, 0, 0
	for _, x := range t {
		n := own[x.base]
		if x.count < often {
			if n < x.count {
				once++
			}
			continue
		}
		all++
		if n > 0 && n < x.count {
			fewer++
		}
	}
	return 2*fewer >= all && fewer > 0 || once > 1
}

// apart divides a group into the passes of each side.
func (g *group) apart() (a, b *group) {
	out := [2]*group{}
	for side := range out {
		own := *g
		own.passes, own.time = nil, [2]time.Duration{}
		own.time[side] = g.time[side]
		for _, at := range g.passes {
			if at.side == side {
				own.passes = append(own.passes, at)
			}
		}
		out[side] = &own
	}
	return out[0], out[1]
}

// categories says whether a run of the side has too few operators.
func (s *Side) categories() bool {
	return slices.ContainsFunc(s.Runs, func(r Run) bool { return r.Categories })
}

// commonLabels is the part of the time in operators that both have, of the side that has less of it.
func commonLabels(a, b map[string]float64) float64 {
	row := together(slices.Concat(sortedKeys(a), sortedKeys(b)))
	has := [2]map[string]bool{{}, {}}
	for i, m := range []map[string]float64{a, b} {
		for label := range m {
			has[i][row[label]] = true
		}
	}
	common := [2]float64{}
	for i, m := range []map[string]float64{a, b} {
		for _, label := range sortedKeys(m) { // a sum depends on its order
			if has[0][row[label]] && has[1][row[label]] {
				common[i] += m[label]
			}
		}
	}
	return min(common[0], common[1])
}

// describe lists what has no partner, and says why there is no verdict where that is most of a side.
func (m *matching) describe(sides [2]*Side, cut []place) {
	for side := range m.alone {
		const most = 4
		for i, g := range m.alone[side] {
			if rest := len(m.alone[side]) - most; i == most {
				m.left = append(m.left, fmt.Sprintf("%c: %s", "AB"[side],
					table.Counted(rest, "other kind of pass", "other kinds of passes")))
				break
			}
			c := g.of(sides, side)
			m.left = append(m.left, fmt.Sprintf("%c: %s, %.1f%% of its GPU time", "AB"[side], c.id.passes(c.count()),
				100*shareOf(g.time[side], m.all[side])))
		}
		n := 0
		for _, at := range cut {
			if at.side == side {
				n++
			}
		}
		if n > 0 {
			m.left = append(m.left, fmt.Sprintf("%c: %s cut by the window", "AB"[side], table.Counted(n, "pass", "passes")))
		}
	}
	if m.matched() {
		return
	}
	a, b := percent(m.share(0)), percent(m.share(1))
	var own [2]string
	var largest [2]*group
	categories := sides[0].categories() || sides[1].categories()
	for side := range sides {
		if len(m.alone[side])+len(m.pairs) == 0 {
			m.why = fmt.Sprintf("%c has no complete forward pass", "AB"[side])
			return
		}
		if len(m.alone[side]) > 0 {
			largest[side] = m.alone[side][0]
			own[side] = largest[side].of(sides, side).account(
				func(n *Part) string { return n.label(categories) }).title(largest[side].id)
		}
	}
	switch {
	case len(m.alone[0])+len(m.alone[1]) == 0:
		m.why = fmt.Sprintf("only %s of A's GPU time and %s of B's are in forward passes that were found", a, b)
	case len(m.pairs) > 0:
		m.why = fmt.Sprintf("only %s of A's GPU time and %s of B's are in passes that both sides run", a, b)
	case m.part:
		m.why = "one side has a single pass, which runs a part of the other's kernels: the window may cut it"
	case own[0] != own[1]:
		m.why = fmt.Sprintf("A is %s, B %s", own[0], own[1])
	case !stagesAgree(largest[0].id.stage, largest[1].id.stage):
		m.why = fmt.Sprintf("A has %s passes, B has %s passes", largest[0].id.stage, largest[1].id.stage)
	default:
		m.why = fmt.Sprintf("both are %s (A: %s; B: %s), but have only %s of their kernels in common", own[0],
			largest[0].id.passes(len(largest[0].passes)), largest[1].id.passes(len(largest[1].passes)),
			percent(largest[0].sig.likeness(largest[1].sig)))
	}
}

// Operators that only language models have, and those of experts.
var (
	languageLabels = []string{opname.KVWrite, opname.LMHead, opname.Sampling}
	expertLabels   = []string{opname.ExpertsGateUp, opname.ExpertsDown}
)

// title says in a few words what runs.
func (a *account) title(id identity) string {
	has := func(words ...string) bool {
		for label := range a.label {
			if slices.ContainsFunc(operators(label), func(p string) bool { return slices.Contains(words, p) }) {
				return true
			}
		}
		return false
	}
	ops := func(word string) bool {
		for op := range a.op {
			if strings.Contains(strings.ToLower(op), word) {
				return true
			}
		}
		return false
	}
	what, role := "program of "+table.Counted(int(math.Round(a.counts)), "kernel", "kernels")+" a pass", a.role
	if role == layer.RoleUnknown && (has(languageLabels...) || id.stage == layer.StageDecode ||
		id.stage == layer.StagePrefill || id.stage == layer.StageMixed) {
		role = layer.RoleLanguage
	}
	switch {
	case role != layer.RoleUnknown:
		what = role.Title()
		if has(expertLabels...) {
			what = "mixture-of-experts " + what
		}
	case ops("conv"):
		what = "convolutional network"
	case a.layers > 0:
		what = "transformer"
	}
	if a.layers > 0 {
		what = fmt.Sprintf("%d-layer %s", a.layers, what)
	}
	what = table.WithArticle(what)
	if ops("backward") {
		return "a training step of " + what
	}
	return what
}
