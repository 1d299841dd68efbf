package hostoverhead

import (
	"context"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/layer"
)

// DeviceDrill explains the idle time of one device.
type DeviceDrill struct {
	Ledger   DeviceLedger `json:"ledger"`
	Gaps     []GapBucket  `json:"gaps"`    // no stream busy: the real idle time
	Streams  []StreamGaps `json:"streams"` // per stream
	TopGaps  []Gap        `json:"top_gaps"`
	Coverage Coverage     `json:"coverage"`
	Pattern  *Pattern     `json:"pattern"` // null when no layers were found
}

// DrillDown explains the idle time of every device of a trace.
type DrillDown struct {
	Devices    []DeviceDrill `json:"devices"`
	Stragglers *Stragglers   `json:"stragglers"` // null for one device, or without collectives
}

// Drill explains where the idle time of a trace goes. It returns
// [ErrNoKernels] for a trace without kernels, and ctx's error when cancelled.
func Drill(ctx context.Context, a *layer.Analysis, opts ...Option) (*DrillDown, error) {
	cfg := newConfig(opts)
	w, err := analyzed(stop.New(ctx), a, &cfg)
	if err != nil {
		return nil, err
	}
	l := newLedger(w)
	out := &DrillDown{}
	for _, d := range w.devices {
		dd := DeviceDrill{Ledger: l.account(d), Gaps: bucketed(interval.Between(d.busy)), Streams: w.streamGaps(d), TopGaps: l.topGaps(d, cfg.topGaps), Coverage: w.coverage(d)}
		dd.Coverage.Hints = append(dd.Coverage.Hints, waitHints(&dd.Ledger)...)
		if dd.Pattern, err = w.pattern(d); err != nil {
			return nil, err
		}
		if err := w.stop.Err(); err != nil {
			return nil, err
		}
		out.Devices = append(out.Devices, dd)
	}
	if !cfg.merged {
		ranks := make([]rankWork, len(w.devices))
		for i, d := range w.devices {
			ranks[i] = rankWork{"device " + itoa(int64(d.id)), w, d}
		}
		out.Stragglers = stragglers(w.stop, ranks)
	}
	if err := w.stop.Err(); err != nil {
		return nil, err
	}
	return out, nil
}
