package triage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
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

// exposure is the ledger of a stage.
func (a *analysis) exposure(s *stageWork) *Exposure {
	sums := &exposureSums{byCategory: map[string]*categorySums{}, byKernel: map[int32]*exchange{}}
	for _, w := range s.parts {
		sums.kernel = func(e trace.Event) int32 { return w.Names[e.NameID()].ID - 1 }
		sums.label = func(e trace.Event) string {
			if id := sums.kernel(e); id >= 0 {
				return a.pool.Labels[id]
			}
			return ""
		}
		if a.Process != "" {
			continue // of a part of the activities nothing can be said
		}
		for i := range w.Analysis.Devices {
			d := &w.Analysis.Devices[i]
			stage := w.Stages.Pass[d.ID]
			sums.addDevice(d, func(pass int) bool { return int(stage[pass]) == s.index })
		}
	}
	s.exchanges = sums.byKernel
	return sums.ledger()
}

// exposureSums are the sums of several devices.
type exposureSums struct {
	wall, idle, shared int64
	byCategory         map[string]*categorySums
	kernel             func(trace.Event) int32 // pool.names, −1 none
	label              func(trace.Event) string
	byKernel           map[int32]*exchange
	// What runs alone in the layers of the device at hand.
	compute   map[layerKey]int64
	exchanged map[exchangeKey]int64
}

// exchange is what is known of one kernel that exchanges data between GPUs.
type exchange struct{ exposed, bound int64 }

type categorySums struct {
	exposed, hidden, bound int64
	streams                map[activity.Queue]bool
	worst                  []Place
	open                   Place // the stretch that is not over yet
	compute, exchange      bool
}

func (x *exposureSums) of(category string, f activity.Effort) *categorySums {
	c := x.byCategory[category]
	if c == nil {
		c = &categorySums{streams: map[activity.Queue]bool{}, compute: f == activity.EffortCompute, exchange: f == activity.EffortExchange}
		x.byCategory[category] = c
	}
	return c
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
func (x *exposureSums) addDevice(d *layer.Device, keep func(pass int) bool) {
	s := activity.NewSweep(d, func(k layer.Kernel) *categorySums {
		e := k.Event()
		c := x.of(string(k.Category()), activity.EffortOf(e.Kind(), k.Category()))
		c.streams[activity.Queue{Device: e.Device(), Stream: e.Stream()}] = true
		return c
	})
	x.compute, x.exchanged = map[layerKey]int64{}, map[exchangeKey]int64{}
	var counted trace.Time // up to here
	for pass, slice := range d.Steps() {
		if slice.Start < counted || !keep(pass) {
			continue
		}
		counted = slice.End
		for at := slice.Start; at < slice.End; {
			end := min(slice.End, s.To(at))
			x.count(d, slice, at, end, s.Active)
			at = end
		}
	}
	for _, c := range x.byCategory {
		c.close()
	}
	x.bound()
}

// count adds a stretch in which the same kernels run.
func (x *exposureSums) count(d *layer.Device, slice layer.Slice, from, to trace.Time, active map[*categorySums]int) {
	ns := int64(to - from)
	x.wall += ns
	switch len(active) {
	case 0:
		x.idle += ns
		return
	case 1:
	default:
		x.shared += ns
		for c := range active {
			c.hidden += ns
		}
		return
	}
	for c := range active {
		c.exposed += ns
		k := d.Kernel(int(slice.Kernel))
		var id int32
		if c.exchange {
			id = x.kernel(k.Event())
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
		c.open.EndNS, c.open.Kernel = to, x.label(k.Event())
	}
}

// close keeps the open stretch if it is one of the longest.
func (c *categorySums) close() {
	if c.open.EndNS > c.open.StartNS {
		c.worst = append(c.worst, c.open)
		slices.SortStableFunc(c.worst, func(p, q Place) int {
			return cmp.Or(cmp.Compare(q.EndNS-q.StartNS, p.EndNS-p.StartNS), cmp.Compare(p.StartNS, q.StartNS))
		})
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
