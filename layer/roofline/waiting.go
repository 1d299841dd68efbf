package roofline

import (
	"slices"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// WaitingBy says what separates the waiting of collectives for other ranks from their transfer.
type WaitingBy string

// The ways; the zero value says that nothing does.
const (
	WaitingByRanks WaitingBy = "ranks" // when the other ranks arrive
	// the fastest quarter of the same collective in the same pass, where a pass has eight and more
	WaitingByFastest WaitingBy = "fastest"
)

// fastestOf is which of the same collectives in a pass, by time, says what one takes that waits for nobody: the first
// quarter. The fastest itself would call the spread of all others waiting. fewestSame is how many layers must repeat
// it.
const (
	fastestOf  = 4
	fewestSame = 8
)

// sameKey is what exchanges of one size have in common: all-reduces of one pass sum a row of the hidden size for each
// token, others differ by operator.
type sameKey struct {
	pass     int
	name     trace.NameID
	operator profile.Operator
}

// sameCollectives are the exchanges of each kernel that a pass repeats, which move the same bytes. What is sent to
// single ranks depends on the data, and is none of them.
func sameCollectives(d *layer.Device) map[sameKey][]layer.Kernel {
	same := map[sameKey][]layer.Kernel{}
	for k := range d.Kernels() {
		at, kind := k.Place(), k.Facts().Collective
		if at.Pass == trace.None || kind != classify.AllReduce && kind != classify.AllGather &&
			kind != classify.ReduceScatter {
			continue
		}
		key := sameKey{pass: at.Pass, name: k.Event().NameID()}
		if kind != classify.AllReduce {
			key.operator, _, _ = k.Operator()
		}
		same[key] = append(same[key], k)
	}
	return same
}

// estimate finds the shortest of the same collectives and, on one rank, separates waiting from transfer: what one
// takes more than the fast ones of the same in its layers, it waits.
func (r *meetings) estimate(d *layer.Device, alone bool) {
	for _, list := range sameCollectives(d) {
		took, inLayers := make([]time.Duration, len(list)), 0
		for i, k := range list {
			took[i] = k.Event().Duration()
			inLayers += b2i(k.Place().Layer != trace.None)
		}
		sorted := slices.Sorted(slices.Values(took))
		for i, k := range list {
			if len(list) > 1 {
				r.shortest[int32(k.Index())] = sorted[0]
			}
			if alone && inLayers >= fewestSame {
				r.by = WaitingByFastest
				r.waiting[int32(k.Index())] = max(0, took[i]-sorted[len(sorted)/fastestOf])
			}
		}
	}
}

// Waiting is how long each collective of a device waits for ranks that arrive later, by number of the kernel, and
// what says so: the other GPUs of its own trace and others that take part in the same collectives, else the fastest of
// the same collectives of the pass. A collective that nothing is known of is not in it.
func Waiting(a *layer.Analysis, d *layer.Device, others []fleet.Rank) (map[int32]time.Duration, WaitingBy) {
	r := meet(a, d, others)
	return r.waiting, r.by
}
