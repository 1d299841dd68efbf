package triage

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/triage/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// seqKernel is one activity as the chain rule sees it.
type seqKernel struct {
	act    int32
	sort   int32 // index in sequences.sorts
	set    fusion.Set
	filler bool
}

// sortKey is what decides about the steps a kernel does: activities that agree
// in it are of one sort.
type sortKey struct{ kernel, op, site, operator int32 }

// sequences are the activities of a stage by stream.
type sequences struct {
	list   []sequence
	sorts  []sortKey
	sets   []fusion.Set // per sort
	blocks int          // attention blocks among them
}

// sequence is the activities of a stage on one stream.
type sequence struct {
	w       *activity.Trace
	kernels []seqKernel
}

// sequencesOf returns the activities of a stage by stream.
func sequencesOf(r *recogniser, parts []*activity.Trace, stage int) *sequences {
	out := &sequences{}
	known := map[sortKey]int32{}
	last := make([]int32, len(r.pool.Facts)) // per kernel: its last sort + 1; most kernels have one
	for _, w := range parts {
		byQueue := make([]sequence, len(w.Queues))
		inBlock := make([]bool, len(w.Queues))
		for q, n := range w.CountByQueue(stage) {
			byQueue[q].kernels = make([]seqKernel, 0, n)
		}
		for i := range w.Acts {
			act := &w.Acts[i]
			if int(act.Stage) != stage {
				continue
			}
			f := &r.pool.Facts[act.Kernel]
			key := sortKey{act.Kernel, act.Op, act.Site, act.Operator}
			sort := last[act.Kernel] - 1
			if sort < 0 || out.sorts[sort] != key {
				var ok bool
				if sort, ok = known[key]; !ok {
					sort = int32(len(out.sorts))
					known[key] = sort
					out.sorts = append(out.sorts, key)
					out.sets = append(out.sets, r.stepsOf(key))
				}
				last[act.Kernel] = sort + 1
			}
			q := &byQueue[act.Queue]
			q.w = w
			q.kernels = append(q.kernels, seqKernel{int32(i), sort, out.sets[sort], f.Effort == activity.EffortMove})
			attention := f.Result.Category == classify.CategoryAttention
			if attention && !inBlock[act.Queue] {
				out.blocks++
			}
			inBlock[act.Queue] = attention
		}
		for _, q := range byQueue {
			if q.w != nil {
				out.list = append(out.list, q)
			}
		}
	}
	return out
}
