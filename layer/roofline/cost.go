package roofline

import (
	"time"

	"github.com/llmstrata/strata/layer"
)

// Cost is what an operator has to do, and how long that takes at least.
type Cost struct {
	// M, N, K are the sizes of one product; 0 for others.
	M int64 `json:"m,omitempty"`
	N int64 `json:"n,omitempty"`
	K int64 `json:"k,omitempty"`
	// GFLOP are 10⁹ operations; Bytes are weights, cache and activations.
	GFLOP float64 `json:"gflop"`
	Bytes int64   `json:"bytes"`
	// Floor is 0 where it is not known.
	Floor time.Duration `json:"floor_ns"`
	Bound string        `json:"bound"` // what limits it at the floor: "compute", "memory", "link", "latency", "" where not known
	// PeakShare is Floor by the time that the operator took; 0 where one of them is not known.
	PeakShare float64 `json:"peak_share"`
}

// costs are kept by the kernel that took most of its operator's time.
type costs map[layer.Kernel]Cost

// costOf is the cost of an operator in so many layers that took so long.
func costOf(w *opWork, f *floor, count int, floor, took time.Duration) Cost {
	n := float64(count)
	c := Cost{M: w.M, N: w.N, K: w.K, GFLOP: n * w.FLOP / 1e9, Bytes: int64(n*w.bytes() + 0.5), Floor: floor, Bound: f.bound}
	if floor > 0 && took > 0 {
		c.PeakShare = float64(floor) / float64(took)
	}
	return c
}

// add keeps the cost of one operator of one layer. What is no bound has no floor where the operator was faster.
func (c costs) add(s *spent) {
	w, f := &s.cell.work, &s.cell.least
	if c == nil || !s.main.Valid() || !w.Known {
		return
	}
	floor := duration(max(f.seconds(), f.link))
	if (w.Expected || w.AtMost) && floor > s.raw {
		floor = 0
	}
	c[s.main] = costOf(w, f, 1, floor, s.raw)
}

// Cost returns what the operator that a kernel computes costs in its layer, if [Options.Kernels] was set. An operator of several kernels has
// it at the one that takes longest, the others have none, so that costs add up; PeakShare counts the time of all of them.
func (r *Report) Cost(k layer.Kernel) (Cost, bool) {
	c, ok := r.costs[k]
	return c, ok
}
