package roofline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/rendezvous"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Collective is what the exchanges between GPUs of one operator take in all passes.
type Collective struct {
	Operator string `json:"operator"` // part of the model that the kernels compute
	Count    int    `json:"count"`    // number of exchanges
	// Time is what they take on this GPU. Told of it is divided into Transfer and Waiting for the ranks that arrive
	// later, as the report's WaitingBy says; nothing separates the rest.
	Time     time.Duration `json:"time_ns"`
	Told     time.Duration `json:"told_apart_ns"`
	Transfer time.Duration `json:"transfer_ns"`
	Waiting  time.Duration `json:"waiting_ns"`
	// Floor is what the link needs at least for Time's exchanges, 0 where it is not known.
	Floor time.Duration `json:"floor_ns"`
}

// RankWait is how long one rank waits in the collectives that were separated. The rank that waits least is the one
// that others wait for.
type RankWait struct {
	Rank    int            `json:"rank"`       // −1 unknown
	GPU     trace.DeviceID `json:"gpu"`        // number of the GPU
	Passes  int            `json:"passes"`     // separated with this rank
	Waiting time.Duration  `json:"waiting_ns"` // time that it waits for others
}

// exchange is one collective on one rank.
type exchange struct {
	kernel     int32
	kind       classify.Collective
	start, end trace.Time
}

func (e *exchange) took() time.Duration { return time.Duration(e.end - e.start) }

// ends says that all ranks of a collective leave it together: each needs what the others give.
func ends(c classify.Collective) bool {
	switch c {
	case classify.AllReduce, classify.AllGather, classify.ReduceScatter, classify.AllToAll:
		return true
	}
	return false
}

// exchangesOf lists the collectives of each pass in the order in which they ran.
func exchangesOf(d *layer.Device) [][]exchange {
	out := make([][]exchange, len(d.Passes))
	for k := range d.Kernels() {
		p := k.Place().Pass
		if p == trace.None {
			continue
		}
		if c := k.Facts().Collective; ends(c) {
			e := k.Event()
			out[p] = append(out[p], exchange{int32(k.Index()), c, e.Start(), e.End()})
		}
	}
	return out
}

// meetings are what several ranks say about the collectives of one of them.
type meetings struct {
	mine    [][]exchange
	least   [][]time.Duration // by pass and collective: the shortest of the ranks that met; nil where none did
	ranks   []RankWait        // this one first
	waiting map[int32]time.Duration
	by      WaitingBy
	strange int // ranks that meet this one nowhere
}

// meet compares the collectives of a GPU with those of the other GPUs of its run, in its own trace and in those of
// other ranks.
func meet(ctx context.Context, a *layer.Analysis, d *layer.Device, others []*layer.Analysis) (*meetings, error) {
	r := &meetings{mine: exchangesOf(d), least: make([][]time.Duration, len(d.Passes)),
		waiting: map[int32]time.Duration{}}
	r.ranks = []RankWait{{Rank: a.Trace().Meta().Rank, GPU: d.ID}}
	type peer struct {
		theirs [][]exchange
		passes []int // of theirs, by pass of mine; None: not met
	}
	var peers []peer
	for _, other := range append([]*layer.Analysis{a}, others...) {
		for i := range other.Devices {
			them := &other.Devices[i]
			if them == d || other != a && other.Trace() == a.Trace() {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			q := peer{exchangesOf(them), pairPasses(d, them)}
			w := RankWait{Rank: other.Trace().Meta().Rank, GPU: them.ID}
			for p := range q.passes {
				if q.passes[p] != trace.None && !r.join(p, q.theirs[q.passes[p]]) {
					q.passes[p] = trace.None
				} else if q.passes[p] != trace.None {
					w.Passes++
				}
			}
			if w.Passes == 0 {
				r.strange++
				continue
			}
			r.ranks, peers = append(r.ranks, w), append(peers, q)
		}
	}
	for p, least := range r.least { // now that the shortest of all are known
		if least == nil {
			continue
		}
		r.ranks[0].Passes++
		for i, x := range r.mine[p] {
			r.waiting[x.kernel] = x.took() - least[i]
			r.ranks[0].Waiting += x.took() - least[i]
		}
		for n := range peers {
			if q := peers[n].passes[p]; q != trace.None {
				for i := range least {
					r.ranks[n+1].Waiting += peers[n].theirs[q][i].took() - least[i]
				}
			}
		}
	}
	if len(r.ranks) > 1 {
		r.by = WaitingByRanks
	} else {
		r.estimate(d)
	}
	return r, nil
}

// pairPasses finds for each pass of a GPU the one that another GPU ran in the same step: by the number that the
// server gives the step, else by place, if both have as many.
func pairPasses(d, them *layer.Device) []int {
	out := make([]int, len(d.Passes))
	numbers := map[int64]int{}
	for i := range them.Passes {
		if n := stepNumber(&them.Passes[i]); n >= 0 {
			if _, twice := numbers[n]; twice {
				numbers[n] = trace.None
			} else {
				numbers[n] = i
			}
		}
	}
	for p := range out {
		out[p] = trace.None
		if n := stepNumber(&d.Passes[p]); n >= 0 {
			if q, ok := numbers[n]; ok {
				out[p] = q
			}
		} else if len(d.Passes) == len(them.Passes) {
			out[p] = p
		}
	}
	return out
}

func stepNumber(fp *layer.ForwardPass) int64 {
	if fp.Annotation == nil {
		return -1
	}
	return fp.Annotation.Index
}

// join takes another rank's collectives of a pass in, if they are the same ones and end together. Clocks of several
// hosts differ: the pass's median difference is taken for that of the clocks.
func (r *meetings) join(p int, theirs []exchange) bool {
	mine := r.mine[p]
	if len(mine) == 0 || len(mine) != len(theirs) {
		return false
	}
	for i := range mine {
		if mine[i].kind != theirs[i].kind {
			return false
		}
	}
	if !together(mine, theirs) {
		return false
	}
	if r.least[p] == nil {
		r.least[p] = make([]time.Duration, len(mine))
		for i := range mine {
			r.least[p][i] = mine[i].took()
		}
	}
	for i := range theirs {
		r.least[p][i] = min(r.least[p][i], theirs[i].took())
	}
	return true
}

// together says that two ranks end their collectives of a pass together.
func together(mine, theirs []exchange) bool {
	spans := func(list []exchange) []rendezvous.Span {
		out := make([]rendezvous.Span, len(list))
		for i, x := range list {
			out[i] = rendezvous.Span{Start: int64(x.start), End: int64(x.end)}
		}
		return out
	}
	return rendezvous.Together(spans(mine), spans(theirs))
}

// notes are the results of the ranks.
func (r *meetings) notes() []string {
	var out []string
	if r.strange > 0 {
		out = append(out, fmt.Sprintf("%d other GPUs do not end their collectives with this one, or ran other passes: they tell nothing about its waiting", r.strange))
	}
	return out
}

// exchanged are the waterfall's rows of communication. An instant that another kernel covers is no waiting.
func (r *measured) exchanged() []Share {
	told, met := r.told, r.walk.met
	rest := r.booked[communication] - told.transfer - told.waiting
	if told.passes == 0 {
		return []Share{{Name: "communication: transfer and waiting", Time: rest,
			Note: "one rank cannot separate the two", Kind: Communication, group: groups}}
	}
	transfer, waiting, left := "estimated by the fastest quarter of the same collectives",
		"what others of the same take more", "no eight layers repeat it"
	if met.by == WaitingByRanks {
		transfer = fmt.Sprintf("what the shortest of %d ranks takes", len(met.ranks))
		waiting, left = "they arrive later, and all end together", "not all ranks of a group end it together"
	}
	out := []Share{
		{Name: "communication: transfer", Time: told.transfer, Note: transfer, Kind: Communication, group: groups},
		{Name: "communication: waiting for other ranks", Time: told.waiting, Note: waiting, Kind: Communication,
			group: groups},
	}
	if rest > 0 {
		out = append(out, Share{Name: "communication: transfer and waiting not separated", Time: rest, Note: left,
			Kind: Communication, group: groups})
	}
	return out
}

// told is the booked time of collectives of a pass, divided.
type told struct {
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
	r.told.passes = 1
	r.told.waiting += waiting
	r.told.transfer += booked - waiting
}

// linked adds what the link needs at least for one collective of an operator.
func (r *measured) linked(operator string, floor time.Duration) {
	if at := slices.IndexFunc(r.walk.collectives, func(c Collective) bool { return c.Operator == operator }); at >= 0 {
		r.walk.collectives[at].Floor += floor
	}
}
