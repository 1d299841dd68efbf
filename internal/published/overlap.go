package published

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/stat"
)

// Verdicts of the overlap table.
const (
	VerdictHeadroom = "headroom"       // runs alone for much of its time
	VerdictHidden   = "low-roi-hidden" // runs beside other work already
)

// Bars of the overlap table, all the published rule's.
const (
	overlapMinNS      = 5000 // a row's total: below this nothing is worth moving
	headroomExclusive = 0.45 // of a row's time
	hiddenRatioBar    = 0.65
	lowShareBar       = 1.0 // percent of the stage: below this a row is P5
)

// OverlapKernel is one kernel of a stage by name.
type OverlapKernel struct {
	Name     string
	Category classify.Category
	Bucket   Bucket
	Graph    bool // a graph that was recorded as a whole
}

// Activity is one launch of a kernel.
type Activity struct {
	Start, End int64 // ns
	Device     int
	Stream     int32 // dense, of all devices
	Kernel     int32 // index of the kernels
	Site, Op   string
	Known      bool // Site is a source line
	Replay     bool
}

// OverlapRow is one line of the overlap table.
type OverlapRow struct {
	Priority, Verdict           string
	Kernel                      int32
	PythonScope                 string
	TotalNS                     int64
	SharePct                    float64 // of the stage's GPU time
	ExclusiveRatio, HiddenRatio float64
	DepRisk, DepSignal          string
	Recommendation              string
	HiddenUnder                 int32 // kernel, −1 none
}

// overlapStat is the ledger of one kernel.
type overlapStat struct {
	kernel    int32
	ns        int64
	hidden    int64
	byCompute int64
	longest   int32 // its longest activity, −1 none
	sites     map[string]int64
	hiders    map[int32]int64 // kernel → hidden time it explains
}

func (o *overlapStat) exclusive() int64 { return o.ns - o.hidden }

// table is what an overlap table is made of.
type table struct {
	kernels       []OverlapKernel
	acts          []Activity
	stats         []overlapStat
	ns            int64 // of all activities
	before, after []int32
}

// Overlap is the overlap table of a stage by the published rule: activities by device and start, rows of at least
// minShare percent of its GPU time, at most limit of each verdict, −1 for all.
func Overlap(kernels []OverlapKernel, acts []Activity, minShare float64, limit int) []OverlapRow {
	t := &table{kernels: kernels, acts: acts, stats: make([]overlapStat, len(kernels))}
	for i := range t.stats {
		t.stats[i] = overlapStat{kernel: int32(i), longest: -1, sites: map[string]int64{}, hiders: map[int32]int64{}}
	}
	byDevice := map[int][]int32{}
	var devices []int
	for i := range acts {
		d := acts[i].Device
		if byDevice[d] == nil {
			devices = append(devices, d)
		}
		byDevice[d] = append(byDevice[d], int32(i))
		t.ns += acts[i].End - acts[i].Start
	}
	for _, d := range devices {
		t.add(byDevice[d])
	}
	t.neighbours()
	return t.rows(minShare, limit)
}

// add runs the sweep over one device.
func (t *table) add(acts []int32) {
	spans := make([]span, len(acts))
	dense := map[int32]int32{}
	for k, i := range acts {
		a := &t.acts[i]
		q, ok := dense[a.Stream]
		if !ok {
			q = int32(len(dense))
			dense[a.Stream] = q
		}
		spans[k] = span{start: a.Start, end: a.End, stream: q, bucket: t.kernels[a.Kernel].Bucket}
	}
	for k, e := range sweep(spans) {
		a := &t.acts[acts[k]]
		o := &t.stats[a.Kernel]
		dur := a.End - a.Start
		o.ns += dur
		o.sites[a.Site] += dur
		o.hidden += e.hidden
		o.byCompute += e.hiddenByCompute
		if o.longest < 0 || dur > t.acts[o.longest].End-t.acts[o.longest].Start {
			o.longest = acts[k]
		}
		if e.hider >= 0 {
			o.hiders[t.acts[acts[e.hider]].Kernel] += e.hidden
		}
	}
}

func (t *table) share(ns int64) float64 { return 100 * shareOf(ns, t.ns) }

// shareOf returns part/whole rounded to six decimals; 0 of 0 is 0.
func shareOf(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return math.Round(float64(part)/float64(whole)*1e6) / 1e6
}

// rows chooses and orders the rows.
func (t *table) rows(minShare float64, limit int) []OverlapRow {
	var head, hidden []*overlapStat
	for i := range t.stats {
		o := &t.stats[i]
		k := &t.kernels[o.kernel]
		if o.ns < overlapMinNS || k.Graph {
			continue
		}
		if shareOf(o.exclusive(), o.ns) >= headroomExclusive {
			head = append(head, o)
		}
		if (k.Bucket == BucketElementwise || k.Bucket.IsMemory()) && shareOf(o.hidden, o.ns) >= hiddenRatioBar {
			hidden = append(hidden, o)
		}
	}
	name := func(o *overlapStat) string { return t.kernels[o.kernel].Name }
	compute := func(o *overlapStat) int32 { return int32(stat.Int(t.kernels[o.kernel].Bucket == BucketCompute)) }
	gain := func(o *overlapStat) float64 {
		return float64(o.exclusive()) * buckets[t.kernels[o.kernel].Bucket].weight
	}
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
	show := func(list []*overlapStat, least float64, verdict string) {
		to := len(out) + limit
		for _, o := range list {
			if (limit < 0 || len(out) < to) && !shown[o.kernel] && t.share(o.ns) >= least {
				out, shown[o.kernel] = append(out, t.row(o, verdict)), true
			}
		}
	}
	show(head, max(lowShareBar, minShare), VerdictHeadroom)
	show(hidden, minShare, VerdictHidden)
	slices.SortStableFunc(out, func(x, y OverlapRow) int { return cmp.Compare(x.Priority, y.Priority) })
	return out
}

func (t *table) row(o *overlapStat, verdict string) OverlapRow {
	signal, risk := t.dependency(o)
	row := OverlapRow{Verdict: verdict, Kernel: o.kernel, TotalNS: o.ns, SharePct: t.share(o.ns),
		ExclusiveRatio: shareOf(o.exclusive(), o.ns),
		HiddenRatio:    shareOf(o.hidden, o.ns), DepRisk: risk, DepSignal: signal, HiddenUnder: -1}
	for site, ns := range o.sites {
		if best := o.sites[row.PythonScope]; row.PythonScope == "" || ns > best || ns == best &&
			site < row.PythonScope {
			row.PythonScope = site
		}
	}
	for k, ns := range o.hiders {
		if b := row.HiddenUnder; b < 0 || ns > o.hiders[b] || ns == o.hiders[b] &&
			t.kernels[k].Name < t.kernels[b].Name {
			row.HiddenUnder = k
		}
	}
	switch {
	case row.SharePct < lowShareBar:
		row.Priority, row.Recommendation = "P5", "skip"
	case verdict == VerdictHidden:
		row.Priority, row.Recommendation = "P4", "skip"
	case risk == riskLow && t.kernels[o.kernel].Bucket.IsCommunication():
		row.Priority, row.Recommendation = "P1", "try overlap"
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
// least tightMin and at most tightMax (the published rule's figures).
const (
	tightMin   = 2000  // ns
	tightMax   = 20000 // ns
	tightShare = 0.15
)

// dependency judges the neighbours on the same stream of a kernel's longest
// activity.
func (t *table) dependency(o *overlapStat) (signal, risk string) {
	me := &t.acts[o.longest]
	tight := max(int64(tightMin), min(int64(tightMax), int64(tightShare*float64(me.End-me.Start))))
	side := func(i int32, gap func(n *Activity) int64) (serial, unclear bool) {
		if i < 0 || gap(&t.acts[i]) > tight {
			return false, false
		}
		n := &t.acts[i]
		if t.serial(me, n) {
			return true, false
		}
		return false, !me.Known || !n.Known
	}
	prevSerial, prevUnclear := side(t.before[o.longest], func(n *Activity) int64 { return me.Start - n.End })
	nextSerial, nextUnclear := side(t.after[o.longest], func(n *Activity) int64 { return n.Start - me.End })
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

// anyModule is the function of every module.
const anyModule = "forward"

// serial reports whether two tight neighbours probably depend on each other:
// one scope, one launching op, or kinds of work that feed each other.
func (t *table) serial(x, y *Activity) bool {
	if x.Known && y.Known {
		px, fx := scopeParts(x.Site)
		py, fy := scopeParts(y.Site)
		if px == py || fx == fy && fx != anyModule && fx != "" {
			return true
		}
	}
	if x.Op == y.Op && x.Op != "" && !x.Replay && strings.Contains(x.Op, "::") {
		return true
	}
	return feeds(t.kernels[x.Kernel].Bucket, t.kernels[y.Kernel].Bucket)
}

// scopeParts splits "path:line func".
func scopeParts(site string) (path, fn string) {
	head, fn, _ := strings.Cut(site, " ")
	if i := strings.LastIndexByte(head, ':'); i >= 0 {
		head = head[:i]
	}
	return head, fn
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

// neighbours finds, for each activity, the one before and after it on its
// stream, -1 where there is none.
func (t *table) neighbours() {
	t.before, t.after = make([]int32, len(t.acts)), make([]int32, len(t.acts))
	last := map[int32]int32{}
	for i := range t.acts {
		t.before[i], t.after[i] = -1, -1
		if l, ok := last[t.acts[i].Stream]; ok {
			t.before[i], t.after[l] = l, int32(i)
		}
		last[t.acts[i].Stream] = int32(i)
	}
}
