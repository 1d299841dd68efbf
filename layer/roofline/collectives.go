package roofline

import (
	"fmt"
	"slices"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// Collective is what the exchanges between GPUs of one operator take in all passes.
type Collective struct {
	Operator string `json:"operator"` // part of the model that the kernels compute
	Count    int    `json:"count"`    // number of exchanges
	// Time is what they take on this GPU. A part of it is divided into Transfer and Waiting for the ranks that arrive
	// later, as the report's WaitingBy says; nothing separates the rest.
	Time     time.Duration `json:"time_ns"`
	Told     time.Duration `json:"told_apart_ns"`
	Transfer time.Duration `json:"transfer_ns"`
	Waiting  time.Duration `json:"waiting_ns"`
	// Floor is what links and latency need at least for Time's exchanges, or that of the shortest of the same; 0 unknown.
	Floor time.Duration `json:"floor_ns,omitempty"`
}

// RankWait is how long one rank waits in the collectives that were separated. The rank that waits least is the one
// that others wait for.
type RankWait struct {
	Rank    int            `json:"rank"`       // −1 unknown
	GPU     trace.DeviceID `json:"gpu"`        // number of the GPU
	Passes  int            `json:"passes"`     // separated with this rank
	Waiting time.Duration  `json:"waiting_ns"` // time that it waits for others
}

// meetings are what several ranks say about the collectives of one of them.
type meetings struct {
	ranks   []RankWait // this one first
	waiting map[int32]time.Duration
	// shortest is the time of the shortest of the same collectives of a pass, where it repeats them
	shortest map[int32]time.Duration
	by       WaitingBy
	strange  int // ranks that meet this one nowhere
}

// meet compares the collectives of a GPU with those of the other GPUs of its run: of its own trace, and of others.
func meet(a *layer.Analysis, d *layer.Device, others []fleet.Rank) *meetings {
	r := &meetings{waiting: map[int32]time.Duration{}, shortest: map[int32]time.Duration{}}
	if len(a.Devices) == 1 && len(others) == 0 {
		r.ranks = []RankWait{{Rank: a.Trace().Meta().Rank, GPU: d.ID}}
		r.estimate(d, true)
		return r
	}
	digests := fleet.Recorded(a)
	at := slices.IndexFunc(digests, func(one fleet.Rank) bool { return one.Device == int(d.ID) })
	digests[0], digests[at] = digests[at], digests[0]
	me := identify(&digests[0])
	for i := range others {
		if identify(&others[i]) != me {
			digests = append(digests, others[i])
		}
	}
	var all []RankWait
	for i := range digests {
		all = append(all, RankWait{Rank: digests[i].Rank, GPU: trace.DeviceID(digests[i].Device)})
	}
	if len(all) > 1 {
		r.compare(d, digests, all)
	}
	for i := range all {
		if i == 0 || all[i].Passes > 0 {
			r.ranks = append(r.ranks, all[i])
		} else if slices.ContainsFunc(digests[0].Steps, func(s fleet.Step) bool { return len(s.Call) > 0 }) {
			r.strange++
		}
	}
	if len(r.ranks) > 1 {
		r.by = WaitingByRanks
	}
	r.estimate(d, r.by == "")
	return r
}

// compare adds up how long each rank waits in the collectives of the first one, whose device d is.
func (r *meetings) compare(d *layer.Device, digests []fleet.Rank, all []RankWait) {
	kernels := collectivesOf(d)
	met := map[[2]int]bool{} // rank and pass
	fleet.Meet(digests, func(m fleet.Meeting) {
		mine := slices.Index(m.Ranks, 0)
		if mine < 0 {
			return
		}
		pass, least := m.Steps[mine], slices.Min(m.Took)
		r.waiting[kernels[pass][m.Calls[mine]]] = time.Duration(m.Took[mine] - least)
		for i, rank := range m.Ranks {
			all[rank].Waiting += time.Duration(m.Took[i] - least)
			if at := [2]int{rank, pass}; !met[at] {
				met[at] = true
				all[rank].Passes++
			}
		}
	})
}

// collectivesOf are the kernels of each pass that exchange data, as [fleet.Rank.Record] counts them.
func collectivesOf(d *layer.Device) [][]int32 {
	kernels := make([][]int32, len(d.Passes))
	for k := range d.Kernels() {
		if p := k.Place().Pass; p != trace.None && k.Facts().Collective != classify.NotCollective {
			kernels[p] = append(kernels[p], int32(k.Index()))
		}
	}
	return kernels
}

// notes are the results of the ranks.
func (r *meetings) notes() []string {
	var out []string
	if r.strange > 0 {
		out = append(out, fmt.Sprintf("waiting is not measured on %s: no collective there ends when one of this GPU does",
			table.Counted(r.strange, "other GPU", "other GPUs")))
	}
	return out
}

// communicated are the waterfall's rows of communication. An instant that another kernel covers is no waiting.
func (r *measured) communicated() []Share {
	split, met := r.divided, r.walk.met
	rest := r.booked[communication] - split.transfer - split.waiting
	if split.passes == 0 {
		return []Share{{Name: "communication: transfer and waiting", Time: rest,
			Note: "one rank cannot separate the two", Kind: Communication, group: groups}}
	}
	transfer, waiting, left := "estimated by the fastest quarter of the same collectives",
		"time beyond the fastest quarter", "fewer than eight layers repeat it"
	if met.by == WaitingByRanks {
		transfer = fmt.Sprintf("what the shortest of %d ranks takes", len(met.ranks))
		waiting, left = "they arrive later, and all end together", "not all ranks of a group end it together"
	}
	out := []Share{
		{Name: "communication: transfer", Time: split.transfer, Note: transfer, Kind: Communication, group: groups},
		{Name: "communication: waiting for other ranks", Time: split.waiting, Note: waiting, Kind: Communication,
			group: groups},
	}
	if rest > 0 {
		out = append(out, Share{Name: "communication: transfer and waiting not separated", Time: rest, Note: left,
			Kind: Communication, group: groups})
	}
	return out
}

// divided is the booked time of collectives of a pass.
type divided struct {
	transfer, waiting time.Duration
	passes            int
}

// collective books a kernel of communication.
func (r *measured) collective(k layer.Kernel, e trace.Event, operator string, booked time.Duration) {
	at := slices.IndexFunc(r.walk.collectives, func(c Collective) bool { return c.Operator == operator })
	if at < 0 {
		at = len(r.walk.collectives)
		r.walk.collectives = append(r.walk.collectives, Collective{Operator: operator})
	}
	c := &r.walk.collectives[at]
	c.Count++
	c.Time += e.Duration()
	waiting, ok := r.walk.met.waiting[int32(k.Index())]
	if !ok {
		return
	}
	c.Told += e.Duration()
	c.Waiting += waiting
	c.Transfer += e.Duration() - waiting
	waiting = min(waiting, booked)
	r.divided.passes = 1
	r.divided.waiting += waiting
	r.divided.transfer += booked - waiting
}

// linked adds the floor of one collective of an operator.
func (r *measured) linked(operator string, floor time.Duration) {
	if at := slices.IndexFunc(r.walk.collectives, func(c Collective) bool { return c.Operator == operator }); at >= 0 {
		r.walk.collectives[at].Floor += floor
	}
}
