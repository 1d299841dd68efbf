package hostoverhead

import (
	"cmp"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// GapBucket counts the gaps of one length class.
type GapBucket struct {
	From    time.Duration `json:"from_ns"`  // shortest gap of the class
	To      time.Duration `json:"to_ns"`    // exclusive; 0 for the last class
	Title   string        `json:"title"`    // the class in words
	Count   int           `json:"count"`    // gaps of the class
	TotalNS int64         `json:"total_ns"` // time of these gaps
	Share   float64       `json:"share"`    // of the time of all gaps
	// Largest is the cause that takes most of it, with its share; "" for gaps of one stream.
	Largest      finding.Cause `json:"largest_cause,omitempty"`
	LargestShare float64       `json:"largest_share"`
}

// buckets are the length classes.
var buckets = []GapBucket{
	{From: 0, To: time.Microsecond, Title: "< 1 µs"},
	{From: time.Microsecond, To: 5 * time.Microsecond, Title: "1–5 µs"},
	{From: 5 * time.Microsecond, To: 10 * time.Microsecond, Title: "5–10 µs"},
	{From: 10 * time.Microsecond, To: 50 * time.Microsecond, Title: "10–50 µs"},
	{From: 50 * time.Microsecond, To: 100 * time.Microsecond, Title: "50–100 µs"},
	{From: 100 * time.Microsecond, To: 500 * time.Microsecond, Title: "100–500 µs"},
	{From: 500 * time.Microsecond, To: time.Millisecond, Title: "0.5–1 ms"},
	{From: time.Millisecond, To: 5 * time.Millisecond, Title: "1–5 ms"},
	{From: 5 * time.Millisecond, Title: "> 5 ms"},
}

// numBuckets is the number of length classes.
const numBuckets = 9

// bucketOf is the class of a gap's length.
func bucketOf(ns int64) int {
	i := 0
	for i+1 < len(buckets) && ns >= int64(buckets[i].To) {
		i++
	}
	return i
}

// count adds a gap to its class.
func count(classes []GapBucket, ns int64) {
	b := &classes[bucketOf(ns)]
	b.Count++
	b.TotalNS += ns
}

// share gives each class its share of all gaps.
func share(classes []GapBucket) {
	var total int64
	for i := range classes {
		total += classes[i].TotalNS
	}
	for i := range classes {
		classes[i].Share = ratio(classes[i].TotalNS, total)
	}
}

// gapClasses are the classes of the device's gaps, each with the cause that takes most of its time.
func (a *account) gapClasses() []GapBucket {
	out := slices.Clone(buckets)
	for i := 1; i < len(a.d.busy); i++ {
		count(out, a.d.busy[i].Start-a.d.busy[i-1].End)
	}
	share(out)
	for i := range out {
		largest, ns := a.byGap[i].largest(false)
		out[i].Largest, out[i].LargestShare = largest, ratio(ns, out[i].TotalNS)
	}
	return out
}

// StreamGaps are the gaps between consecutive kernels of one stream. Several
// streams share the device: a gap of one is no idle time while another runs.
type StreamGaps struct {
	Stream  trace.StreamID `json:"stream"`  // number of the stream
	Kernels int            `json:"kernels"` // number of kernels
	Buckets []GapBucket    `json:"buckets"` // gaps by length
}

// streamGaps measures every stream of a device.
func (w *workload) streamGaps(d *deviceWork) []StreamGaps {
	var out []StreamGaps
	for _, s := range w.t.Streams(d.id) {
		g := StreamGaps{Stream: s, Buckets: slices.Clone(buckets)}
		var end int64
		for e := range w.t.OnStream(d.id, s) {
			if e.Kind() != event.Kernel && e.Kind() != event.Graph {
				continue
			}
			span := timeline.SpanOf(e)
			if g.Kernels > 0 && span.Start > end {
				count(g.Buckets, span.Start-end)
			}
			end = max(end, span.End)
			g.Kernels++
		}
		if g.Kernels > 0 {
			share(g.Buckets)
			out = append(out, g)
		}
	}
	return out
}

// Gap is one span in which no kernel ran on a device, and what happened in it.
type Gap struct {
	StartNS int64      `json:"start_ns"`         // since the trace's first event
	NS      int64      `json:"ns"`               // length
	Before  string     `json:"before"`           // kernel that ended last
	After   string     `json:"after"`            // kernel that ended the gap
	Causes  []IdleName `json:"causes"`           // by time; they add up to NS
	APIs    []string   `json:"apis,omitempty"`   // calls on the launching thread during the gap, by time, at most five
	Ranges  []string   `json:"ranges,omitempty"` // ranges, ops or frames running during it, by time, at most five
}

// maxGapNames bounds the names listed for one gap.
const maxGapNames = 5

// topGaps are the longest gaps, longest first.
func (a *account) topGaps() []Gap {
	out := make([]Gap, 0, len(a.top))
	for i := range a.top {
		t := &a.top[i]
		g := Gap{StartNS: t.span.Start, NS: t.span.Len(), Causes: a.listed(t.names), APIs: a.longest(t.apis),
			Ranges: a.longest(t.ranges)}
		g.Before, g.After = a.around(t)
		out = append(out, g)
	}
	slices.SortFunc(out, func(x, y Gap) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS),
			cmp.Compare(x.StartNS, y.StartNS))
	})
	return out
}

// around names the kernels on both sides of a gap.
func (a *account) around(g *gapAccount) (before, after string) {
	at := func(i int) trace.Event { return a.l.w.t.LaneAt(event.LaneGPU, int(a.d.acts[i])) }
	for i := g.next - 1; i >= 0; i-- { // the kernel that ended at the gap's start: usually the one before
		if e := at(i); int64(e.End()) == g.span.Start {
			before = e.Name()
			break
		}
	}
	return before, at(g.next).Name()
}

// longest lists the names with the most time.
func (a *account) longest(m map[trace.NameID]int64) []string {
	sums := map[string]int64{}
	for id, ns := range m {
		sums[a.l.w.general(id)] += ns
	}
	names := make([]string, 0, len(sums))
	for n := range sums {
		names = append(names, n)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(sums[y], sums[x]), cmp.Compare(x, y)) })
	return names[:min(len(names), maxGapNames)]
}
