package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// waiter is the device of an analysis that a digest is of.
type waiter struct {
	trace   int // place in the list of analyses
	device  *layer.Device
	waits   *layer.RankWaits
	kernels [][]int32   // of each pass, that exchange data
	with    []companion // by digest
}

// companion is how long a rank waits in the collectives in which it meets a waiter.
type companion struct {
	waiting time.Duration
	met     []bool // by pass of the waiter
}

// Waits compares the collectives of all devices of several traces of a run, and of digests of others, at once; a
// device that meets no other one has what it says alone. It returns those of each trace by device.
func Waits(list []*layer.Analysis, others []Rank) []map[trace.DeviceID]*layer.RankWaits {
	out := make([]map[trace.DeviceID]*layer.RankWaits, len(list))
	var waiters []*waiter // of the first digests
	for i, a := range list {
		out[i] = map[trace.DeviceID]*layer.RankWaits{}
		for j := range a.Devices {
			d := &a.Devices[j]
			out[i][d.ID] = d.RankWaits()
			waiters = append(waiters, &waiter{trace: i, device: d, waits: out[i][d.ID]})
		}
	}
	if len(waiters)+len(others) < 2 { // a GPU without others meets none
		return out
	}
	var digests []Rank
	for _, a := range list {
		digests = append(digests, Recorded(a)...)
	}
	own := map[identity][]int{} // the traces of a rank: several are other windows of it, and do not exchange data
	for i, w := range waiters {
		if id := digests[i].identity(); !slices.Contains(own[id], w.trace) {
			own[id] = append(own[id], w.trace)
		}
	}
	for i := range others {
		if own[others[i].identity()] == nil {
			digests = append(digests, others[i])
		}
	}
	for _, w := range waiters {
		w.kernels, w.with = collectivesOf(w.device), make([]companion, len(digests))
	}
	Meet(digests, func(m Meeting) {
		least := slices.Min(m.Took)
		for i, n := range m.Ranks {
			if n >= len(waiters) {
				continue
			}
			id := digests[n].identity()
			if len(own[id]) > 1 && slices.ContainsFunc(m.Ranks, func(k int) bool {
				return k < len(waiters) && waiters[k].trace != waiters[n].trace && digests[k].identity() == id
			}) {
				continue
			}
			waiters[n].meet(&m, i, time.Duration(least))
		}
	})
	for n, w := range waiters {
		w.sum(n, digests)
	}
	return out
}

// meet takes a meeting in which the waiter is the i-th.
func (w *waiter) meet(m *Meeting, i int, least time.Duration) {
	if w.waits.By != layer.WaitingByRanks {
		w.waits.By = layer.WaitingByRanks
		clear(w.waits.For) // estimates
	}
	pass := m.Steps[i]
	w.waits.For[w.kernels[pass][m.Calls[i]]] = time.Duration(m.Took[i]) - least
	for k, n := range m.Ranks {
		c := &w.with[n]
		if c.met == nil {
			c.met = make([]bool, len(w.kernels))
		}
		c.met[pass] = true
		c.waiting += time.Duration(m.Took[k]) - least
	}
}

// sum lists the ranks that the waiter meets, itself first, which is of the n-th digest, then by rank and GPU.
func (w *waiter) sum(n int, digests []Rank) {
	exchanges := slices.ContainsFunc(w.kernels, func(pass []int32) bool { return len(pass) > 0 })
	for i, c := range w.with {
		if c.met == nil {
			if exchanges && i != n {
				w.waits.Strangers++
			}
			continue
		}
		r := layer.RankWait{Rank: digests[i].Rank, GPU: trace.DeviceID(digests[i].Device), Waiting: c.waiting}
		for _, met := range c.met {
			if met {
				r.Passes++
			}
		}
		if w.waits.Ranks = append(w.waits.Ranks, r); i == n {
			own := w.waits.Ranks
			copy(own[1:], own)
			own[0] = r
		}
	}
	others := w.waits.Ranks[min(1, len(w.waits.Ranks)):]
	slices.SortStableFunc(others, func(a, b layer.RankWait) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.GPU, b.GPU))
	})
}

// collectivesOf are the kernels of each pass that exchange data, as [Rank.Record] counts them.
func collectivesOf(d *layer.Device) [][]int32 {
	kernels := make([][]int32, len(d.Passes))
	for k := range d.Kernels() {
		if p := k.Place().Pass; p != trace.None && k.Facts().Collective != classify.NotCollective {
			kernels[p] = append(kernels[p], int32(k.Index()))
		}
	}
	return kernels
}

// identity is what recordings of one rank have in common: its number, where that is not known their content.
type identity struct {
	rank    int
	content string
}

func (r *Rank) identity() identity {
	if r.Rank >= 0 {
		return identity{rank: r.Rank}
	}
	return identity{r.Rank, r.Fingerprint}
}
