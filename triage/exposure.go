package triage

import (
	"cmp"
	"slices"
	"sync"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Exposure says which work of a stage's steps runs alone and which beside other
// work. Each nanosecond of the steps is idle, exposed work of one category, or
// shared by several: WallNS = IdleNS + SharedNS + the ExposedNS of all rows.
type Exposure struct {
	// of the stage's steps, each up to the next ([layer.Device.StepEnd]), over all devices
	WallNS   int64 `json:"wall_ns"`
	IdleNS   int64 `json:"idle_ns"`   // nothing runs
	SharedNS int64 `json:"shared_ns"` // kernels of several categories run
	// Steps counts these steps, each device's for itself. Whole says that no step was found: the window counts as one.
	Steps int           `json:"steps"`
	Whole bool          `json:"whole_window,omitempty"`
	Rows  []ExposureRow `json:"rows"` // the most exposed first
}

// ExposureRow is one category of kernels.
type ExposureRow struct {
	Category  string `json:"category"`   // category of the kernels, see docs/categories.md
	TotalNS   int64  `json:"total_ns"`   // while at least one of its kernels runs: exposed and hidden
	ExposedNS int64  `json:"exposed_ns"` // nothing of another category runs
	HiddenNS  int64  `json:"hidden_ns"`  // time in which other kernels run beside it
	// ExposedPct is the exposed time as a share of WallNS.
	ExposedPct float64 `json:"exposed_pct"`
	Streams    int     `json:"streams"`
	// BoundNS is how much exposed communication compute of the same layer could
	// hide at most; 0 for all other categories: what one needs of another cannot
	// run beside it.
	BoundNS int64 `json:"bound_ns"`
	// WaitingNS is the part of ExposedNS in which communication waits for other ranks; the rest is the transfer. 0 for
	// all other categories.
	WaitingNS int64 `json:"waiting_ns"`
	// WaitingBy says how the waiting was measured: "ranks" (when the others arrive), "fastest" (against the fastest
	// quarter of the same collective in the same pass), "" if unknown.
	WaitingBy roofline.WaitingBy `json:"waiting_by"`
	Worst     []Place            `json:"worst"` // the longest stretches in which it runs alone
}

// worstRanges is how many stretches a row names.
const worstRanges = 3

// exposures are the ledgers of all stages, nil of those that have no activity.
func (a *analysis) exposures() []*exposureSums {
	out := make([]*exposureSums, activity.NumStages)
	var at []*activity.Timed
	told := map[*activity.Timed]*waits{}
	for _, w := range a.formal {
		if a.Process != "" {
			break // of a part of the activities nothing can be said
		}
		for i := range w.Analysis.Devices {
			d := activity.NewTimed(w, &w.Analysis.Devices[i])
			told[d] = a.waitsOf(d)
			at = append(at, d)
		}
	}
	var g sync.WaitGroup
	for stage := range out {
		g.Go(func() {
			if !slices.ContainsFunc(a.formal, func(w *activity.Trace) bool { return w.Has[stage] }) {
				return
			}
			x := newExposureSums(a.pool)
			for _, d := range at {
				if stages := d.Of.Stages.Pass[d.ID]; d.Of.Has[stage] {
					x.waits = told[d]
					x.by = cmp.Or(x.by, x.waits.by)
					x.addDevice(d, func(pass int) bool { return int(stages[pass]) == stage })
				}
			}
			out[stage] = x
		})
	}
	g.Wait()
	return out
}

// exposureSums are the sums of several devices.
type exposureSums struct {
	pool               *activity.Pool
	waits              *waits // of the device at hand
	by                 roofline.WaitingBy
	wall, idle, shared int64
	steps, whole       int // counted passes, and those of them that represent a trace without steps
	byCategory         map[string]*categorySums
	categories         []*categorySums
	categoryOf         []int32 // by kernel: index of categories
	byKernel           map[int32]*exchange
	alone              map[layerKey]*layerAlone // of the device at hand
	last               layerKey                 // of alone, that was asked for last
	in                 *layerAlone              // what last has
}

// layerKey is one layer of one pass.
type layerKey struct{ pass, layer int }

// layerAlone is what runs alone in a layer.
type layerAlone struct {
	compute   int64
	exchanged []kernelTime // in order of time
}

// kernelTime is the time of one kernel.
type kernelTime struct {
	kernel int32
	ns     int64
}

// byKernel are the times of all kernels that exchange in the layer, each kernel once, and their sum.
func (l *layerAlone) byKernel() (list []kernelTime, whole int64) {
	slices.SortFunc(l.exchanged, func(a, b kernelTime) int { return cmp.Compare(a.kernel, b.kernel) })
	list = l.exchanged[:0]
	for _, k := range l.exchanged {
		whole += k.ns
		if n := len(list); n > 0 && list[n-1].kernel == k.kernel {
			list[n-1].ns += k.ns
		} else {
			list = append(list, k)
		}
	}
	return list, whole
}

func newExposureSums(p *activity.Pool) *exposureSums {
	x := &exposureSums{pool: p, byCategory: map[string]*categorySums{}, byKernel: map[int32]*exchange{}}
	for i := range p.Facts {
		f := &p.Facts[i]
		c := x.byCategory[string(f.Shown.Category)]
		if c == nil {
			c = &categorySums{at: int32(len(x.categories)), streams: map[activity.Queue]bool{},
				compute: f.Work() == classify.WorkCompute, exchange: f.Work() == classify.WorkExchange}
			x.byCategory[string(f.Shown.Category)], x.categories = c, append(x.categories, c)
		}
		x.categoryOf = append(x.categoryOf, c.at)
	}
	return x
}

// exchange is what is known of one kernel that exchanges data between GPUs.
type exchange struct{ exposed, waiting, bound int64 }

type categorySums struct {
	exposed, hidden, bound int64
	waiting                int64 // of exposed
	streams                map[activity.Queue]bool
	worst                  []Place
	open                   stretch // that is not over yet
	compute, exchange      bool
	at                     int32          // index of categories
	queue                  activity.Queue // of the last kernel
}

// stretch is time in which a category runs alone.
type stretch struct {
	from, to trace.Time
	at       layer.Kernel // that runs at from
	label    string       // of at
}

// addDevice sweeps over the kernels of a device and counts the steps of the passes
// that keep says yes to. Time that two such steps share counts for the earlier one.
func (x *exposureSums) addDevice(d *activity.Timed, keep func(pass int) bool) {
	for _, i := range d.Acts {
		act := &d.Of.Acts[i]
		if c, q := x.categories[x.categoryOf[act.Kernel]], d.Of.Queues[act.Queue]; len(c.streams) == 0 || c.queue != q {
			c.queue, c.streams[q] = q, true
		}
	}
	x.alone, x.in = map[layerKey]*layerAlone{}, nil
	s := activity.NewSweep(d, x.categoryOf)
	var counted trace.Time // up to here
	before := trace.None
	for pass, slice := range d.Steps() {
		if slice.Start < counted || !keep(pass) {
			continue
		}
		if pass != before {
			before = pass
			x.steps++
			if d.Passes[pass].PassEvidence == layer.RungWhole {
				x.whole++
			}
		}
		counted = slice.End
		for at := slice.Start; at < slice.End; {
			end := min(slice.End, s.To(at))
			x.count(d, slice, at, end, s.Running)
			at = end
		}
	}
	for _, c := range x.categories {
		c.close()
	}
	x.bound()
}

// count adds a stretch in which kernels of these categories run.
func (x *exposureSums) count(d *activity.Timed, slice layer.Slice, from, to trace.Time, running []int32) {
	ns := int64(to - from)
	x.wall += ns
	switch len(running) {
	case 0:
		x.idle += ns
		return
	case 1:
		x.addAlone(x.categories[running[0]], d, slice, from, to)
		return
	}
	x.shared += ns
	for _, c := range running {
		x.categories[c].hidden += ns
	}
}

// addAlone adds a stretch in which only kernels of a category run.
func (x *exposureSums) addAlone(c *categorySums, d *activity.Timed, slice layer.Slice, from, to trace.Time) {
	ns := int64(to - from)
	c.exposed += ns
	k, id := d.Kernel(int(slice.Kernel)), d.Of.Acts[d.Acts[slice.Kernel]].Kernel
	var waiting int64
	if c.exchange {
		waiting = x.waits.waiting(k, from, to)
		c.waiting += waiting
		if x.byKernel[id] == nil {
			x.byKernel[id] = &exchange{}
		}
		x.byKernel[id].exposed += ns
		x.byKernel[id].waiting += waiting
	}
	if at := k.Place(); at.Layer != trace.None && (c.compute || c.exchange) {
		if in := x.layer(layerKey{at.Pass, at.Layer}); c.compute {
			in.compute += ns
		} else {
			// compute beside it makes other ranks no faster
			in.exchanged = append(in.exchanged, kernelTime{id, ns - waiting})
		}
	}
	if c.open.to == from && c.open.to > c.open.from {
		c.open.to = to
		return
	}
	c.close()
	c.open = stretch{from, to, k, x.pool.Labels[id]}
}

// layer is what runs alone in a layer, nearly always the one that was asked for last.
func (x *exposureSums) layer(key layerKey) *layerAlone {
	if x.in != nil && x.last == key {
		return x.in
	}
	if x.last, x.in = key, x.alone[key]; x.in == nil {
		x.in = &layerAlone{}
		x.alone[key] = x.in
	}
	return x.in
}

// close keeps the open stretch if it is one of the longest.
func (c *categorySums) close() {
	longer := func(p, q Place) int {
		return cmp.Or(cmp.Compare(q.EndNS-q.StartNS, p.EndNS-p.StartNS), cmp.Compare(p.StartNS, q.StartNS))
	}
	o := c.open
	c.open = stretch{}
	if o.to <= o.from || len(c.worst) == worstRanges &&
		longer(Place{StartNS: o.from, EndNS: o.to}, c.worst[worstRanges-1]) >= 0 {
		return
	}
	p := placeOf(o.at, o.from)
	p.EndNS, p.Kernel = o.to, o.label
	c.worst = append(c.worst, p)
	slices.SortStableFunc(c.worst, longer)
	c.worst = c.worst[:min(len(c.worst), worstRanges)]
}

// bound adds what compute of the same layers could hide at most: of each layer the smaller one of the exposed time
// and of the compute, divided among the kernels that exchange by their time; what rounding leaves goes to the last.
func (x *exposureSums) bound() {
	for _, in := range x.alone {
		kernels, whole := in.byKernel()
		if whole == 0 {
			continue
		}
		bound := min(whole, in.compute)
		for _, c := range x.byCategory {
			if c.exchange {
				c.bound += bound
			}
		}
		left := bound
		for n, k := range kernels {
			part := min(int64(float64(bound)*float64(k.ns)/float64(whole)), left)
			if n == len(kernels)-1 {
				part = left
			}
			x.byKernel[k.kernel].bound += part
			left -= part
		}
	}
}

// told returns what separates the waiting of a category from its transfer, nothing for those that exchange nothing.
func (x *exposureSums) told(c *categorySums) roofline.WaitingBy {
	if !c.exchange {
		return ""
	}
	return x.by
}

func (x *exposureSums) ledger() *Exposure {
	out := &Exposure{WallNS: x.wall, IdleNS: x.idle, SharedNS: x.shared, Steps: x.steps, Whole: x.steps > 0 &&
		x.whole == x.steps, Rows: []ExposureRow{}}
	for name, c := range x.byCategory {
		if c.exposed+c.hidden == 0 {
			continue
		}
		out.Rows = append(out.Rows, ExposureRow{Category: name, TotalNS: c.exposed + c.hidden, ExposedNS: c.exposed,
			HiddenNS:   c.hidden,
			ExposedPct: percent(c.exposed, x.wall), Streams: len(c.streams), BoundNS: c.bound, WaitingNS: c.waiting,
			WaitingBy: x.told(c), Worst: append([]Place{}, c.worst...)})
	}
	slices.SortFunc(out.Rows, func(p, q ExposureRow) int {
		return cmp.Or(cmp.Compare(q.ExposedNS, p.ExposedNS), cmp.Compare(p.Category, q.Category))
	})
	return out
}
