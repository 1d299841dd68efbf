package triage

import (
	"cmp"
	"context"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// How a row's waiting was told from its transfer.
const (
	waitingByRanks   = "ranks"   // when the other ranks arrive
	waitingByFastest = "fastest" // a collective of the same kernel for the same operator of the same pass that is among the fastest
)

// fastestOf is which of the same collectives in a pass, by time, says what one takes that waits for nobody: the first quarter.
// The fastest itself would call the spread of all others waiting. fewestSame is how many layers must repeat it.
const (
	fastestOf  = 4
	fewestSame = 8
)

// waits tells for each exchange of a device how long it waits before data moves. It is found by other ranks where the analyses
// hold some, else by the same collectives of its pass.
type waits struct {
	ns map[int32]int64 // by number of the kernel
	by string          // "" where nothing was told apart
}

// sameKey is what exchanges of one size have in common: all-reduces of one pass sum a row of the hidden size for each token, others
// differ by operator.
type sameKey struct {
	pass, kernel int32
	operator     profile.Operator
}

// repeats are the exchanges that move the same bytes in each layer. What is sent to single ranks depends on the data.
var repeats = []classify.Collective{classify.AllReduce, classify.AllGather, classify.ReduceScatter}

// waitsOf tells the waiting of a device's exchanges apart.
func (a *analysis) waitsOf(ctx context.Context, d *activity.Timed, p *activity.Pool) (*waits, error) {
	w := &waits{ns: map[int32]int64{}}
	any := false
	same, inLayers := map[sameKey][]int32{}, map[sameKey]int{}
	for k := range d.Kernels() {
		act := &d.Of.Acts[d.Acts[k.Index()]]
		if p.Facts[act.Kernel].Effort != activity.EffortExchange {
			continue
		}
		any = true
		kind, key := p.Facts[act.Kernel].Facts.Collective, sameKey{pass: act.Pass, kernel: act.Kernel}
		if kind != classify.AllReduce {
			key.operator, _, _ = k.Operator()
		}
		if !slices.Contains(repeats, kind) {
			key.pass = trace.None
		}
		if k.Place().Layer != trace.None {
			inLayers[key]++
		}
		same[key] = append(same[key], int32(k.Index()))
	}
	if !any {
		return w, nil
	}
	met, err := roofline.Waiting(ctx, d.Of.Analysis, d.Device, otherThan(a.in.Formal, d.Of.Analysis))
	if err != nil {
		return nil, err
	}
	if len(met) > 0 {
		w.by = waitingByRanks
		for k, ns := range met {
			w.ns[k] = int64(ns)
		}
	}
	for key, list := range same {
		if w.by == waitingByRanks || key.pass == trace.None || inLayers[key] < fewestSame {
			continue
		}
		w.by = cmp.Or(w.by, waitingByFastest)
		took := make([]int64, len(list))
		for i, k := range list {
			e := d.Kernel(int(k)).Event()
			took[i] = int64(e.End() - e.Start())
		}
		sorted := slices.Sorted(slices.Values(took))
		least := sorted[len(sorted)/fastestOf]
		for i, k := range list {
			w.ns[k] = max(0, took[i]-least)
		}
	}
	return w, nil
}

// otherThan are the analyses but one.
func otherThan(list []*layer.Analysis, but *layer.Analysis) []*layer.Analysis {
	return slices.DeleteFunc(slices.Clone(list), func(a *layer.Analysis) bool { return a == but })
}

// waiting is the part of a stretch in which an exchange waits: it waits first, and moves data up to its end.
func (w *waits) waiting(k layer.Kernel, from, to trace.Time) int64 {
	ns := w.ns[int32(k.Index())]
	if ns == 0 {
		return 0
	}
	e := k.Event()
	return max(0, int64(min(to, e.Start()+trace.Time(ns))-max(from, e.Start())))
}
