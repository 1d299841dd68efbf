package triage

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Exposure says which work of a stage's steps runs alone and which beside other
// work. Each nanosecond of the steps is idle, exposed work of one category, or
// shared by several: WallNS = IdleNS + LostNS + SharedNS + the ExposedNS of all rows.
type Exposure struct {
	// of the stage's steps, each up to the next ([layer.Device.StepEnd]), over all devices
	WallNS int64 `json:"wall_ns"`
	IdleNS int64 `json:"idle_ns"` // nothing runs
	// LostNS is time without records: [layer.Slice.Lost].
	LostNS        int64   `json:"not_recorded_ns,omitempty"`
	SharedNS      int64   `json:"shared_ns"`      // kernels of several categories run
	CompleteSteps float64 `json:"complete_steps"` // these steps, one that the window cuts as the part that it is
	// Mixed says that the steps are of several models: a mean over them is that of no step.
	Mixed bool `json:"mixed_models,omitempty"`
	// Steps counts these steps, each device's for itself. Whole says that no step was found: the window counts as one.
	Steps int           `json:"steps"`
	Whole bool          `json:"whole_window,omitempty"`
	Rows  []ExposureRow `json:"rows"` // the most exposed first
}

// Basis is what shares of the times are of.
func (x *Exposure) Basis() finding.Basis {
	if x == nil || x.Whole || x.CompleteSteps == 0 {
		return finding.OfWindow
	}
	return finding.OfStep
}

// ExposureRow is one category of kernels.
type ExposureRow struct {
	Category  classify.Category `json:"category"`   // category of the kernels, see docs/categories.md
	TotalNS   int64             `json:"total_ns"`   // while at least one of its kernels runs: exposed and hidden
	ExposedNS int64             `json:"exposed_ns"` // nothing of another category runs
	HiddenNS  int64             `json:"hidden_ns"`  // time in which other kernels run beside it
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
	WaitingBy layer.WaitingBy `json:"waiting_by"`
	Longest   *Place          `json:"longest"` // the longest stretch in which it runs alone, null for none
}

// exposures are the ledgers of all stages, nil of those that have no activity.
func (a *analysis) exposures() []*exposureSums {
	out := make([]*exposureSums, activity.NumStages)
	for _, w := range a.formal {
		for stage := range out {
			if w.Has[stage] && out[stage] == nil {
				out[stage] = newExposureSums(a.pool)
			}
		}
	}
	if a.Process != "" {
		return out // of a part of the activities nothing can be said
	}
	waits := a.in.Waits
	if waits == nil {
		waits = fleet.Waits(a.in.Formal, nil)
	}
	for i, w := range a.formal {
		for k := range w.Analysis.Devices {
			d := &w.Analysis.Devices[k]
			on := &onDevice{d, w, w.OfDevice[d.ID], waits[i][d.ID].For}
			for stage, x := range out {
				if w.Has[stage] {
					x.by = cmp.Or(x.by, waits[i][d.ID].By)
					x.addDevice(on, func(pass int) bool { return int(w.Stages.Pass[on.ID][pass]) == stage })
				}
			}
		}
	}
	return out
}

// onDevice are the activities of a device.
type onDevice struct {
	*layer.Device
	of    *activity.Trace
	acts  []activity.Activity     // by kernel
	waits map[int32]time.Duration // how long exchanges wait before data moves, by kernel
}

// sweep goes over the edges of a device, and knows which categories run.
type sweep struct {
	*layer.Edges
	acts       []activity.Activity // by kernel of the device
	categoryOf []int32             // by kernel of the pool
	count      []int               // of each category, how many kernels run
	running    []int32             // each category once
}

// to passes all edges up to t, and returns when the next one is.
func (s *sweep) to(t trace.Time) trace.Time {
	for s.When() <= t {
		k, starts := s.Next()
		c := s.categoryOf[s.acts[k].Kernel]
		if starts {
			if s.count[c]++; s.count[c] == 1 {
				s.running = append(s.running, c)
			}
		} else if s.count[c]--; s.count[c] == 0 {
			at := slices.Index(s.running, c)
			s.running = slices.Delete(s.running, at, at+1)
		}
	}
	return s.When()
}

// exposureSums are the sums of several devices.
type exposureSums struct {
	pool                     *activity.Pool
	by                       layer.WaitingBy
	wall, idle, lost, shared int64
	complete                 float64       // counted passes, those that the window cuts as parts
	mixed                    bool          // they are of several models
	device                   *layer.Device // the last one
	steps, whole             int           // counted passes, and those of them that represent a trace without steps
	categories               []*categorySums
	categoryOf               []int32 // by kernel: index of categories
	byKernel                 map[int32]*exchange
	alone                    map[layerKey]*layerAlone // of the device at hand
}

// layerKey is one layer of one pass.
type layerKey struct{ pass, layer int }

// layerAlone is what runs alone in a layer: the time of compute, and of each kernel that exchanges.
type layerAlone struct {
	compute   int64
	exchanged map[int32]int64
}

// exchange is what is known of one kernel that exchanges data between GPUs.
type exchange struct{ exposed, bound int64 }

type categorySums struct {
	name                   classify.Category
	exposed, hidden, bound int64
	waiting                int64 // of exposed
	streams                map[activity.Queue]bool
	longest                *Place
	open                   Place // where it runs alone and has not ended yet
	compute, exchange      bool
}

func newExposureSums(p *activity.Pool) *exposureSums {
	x := &exposureSums{pool: p, byKernel: map[int32]*exchange{}}
	known := map[classify.Category]int32{}
	for i := range p.Facts {
		f := &p.Facts[i]
		at, ok := known[f.Shown.Category]
		if !ok {
			at = int32(len(x.categories))
			known[f.Shown.Category] = at
			x.categories = append(x.categories, &categorySums{name: f.Shown.Category, streams: map[activity.Queue]bool{},
				compute: f.Work() == classify.WorkCompute, exchange: f.Work() == classify.WorkExchange})
		}
		x.categoryOf = append(x.categoryOf, at)
	}
	return x
}

// addDevice sweeps over the kernels of a device and counts the steps of the passes
// that keep says yes to, each nanosecond once.
func (x *exposureSums) addDevice(d *onDevice, keep func(pass int) bool) {
	for i := range d.acts {
		act := &d.acts[i]
		x.categories[x.categoryOf[act.Kernel]].streams[d.of.Queues[act.Queue]] = true
	}
	x.alone = map[layerKey]*layerAlone{}
	x.mixed = x.mixed || x.device != nil && !x.device.SameModel(d.Device)
	x.device = d.Device
	s := &sweep{Edges: d.Edges(), acts: d.acts, categoryOf: x.categoryOf, count: make([]int, len(x.categories))}
	models := map[string]bool{}
	for pass := range d.Passes {
		if !keep(pass) || d.Passes[pass].Kernels == 0 || d.StepTime(pass) <= 0 {
			continue
		}
		models[d.ModelOf(d.StepOf(pass))] = true
		x.complete += d.StepShare(pass)
		if d.StepOf(pass) == pass {
			x.steps++
		}
		if d.Passes[pass].Basis() == finding.OfWindow {
			x.whole++
		}
	}
	x.mixed = x.mixed || len(models) > 1
	for _, slice := range d.StepsOnce(keep) {
		for at := slice.Start; at < slice.End; {
			end := min(slice.End, s.to(at))
			x.wall += int64(end - at)
			switch len(s.running) {
			case 0:
				if slice.Lost {
					x.lost += int64(end - at)
				} else {
					x.idle += int64(end - at)
				}
			case 1:
				x.addAlone(x.categories[s.running[0]], d, slice, at, end)
			default:
				x.shared += int64(end - at)
				for _, c := range s.running {
					x.categories[c].hidden += int64(end - at)
				}
			}
			at = end
		}
	}
	for _, c := range x.categories {
		c.close()
	}
	x.bound()
}

// addAlone adds a stretch in which only kernels of a category run.
func (x *exposureSums) addAlone(c *categorySums, d *onDevice, slice layer.Slice, from, to trace.Time) {
	ns := int64(to - from)
	c.exposed += ns
	k, id := d.Kernel(int(slice.Kernel)), d.acts[slice.Kernel].Kernel
	var waiting int64 // it waits first, and moves data up to its end
	if c.exchange {
		start := k.Event().Start()
		waiting = max(0, int64(min(to, start+trace.Time(d.waits[slice.Kernel]))-max(from, start)))
		c.waiting += waiting
		if x.byKernel[id] == nil {
			x.byKernel[id] = &exchange{}
		}
		x.byKernel[id].exposed += ns
	}
	if at := k.Place(); at.Layer != trace.None && (c.compute || c.exchange) {
		in := x.alone[layerKey{at.Pass, at.Layer}]
		if in == nil {
			in = &layerAlone{exchanged: map[int32]int64{}}
			x.alone[layerKey{at.Pass, at.Layer}] = in
		}
		if c.compute {
			in.compute += ns
		} else {
			in.exchanged[id] += ns - waiting // compute beside it makes other ranks no faster
		}
	}
	if c.open.EndNS != from || c.open.EndNS <= c.open.StartNS {
		c.close()
		c.open = placeOf(k, from)
		c.open.Kernel = x.pool.Labels[id]
	}
	c.open.EndNS = to
}

// close keeps the open stretch if it is the longest.
func (c *categorySums) close() {
	o, l := c.open, c.longest
	c.open = Place{}
	if o.EndNS > o.StartNS && (l == nil || o.EndNS-o.StartNS > l.EndNS-l.StartNS) {
		c.longest = &o
	}
}

// bound adds what compute of the same layers could hide at most: of each layer the smaller one of the exposed time
// and of the compute, divided among the kernels that exchange by their time; what rounding leaves goes to the last.
func (x *exposureSums) bound() {
	for _, in := range x.alone {
		var whole int64
		for _, ns := range in.exchanged {
			whole += ns
		}
		if whole == 0 {
			continue
		}
		bound := min(whole, in.compute)
		for _, c := range x.categories {
			if c.exchange {
				c.bound += bound
			}
		}
		left := bound
		kernels := slices.Sorted(maps.Keys(in.exchanged))
		for n, id := range kernels {
			part := min(int64(float64(bound)*float64(in.exchanged[id])/float64(whole)), left)
			if n == len(kernels)-1 {
				part = left
			}
			x.byKernel[id].bound += part
			left -= part
		}
	}
}

func (x *exposureSums) ledger() *Exposure {
	out := &Exposure{WallNS: x.wall, IdleNS: x.idle, LostNS: x.lost, SharedNS: x.shared, Steps: x.steps,
		CompleteSteps: x.complete,
		Mixed:         x.mixed, Whole: x.steps > 0 && x.whole == x.steps, Rows: []ExposureRow{}}
	for _, c := range x.categories {
		if c.exposed+c.hidden == 0 {
			continue
		}
		row := ExposureRow{Category: c.name, TotalNS: c.exposed + c.hidden, ExposedNS: c.exposed, HiddenNS: c.hidden,
			ExposedPct: percent(c.exposed, x.wall), Streams: len(c.streams), BoundNS: c.bound, WaitingNS: c.waiting,
			Longest: c.longest}
		if c.exchange {
			row.WaitingBy = x.by
		}
		out.Rows = append(out.Rows, row)
	}
	slices.SortFunc(out.Rows, func(p, q ExposureRow) int {
		return cmp.Or(cmp.Compare(q.ExposedNS, p.ExposedNS), cmp.Compare(p.Category, q.Category))
	})
	return out
}
