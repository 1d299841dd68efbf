package activity

import (
	"context"
	"slices"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// twin is the eager launch that a replayed activity stands for.
type twin struct {
	site, op, model int32
	sameName        bool
}

// twinKey is what a twin's source depends on: of a decode it is told apart from that of a prefill.
type twinKey struct {
	launch, kernel trace.Event
	stage          int8
}

// twinTable holds the twins of one trace's activities.
type twinTable struct{ byAct []twin }

// at returns the twin of activity i, false where there is none.
func (t twinTable) at(i int) (twin, bool) {
	if i >= len(t.byAct) || t.byAct[i].site <= SiteFromPrefill {
		return twin{}, false
	}
	return t.byAct[i], true
}

// Align finds the twins of the replays of formal traces, which [Attribute] asks for, where there are layers to align.
func Align(ctx context.Context, formal []*layer.Analysis) error {
	for _, a := range formal {
		if !slices.ContainsFunc(a.Devices, func(d layer.Device) bool { return d.NumLayers > 0 }) || !hasReplays(a.Trace()) {
			continue
		}
		for i := range a.Devices {
			if err := a.Devices[i].Align(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func hasReplays(t *trace.Trace) bool {
	for e := range t.Events(event.LaneGPU) {
		if e.IsReplay() {
			return true
		}
	}
	return false
}

// twins returns what the replays of a formal trace were aligned with, in the
// order of its activities.
func (a *attribution) twins(ctx context.Context, w *Trace) (twinTable, error) {
	out := twinTable{}
	finders := map[*trace.Trace]*Sites{}
	known := map[twinKey]twin{} // replays have few twins, and each many times
	for i := range w.Acts {
		act := &w.Acts[i]
		if !act.Replay {
			continue
		}
		k := w.Analysis.Of(w.Event(act).ID())
		if !k.Valid() || k.Device().NumLayers == 0 {
			continue // no layers to align: names must do
		}
		if out.byAct == nil {
			out.byAct = make([]twin, len(w.Acts))
			for d := range w.Analysis.Devices {
				if err := w.Analysis.Devices[d].Align(ctx); err != nil {
					return out, err
				}
			}
		}
		tw := k.Twin()
		if !tw.Launch.Valid() {
			continue
		}
		key := twinKey{tw.Launch, tw.Kernel, act.Stage}
		found, ok := known[key]
		if !ok {
			from := w.Owner(tw.Launch, a.mapping)
			if finders[from] == nil {
				finders[from] = NewSites(a.pool, from)
			}
			found.site, found.op = finders[from].ofTwin(tw)
			found.model = a.pool.model(k.ModelLine())
			known[key] = found
		}
		found.sameName = tw.How == "name"
		out.byAct[i] = found
	}
	return out, nil
}

// Owner returns the trace that an event is of: the activities' own, or that of
// a mapping.
func (w *Trace) Owner(e trace.Event, mapping []*Trace) *trace.Trace {
	for _, m := range mapping {
		if m.Trace.At(e.ID()) == e {
			return m.Trace
		}
	}
	return w.Trace
}
