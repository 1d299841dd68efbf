package ladder

import (
	"fmt"
	"math"
	"slices"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// A variant is what passes of one kind run, as most of them do: a prefill, a decode step, a run of a draft model.
type variant struct {
	*segment.Cluster
	lead     *Result // a pass that runs exactly that
	n        int     // layers that it shows by itself
	instance int
	draft    bool
}

// reading is what a pass has of its variant: the column of each kernel of its line.
type reading struct {
	variant *variant
	pass    segment.Pass
}

// stretchOf is a line of kernels with its times. end is when the GPU last ended what it ran before.
func (w *Work) stretchOf(s *Sequence, line []int32, end trace.Time) (segment.Stretch, trace.Time) {
	out := segment.Stretch{Sequence: s, Gap: make([]segment.Span, len(line)), Time: make([]segment.Span, len(line))}
	for k, i := range line {
		e := w.Act(i)
		out.Time[k], out.Gap[k] = segment.SpanOf(int64(e.Duration())), segment.SpanOf(int64(e.Start()-end))
		end = max(end, e.End())
	}
	return out, end
}

// findVariants groups the passes by what they run, divides those between which a boundary is missing, and reads those
// with missing records by the others.
func (w *Work) findVariants(results []*Result) []*Result {
	markEdges(results)
	if len(results) < 2 || slices.ContainsFunc(results, func(r *Result) bool { return len(r.line) == 0 }) {
		return results
	}
	all := w.stretchesOf(results)
	if divided := w.divideHidden(results, segment.Hidden(all)); len(divided) > len(results) {
		results, all = divided, w.stretchesOf(divided)
	}
	clusters, pieces := segment.Find(all, func() bool { return w.Ended() != nil })
	if w.Ended() != nil {
		return results
	}
	w.variants = make([]*variant, len(clusters))
	for c := range clusters {
		w.variants[c] = &variant{Cluster: &clusters[c]}
		if clusters[c].From != nil {
			w.variants[c].lead = w.restored(results, &clusters[c])
		}
	}
	var out []*Result
	for p, r := range results {
		r.variant, r.read, r.Missing = nil, nil, nil
		switch passes := pieces[p].Passes; {
		case len(passes) == 0:
			out = append(out, r)
		case pieces[p].Equal:
			r.variant = w.variants[passes[0].Profile]
			if r.variant.lead == nil {
				r.variant.lead = r
			}
			out = append(out, r)
		case len(passes) == 1:
			if passes[0].Profile != segment.Outside {
				r.follows(w.variants[passes[0].Profile], passes[0])
			}
			out = append(out, r)
		default:
			out = append(out, w.divide(r, passes)...)
		}
	}
	for _, r := range out {
		r.Missing = slices.DeleteFunc(r.Missing, func(g segment.Gap) bool {
			return skips(w.calls(r.line, g.Before, g.Before), w.usualCalls(r.variant, g), g.To-g.From)
		})
	}
	w.markScattered(out)
	return out
}

// restored is what passes ran that each lack records, as a pass of the kernels that they kept.
func (w *Work) restored(results []*Result, c *segment.Cluster) *Result {
	from := c.From
	of := results[from[0].Piece]
	span := of.Span
	span.Kernels = make([]int32, len(from))
	for j, x := range from {
		span.Kernels[j] = results[x.Piece].line[x.Kernel]
	}
	return &Result{Span: span, LayerEvidence: RungNone, line: span.Kernels, restored: c.Members,
		Seq: w.sharedSequence(span.Kernels, span.Model), Layer: slices.Repeat([]int32{None}, len(span.Kernels)),
		atStart: of.atStart, atEnd: of.atEnd, Tower: of.Tower}
}

// leastScattered is the least number of records that several passes of a variant lack one by one: fewer may be other
// paths of single passes.
const leastScattered = 4

// markScattered marks the gaps of single records where passes lack others each: a profiler loses records one by one. A
// kernel that a pass does not run is none: then most passes that lack one lack the same, or it lacks most of that name,
// or the GPU does not idle for it. What runs elsewhere in the pass is another order of two streams.
func (w *Work) markScattered(results []*Result) {
	type column struct {
		*variant
		int
	}
	lacks := map[column]int{}     // passes that lack it
	lossy := map[*variant][]int{} // passes, by place
	for p, r := range results {
		if r.read == nil || len(r.Missing) == 0 {
			continue
		}
		lossy[r.variant] = append(lossy[r.variant], p)
		for _, g := range r.Missing {
			for c := g.From; c < g.To; c++ {
				lacks[column{r.variant, c}]++
			}
		}
	}
	for v, passes := range lossy {
		most := segment.BagOf(v.Base) // by name: kernels of the pass that has most
		for _, p := range passes {
			for base, n := range segment.BagOf(results[p].Seq.Base) {
				most[base] = max(most[base], n)
			}
		}
		var marked []*segment.Gap
		in := 0 // passes
		for _, p := range passes {
			r, before := results[p], len(marked)
			runs := segment.BagOf(r.Seq.Base)
			s, _ := w.stretchOf(r.Seq, r.line, w.Act(r.line[0]).Start())
			for k := range r.Missing {
				g := &r.Missing[k]
				base := v.Base[g.From]
				if g.To-g.From == 1 && g.Before < len(r.line) && 2*lacks[column{v, g.From}] < v.Members &&
					runs[base] < most[base] && most[base] < 2*runs[base] &&
					v.Lacks(g.From, g.To, int64(s.Gap[g.Before])) {
					marked = append(marked, g)
				}
			}
			in += stat.Int(len(marked) > before)
		}
		if len(marked) < leastScattered || in < 2 {
			continue
		}
		for _, g := range marked {
			g.Scattered = true
		}
	}
}

// restore reads the passes that no other one is like, and that lack records between layers which they run elsewhere, as
// what they ran.
func (w *Work) restore(results []*Result) {
	for _, r := range results {
		if w.Ended() != nil {
			return
		}
		if r.read != nil || r.variant != nil && r.variant.Members > 1 || len(r.line) == 0 {
			continue
		}
		start := make([]int64, len(r.line))
		for k, i := range r.line {
			start[k] = int64(w.Act(i).Start())
		}
		whole, pass := segment.Restore(r.Seq, start, func(at, from, to int) bool {
			here, usual := w.calls(r.line, at, at), w.calls(r.line, from, to)
			// what one replay runs is not missing between two calls
			return here == 0 || here > 0 && usual > 0 && !skips(here, usual, to-from)
		})
		if whole == nil {
			continue
		}
		span := r.Span
		span.Kernels = make([]int32, len(whole))
		for k, i := range whole {
			span.Kernels[k] = r.line[i]
		}
		lead := w.prepare(span)
		if len(lead.line) != len(whole) {
			continue // it holds a half of a batch of its own
		}
		lead.atStart, lead.atEnd, lead.Tower, lead.restored = r.atStart, r.atEnd, r.Tower, 1
		for k := range pass.Missing { // without a number for each call the host may just have waited
			g := &pass.Missing[k]
			before, here := w.callNumber(r.line[g.Before-1]), w.calls(r.line, g.Before, g.Before)
			g.Doubtful = before == 0 || here == -before || here > 0 && here < int64(g.To-g.From)
		}
		s, _ := w.stretchOf(lead.Seq, lead.line, w.Act(lead.line[0]).Start())
		r.follows(&variant{Cluster: segment.ClusterOf(s), lead: lead}, pass)
	}
}

// usualCalls is how many calls launch the columns of a gap, 0 where those beside it are of different passes.
func (w *Work) usualCalls(v *variant, g segment.Gap) int64 {
	if from := v.From; from != nil && g.From > 0 && g.To < len(from) && from[g.From-1].Piece != from[g.To].Piece {
		return 0
	}
	return w.calls(v.lead.line, g.From, g.To)
}

// callNumber is the number of the call that launched a kernel, 0 for none.
func (w *Work) callNumber(i int32) int64 { return int64(w.Act(i).Data().Correlation) }

// calls is how many calls were made from before kernel from of a line to its kernel to, or to what ran beside the line:
// they are numbered in the order in which the program makes them. Kernels of one replay share the number of its launch.
func (w *Work) calls(line []int32, from, to int) int64 {
	before, after := line[0]-1, line[len(line)-1]+1
	if from > 0 {
		before = line[from-1]
	}
	if to < len(line) {
		after = line[to]
	}
	if before < 0 || int(after) >= len(w.Acts) {
		return 0
	}
	return w.callNumber(after) - w.callNumber(before)
}

// skips says whether a pass took another path where so many columns are missing, and lost no records: fewer than half
// of the calls that usually launch these were made. Columns of one replay, which one call launches, say nothing.
func skips(here, usual int64, columns int) bool {
	return here > 0 && usual >= int64(columns) && 2*here < usual
}

// follows notes how a pass is read by its variant.
func (r *Result) follows(v *variant, p segment.Pass) {
	r.variant, r.read, r.Missing = v, &reading{v, p}, p.Missing
}

// markEdges notes which passes the window begins and ends with.
func markEdges(results []*Result) {
	if len(results) > 0 {
		results[0].atStart, results[len(results)-1].atEnd = true, true
	}
}

// stretchesOf are passes as the model sees them: of those that run the same, only some with their times.
func (w *Work) stretchesOf(results []*Result) []segment.Stretch {
	all := make([]segment.Stretch, len(results))
	seen := map[*Sequence]int{}
	end := w.Act(results[0].line[0]).Start()
	for p, r := range results {
		if p > 0 {
			all[p-1].After = max(0, int64(w.Act(r.line[0]).Start()-end))
		}
		if seen[r.Seq]++; seen[r.Seq] <= segment.TimedAlike {
			all[p], end = w.stretchOf(r.Seq, r.line, end)
			continue
		}
		all[p].Sequence = r.Seq
		for _, i := range r.line[max(0, len(r.line)-1):] {
			end = max(end, w.Act(i).End())
		}
	}
	all[0].Open.Start, all[len(all)-1].Open.End = true, true
	return all
}

// divideHidden divides passes at places of their lines. What annotations or frames say of a pass stays.
func (w *Work) divideHidden(results []*Result, at [][]int) (out []*Result) {
	for p, r := range results {
		if len(at[p]) == 0 || r.Step != nil || r.Model != "" {
			out = append(out, r)
			continue
		}
		passes := make([]segment.Pass, len(at[p])+1)
		for k, from := range at[p] {
			passes[k+1].From = from
		}
		for k := range passes {
			passes[k].Profile = segment.Outside
		}
		out = append(out, w.divide(r, passes)...)
	}
	return out
}

// divide makes passes of one between whose parts the boundary is missing.
func (w *Work) divide(r *Result, passes []segment.Pass) []*Result {
	place := placesIn(r.Kernels, r.line)
	var out []*Result
	from := 0
	for k, p := range passes {
		to := len(r.Kernels)
		if k+1 < len(passes) {
			to = int(place[passes[k+1].From])
		}
		span := r.Span
		span.Kernels, span.Cut = r.Kernels[from:to:to], Uncut
		one := w.prepare(span)
		for g := range p.Missing {
			p.Missing[g].Before -= p.From
		}
		if p.Profile != segment.Outside && len(one.line) == p.To-p.From {
			one.follows(w.variants[p.Profile], p)
		}
		out, from = append(out, one), to
	}
	out[0].atStart, out[len(out)-1].atEnd = r.atStart, r.atEnd
	return out
}

// byVariant gives a pass the layers of its variant: each kernel that of its column, one between two columns that of
// the kernel before it.
func (w *Work) byVariant(r *Result) {
	lead := r.variant.lead
	of := lead.layersOfLine()
	if lead.Count == 0 || len(of) != r.variant.Len() {
		return
	}
	layers := make([]int32, len(r.line))
	before, pending := int32(None), 0
	for k, j := range r.read.pass.Column {
		if j == segment.NoColumn {
			pending++
			continue
		}
		l := of[j]
		for b := k - pending; b < k; b++ {
			if layers[b] = None; before != None && l != None {
				layers[b] = before
			}
		}
		layers[k], before, pending = l, l, 0
	}
	for b := len(layers) - pending; b < len(layers); b++ {
		layers[b] = None
	}
	r.Seq, r.st = lead.Seq, lead.st
	w.spreadLayers(r, layers)
	lo, hi := int32(math.MaxInt32), int32(None)
	for _, l := range layers {
		if l != None {
			lo, hi = min(lo, l), max(hi, l)
		}
	}
	if hi == None {
		return
	}
	r.First, r.Count = int(lo), int(hi-lo)+1
	r.LayerEvidence, r.LayerConf = lead.LayerEvidence, lead.LayerConf
	if r.LayerEvidence == RungModule { // of others
		r.LayerEvidence, r.LayerConf = RungRepeat, segment.ConfidenceReference
	}
	if lead.restored == 1 {
		r.Cut, r.FromEnd, r.CutFirst, r.CutLast = lead.Cut, lead.FromEnd, lead.CutFirst, lead.CutLast
		return
	}
	seen := int(slices.Max(r.read.pass.Column)) // it may lack copies after the sampling
	cut := r.read.pass.Cut
	cut.End = cut.End && slices.ContainsFunc(lead.Seq.Role[seen+1:], func(r Role) bool { return markOf(r) != 0 })
	r.Cut = partialOf(cut)
	first, last := slices.Index(of, lo), len(of)-1
	for of[last] != hi {
		last--
	}
	r.CutFirst = cut.Start && !slices.Contains(r.read.pass.Column, int32(first))
	r.CutLast = cut.End && !slices.Contains(r.read.pass.Column, int32(last))
}

// Like returns which of the passes before it the pass is read by, as the kernels of that one say what theirs are, and
// the kernel of that pass that each of its own is, [segment.NoColumn] for none; of a pass that is read by itself what
// others that are read by it will return, and nil. It is nil where the places of kernels are not those of the line.
func (r *Result) Like() (variant *segment.Cluster, column []int32) {
	if r.variant == nil || len(r.line) != len(r.Kernels) {
		return nil, nil
	}
	if r.read != nil {
		column = r.read.pass.Column
	}
	return r.variant.Cluster, column
}

// clean returns the passes whose layers are found by themselves: those that are read by others follow them. Of one that
// is restored that is what it ran.
func clean(results []*Result) (out, follow []*Result) {
	for _, r := range results {
		if r.read == nil {
			out = append(out, r)
			continue
		}
		if r.variant.lead.restored > 0 && !slices.Contains(out, r.variant.lead) {
			out = append(out, r.variant.lead)
		}
		follow = append(follow, r)
	}
	return out, follow
}

// passesFromVariants cuts a stretch where passes begin and end, and keeps that where what lies between recurs.
func (w *Work) passesFromVariants(kernels []int32, m *Model) ([]Span, Evidence) {
	if m.UseAnchors || len(kernels) < 2 {
		return nil, Evidence{}
	}
	s, _ := w.stretchOf(w.sequenceOf(kernels), kernels, w.Act(kernels[0]).Start())
	marks := w.marksOf(s.Sequence, kernels)
	bounds := w.joinParts(kernels, marks, w.joinIdle(kernels, s.Role, segment.Bounds(s, marks)))
	if len(bounds) == 0 {
		return nil, Evidence{}
	}
	find := func() ([]segment.Cluster, []segment.Piece) {
		return segment.Find(s.Parts(bounds), func() bool { return w.Ended() != nil })
	}
	clusters, pieces := find()
	if moved := segment.Rebound(s, bounds, clusters, pieces); !slices.Equal(moved, bounds) {
		bounds = moved
		clusters, pieces = find()
	}
	all := s.Parts(bounds)
	if w.Ended() != nil || !w.recurs(all, marks, clusters, pieces) {
		return nil, Evidence{}
	}
	spans := make([]Span, len(all))
	from := 0
	for p := range spans {
		to := len(kernels)
		if p < len(bounds) {
			to = bounds[p]
		}
		spans[p].Kernels = kernels[from:to:to]
		from = to
	}
	return rung(spans, w.byLaunches(spans), segment.ConfidenceStructure,
		fmt.Sprintf("%d stretches of kernels that recur, of %d kinds", len(spans), len(clusters)))
}

// placesIn returns where each kernel of a line is among all kernels.
func placesIn(kernels, line []int32) []int32 {
	place := make([]int32, 0, len(line))
	for k, i := range kernels {
		if len(place) < len(line) && line[len(place)] == i {
			place = append(place, int32(k))
		}
	}
	return place
}

// marksOf returns what the kernels of a line show of where passes begin and end.
func (w *Work) marksOf(s *Sequence, line []int32) []segment.Mark {
	marks := make([]segment.Mark, len(line))
	for k, r := range s.Role {
		marks[k] = markOf(r)
	}
	at := 0
	for run := range runs(line, func(a, b *int32) bool { return w.launchedAlike(*a, *b) }) {
		mark := segment.Mark(0)
		switch {
		case !w.Known(run[0]):
		case w.Replayed(run[0]):
			mark = segment.Inside
		case len(run) >= longRun:
			mark = segment.Alone
		}
		for k := 1; k < len(run); k++ {
			marks[at+k] |= mark
		}
		at += len(run)
	}
	return marks
}

// markOf is what a kernel of a role shows of it.
func markOf(r Role) segment.Mark {
	switch r {
	case roleEmbed:
		return segment.Begins
	case roleSample:
		return segment.Samples
	case RoleMixer, RoleNorm, RoleGemm, roleMoE, roleRope, roleActivation:
		return segment.Works
	}
	return 0
}

// longRun is how many kernels in a row that calls of their own launched are a pass rather than the preparation of one
// or its sampling.
const longRun = 100

// launchedAlike says whether one graph launch launched two kernels, or calls of their own.
func (w *Work) launchedAlike(a, b int32) bool {
	if w.Replayed(a) || w.Replayed(b) {
		return w.origin[a] == w.origin[b]
	}
	return w.Known(a) == w.Known(b)
}

// joinIdle takes away bounds between which nothing works as a pass does: where kernels are known that mix, a pass has
// one, or, as one that decodes an image, several products. What samples has one, of the logits, at most. It is of the
// pass before it, or, where there is none before or it looks up an embedding, of the next one.
func (w *Work) joinIdle(line []int32, roles []Role, bounds []int) []int {
	if !slices.Contains(roles, RoleMixer) {
		return bounds
	}
	mixers, products := make([]int, len(line)+1), make([]int, len(line)+1)
	for k, i := range line {
		m, p := w.works(i, roles[k])
		mixers[k+1], products[k+1] = mixers[k]+m, products[k]+p
	}
	idle := func(from, to int) bool {
		return mixers[to] == mixers[from] && (to-from < smallPass || products[to]-products[from] <= 1)
	}
	var out []int
	from := 0
	for k, b := range bounds {
		to, begins := len(line), false
		if k+1 < len(bounds) {
			to = bounds[k+1]
			begins = slices.Contains(roles[b:to], roleEmbed)
		}
		if idle(from, b) || idle(b, to) && !begins {
			continue
		}
		out = append(out, b)
		from = b
	}
	return out
}

// works counts what a pass has of a kernel: it mixes, or it is a product.
func (w *Work) works(i int32, role Role) (mixes, product int) {
	if role == RoleMixer {
		return 1, 0
	}
	return 0, stat.Int(role == RoleGemm || w.Facts[w.ID[i]].Convolves())
}

// dropStarts takes away what the window begins with and what works as no pass does, where others mix: initial weights,
// their copies and fills.
func (w *Work) dropStarts(results []*Result) []*Result {
	idle := func(r *Result) bool {
		if r.Step != nil || r.Model != "" || r.Draft || r.Count > 0 || r.read != nil {
			return false
		}
		mixers, products := 0, 0
		for k, i := range r.line {
			m, p := w.works(i, r.Seq.Role[k])
			mixers, products = mixers+m, products+p
		}
		return mixers == 0 && products <= 1
	}
	if !slices.ContainsFunc(results, func(r *Result) bool { return r.Seq.Count(RoleMixer) > 0 }) {
		return results
	}
	for idle(results[0]) {
		results = results[1:]
	}
	return results
}

// joinParts takes away bounds where no pass ended and none begins: since the place before that may be a bound nothing
// sampled, what ran is no stack of layers, and nothing looks up an embedding before it works. The host may wait within
// a layer, and a compiler looks an embedding up again, in a fused kernel, where it adds it to what a layer computed.
// Where no kernel samples or looks up, this says nothing.
func (w *Work) joinParts(line []int32, marks []segment.Mark, bounds []int) []int {
	if !slices.ContainsFunc(marks, func(m segment.Mark) bool { return m&(segment.Begins|segment.Samples) != 0 }) {
		return bounds
	}
	var memo segment.Memo[int]
	from := 0
	return slices.DeleteFunc(bounds, func(b int) bool {
		part := marks[from:b]
		s := w.sequenceOf(line[from:b])
		from = b
		return !w.looksUp(line[b:], marks[b:]) &&
			!samples(part) &&
			memo.Get(s.Base, func() int { return segment.Number(s) }) < segment.StackLayers
	})
}

// samples says whether a kernel samples.
func samples(marks []segment.Mark) bool {
	return slices.ContainsFunc(marks, func(m segment.Mark) bool { return m&segment.Samples != 0 })
}

// looksUp says whether a kernel of its own looks up an embedding before anything works.
func (w *Work) looksUp(line []int32, marks []segment.Mark) bool {
	for k, m := range marks {
		switch {
		case m&segment.Begins != 0:
			return len(w.Facts[w.ID[line[k]]].Ops) <= 1
		case m&segment.Works != 0:
			return false
		}
	}
	return false
}

// smallPass is up to how many kernels without a mixer are no pass: sampling, preparation of a batch. Decoders of
// images have hundreds.
const smallPass = 40

// recurs says whether the pieces are passes: most kernels are in kinds that occur at least twice, or that have
// as many layers as another kind, and most in stacks of layers, or between an embedding and sampling, as those of a
// draft model are that has a layer or two.
func (w *Work) recurs(all []segment.Stretch, marks []segment.Mark, clusters []segment.Cluster,
	pieces []segment.Piece) bool {
	layers, kinds := make([]int, len(clusters)), map[int]int{}
	for c := range clusters {
		if n := segment.Number(clusters[c].Sequence); n >= segment.StackLayers {
			layers[c] = n
			kinds[n]++
		}
	}
	kernels, again, stacked, sampled := 0, 0, 0, samples(marks)
	for p := range all {
		var shown segment.Mark
		for _, m := range marks[kernels : kernels+all[p].Len()] {
			shown |= m
		}
		whole := shown&segment.Begins != 0 && (shown&segment.Samples != 0 || !sampled)
		kernels += all[p].Len()
		for _, x := range pieces[p].Passes {
			if x.Profile == segment.Outside {
				continue
			}
			n := layers[x.Profile]
			if clusters[x.Profile].Members > 1 || kinds[n] > 1 {
				again += x.To - x.From
			}
			if n > 0 || whole {
				stacked += x.To - x.From
			}
		}
	}
	return 2*again >= kernels && 10*stacked >= 7*kernels
}

// Loss is a place of a pass where records are missing, between two kernels of its line: None where there is none.
type Loss struct {
	Before, After int32
	Kernels       int
	Unsure        bool // whether any are missing is open
	Scattered     bool // one of many places where passes lack a record
}

// Lost returns where records of the pass are missing.
func (r *Result) Lost() (out []Loss) {
	for _, g := range r.Missing {
		l := Loss{None, None, g.To - g.From, g.Doubtful || g.Scattered, g.Scattered}
		if g.Before > 0 && g.Before <= len(r.line) {
			l.Before = r.line[g.Before-1]
		}
		if g.Before < len(r.line) {
			l.After = r.line[g.Before]
		}
		out = append(out, l)
	}
	return out
}
