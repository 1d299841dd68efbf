package triage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace"
)

// Verdicts of the overlap table.
const (
	VerdictHeadroom = "headroom"       // runs alone for much of its time
	VerdictHidden   = "low-roi-hidden" // runs beside other work already
)

// recommendOverlap is the recommendation of the rows that somebody can act on.
const recommendOverlap = "try overlap"

// Bars of the overlap table, all the reference's.
const (
	overlapMinNS      = 5000 // a row's total: below this nothing is worth moving
	headroomExclusive = 0.45 // of a row's time
	hiddenRatioBar    = 0.65
	lowShareBar       = 1.0 // percent of the stage: below this a row is P5
)

// overlapStat is the ledger of one kernel row.
type overlapStat struct {
	kernel    int32
	ns        int64
	hidden    int64
	byCompute int64
	longest   int32 // its longest activity, as an index in part.acts
	part      *work
	hiders    map[int32]int64 // kernel → hidden time it explains
}

func (o *overlapStat) exclusive() int64 { return o.ns - o.hidden }

// ledger runs the sweep over each device of the stage's traces and adds the
// results up by kernel.
func (s *stageWork) ledger(p *pool) []overlapStat {
	out := make([]overlapStat, len(s.rows))
	for i := range out {
		out[i] = overlapStat{kernel: s.rows[i].kernel, longest: -1}
	}
	for _, w := range s.parts {
		byDevice := map[trace.DeviceID][]int32{}
		var devices []trace.DeviceID
		for i := range w.acts {
			if int(w.acts[i].stage) != s.index {
				continue
			}
			d := w.queues[w.acts[i].queue].device
			if _, ok := byDevice[d]; !ok {
				devices = append(devices, d)
			}
			byDevice[d] = append(byDevice[d], int32(i))
		}
		for _, d := range devices {
			s.addLedger(p, out, w, byDevice[d])
		}
	}
	return out
}

func (s *stageWork) addLedger(p *pool, out []overlapStat, w *work, acts []int32) {
	spans := make([]span, len(acts))
	dense := map[int32]int32{}
	for k, i := range acts {
		a := &w.acts[i]
		q, ok := dense[a.queue]
		if !ok {
			q = int32(len(dense))
			dense[a.queue] = q
		}
		spans[k] = span{start: a.start, end: a.end, stream: q, bucket: p.facts[a.kernel].bucket}
	}
	for k, e := range sweep(spans) {
		a := &w.acts[acts[k]]
		o := &out[s.rowOf[a.kernel]]
		dur := a.end - a.start
		o.ns += dur
		o.hidden += e.hidden
		o.byCompute += e.hiddenByCompute
		if o.longest < 0 || dur > o.part.acts[o.longest].end-o.part.acts[o.longest].start {
			o.longest, o.part = acts[k], w
		}
		if e.hider >= 0 {
			if o.hiders == nil {
				o.hiders = map[int32]int64{}
			}
			o.hiders[w.acts[acts[e.hider]].kernel] += e.hidden
		}
	}
}

// overlap builds the overlap table of a stage. single says that no mapping
// trace was given: only kernels with sites of their own are judged by scope.
func (a *analysis) overlap(s *stageWork) ([]OverlapRow, string) {
	p := a.pool
	stats := s.ledger(p)
	var head, hidden []*overlapStat
	for i := range stats {
		o := &stats[i]
		f := &p.facts[o.kernel]
		if o.ns < overlapMinNS || f.kind == trace.KindGraph {
			continue
		}
		if ratio(o.exclusive(), o.ns) >= headroomExclusive {
			head = append(head, o)
		}
		if b := f.bucket; (b == BucketElementwise || b.IsMemory()) && ratio(o.hidden, o.ns) >= hiddenRatioBar {
			hidden = append(hidden, o)
		}
	}
	name := func(o *overlapStat) string { return p.name(o.kernel) }
	compute := func(o *overlapStat) int {
		if p.facts[o.kernel].bucket == BucketCompute {
			return 1
		}
		return 0
	}
	gain := func(o *overlapStat) float64 { return float64(o.exclusive()) * p.facts[o.kernel].bucket.weight() }
	slices.SortFunc(head, func(x, y *overlapStat) int {
		return cmp.Or(cmp.Compare(compute(x), compute(y)), cmp.Compare(gain(y), gain(x)), cmp.Compare(name(x), name(y)))
	})
	cover := func(o *overlapStat) float64 {
		return float64(o.hidden) * (1 + float64(o.byCompute)/float64(max(o.hidden, 1)))
	}
	slices.SortFunc(hidden, func(x, y *overlapStat) int {
		return cmp.Or(cmp.Compare(cover(y), cover(x)), cmp.Compare(name(x), name(y)))
	})
	out := []OverlapRow{}
	shown := map[int32]bool{}
	for _, o := range head {
		if len(out) == a.OverlapLimit {
			break
		}
		if s.share(o.ns) < max(lowShareBar, a.MinSharePct) {
			continue
		}
		out = append(out, a.overlapRow(s, o, VerdictHeadroom))
		shown[o.kernel] = true
	}
	n := 0
	for _, o := range hidden {
		if n == a.OverlapLimit {
			break
		}
		if shown[o.kernel] || s.share(o.ns) < a.MinSharePct {
			continue
		}
		out = append(out, a.overlapRow(s, o, VerdictHidden))
		n++
	}
	slices.SortStableFunc(out, func(x, y OverlapRow) int { return cmp.Compare(x.Priority, y.Priority) })
	return out, a.overlapNote(s, len(out))
}

// overlapNote says how far to trust the table.
func (a *analysis) overlapNote(s *stageWork, rows int) string {
	streams := 0
	for _, w := range s.parts {
		used := map[int32]bool{}
		for i := range w.acts {
			if int(w.acts[i].stage) == s.index {
				used[w.acts[i].queue] = true
			}
		}
		streams = max(streams, len(used))
	}
	var b strings.Builder
	if rows == 0 {
		fmt.Fprintf(&b, "No row cleared the bars (%.1f%% of GPU time, %d µs). ", max(lowShareBar, a.MinSharePct), overlapMinNS/1000)
	}
	if streams == 1 {
		b.WriteString("All work is on one stream, so nothing overlaps and every kernel is exposed. ")
	}
	if a.report.Mode == ModeSingle {
		b.WriteString("Single-trace reading, conservative: dependency risk comes from neighbours on the stream")
		if a.report.Stages == nil || unresolvedShare(s) > 0.5 {
			b.WriteString(" and most kernels have no source line; ")
			b.WriteString(howToMap(s))
		}
		b.WriteString(".")
	} else {
		b.WriteString("Two-trace reading: time from the formal trace, source lines from the mapping trace.")
	}
	b.WriteString(" A trace shows what overlapped, not what may legally overlap.")
	return b.String()
}

// howToMap says what would give the stage's kernels source lines.
func howToMap(s *stageWork) string {
	for _, w := range s.parts {
		if w.t.LaneLen(trace.LanePython) > 0 || w.hasCallStacks() {
			return "give a mapping trace (CUDA graphs off) for one"
		}
	}
	return "this trace holds no Python frames: record with stacks (with_stack), or give a mapping trace that has them"
}

// hasCallStacks says that ops carry their Python frames.
func (w *work) hasCallStacks() bool {
	for e := range w.t.Events(trace.LaneOp) {
		if e.CallStack() != "" {
			return true
		}
	}
	return false
}

func unresolvedShare(s *stageWork) float64 {
	var none int64
	for i := range s.rows {
		for _, st := range s.rows[i].sites {
			if st.site <= siteFromPrefill {
				none += st.ns
			}
		}
	}
	return ratio(none, s.ns)
}

func (a *analysis) overlapRow(s *stageWork, o *overlapStat, verdict string) OverlapRow {
	f := &a.pool.facts[o.kernel]
	signal, risk := a.dependency(o)
	row := OverlapRow{
		Verdict: verdict, Kernel: f.canonical, Category: string(f.result.Category), Bucket: f.bucket.String(),
		TotalUS: micros(o.ns), SharePct: s.share(o.ns), ExclusiveRatio: ratio(o.exclusive(), o.ns), HiddenRatio: ratio(o.hidden, o.ns),
		DepRisk: risk, DepSignal: signal,
	}
	sites, _ := s.rows[s.rowOf[o.kernel]].bySite(a.pool, anyOperator)
	row.PythonScope, row.Label = a.pool.sites.texts[sites[0].site], a.pool.labels[o.kernel]
	best := int32(-1)
	for k, ns := range o.hiders {
		if best < 0 || ns > o.hiders[best] || ns == o.hiders[best] && a.pool.name(k) < a.pool.name(best) {
			best = k
		}
	}
	if best >= 0 {
		row.HiddenUnder = a.pool.name(best)
	}
	switch {
	case row.SharePct < lowShareBar:
		row.Priority, row.Recommendation = "P5", "skip"
	case verdict == VerdictHidden:
		row.Priority, row.Recommendation = "P4", "skip"
	case risk == riskLow && f.bucket.IsCommunication():
		row.Priority, row.Recommendation = "P1", recommendOverlap
	default:
		row.Priority, row.Recommendation = "P2", "check deps"
	}
	return row
}

// Dependency risks.
const (
	riskLow     = "low"
	riskHigh    = "high"
	riskUnclear = "unclear"
)

// A gap to a neighbour is tight up to tightShare of the kernel's duration, at
// least tightMin and at most tightMax (the reference's figures).
const (
	tightMin   = 2000  // ns
	tightMax   = 20000 // ns
	tightShare = 0.15
)

// dependency judges the neighbours on the same stream of a row's longest
// activity.
func (a *analysis) dependency(o *overlapStat) (signal, risk string) {
	w := o.part
	me := &w.acts[o.longest]
	before, after := w.neighbours()
	var prev, next *activity
	if i := before[o.longest]; i >= 0 {
		prev = &w.acts[i]
	}
	if i := after[o.longest]; i >= 0 {
		next = &w.acts[i]
	}
	tight := max(int64(tightMin), min(int64(tightMax), int64(tightShare*float64(me.end-me.start))))
	side := func(n *activity, gap int64) (serial, unclear bool) {
		if n == nil || gap > tight {
			return false, false
		}
		if a.serial(me, n) {
			return true, false
		}
		return false, me.site <= siteFromPrefill || n.site <= siteFromPrefill
	}
	var prevSerial, prevUnclear, nextSerial, nextUnclear bool
	if prev != nil {
		prevSerial, prevUnclear = side(prev, me.start-prev.end)
	}
	if next != nil {
		nextSerial, nextUnclear = side(next, next.start-me.end)
	}
	switch {
	case prevSerial && nextSerial:
		return "serial risk on both sides", riskHigh
	case prevSerial:
		return "serial risk on the previous side", riskHigh
	case nextSerial:
		return "serial risk on the next side", riskHigh
	case prevUnclear || nextUnclear:
		return "adjacency unclear: a neighbour is tight but its source is not known", riskUnclear
	}
	return "serial risk low", riskLow
}

// serial reports whether two tight neighbours probably depend on each other:
// one scope, one launching op, or kinds of work that feed each other.
func (a *analysis) serial(x, y *activity) bool {
	if x.site > siteFromPrefill && y.site > siteFromPrefill {
		px, _, fx := locationParts(a.pool.sites.texts[x.site])
		py, _, fy := locationParts(a.pool.sites.texts[y.site])
		if px == py || fx == fy && fx != "forward" && fx != "" {
			return true
		}
	}
	if x.op == y.op && x.op != 0 && !x.replay && strings.Contains(a.pool.ops.texts[x.op], "::") {
		return true
	}
	return feeds(a.pool.facts[x.kernel].bucket, a.pool.facts[y.kernel].bucket)
}

// feeds reports kinds of work that are usually producer and consumer.
func feeds(x, y Bucket) bool {
	for range 2 {
		switch {
		case x.IsCommunication():
			return !y.IsCommunication()
		case x == BucketElementwise || x.IsMemory():
			return y != BucketOther
		}
		x, y = y, x
	}
	return false
}

// neighbours returns, for each activity, the one before and after it on its
// stream, -1 where there is none.
func (w *work) neighbours() (before, after []int32) {
	if w.before == nil {
		w.before, w.after = make([]int32, len(w.acts)), make([]int32, len(w.acts))
		last := make([]int32, len(w.queues))
		for i := range last {
			last[i] = -1
		}
		for i := range w.acts {
			q := w.acts[i].queue
			w.before[i], w.after[i] = last[q], -1
			if last[q] >= 0 {
				w.after[last[q]] = int32(i)
			}
			last[q] = int32(i)
		}
	}
	return w.before, w.after
}
