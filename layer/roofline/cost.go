package roofline

import (
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Cost is what an operator has to do, and how long that takes at least.
type Cost struct {
	// M, N, K are the sizes of one product; 0, and absent in JSON, for others.
	M int64 `json:"m,omitempty"`
	N int64 `json:"n,omitempty"`
	K int64 `json:"k,omitempty"`
	// GFLOP are 10⁹ operations; Bytes are weights, cache and activations. 0, and absent, where none are known.
	GFLOP float64 `json:"gflop,omitempty"`
	Bytes int64   `json:"bytes,omitempty"`
	// MostGFLOP and MostBytes bound them from above where the recording shows the least only; 0, and absent, where
	// they are exact. AtLeast says that nothing bounds them.
	MostGFLOP float64 `json:"gflop_at_most,omitempty"`
	MostBytes int64   `json:"bytes_at_most,omitempty"`
	AtLeast   bool    `json:"work_at_least,omitempty"`
	// Floor is 0, and absent, where it is not known.
	Floor time.Duration `json:"floor_ns,omitempty"`
	// what limits it at the floor: "compute", "memory", "link", "latency", "" where not known
	Bound string `json:"bound"`
	// Basis says what Floor rests on, or why there is none.
	Basis Basis `json:"floor_basis"`
	// PeakShare is Floor by the time that the operator took; 0, and absent, where one of them is not known.
	PeakShare float64 `json:"peak_share,omitempty"`
}

// ComputeBound reports whether arithmetic limits it at its floor.
func (c Cost) ComputeBound() bool { return c.Bound == boundCompute }

// costs are kept by the kernel that took most of its operator's time.
type costs map[layer.Kernel]Cost

// costOf is the cost of an operator in so many layers that took so long.
func costOf(w *opWork, f *floor, count int, floor, took time.Duration) Cost {
	n := float64(count)
	c := Cost{M: w.M, N: w.N, K: w.K, GFLOP: n * w.FLOP / 1e9, Bytes: int64(n*w.bytes() + 0.5), Floor: floor,
		Bound: f.bound}
	if floor > 0 && took > 0 {
		c.PeakShare = float64(floor) / float64(took)
	}
	return c
}

// bounds takes over the interval of recorded work of attention and experts. Of others, such as a gather from a table,
// the most is all of its inputs, which says nothing.
func (c *Cost) bounds(w *Work) {
	if w.Kind != OpAttention && w.Kind != OpExperts {
		return
	}
	flop, bytes := w.most()
	if c.AtLeast = w.Open; flop > w.FLOP {
		c.MostGFLOP = flop / 1e9
	}
	if bytes > w.Bytes {
		c.MostBytes = int64(bytes + 0.5)
	}
}

// cost keeps the cost of an instance: of one that is counted by the plan at its longest kernel. A pass whose floor is
// withheld has no floors of rows.
func (r *measured) cost(s *spent) {
	c := r.walk.costs
	if c == nil || !s.main.Valid() || !s.planned {
		return
	}
	floor := s.floor
	if r.withheld && floor > 0 {
		floor, s.basis = 0, BasisWithheld
	}
	if s.impossible {
		floor = 0
	}
	work := s.cell.work
	if r.load != nil && r.load.AtLeast {
		work.M, work.FLOP, work.Activations = 0, 0, 0 // how many tokens there are is not known
	}
	cost := costOf(&work, &s.cell.least, 1, floor, s.raw)
	cost.Basis, cost.Bound = s.basis, s.cell.bound
	c[s.main] = cost
}

// opCosts keeps the costs of the ops of a pass that are not counted by the plan.
func (r *measured) opCosts() {
	w := r.walk
	if w.costs == nil || w.ops == nil {
		return
	}
	for k := range w.kernelsOf(r.pass.Index) {
		g := w.ops.main(k)
		if g == nil {
			continue
		}
		if i := r.instanceOf(k); i > 0 && r.took[i-1].planned {
			continue
		}
		w.costs[k] = g.cost(r.withheld)
	}
}

// cost is that of an op.
func (g *opGroup) cost(withheld bool) Cost {
	least, basis := g.least, g.basis
	if withheld && least > 0 {
		least, basis = 0, BasisWithheld
	}
	w := opWork{M: g.work.M, N: g.work.N, K: g.work.K, FLOP: g.work.FLOP, Activations: g.work.Bytes}
	c := costOf(&w, &g.floor, 1, least, g.took)
	c.Basis = basis
	c.bounds(&g.work)
	return c
}

// restOfCosts keeps the costs of ops whose kernels are in no pass.
func (w *walk) restOfCosts() {
	if w.costs == nil || w.ops == nil {
		return
	}
	for i := range w.ops.groups {
		if g := &w.ops.groups[i]; g.known && g.main.Place().Pass == trace.None {
			w.costs[g.main] = g.cost(w.scrambled)
		}
	}
}

// Cost returns what the operator that a kernel computes costs in its layer, if [Options.Kernels] was set. An operator
// of several kernels has it at the one that takes longest, the others have none, so that costs add up; PeakShare
// counts the time of all of them.
func (r *Report) Cost(k layer.Kernel) (Cost, bool) {
	c, ok := r.costs[k]
	return c, ok
}
