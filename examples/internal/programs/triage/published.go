package triage

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// withPublishedOverlap returns the report with the overlap tables of the published rule.
func withPublishedOverlap(r *triage.Report, o triage.Options) *triage.Report {
	limit := cmp.Or(o.OverlapLimit, publishedRows)
	out := *r
	out.Stages = slices.Clone(r.Stages)
	for i := range out.Stages {
		s := &out.Stages[i]
		kernels, acts := overlapInput(r, i)
		s.Overlap = []triage.OverlapRow{}
		for _, row := range published.Overlap(kernels, acts, r.MinSharePct, limit) {
			s.Overlap = append(s.Overlap, overlapRow(row, kernels))
		}
		s.OverlapNote = "Published rule: dependency risk is judged from neighbours on the stream only. A trace shows what " +
			"overlapped, not what may legally overlap."
	}
	return &out
}

// publishedRows is how many rows of each verdict the published rule lists.
const publishedRows = 5

// overlapInput are the kernels and launches of a stage.
func overlapInput(r *triage.Report, stage int) (kernels []published.OverlapKernel, acts []published.Activity) {
	type kernelKey struct {
		name     string
		category classify.Category
	}
	type queueKey struct {
		part   int
		device trace.DeviceID
		stream trace.StreamID
	}
	type deviceKey struct {
		part int
		id   trace.DeviceID
	}
	ids, queues, devices := map[kernelKey]int32{}, map[queueKey]int32{}, map[deviceKey]int{}
	for l := range r.Launches(stage) {
		e := l.Event
		k := kernelKey{l.Kernel, l.Category}
		id, ok := ids[k]
		if !ok {
			id = int32(len(kernels))
			ids[k] = id
			kernels = append(kernels, published.OverlapKernel{Name: l.Kernel, Category: l.Category,
				Graph:  e.Kind() == event.Graph,
				Bucket: published.BucketOf(e.Kind(), l.Category, classify.Default().Facts(e.Name()).Library)})
		}
		q := queueKey{l.Trace, e.Device(), e.Stream()}
		if _, ok := queues[q]; !ok {
			queues[q] = int32(len(queues))
		}
		d := deviceKey{l.Trace, e.Device()}
		if _, ok := devices[d]; !ok {
			devices[d] = len(devices)
		}
		acts = append(acts, published.Activity{Start: int64(e.Start()), End: int64(e.End()), Device: devices[d],
			Stream: queues[q], Kernel: id,
			Site: l.Location, Known: l.Located, Op: l.Op, Replay: e.IsReplay()})
	}
	return kernels, acts
}

// overlapRow is a row of the published table as one of the report.
func overlapRow(o published.OverlapRow, kernels []published.OverlapKernel) triage.OverlapRow {
	k := &kernels[o.Kernel]
	out := triage.OverlapRow{Priority: o.Priority, Verdict: o.Verdict, Kernel: k.Name,
		Label: classify.Default().Facts(k.Name).Short, Category: k.Category, Bucket: k.Bucket.String(),
		PythonScope: o.PythonScope, TotalUS: float64(o.TotalNS) / 1e3, SharePct: o.SharePct,
		ExclusiveRatio: o.ExclusiveRatio, HiddenRatio: o.HiddenRatio,
		DepRisk: o.DepRisk, DepSignal: o.DepSignal, Recommendation: o.Recommendation}
	if o.HiddenUnder >= 0 {
		out.HiddenUnder = kernels[o.HiddenUnder].Name
	}
	return out
}
