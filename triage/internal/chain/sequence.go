package chain

import (
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Kernel is one activity in the order of its stream.
type Kernel struct {
	Act  int32 // index in the activities of its trace
	Sort int32 // index in Sequences.Sorts
}

// sortKey is what decides about the steps a kernel does: activities that agree
// in it are of one sort.
type sortKey struct{ kernel, op, operator int32 }

// Sequences are the activities of a stage by stream.
type Sequences struct {
	List  []sequence   // by stream
	Sorts []sortKey    // what separates kernels
	Sets  []fusion.Set // per sort
}

// sequence is the activities of a stage on one stream.
type sequence struct {
	Trace   *activity.Trace
	Kernels []Kernel
}

// SequencesOf returns the activities of a stage by stream.
func SequencesOf(r *Recogniser, parts []*activity.Trace, stage int) *Sequences {
	out := &Sequences{}
	// Sorts but the first of each kernel, as most have one.
	more := map[sortKey]int32{}
	first, last := make([]int32, len(r.pool.Facts)), make([]int32, len(r.pool.Facts)) // sorts + 1 by kernel
	for _, w := range parts {
		byQueue := make([]sequence, len(w.Queues))
		for i := range w.Acts {
			act := &w.Acts[i]
			if int(act.Stage) != stage {
				continue
			}
			key := sortKey{act.Kernel, act.Op, act.Operator}
			sort := last[act.Kernel] - 1
			if sort >= 0 && out.Sorts[sort] != key {
				if sort = first[act.Kernel] - 1; out.Sorts[sort] != key {
					sort = more[key] - 1
				}
			}
			if sort < 0 {
				sort = int32(len(out.Sorts))
				out.Sorts = append(out.Sorts, key)
				out.Sets = append(out.Sets, r.stepsOf(key))
				if first[act.Kernel] == 0 {
					first[act.Kernel] = sort + 1
				} else {
					more[key] = sort + 1
				}
			}
			last[act.Kernel] = sort + 1
			q := &byQueue[act.Queue]
			q.Trace = w
			q.Kernels = append(q.Kernels, Kernel{int32(i), sort})
		}
		for _, q := range byQueue {
			if len(q.Kernels) > 0 {
				out.List = append(out.List, q)
			}
		}
	}
	return out
}
