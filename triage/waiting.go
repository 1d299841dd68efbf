package triage

import (
	"slices"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// waits are how long each exchange of a device waits before data moves.
type waits struct {
	took map[int32]time.Duration // by number of the kernel
	by   roofline.WaitingBy
}

// waitsOf asks for the waiting of a device's exchanges.
func (a *analysis) waitsOf(d *activity.Timed) *waits {
	others := slices.Clone(a.in.Ranks)
	for _, o := range a.in.Formal {
		if o != d.Of.Analysis {
			others = append(others, fleet.Recorded(o)...)
		}
	}
	took, by := roofline.Waiting(d.Of.Analysis, d.Device, others)
	return &waits{took, by}
}

// waiting is the part of a stretch in which an exchange waits: it waits first, and moves data up to its end.
func (w *waits) waiting(k layer.Kernel, from, to trace.Time) int64 {
	took := w.took[int32(k.Index())]
	if took == 0 {
		return 0
	}
	e := k.Event()
	return max(0, int64(min(to, e.Start()+trace.Time(took))-max(from, e.Start())))
}
