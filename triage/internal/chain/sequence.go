package chain

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Kernel is one activity as the chain rule sees it.
type Kernel struct {
	Act    int32 // index in the activities of its trace
	Sort   int32 // index in sequences.sorts
	filler bool
}

// sortKey is what decides about the steps a kernel does: activities that agree
// in it are of one sort.
type sortKey struct{ kernel, op, site, operator int32 }

// Sequences are the activities of a stage by stream.
type Sequences struct {
	List   []sequence   // by stream
	Sorts  []sortKey    // what kernels are told apart by
	Sets   []fusion.Set // per sort
	Blocks int          // attention blocks among them
}

// sequence is the activities of a stage on one stream.
type sequence struct {
	Trace   *activity.Trace
	Kernels []Kernel
	sets    []fusion.Set // per sort
}

// SequencesOf returns the activities of a stage by stream.
func SequencesOf(r *Recogniser, parts []*activity.Trace, stage int) *Sequences {
	out := &Sequences{}
	known := map[sortKey]int32{}
	last := make([]int32, len(r.pool.Facts)) // per kernel: its last sort + 1; most kernels have one
	for _, w := range parts {
		byQueue := make([]sequence, len(w.Queues))
		inBlock := make([]bool, len(w.Queues))
		for q, n := range w.CountByQueue(stage) {
			byQueue[q].Kernels = make([]Kernel, 0, n)
		}
		for i := range w.Acts {
			act := &w.Acts[i]
			if int(act.Stage) != stage {
				continue
			}
			f := &r.pool.Facts[act.Kernel]
			key := sortKey{act.Kernel, act.Op, act.Site, act.Operator}
			sort := last[act.Kernel] - 1
			if sort < 0 || out.Sorts[sort] != key {
				var ok bool
				if sort, ok = known[key]; !ok {
					sort = int32(len(out.Sorts))
					known[key] = sort
					out.Sorts = append(out.Sorts, key)
					out.Sets = append(out.Sets, r.stepsOf(key))
				}
				last[act.Kernel] = sort + 1
			}
			q := &byQueue[act.Queue]
			q.Trace = w
			q.Kernels = append(q.Kernels, Kernel{int32(i), sort, f.Effort == activity.EffortMove})
			attention := f.Shown.Category == classify.CategoryAttention
			if attention && !inBlock[act.Queue] {
				out.Blocks++
			}
			inBlock[act.Queue] = attention
		}
		for _, q := range byQueue {
			if q.Trace != nil {
				out.List = append(out.List, q)
			}
		}
	}
	for i := range out.List {
		out.List[i].sets = out.Sets
	}
	return out
}
