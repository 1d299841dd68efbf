package roofline

import (
	"cmp"
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

// Waits is how long each collective of a device waits for ranks that arrive later, by number of the kernel, and what
// says so. A collective that nothing is known of is not in it.
type Waits struct {
	For map[int32]time.Duration // by number of the kernel
	By  WaitingBy               // what says so
}

// Waiting compares the collectives of all devices of several traces of a run, and of digests of others, at once; what
// no other one takes part in is estimated by the fastest of the same collectives of its pass. It returns those of each
// device of each trace.
func Waiting(list []*layer.Analysis, others []fleet.Rank) [][]Waits {
	out := make([][]Waits, len(list))
	type seat struct {
		trace, device int
		kernels       [][]int32
	}
	var digests []fleet.Rank
	var seats []seat // of the first digests
	for i, a := range list {
		out[i] = make([]Waits, len(a.Devices))
		for j := range a.Devices {
			seats = append(seats, seat{i, j, collectivesOf(&a.Devices[j])})
			out[i][j].For = map[int32]time.Duration{}
		}
	}
	if len(seats)+len(others) > 1 { // a GPU without others meets none
		for _, a := range list {
			digests = append(digests, fleet.Recorded(a)...)
		}
	}
	own := map[identity]int{} // the traces of a rank; several are other windows of it, and do not exchange with each other
	for i := range digests {
		if id := identify(&digests[i]); i == 0 || seats[i].trace != seats[i-1].trace {
			own[id]++
		}
	}
	for i := range others {
		if own[identify(&others[i])] == 0 {
			digests = append(digests, others[i])
		}
	}
	if len(digests) > 1 {
		fleet.Meet(digests, func(m fleet.Meeting) {
			least := slices.Min(m.Took)
			for i, n := range m.Ranks {
				if n >= len(seats) {
					continue
				}
				id := identify(&digests[n])
				if own[id] > 1 && slices.ContainsFunc(m.Ranks, func(k int) bool {
					return k < len(seats) && seats[k].trace != seats[n].trace && identify(&digests[k]) == id
				}) {
					continue
				}
				w := &out[seats[n].trace][seats[n].device]
				w.By = WaitingByRanks
				w.For[seats[n].kernels[m.Steps[i]][m.Calls[i]]] = time.Duration(m.Took[i] - least)
			}
		})
	}
	for _, s := range seats {
		w := &out[s.trace][s.device]
		r := &meetings{waiting: w.For, shortest: map[int32]time.Duration{}}
		r.estimate(&list[s.trace].Devices[s.device], w.By == "")
		w.By = cmp.Or(w.By, r.by)
	}
	return out
}

// identity is what recordings of one rank have in common: its number, where that is not known their content.
type identity struct {
	rank    int
	content string
}

func identify(r *fleet.Rank) identity {
	if r.Rank >= 0 {
		return identity{rank: r.Rank}
	}
	return identity{r.Rank, r.Fingerprint}
}
