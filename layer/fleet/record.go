package fleet

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// mostKernels is how many names of kernels a digest keeps, those with most time.
const mostKernels = 20

// Recorded are the digests of all GPUs of a trace, without the causes of idle time.
func Recorded(a *layer.Analysis) []Rank {
	var out []Rank
	for i := range a.Devices {
		r := Rank{Rank: a.Trace().Meta().Rank, Device: int(a.Devices[i].ID)}
		r.Record(&a.Devices[i])
		out = append(out, r)
	}
	return out
}

// Record fills in what ran on one GPU, a step for each forward pass, without the causes of idle time. Collectives
// are those of [layer.Device.Kernels] in a pass, in that order.
func (r *Rank) Record(d *layer.Device) {
	steps := make([]Step, len(d.Passes))
	operators := make([]map[Named]int64, len(d.Passes))
	for p := range d.Passes {
		fp := &d.Passes[p]
		steps[p] = Step{Number: trace.None, Stage: fp.Stage, Tokens: fp.Tokens, Requests: int64(fp.Batch),
			Partial: !fp.Complete(), Start: int64(fp.Start)}
		if fp.Annotation != nil {
			steps[p].Number = fp.Annotation.Index
		}
		operators[p] = map[Named]int64{}
	}
	for p, s := range d.Steps() {
		steps[p].Wall += int64(s.End - s.Start)
		if s.Kernel != trace.None {
			steps[p].Busy += int64(s.End - s.Start)
		}
	}
	print := fnv.New128a()
	kernels := map[Named]int64{}
	groups, calls := map[string]int{}, map[string]int{}
	for k := range d.Kernels() {
		e, facts := k.Event(), k.Facts()
		took := int64(e.Duration())
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:], uint64(e.Start()))
		binary.LittleEndian.PutUint64(b[8:], uint64(took))
		print.Write(b[:])
		if e.Kind() == event.Kernel {
			kernels[Named{Name: facts.Short, Operator: operatorName(k)}] += took
		}
		p := k.Place().Pass
		if p == trace.None {
			continue
		}
		if facts.Collective != classify.NotCollective {
			s := &steps[p]
			s.Call = append(s.Call, callOf(r, e, facts, groups, calls))
			s.At = append(s.At, int64(e.Start())-s.Start)
			s.Took = append(s.Took, took)
			continue
		}
		operators[p][Named{Name: operatorName(k)}] += took
	}
	r.Fingerprint = hex.EncodeToString(print.Sum(nil))
	for p := range steps {
		steps[p].Operators = timesOf(operators[p])
	}
	r.Steps, r.Kernels = steps, first(timesOf(kernels), mostKernels)
}

// operatorName is the operator of a kernel, or its category if the operator is unknown.
func operatorName(k layer.Kernel) string {
	if op, _, _ := k.Operator(); op != "" && op != opname.Other {
		return string(op)
	}
	return string(k.Category())
}

// callOf is the index of a collective among those of its rank.
func callOf(r *Rank, e trace.Event, facts *classify.Facts, groups, calls map[string]int) int {
	c := Call{Kind: facts.Collective, Group: trace.None, Kernel: facts.Short}
	if x, ok := e.Exchange(); ok {
		c.Bytes = x.Bytes
		if x.Group != "" || x.Ranks != nil {
			key := fmt.Sprint(x.Group, x.Ranks)
			at, known := groups[key]
			if !known {
				at = len(r.Groups)
				groups[key], r.Groups = at, append(r.Groups, ProcessGroup{Name: x.Group, Ranks: x.Ranks})
			}
			c.Group = at
		}
	}
	key := fmt.Sprint(c)
	at, known := calls[key]
	if !known {
		at = len(r.Calls)
		calls[key], r.Calls = at, append(r.Calls, c)
	}
	return at
}

// timesOf lists times by name, most first.
func timesOf(times map[Named]int64) []Named {
	out := make([]Named, 0, len(times))
	for of, ns := range times {
		of.NS = ns
		out = append(out, of)
	}
	slices.SortFunc(out, func(a, b Named) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Operator, b.Operator))
	})
	return out
}
