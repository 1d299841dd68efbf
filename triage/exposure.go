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
	WallNS   int64         `json:"wall_ns"` // of the stage's passes, over all devices
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
	BoundNS int64          `json:"bound_ns"`
	Worst   []ExposedRange `json:"worst"` // the longest stretches
}

// ExposedRange is a stretch of time in which one category runs alone.
type ExposedRange struct {
	StartNS trace.Time `json:"start_ns"` // since the trace's first event
	EndNS   trace.Time `json:"end_ns"`
	Kernel  string     `json:"kernel"` // the label of the one that runs
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
			sums.addDevice(d, func(x layer.Slice) bool {
				return x.Pass != layer.None && int(stage[x.Pass]) == s.index && x.Start >= d.Passes[x.Pass].Start && x.End <= d.Passes[x.Pass].End
			})
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
}

// exchange is what is known of one kernel that exchanges data between GPUs.
type exchange struct{ exposed, bound int64 }

type categorySums struct {
	exposed, hidden, bound int64
	streams                map[activity.Queue]bool
	worst                  []ExposedRange
	open                   ExposedRange // the stretch that is not over yet
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

// edge is a start or an end of a kernel.
type edge struct {
	t    int64
	span int32
	open bool
}

// layerKey is one layer of one pass.
type layerKey struct{ pass, layer int }

// layerSums is what runs alone in a layer.
type layerSums struct {
	category map[*categorySums]int64
	exchange map[int32]int64 // of it, by kernel that exchanges
}

// addDevice sweeps over the kernels of a device. Only slices of its timeline that
// keep says yes to are counted.
func (x *exposureSums) addDevice(d *layer.Device, keep func(layer.Slice) bool) {
	n := d.NumKernels()
	of := make([]*categorySums, n)
	edges := make([]edge, 0, 2*n)
	for i := range n {
		k := d.Kernel(i)
		e := k.Event()
		of[i] = x.of(string(k.Category()), activity.EffortOf(e.Kind(), k.Category()))
		of[i].streams[activity.Queue{Device: e.Device(), Stream: e.Stream()}] = true
		if e.End() > e.Start() {
			edges = append(edges, edge{int64(e.Start()), int32(i), true}, edge{int64(e.End()), int32(i), false})
		}
	}
	slices.SortFunc(edges, func(p, q edge) int { return cmp.Compare(p.t, q.t) })
	active := map[*categorySums]int{}
	layers := map[layerKey]*layerSums{}
	next := 0
	for slice := range d.Timeline() {
		for next < len(edges) && edges[next].t <= int64(slice.Start) {
			toggle(active, of, edges[next])
			next++
		}
		for at := slice.Start; at < slice.End; {
			end := slice.End
			if next < len(edges) {
				end = min(end, trace.Time(edges[next].t))
			}
			if keep(slice) {
				x.count(d, slice, at, end, active, layers)
			}
			for next < len(edges) && edges[next].t <= int64(end) && end < slice.End {
				toggle(active, of, edges[next])
				next++
			}
			at = end
		}
	}
	for _, c := range x.byCategory {
		c.close()
	}
	x.bound(layers)
}

func toggle(active map[*categorySums]int, of []*categorySums, e edge) {
	c := of[e.span]
	if e.open {
		active[c]++
		return
	}
	if active[c]--; active[c] == 0 {
		delete(active, c)
	}
}

// count adds a stretch in which the same kernels run.
func (x *exposureSums) count(d *layer.Device, slice layer.Slice, from, to trace.Time, active map[*categorySums]int, layers map[layerKey]*layerSums) {
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
		id := int32(-1)
		if c.exchange {
			id = x.kernel(k.Event())
			if x.byKernel[id] == nil {
				x.byKernel[id] = &exchange{}
			}
			x.byKernel[id].exposed += ns
		}
		if at := k.Place(); at.Layer != layer.None {
			key := layerKey{at.Pass, at.Layer}
			if layers[key] == nil {
				layers[key] = &layerSums{map[*categorySums]int64{}, map[int32]int64{}}
			}
			layers[key].category[c] += ns
			if c.exchange {
				layers[key].exchange[id] += ns
			}
		}
		if c.open.EndNS == from && c.open.EndNS > c.open.StartNS {
			c.open.EndNS = to
			return
		}
		c.close()
		c.open = ExposedRange{StartNS: from, EndNS: to, Kernel: x.label(k.Event())}
	}
}

// close keeps the open stretch if it is one of the longest.
func (c *categorySums) close() {
	if c.open.EndNS > c.open.StartNS {
		c.worst = append(c.worst, c.open)
		slices.SortStableFunc(c.worst, func(p, q ExposedRange) int {
			return cmp.Or(cmp.Compare(q.EndNS-q.StartNS, p.EndNS-p.StartNS), cmp.Compare(p.StartNS, q.StartNS))
		})
		c.worst = c.worst[:min(len(c.worst), worstRanges)]
	}
	c.open = ExposedRange{}
}

// bound adds what compute of the same layer could hide at most: of each layer the smaller one of the exposed time and of the
// compute, divided among the kernels that exchange by their time.
func (x *exposureSums) bound(layers map[layerKey]*layerSums) {
	for _, l := range layers {
		var compute int64
		for c, ns := range l.category {
			if c.compute {
				compute += ns
			}
		}
		for c, ns := range l.category {
			if c.exchange {
				c.bound += min(ns, compute)
				divide(min(ns, compute), ns, l.exchange, x.byKernel)
			}
		}
	}
}

// divide adds to each kernel its part of a bound, by its part of the whole; what rounding leaves goes to the last.
func divide(bound, whole int64, parts map[int32]int64, to map[int32]*exchange) {
	ids := slices.Sorted(maps.Keys(parts))
	left := bound
	for n, id := range ids {
		part := int64(float64(bound) * float64(parts[id]) / float64(whole))
		if part = min(part, left); n == len(ids)-1 {
			part = left
		}
		to[id].bound += part
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
			ExposedPct: percent(c.exposed, x.wall), Streams: len(c.streams), BoundNS: c.bound, Worst: append([]ExposedRange{}, c.worst...)})
	}
	slices.SortFunc(out.Rows, func(p, q ExposureRow) int {
		return cmp.Or(cmp.Compare(q.ExposedNS, p.ExposedNS), cmp.Compare(p.Category, q.Category))
	})
	return out
}
