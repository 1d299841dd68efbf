package hostoverhead

import (
	"cmp"
	"context"
	"slices"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// causeSums are nanoseconds by cause.
type causeSums [finding.NumCauses]int64

// of adds up the causes of a group.
func (c *causeSums) of(group finding.Group) (ns int64) {
	for i, n := range c {
		if finding.Cause(i).Group() == group {
			ns += n
		}
	}
	return ns
}

func (c *causeSums) host() int64 { return c.of(finding.HostWork) + c.of(finding.HostWaiting) }

func (c *causeSums) total() (ns int64) {
	for _, n := range c {
		ns += n
	}
	return ns
}

// timeSum is what the time of some steps is made of.
type timeSum struct {
	wall, busy, lost int64
	kernels          int64 // of busy, a kernel runs
	idle             causeSums
	paths            pathSums
}

// stepAccount is the time of one step on one device, from the end of the step before.
type stepAccount struct {
	step *hostStep // nil if no steps were found
	span interval.Span
	timeSum
}

// stepAccount is the account of a step, or of the window, that begins with its busy time.
func (a *account) stepAccount(step *hostStep, s interval.Span) stepAccount {
	busy := interval.Covered(a.d.busy, s)
	return stepAccount{step, s, timeSum{wall: s.Len() - interval.Covered(a.pauses, s), busy: busy,
		lost: interval.Covered(a.d.taken(), s) - busy, kernels: interval.Covered(a.d.kernels, s)}}
}

// sumOf adds steps up.
func sumOf(steps []stepAccount) (sum timeSum) {
	for i := range steps {
		s := &steps[i]
		sum.wall, sum.busy, sum.kernels = sum.wall+s.wall, sum.busy+s.busy, sum.kernels+s.kernels
		sum.lost += s.lost
		for c, ns := range s.idle {
			sum.idle[c] += ns
		}
		for k, p := range s.paths {
			sum.paths[k] = pathSum{sum.paths[k].kernels + p.kernels, sum.paths[k].time + p.time,
				sum.paths[k].exposed + p.exposed}
		}
	}
	return sum
}

// complete counts steps, each that the window cuts as the part of a complete one that it is.
func (a *account) complete(steps []stepAccount) (n float64) {
	for i := range steps {
		if s := steps[i].step; s != nil {
			n += a.d.layers.StepShare(s.Index)
		}
	}
	return n
}

// mostly are the steps of the model that has most of some time, with those of its drafts, and what it is called: all
// steps and "" where one model runs.
func (a *account) mostly(of func(*timeSum) int64) (steps []stepAccount, model string) {
	modelOf := func(s *stepAccount) string { return a.d.layers.ModelOf(a.d.layers.StepOf(s.step.Index)) }
	if a.basis() == finding.OfWindow {
		return a.steps, ""
	}
	sums := map[string]int64{}
	model = modelOf(&a.steps[0])
	for i := range a.steps {
		s := &a.steps[i]
		m := modelOf(s)
		if sums[m] += of(&s.timeSum); sums[m] > sums[model] {
			model = m
		}
	}
	for i := range a.steps {
		if s := &a.steps[i]; modelOf(s) == model {
			steps = append(steps, *s)
		}
	}
	return steps, model
}

// nameKey is what idle time is summed by: a cause and what ran.
type nameKey struct {
	cause       finding.Cause
	detail      uint8
	name, where trace.NameID
}

// nameSum is the idle time of one key.
type nameSum struct {
	ns, steps int64 // in the window, and inside the steps
	count     int
	gap, at   int32 // the last of the longest gaps that has the key, from 1, and where in its names
}

// add adds the idle time of some pieces.
func (s *nameSum) add(ns, steps int64, count int) {
	s.ns, s.steps, s.count = s.ns+ns, s.steps+steps, s.count+count
}

// keySum is a key with its idle time.
type keySum struct {
	nameKey
	nameSum
}

// account is what the time of a device is made of.
type account struct {
	l      *ledger
	d      *deviceWork
	steps  []stepAccount   // in order of the device's time, disjoint
	pauses []interval.Span // in or between them, no part of them
	found  int             // steps of the device, a draft's with its target's, including those without kernels
	names  map[nameKey]*nameSum
	drains map[trace.NameID]*nameSum // host work after a call that emptied the queue
	top    []gapAccount
	byGap  [numBuckets]causeSums // by the length of the gap
	record int64                 // host time in the steps while graphs are captured

	at, topAt int
}

// cachedName is a sum that was asked for lately.
type cachedName struct {
	key nameKey
	sum *nameSum
}

// gapAccount is one of the longest gaps.
type gapAccount struct {
	span  interval.Span
	next  int
	names []keySum
}

// inSteps is the time of a gap in the steps, by cause.
func (g *gapAccount) inSteps() (sums causeSums) {
	for i := range g.names {
		sums[g.names[i].cause] += g.names[i].steps
	}
	return sums
}

// newAccount accounts for the time of a device, and for a part of its idle time. The error is ctx's.
func (l *ledger) newAccount(ctx context.Context, part idlePart, topGaps int) (*account, error) {
	d := part.d
	a := &account{l: l, d: d, pauses: pausesOf(d.layers), names: map[nameKey]*nameSum{},
		drains: map[trace.NameID]*nameSum{}}
	a.findSteps()
	a.findTop(topGaps)
	a.measurePaths()
	l.cache = [cachedNames]cachedName{} // of the device before
	l.account, l.round = a, l.round+1
	if err := l.walk(ctx, part, a.add); err != nil {
		return nil, err
	}
	return a, nil
}

// joined are the accounts of devices, of those of their parts.
func joined(parts []*account) (list []*account) {
	for i, a := range parts {
		if i > 0 && a.d == parts[i-1].d {
			list[len(list)-1].join(a)
		} else {
			list = append(list, a)
		}
	}
	return list
}

// join adds what an account of the same device has of another part of its idle time.
func (a *account) join(o *account) {
	for i := range a.steps {
		to, from := &a.steps[i], &o.steps[i]
		for c, ns := range from.idle {
			to.idle[c] += ns
		}
		for k := range from.paths {
			to.paths[k].exposed += from.paths[k].exposed
		}
	}
	joinNames(a.names, o.names)
	joinNames(a.drains, o.drains)
	for i, g := range o.top {
		if len(g.names) > 0 { // a gap is of one part
			a.top[i] = g
		}
	}
	for b := range o.byGap {
		for c, ns := range o.byGap[b] {
			a.byGap[b][c] += ns
		}
	}
	a.record += o.record
}

// joinNames adds sums to those of the same keys.
func joinNames[K comparable](to, from map[K]*nameSum) {
	for k, s := range from {
		if t := to[k]; t != nil {
			t.add(s.ns, s.steps, s.count)
		} else {
			to[k] = s
		}
	}
}

// pausesOf are the times that are no part of a step.
func pausesOf(d *layer.Device) (out []interval.Span) {
	for _, w := range d.Pauses() {
		out = append(out, interval.Span{Start: int64(w.Start), End: int64(w.End)})
	}
	return out
}

// findSteps lists the times of the steps, each as [layer.Device.StepsOnce] has it, or, where none were found, the
// window.
func (a *account) findSteps() {
	window := a.d.window()
	found := stepsOf(a.l.w.layers, &a.d.id)
	if a.d.pass == nil { // the trace counts as one step
		found = nil
	}
	for _, s := range found {
		if a.d.layers.StepOf(s.Index) == s.Index {
			a.found++
		}
	}
	if list := a.d.layers.Passes; found == nil && len(list) > 0 {
		window = interval.Span{Start: int64(list[0].Start), End: int64(list[0].End)}
	}
	if found != nil {
		var end int64 // of the steps before: time that a later one shares is theirs
		for p := range a.d.layers.Passes {
			fp, span := &a.d.layers.Passes[p], a.d.layers.StepSpan(p)
			if s := (interval.Span{Start: int64(span.Start), End: int64(span.End)}); fp.Kernels > 0 && !s.Empty() {
				step := stepOfPass(fp)
				s.Start, s.End = max(s.Start, end), max(s.End, end)
				a.steps = append(a.steps, a.stepAccount(&step, s))
				end = s.End
			}
		}
	}
	if len(a.steps) > 0 {
		return
	}
	a.steps = append(a.steps, a.stepAccount(nil, window))
}

// inStep is how much of a span lies in a step and in no pause.
func (a *account) inStep(s *stepAccount, span interval.Span) int64 {
	part := span.Clip(s.span)
	return part.Len() - interval.Covered(a.pauses, part)
}

// findTop picks the n longest gaps, in order of time: of equally long ones the first. Of twice as many it leaves n,
// so that asking for all of them costs no more than sorting them.
func (a *account) findTop(n int) {
	if n == 0 {
		return
	}
	var best []interval.Span
	var least int64 // longer ones may be among them
	cut := func() {
		slices.SortFunc(best, func(x, y interval.Span) int {
			return cmp.Or(cmp.Compare(y.Len(), x.Len()), cmp.Compare(x.Start, y.Start))
		})
		if len(best) >= n {
			best, least = best[:n], best[n-1].Len()
		}
	}
	for i := 1; i < len(a.d.taken()); i++ {
		g := interval.Span{Start: a.d.taken()[i-1].End, End: a.d.taken()[i].Start}
		if g.Len() <= least {
			continue
		}
		if best = append(best, g); len(best)/2 >= n {
			cut()
		}
	}
	cut()
	slices.SortFunc(best, func(x, y interval.Span) int { return cmp.Compare(x.Start, y.Start) })
	for _, g := range best {
		a.top = append(a.top, gapAccount{span: g})
	}
}

// stepAround is the step that holds a span within a gap, nil where none holds any of it. It is false where its pieces
// are to be added one by one.
func (a *account) stepAround(s interval.Span) (step *stepAccount, ok bool) {
	a.moveTo(s.Start)
	if len(a.l.w.captures) > 0 || a.topAt < len(a.top) && a.top[a.topAt].span.Contains(s.Start) {
		return nil, false
	}
	rest := a.steps[a.at:]
	if len(rest) == 0 || rest[0].span.Start >= s.End {
		return nil, true
	}
	alone := len(rest) == 1 || rest[1].span.Start >= s.End
	return &rest[0], alone && a.inStep(&rest[0], s) == s.Len()
}

// moveTo passes over the steps and gaps that end by a time.
func (a *account) moveTo(x int64) {
	for a.at < len(a.steps) && a.steps[a.at].span.End <= x {
		a.at++
	}
	for a.topAt < len(a.top) && a.top[a.topAt].span.End <= x {
		a.topAt++
	}
}

// add sums one piece of idle time. Pieces come in order.
func (a *account) add(p *idlePiece) {
	n := p.span.Len()
	if p.gap.bucket >= 0 {
		a.byGap[p.gap.bucket][p.cause] += n
	}
	key := p.key()
	sum := a.sumOf(key)
	a.moveTo(p.span.Start)
	in := int64(0)
	for i := a.at; i < len(a.steps) && a.steps[i].span.Start < p.span.End; i++ {
		s := &a.steps[i]
		part := a.inStep(s, p.span)
		in += part
		s.idle[p.cause] += part
		if c := p.cause; c == finding.LaunchCall || c == finding.GraphLaunch {
			s.paths[a.d.path[p.gap.next]].exposed += part
		}
	}
	sum.add(n, in, 1)
	if len(a.l.w.captures) > 0 && p.cause.Group().Host() {
		a.record += min(in, interval.Covered(a.l.w.captures, p.span))
	}
	if p.drain != 0 {
		sum := a.drains[p.drain]
		if sum == nil {
			sum = &nameSum{}
			a.drains[p.drain] = sum
		}
		sum.add(n, in, 1)
	}
	if a.topAt < len(a.top) && a.top[a.topAt].span.Contains(p.span.Start) {
		g := &a.top[a.topAt]
		g.next = p.gap.next
		if at := int32(a.topAt + 1); sum.gap != at {
			sum.gap, sum.at = at, int32(len(g.names))
			g.names = append(g.names, keySum{nameKey: key})
		}
		g.names[sum.at].add(n, in, 1)
	}
}

// cachedNames is how many sums are found without asking the map: frames of a loop come again soon.
const cachedNames = 1 << 12

// sumOf is the sum of a key.
func (a *account) sumOf(k nameKey) *nameSum {
	slot := &a.l.cache[(uint32(k.name)*0x9e3779b1^uint32(k.where)*0x85ebca6b^uint32(k.cause)<<7)>>8%cachedNames]
	if slot.sum == nil || slot.key != k {
		slot.key, slot.sum = k, a.names[k]
		if slot.sum == nil {
			slot.sum = &nameSum{}
			a.names[k] = slot.sum
		}
	}
	return slot.sum
}

// key names a piece by its most specific name.
func (p *idlePiece) key() nameKey {
	k := nameKey{cause: p.cause, detail: p.detail}
	rng, outer := p.rng, trace.NameID(0)
	if p.step {
		rng, outer = 0, p.rng
	}
	switch group := p.cause.Group(); {
	case p.cause == finding.HostCode:
		k.name = cmp.Or(rng, p.code, outer)
	case p.cause == finding.OtherRanks && p.detail == detailNone:
		k.name = cmp.Or(p.code, rng)
	case group.Host(), group == finding.ProfilerGroup, group == finding.RequestsGroup:
		k.name = cmp.Or(p.api, p.code, rng, outer)
		if k.where = cmp.Or(p.code, rng); k.where == k.name {
			k.where = rng
		}
	}
	return k
}
