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

// estimate separates waiting from transfer on one rank: collectives of a kernel that a pass repeats in its layers
// move the same bytes, and what one takes more than the fast ones it waits. What is sent to single ranks depends on
// the data, and says nothing.
func (r *meetings) estimate(d *layer.Device) {
	same, inLayers := map[sameKey][]layer.Kernel{}, map[sameKey]int{}
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
		if at.Layer != trace.None {
			inLayers[key]++
		}
		same[key] = append(same[key], k)
	}
	for key, list := range same {
		if inLayers[key] < fewestSame {
			continue
		}
		r.by = WaitingByFastest
		took := make([]time.Duration, len(list))
		for i, k := range list {
			took[i] = k.Event().Duration()
		}
		least := slices.Sorted(slices.Values(took))[len(took)/fastestOf]
		for i, k := range list {
			r.waiting[int32(k.Index())] = max(0, took[i]-least)
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
