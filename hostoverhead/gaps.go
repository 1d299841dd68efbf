package hostoverhead

import (
	"cmp"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/trace"
)

// GapBucket counts the gaps of one length class.
type GapBucket struct {
	From    time.Duration `json:"from_ns"`
	To      time.Duration `json:"to_ns"` // exclusive; 0 for the last class
	Title   string        `json:"title"`
	Causes  string        `json:"usual_cause"` // what usually makes gaps of this length
	Count   int           `json:"count"`
	TotalNS int64         `json:"total_ns"`
	Share   Ratio         `json:"share"` // of the time of all gaps
}

// buckets are the length classes and what usually causes each
// (hostoverhead.md §4).
var buckets = []GapBucket{
	{From: 0, To: time.Microsecond, Title: "< 1 µs", Causes: "dispatch pipeline"},
	{From: time.Microsecond, To: 5 * time.Microsecond, Title: "1–5 µs", Causes: "graph segment replay"},
	{From: 5 * time.Microsecond, To: 10 * time.Microsecond, Title: "5–10 µs", Causes: "graph launch dispatch"},
	{From: 10 * time.Microsecond, To: 50 * time.Microsecond, Title: "10–50 µs", Causes: "light Python"},
	{From: 50 * time.Microsecond, To: 100 * time.Microsecond, Title: "50–100 µs", Causes: "piecewise replay loop"},
	{From: 100 * time.Microsecond, To: 500 * time.Microsecond, Title: "100–500 µs", Causes: "Python between launches"},
	{From: 500 * time.Microsecond, To: time.Millisecond, Title: "0.5–1 ms", Causes: "heavy Python"},
	{From: time.Millisecond, To: 5 * time.Millisecond, Title: "1–5 ms", Causes: "eager code paths"},
	{From: 5 * time.Millisecond, Title: "> 5 ms", Causes: "host-device sync or creation of runtime objects"},
}

// bucketed sorts gaps into the length classes.
func bucketed(gaps []interval.Span) []GapBucket {
	out := slices.Clone(buckets)
	var total int64
	for _, g := range gaps {
		n := g.Len()
		i := slices.IndexFunc(out, func(b GapBucket) bool { return b.To == 0 || n < int64(b.To) })
		out[i].Count++
		out[i].TotalNS += n
		total += n
	}
	for i := range out {
		out[i].Share = ratio(out[i].TotalNS, total)
	}
	return out
}

// StreamGaps are the gaps between consecutive kernels of one stream. Several
// streams share the device: a gap of one is no idle time while another runs.
type StreamGaps struct {
	Stream  trace.StreamID `json:"stream"`
	Kernels int            `json:"kernels"`
	Buckets []GapBucket    `json:"buckets"`
}

// streamGaps measures every stream of a device.
func (w *workload) streamGaps(d *deviceWork) []StreamGaps {
	var out []StreamGaps
	for _, s := range w.t.Streams(d.id) {
		g := StreamGaps{Stream: s}
		var gaps []interval.Span
		end := int64(-1)
		for e := range stop.Each(w.stop, w.t.OnStream(d.id, s)) {
			if e.Kind() != trace.KindKernel && e.Kind() != trace.KindGraph {
				continue
			}
			span := spanOf(e)
			if g.Kernels > 0 && span.Start > end {
				gaps = append(gaps, interval.Span{Start: end, End: span.Start})
			}
			end = max(end, span.End)
			g.Kernels++
		}
		if g.Kernels > 0 {
			g.Buckets = bucketed(gaps)
			out = append(out, g)
		}
	}
	return out
}

// Gap is one span in which no kernel ran on a device, and what happened in it.
type Gap struct {
	Device  trace.DeviceID `json:"device"`
	StartNS int64          `json:"start_ns"` // since the trace's first event
	NS      int64          `json:"ns"`
	Before  string         `json:"before"`           // kernel that ended last
	After   string         `json:"after"`            // kernel that ended the gap
	Causes  []CauseTotal   `json:"causes"`           // by time; they add up to NS
	APIs    []string       `json:"apis,omitempty"`   // calls on the launching thread during the gap, by time, at most maxGapNames
	Ranges  []string       `json:"ranges,omitempty"` // ranges, ops or frames running during it, by time, at most maxGapNames
}

// maxGapNames bounds the names listed for one gap.
const maxGapNames = 5

// topGaps explains the n longest gaps of a device.
func (l *ledger) topGaps(d *deviceWork, n int) []Gap {
	gaps := interval.Between(d.busy)
	stop.Sort(l.w.stop, gaps, func(a, b interval.Span) int {
		return cmp.Or(cmp.Compare(b.Len(), a.Len()), cmp.Compare(a.Start, b.Start))
	})
	gaps = gaps[:min(len(gaps), n)]
	byStart := slices.Clone(gaps)
	slices.SortFunc(byStart, func(a, b interval.Span) int { return cmp.Compare(a.Start, b.Start) })
	out := make([]Gap, len(gaps))
	sums := make([]gapSums, len(gaps))
	for i, g := range gaps {
		out[i] = Gap{Device: d.id, StartNS: g.Start, NS: g.Len()}
		sums[i] = gapSums{causes: map[[2]string]*CauseTotal{}, apis: map[string]int64{}, ranges: map[string]int64{}}
		out[i].Before, out[i].After = l.around(d, g)
	}
	l.walkGaps(d, byStart, func(e LedgerEntry) bool {
		i := slices.IndexFunc(gaps, func(g interval.Span) bool { return g.Contains(e.StartNS) })
		if i >= 0 {
			sums[i].add(&e)
		}
		return true
	})
	for i := range out {
		sums[i].fill(&out[i])
	}
	return out
}

// around names the kernels on both sides of a gap.
func (l *ledger) around(d *deviceWork, g interval.Span) (before, after string) {
	i, _ := slices.BinarySearchFunc(d.kernels, g.End, func(k int32, t int64) int {
		return cmp.Compare(int64(l.w.t.LaneAt(trace.LaneGPU, int(k)).Start()), t)
	})
	if i < len(d.kernels) {
		after = l.w.t.LaneAt(trace.LaneGPU, int(d.kernels[i])).Name()
	}
	// The kernel that ended at the gap's start: usually the one before.
	for i--; i >= 0; i-- {
		e := l.w.t.LaneAt(trace.LaneGPU, int(d.kernels[i]))
		if int64(e.End()) == g.Start {
			return e.Name(), after
		}
	}
	return "", after
}

type gapSums struct {
	causes       map[[2]string]*CauseTotal
	apis, ranges map[string]int64
}

func (s *gapSums) add(e *LedgerEntry) {
	n := e.EndNS - e.StartNS
	k := [2]string{string(e.Cause), e.label()}
	c := s.causes[k]
	if c == nil {
		c = &CauseTotal{Cause: e.Cause, Name: e.label()}
		s.causes[k] = c
	}
	c.TotalNS += n
	c.Count++
	if e.API != "" {
		s.apis[e.API] += n
	}
	if name := cmp.Or(e.Range, e.Frame, e.Step); name != "" {
		s.ranges[name] += n
	}
}

func (s *gapSums) fill(g *Gap) {
	for _, c := range s.causes {
		c.Share = ratio(c.TotalNS, g.NS)
		g.Causes = append(g.Causes, *c)
	}
	slices.SortFunc(g.Causes, func(a, b CauseTotal) int {
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Name, b.Name))
	})
	g.APIs, g.Ranges = longest(s.apis), longest(s.ranges)
}

// longest lists the names with the most time.
func longest(m map[string]int64) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), maxGapNames)]
}
