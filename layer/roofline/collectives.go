package roofline

import (
	"fmt"
	"slices"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Collective is what the exchanges between GPUs of one operator take in all passes.
type Collective struct {
	Operator string `json:"operator"` // part of the model that the kernels compute
	Count    int    `json:"count"`    // number of exchanges
	// Time is what they take on this GPU. Divided is the part that is Transfer, or Waiting for the ranks that arrive
	// later, as the report's WaitingBy says; nothing separates the rest.
	Time     time.Duration `json:"time_ns"`
	Divided  time.Duration `json:"told_apart_ns"`
	Transfer time.Duration `json:"transfer_ns"`
	Waiting  time.Duration `json:"waiting_ns"`
	// Floor is what links and latency need at least for Time's exchanges, or that of the shortest of the same; 0 unknown.
	Floor time.Duration `json:"floor_ns,omitempty"`
}

// communicated are the waterfall's rows of communication. An instant that another kernel covers is no waiting.
func (r *measured) communicated() []Share {
	split, waits := r.divided, r.walk.waits
	rest := r.booked[communication] - split.transfer - split.waiting
	if split.passes == 0 {
		return []Share{{Name: "communication: transfer and waiting", Time: rest,
			Note: "one rank cannot separate the two", Kind: Communication, group: groups}}
	}
	transfer, waiting, left := "estimated by the fastest quarter of the same collectives",
		"time beyond the fastest quarter", "fewer than eight layers repeat it"
	if waits.By == layer.WaitingByRanks {
		transfer = fmt.Sprintf("what the shortest of %d ranks takes", len(waits.Ranks))
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
	waiting, ok := r.walk.waits.For[int32(k.Index())]
	if !ok {
		return
	}
	c.Divided += e.Duration()
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
