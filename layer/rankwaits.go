package layer

import (
	"slices"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/stat"
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

// RankWaits is how long the collectives of a device wait for ranks that arrive later, by number of the kernel.
type RankWaits struct {
	For map[int32]time.Duration // a collective that nothing is known of is not in it
	By  WaitingBy               // what says so
	// Shortest is the time of the shortest of the same collectives of a pass, where it repeats them.
	Shortest map[int32]time.Duration
	// Ranks are those that meet in the collectives, the device's own first, then by rank and GPU; none where one
	// device says all.
	Ranks []RankWait
	// Strangers counts the other ranks that the device was compared with and meets nowhere.
	Strangers int
}

// RankWait is how long one rank waits in the collectives that were separated. The rank that waits least is the one
// that others wait for.
type RankWait struct {
	Rank    int            `json:"rank"`       // −1 unknown
	GPU     trace.DeviceID `json:"gpu"`        // number of the GPU
	Passes  int            `json:"passes"`     // separated with this rank
	Waiting time.Duration  `json:"waiting_ns"` // time that it waits for others
}

// fastestOf is which of the same collectives in a pass, by time, says what one takes that waits for nobody: the first
// quarter. The fastest itself would call the spread of all others waiting. fewestSame is how many layers must repeat
// it.
const (
	fastestOf  = 4
	fewestSame = 8
)

// RankWaits estimates how long collectives wait from the device alone: what one takes more than the fast ones of the
// same in its layers, it waits. Package fleet measures it against other ranks.
func (d *Device) RankWaits() *RankWaits {
	w := &RankWaits{For: map[int32]time.Duration{}, Shortest: map[int32]time.Duration{}}
	for _, list := range d.sameCollectives() {
		took, inLayers := make([]time.Duration, len(list)), 0
		for i, k := range list {
			took[i] = k.Event().Duration()
			inLayers += stat.Int(k.Place().Layer != trace.None)
		}
		sorted := slices.Sorted(slices.Values(took))
		for i, k := range list {
			if len(list) > 1 {
				w.Shortest[int32(k.Index())] = sorted[0]
			}
			if inLayers >= fewestSame {
				w.By = WaitingByFastest
				w.For[int32(k.Index())] = max(0, took[i]-sorted[len(sorted)/fastestOf])
			}
		}
	}
	return w
}

// sameKey is what exchanges of one size have in common: all-reduces of one pass sum a row of the hidden size for each
// token, others differ by operator.
type sameKey struct {
	pass     int
	name     trace.NameID
	operator profile.Operator
}

// sameCollectives are the exchanges of each kernel that a pass repeats, which move the same bytes. What is sent to
// single ranks depends on the data, and is none of them.
func (d *Device) sameCollectives() map[sameKey][]Kernel {
	same := map[sameKey][]Kernel{}
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
