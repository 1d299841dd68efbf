package triage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// maxSites bounds the places that a row lists.
const maxSites = 4

// maxExamples bounds the kernel indices that a row lists.
const maxExamples = 12

// splitRow renders a chain that somebody has a fused kernel for.
func (a *analysis) splitRow(s *stageWork, h *path) FuseRow {
	out := a.splitOf(s, h.pattern, h.Candidate)
	var sure bool
	out.State, out.Action, sure = a.state(h.pattern, h.at)
	if info := states[out.State]; info.gains {
		price, fits := h.PriceUpTo(h.pattern.Requires.Tokens(h.at))
		if left := len(h.At) - len(fits); left > 0 {
			out.Action += fmt.Sprintf(" %d of %d occurrences are in larger steps and not counted.", left, len(h.At))
		}
		a.gains(s, &out, price, fits)
	}
	if !sure {
		out.Confidence = Possible
	}
	out.Rationale = s.rationale(h)
	return out
}

// splitOf is the row of a candidate without what can be done about it.
func (a *analysis) splitOf(s *stageWork, p *fusion.Pattern, c *chain.Candidate) FuseRow {
	var members, example []chain.Ref
	for n, o := range c.At {
		from := len(members)
		for _, i := range o.Acts {
			members = append(members, chain.Ref{Part: o.Trace.Part, Act: i})
		}
		if n == len(c.At)/2 {
			example = members[from:]
		}
	}
	out := a.fuseRow(s, p, Split, members, example, len(c.At), c.NS)
	at := placeOf(c.At[0].Kernel(), trace.Time(c.At[0].Trace.Acts[c.At[0].Acts[0]].Start))
	out.First = &at
	return out
}

// gains fills in what a fused kernel saves: time of kernels, and of the steps. A step is no shorter where the
// host keeps the GPU idle later in it, and shorter by what the host waits for the GPU before that; launches that fall
// away may make the host faster then. Nor is it shorter by what runs beside other kernels.
func (a *analysis) gains(s *stageWork, out *FuseRow, price chain.Price, at []chain.Occurrence) {
	wall, _ := s.wall()
	n, basis := s.steady()
	out.at = at
	var bound int
	var low, high int64
	type held struct{ low, high int64 }
	by := map[*activity.Hold]held{}
	for i := range at {
		hold := at[i].Hold()
		least, most := at[i].Step()
		switch {
		case hold == nil:
			low, high = low+least, high+most
		case hold.Room == 0:
			bound++
		default:
			sum := by[hold]
			by[hold] = held{sum.low + least, sum.high + most}
		}
	}
	for hold, sum := range by {
		low, high = low+min(sum.low, hold.Room), high+min(sum.high, hold.Room)
	}
	out.Gain = Gain{LowNS: price.Low, NS: price.GPU, HighNS: price.High, BytesMoved: int64(price.Moved),
		BytesNeeded: int64(price.Needed), BytesOf: price.Sized, Occurrences: len(at), Launches: price.Launches,
		StepLowNS: int64(float64(low) / n), StepHighNS: int64(float64(high) / n),
		HostBoundPct: percent(int64(bound), int64(len(at)))}
	if basis == finding.OfWindow {
		out.Gain.GPUs = int(n)
	} else {
		x := s.exposure
		out.Gain.Steps, out.Gain.CompleteSteps, out.Gain.Mixed = x.Steps, x.CompleteSteps, x.Mixed
	}
	out.EstimatedGainUS, out.GainPct = micros(price.GPU), percent(high, wall)
}

// rationale says what a chain rests on, and what else speaks of its kernels.
func (s *stageWork) rationale(h *path) string {
	why := []string{h.pattern.Rationale}
	var also, near []string
	for _, p := range h.others {
		also = append(also, p.Pattern)
	}
	for _, c := range h.Also {
		inner := s.paths[c]
		for _, p := range append([]*fusion.Pattern{inner.pattern}, inner.others...) {
			also = append(also, p.Pattern)
		}
	}
	for _, c := range h.Near {
		near = append(near, s.paths[c].pattern.Pattern)
	}
	if len(also) > 0 {
		why = append(why, "Other paths for these kernels: "+strings.Join(also, "; ")+".")
	}
	if len(near) > 0 {
		why = append(why, "Shares kernels with: "+strings.Join(near, "; ")+"; the gains do not add up.")
	}
	return strings.Join(why, " ")
}

// activeRows lists the fused paths that are in use.
func (a *analysis) activeRows(s *stageWork, seqs *chain.Sequences, where fusion.Setting) []FuseRow {
	out := []FuseRow{}
	seen := map[string]bool{}
	type hit struct {
		p  *fusion.Pattern
		at []chain.Ref
		ns int64
	}
	fused := make([]bool, len(seqs.Sorts))
	for k, sort := range seqs.Sorts {
		fused[k] = a.steps.IsFused(sort)
	}
	var hits []hit
	for i := range a.registry.Patterns {
		p := &a.registry.Patterns[i]
		if len(p.Active)+len(p.ActiveSteps) == 0 || !a.ofServer(p) || !suits(where, p) {
			continue
		}
		steps := a.registry.Set(p.ActiveSteps...)
		active := make([]bool, len(seqs.Sorts))
		for k, sort := range seqs.Sorts {
			active[k] = seqs.Sets[k]&steps != 0 || fused[k] && a.steps.IsActive(i, sort)
		}
		if !slices.Contains(active, true) {
			continue
		}
		h := hit{p: p}
		for _, q := range seqs.List {
			for _, k := range q.Kernels {
				if active[k.Sort] {
					h.at = append(h.at, chain.Ref{Part: q.Trace.Part, Act: k.Act})
					h.ns += q.Trace.Acts[k.Act].End - q.Trace.Acts[k.Act].Start
				}
			}
		}
		if s.share(h.ns) >= a.MinSharePct {
			hits = append(hits, h)
		}
	}
	for _, w := range s.wholes {
		if s.share(w.NS) >= a.MinSharePct {
			hits = append(hits, hit{&fusion.Pattern{Pattern: w.Name, Origin: fusion.Upstream,
				CandidatePaths: []string{wholePath(w.Experts)}, Rationale: "Nothing between its products passes through memory."},
				w.At, w.NS})
		}
	}
	slices.SortStableFunc(hits, func(x, y hit) int {
		return cmp.Or(cmp.Compare(y.ns, x.ns), cmp.Compare(x.p.Pattern, y.p.Pattern))
	})
	for _, h := range hits {
		// Patterns of several servers may name the same kernel; one row is enough.
		id := fmt.Sprint(h.ns, len(h.at), h.at[0])
		if seen[id] {
			continue
		}
		seen[id] = true
		middle := len(h.at) / 2
		r := a.fuseRow(s, h.p, InUse, h.at, h.at[middle:middle+1], len(h.at), h.ns)
		r.State, r.Action = StateActive, "in use"
		r.Rationale = h.p.Rationale
		out = append(out, r)
	}
	return out
}

// fuseRow fills what split and active rows have in common. members are the
// kernels of all occurrences, example those of the middle one, which is in the
// steady part of the run.
func (a *analysis) fuseRow(s *stageWork, p *fusion.Pattern, kind FuseKind, members, example []chain.Ref,
	occurrences int, ns int64) FuseRow {
	out := FuseRow{Pattern: p.Pattern, Kind: kind, Confidence: Possible, RelatedUS: micros(ns), SharePct: s.share(ns),
		Occurrences: occurrences, Evidence: []Share{}, ExampleKernels: []int{}, CurrentLocations: []string{},
		CandidatePaths: slices.Clone(p.CandidatePaths), Origin: p.Origin}
	if kind == InUse || out.SharePct >= likelyShare {
		out.Confidence = Confirmed
	}
	type sum struct {
		id int32
		ns int64
		n  int
	}
	var byKernel, bySite groups[int32, sum]
	for _, r := range members {
		act := a.activity(r)
		for _, s := range []*sum{byKernel.of(act.Kernel, sum{id: act.Kernel}), bySite.of(act.Site, sum{id: act.Site})} {
			s.ns += act.End - act.Start
			s.n++
		}
	}
	kernels, sites := byKernel.list, bySite.list
	if kind == InUse {
		slices.SortFunc(kernels, func(x, y sum) int { return cmp.Or(cmp.Compare(y.ns, x.ns), cmp.Compare(x.id, y.id)) })
	}
	for _, k := range kernels {
		out.Evidence = append(out.Evidence, Share{Kernel: a.pool.Name(k.id), Label: a.pool.Labels[k.id],
			GPUTimeUS: micros(k.ns), SharePct: s.share(k.ns), Launches: k.n})
	}
	slices.SortFunc(sites, func(x, y sum) int {
		return cmp.Or(cmp.Compare(y.ns, x.ns), cmp.Compare(a.pool.Sites.Texts[x.id], a.pool.Sites.Texts[y.id]))
	})
	for i, k := range sites { // lines of few occurrences are strays
		if len(out.CurrentLocations) < maxSites && (kind == InUse || i == 0 || 2*k.n >= occurrences) {
			out.CurrentLocations = append(out.CurrentLocations, a.pool.Sites.Texts[k.id])
		}
	}
	for _, r := range example[:min(len(example), maxExamples)] {
		out.ExampleKernels = append(out.ExampleKernels, int(a.activity(r).Event))
	}
	return out
}
