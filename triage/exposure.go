package triage

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
	"golang.org/x/sync/errgroup"
)

// Exposure says which work of a stage's steps runs alone and which beside other
// work. Each nanosecond of the steps is idle, exposed work of one category, or
// shared by several: WallNS = IdleNS + SharedNS + the ExposedNS of all rows.
type Exposure struct {
	WallNS   int64         `json:"wall_ns"` // of the stage's steps, each up to the next ([layer.Device.StepEnd]), over all devices
	IdleNS   int64         `json:"idle_ns"`
	SharedNS int64         `json:"shared_ns"`
	Rows     []ExposureRow `json:"rows"` // the most exposed first
}

// ExposureRow is one category of kernels.
type ExposureRow struct {
	Category  string `json:"category"`
	TotalNS   int64  `json:"total_ns"`   // while at least one of its kernels runs: exposed and hidden
	ExposedNS int64  `json:"exposed_ns"` // nothing of another category runs
	HiddenNS  int64  `json:"hidden_ns"`
	// ExposedPct is the exposed time as a share of WallNS.
	ExposedPct float64 `json:"exposed_pct"`
	Streams    int     `json:"streams"`
	// BoundNS is how much exposed communication compute of the same layer could
	// hide at most; 0 for all other categories: what one needs of another cannot
	// run beside it.
	BoundNS int64   `json:"bound_ns"`
	Worst   []Place `json:"worst"` // the longest stretches in which it runs alone
}

// worstRanges is how many stretches a row names.
const worstRanges = 3

// exposures are the ledgers of all stages, nil of those that have no activity.
func (a *analysis) exposures() []*exposureSums {
	out := make([]*exposureSums, activity.NumStages)
	var at []deviceActs
	for _, w := range a.formal {
		if a.Process != "" {
			break // of a part of the activities nothing can be said
		}
		for i := range w.Analysis.Devices {
			at = append(at, actsOf(w, &w.Analysis.Devices[i]))
		}
	}
	var g errgroup.Group
	for stage := range out {
		g.Go(func() error {
			var has []*activity.Trace
			for _, w := range a.formal {
				if slices.ContainsFunc(w.Acts, func(act activity.Activity) bool { return int(act.Stage) == stage }) {
					has = append(has, w)
				}
			}
			if len(has) == 0 {
				return nil
			}
			x := newExposureSums(a.pool)
			for _, d := range at {
				if stages := d.w.Stages.Pass[d.ID]; slices.Contains(has, d.w) {
					x.addDevice(d, func(pass int) bool { return int(stages[pass]) == stage })
				}
			}
			out[stage] = x
			return nil
		})
	}
	_ = g.Wait() // never an error
	return out
}

// deviceActs are the activities of a device.
type deviceActs struct {
	*layer.Device
	w    *activity.Trace
	of   []int32 // by kernel
	ends []int32 // those that take time, by end
}

func actsOf(w *activity.Trace, d *layer.Device) deviceActs {
	out := deviceActs{Device: d, w: w, of: w.OfKernel[d.ID]}
	for _, i := range out.of {
		if act := &w.Acts[i]; act.End > act.Start {
			out.ends = append(out.ends, i)
		}
	}
	slices.SortFunc(out.ends, func(i, j int32) int { return cmp.Compare(w.Acts[i].End, w.Acts[j].End) })
	return out
}

// exposureSums are the sums of several devices.
type exposureSums struct {
	pool               *activity.Pool
	wall, idle, shared int64
	byCategory         map[string]*categorySums
	categories         []*categorySums // by kernel
	byKernel           map[int32]*exchange
	// What runs alone in the layers of the device at hand.
	compute   map[layerKey]int64
	exchanged map[exchangeKey]int64
}

func newExposureSums(p *activity.Pool) *exposureSums {
	x := &exposureSums{pool: p, byCategory: map[string]*categorySums{}, byKernel: map[int32]*exchange{}}
	for i := range p.Facts {
		f := &p.Facts[i]
		name := string(f.Shown.Category)
		if x.byCategory[name] == nil {
			x.byCategory[name] = &categorySums{streams: map[activity.Queue]bool{}, compute: f.Effort == activity.EffortCompute, exchange: f.Effort == activity.EffortExchange}
		}
		x.categories = append(x.categories, x.byCategory[name])
	}
	return x
}

// exchange is what is known of one kernel that exchanges data between GPUs.
type exchange struct{ exposed, bound int64 }

type categorySums struct {
	exposed, hidden, bound int64
	streams                map[activity.Queue]bool
	worst                  []Place
	open                   Place // the stretch that is not over yet
	compute, exchange      bool
	running                int            // kernels, at the time at hand
	queue                  activity.Queue // of the last kernel
}

// layerKey is one layer of one pass, exchangeKey a kernel in it that exchanges.
type (
	layerKey    struct{ pass, layer int }
	exchangeKey struct {
		layerKey
		kernel int32
	}
)

// addDevice sweeps over the kernels of a device and counts the steps of the passes
// that keep says yes to. Time that two such steps share counts for the earlier one.
func (x *exposureSums) addDevice(d deviceActs, keep func(pass int) bool) {
	for _, i := range d.of {
		act := &d.w.Acts[i]
		if c, q := x.categories[act.Kernel], d.w.Queues[act.Queue]; len(c.streams) == 0 || c.queue != q {
			c.queue, c.streams[q] = q, true
		}
	}
	x.compute, x.exchanged = map[layerKey]int64{}, map[exchangeKey]int64{}
	s := &sweep{x: x, d: d}
	var counted trace.Time // up to here
	for pass, slice := range d.Steps() {
		if slice.Start < counted || !keep(pass) {
			continue
		}
		counted = slice.End
		for at := slice.Start; at < slice.End; {
			end := min(slice.End, s.to(at))
			x.count(d, slice, at, end, s.running)
			at = end
		}
	}
	for _, c := range x.byCategory {
		c.close()
		c.running = 0
	}
	x.bound()
}

// sweep goes over the starts and ends of a device's kernels in order of time.
type sweep struct {
	x          *exposureSums
	d          deviceActs
	start, end int             // the next of each
	running    []*categorySums // categories of which a kernel runs
}

// to passes all starts and ends up to t, and returns when the next one is.
func (s *sweep) to(t trace.Time) trace.Time {
	acts, next := s.d.w.Acts, trace.Time(math.MaxInt64)
	for ; s.start < len(s.d.of); s.start++ {
		act := &acts[s.d.of[s.start]]
		if act.End <= act.Start {
			continue
		}
		if at := trace.Time(act.Start); at > t {
			next = at
			break
		}
		c := s.x.categories[act.Kernel]
		if c.running++; c.running == 1 {
			s.running = append(s.running, c)
		}
	}
	for ; s.end < len(s.d.ends); s.end++ {
		act := &acts[s.d.ends[s.end]]
		if trace.Time(act.End) > t {
			return min(next, trace.Time(act.End))
		}
		c := s.x.categories[act.Kernel]
		if c.running--; c.running == 0 {
			s.running = slices.DeleteFunc(s.running, func(r *categorySums) bool { return r == c })
		}
	}
	return next
}

// count adds a stretch in which kernels of these categories run.
func (x *exposureSums) count(d deviceActs, slice layer.Slice, from, to trace.Time, running []*categorySums) {
	ns := int64(to - from)
	x.wall += ns
	switch len(running) {
	case 0:
		x.idle += ns
		return
	case 1:
		x.alone(running[0], d, slice, from, to)
		return
	}
	x.shared += ns
	for _, c := range running {
		c.hidden += ns
	}
}

// alone adds a stretch in which only kernels of a category run.
func (x *exposureSums) alone(c *categorySums, d deviceActs, slice layer.Slice, from, to trace.Time) {
	ns := int64(to - from)
	c.exposed += ns
	k, id := d.Kernel(int(slice.Kernel)), d.w.Acts[d.of[slice.Kernel]].Kernel
	if c.exchange {
		if x.byKernel[id] == nil {
			x.byKernel[id] = &exchange{}
		}
		x.byKernel[id].exposed += ns
	}
	if at := k.Place(); at.Layer != trace.None {
		key := layerKey{at.Pass, at.Layer}
		switch {
		case c.compute:
			x.compute[key] += ns
		case c.exchange:
			x.exchanged[exchangeKey{key, id}] += ns
		}
	}
	if c.open.EndNS == from && c.open.EndNS > c.open.StartNS {
		c.open.EndNS = to
		return
	}
	c.close()
	c.open = placeOf(k, from)
	c.open.EndNS, c.open.Kernel = to, x.pool.Labels[id]
}

// close keeps the open stretch if it is one of the longest.
func (c *categorySums) close() {
	longer := func(p, q Place) int {
		return cmp.Or(cmp.Compare(q.EndNS-q.StartNS, p.EndNS-p.StartNS), cmp.Compare(p.StartNS, q.StartNS))
	}
	if c.open.EndNS > c.open.StartNS && (len(c.worst) < worstRanges || longer(c.open, c.worst[worstRanges-1]) < 0) {
		c.worst = append(c.worst, c.open)
		slices.SortStableFunc(c.worst, longer)
		c.worst = c.worst[:min(len(c.worst), worstRanges)]
	}
	c.open = Place{}
}

// bound adds what compute of the same layer could hide at most: of each layer the smaller one of the exposed time and of the
// compute, divided among the kernels that exchange by their time; what rounding leaves goes to the last.
func (x *exposureSums) bound() {
	keys := slices.AppendSeq(make([]exchangeKey, 0, len(x.exchanged)), maps.Keys(x.exchanged))
	slices.SortFunc(keys, func(p, q exchangeKey) int {
		return cmp.Or(cmp.Compare(p.pass, q.pass), cmp.Compare(p.layer, q.layer), cmp.Compare(p.kernel, q.kernel))
	})
	for from, key := range keys {
		if from > 0 && keys[from-1].layerKey == key.layerKey {
			continue
		}
		var whole int64
		n := from
		for ; n < len(keys) && keys[n].layerKey == key.layerKey; n++ {
			whole += x.exchanged[keys[n]]
		}
		bound := min(whole, x.compute[key.layerKey])
		for _, c := range x.byCategory {
			if c.exchange {
				c.bound += bound
			}
		}
		x.divide(bound, whole, keys[from:n])
	}
}

// divide gives each kernel its part of a layer's bound.
func (x *exposureSums) divide(bound, whole int64, keys []exchangeKey) {
	left := bound
	for n, k := range keys {
		part := min(int64(float64(bound)*float64(x.exchanged[k])/float64(whole)), left)
		if n == len(keys)-1 {
			part = left
		}
		x.byKernel[k.kernel].bound += part
		left -= part
	}
}

func (x *exposureSums) ledger() *Exposure {
	out := &Exposure{WallNS: x.wall, IdleNS: x.idle, SharedNS: x.shared, Rows: []ExposureRow{}}
	for name, c := range x.byCategory {
		if c.exposed+c.hidden == 0 {
			continue
		}
		out.Rows = append(out.Rows, ExposureRow{Category: name, TotalNS: c.exposed + c.hidden, ExposedNS: c.exposed, HiddenNS: c.hidden,
			ExposedPct: percent(c.exposed, x.wall), Streams: len(c.streams), BoundNS: c.bound, Worst: append([]Place{}, c.worst...)})
	}
	slices.SortFunc(out.Rows, func(p, q ExposureRow) int {
		return cmp.Or(cmp.Compare(q.ExposedNS, p.ExposedNS), cmp.Compare(p.Category, q.Category))
	})
	return out
}
