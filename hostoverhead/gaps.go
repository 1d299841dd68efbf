package hostoverhead

import (
	"cmp"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/interval"
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
	// Largest is the cause of most of that time, with its share.
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

// rounding is the longest gap, in ns, that two rounded times make out of none.
const rounding = 1

// bucketOf is the class of a gap's length.
func bucketOf(ns int64) int {
	i := 0
	for i+1 < len(buckets) && ns >= int64(buckets[i].To) {
		i++
	}
	return i
}

// gapClasses are the classes of the device's gaps, each with the cause that takes most of its time.
func (a *account) gapClasses() []GapBucket {
	out := slices.Clone(buckets)
	for i := 1; i < len(a.d.taken()); i++ {
		ns := a.d.taken()[i].Start - a.d.taken()[i-1].End
		if ns <= rounding {
			continue
		}
		b := &out[bucketOf(ns)]
		b.Count++
		b.TotalNS += ns
	}
	idle := a.d.window().Len() - interval.Total(a.d.taken())
	for i := range out {
		largest, ns := a.byGap[i].largest(false)
		out[i].Share = ratio(out[i].TotalNS, idle)
		out[i].Largest, out[i].LargestShare = largest, ratio(ns, out[i].TotalNS)
	}
	return out
}

// Gap is one span in which no kernel ran on a device, and what happened in it.
type Gap struct {
	StartNS int64      `json:"start_ns"` // since the trace's first event
	NS      int64      `json:"ns"`       // length
	Before  string     `json:"before"`   // kernel that ended last
	After   string     `json:"after"`    // kernel that ended the gap
	Causes  []IdleName `json:"causes"`   // by time; they add up to NS
}

// topGaps are the longest gaps, longest first.
func (a *account) topGaps() []Gap {
	out := make([]Gap, 0, len(a.top))
	for i := range a.top {
		t := &a.top[i]
		g := Gap{StartNS: t.span.Start, NS: t.span.Len(), Causes: a.listed(t.names)}
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
