package activity

import (
	"context"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE. A kernel replayed from a graph has no launch of its own: the frames
// around the replay call name the runner, which is the same for all kernels.
// Its source is that of its twin, the kernel in the same place of the layer
// ([layer.Kernel.Twin]). What has no twin, and what was launched without frames,
// has the line from which a mapping trace launches the kernel of the same name,
// if there is only one.

// source is where a kernel comes from.
type source struct {
	site, op, model int32
	prefill         bool // launched in prefills only
}

// twinKey is what a twin's source depends on: those of decode and prefill differ.
type twinKey struct {
	launch, kernel trace.Event
	operator       int32
	stage          int8
}

// attribution gives activities of formal traces their sources.
type attribution struct {
	pool    *Pool
	mapping []*Trace
	sites   map[*layer.Analysis]*Sites
	twins   map[twinKey]source // replays have few twins, and each many times
	byName  map[int32]source   // of the mapping traces, by kernel; unresolved where several lines launch it
}

// Attribute gives replayed activities of the formal traces the source of the kernel they replay; refused says why
// the mapping traces do not apply to one, "" where they do.
func Attribute(ctx context.Context, p *Pool, formal, mapping []*Trace) (refused string, err error) {
	a := &attribution{p, mapping, map[*layer.Analysis]*Sites{}, map[twinKey]source{}, byName(mapping)}
	for _, w := range formal {
		names := a.byName
		if why := w.mappingRefused(); why != "" {
			names, refused = nil, why
		}
		for i := range w.Acts {
			a.attribute(w, &w.Acts[i], names)
		}
	}
	return refused, ctx.Err()
}

// attribute finds the source of one activity.
func (a *attribution) attribute(w *Trace, act *Activity, names map[int32]source) {
	if !act.Replay && act.Site != SiteUnresolved {
		return
	}
	from, found := FromAlignment, source{}
	if act.Replay {
		found = a.twin(w, act)
	}
	if found.site <= SiteFromPrefill {
		from, found = FromMapping, names[act.Kernel]
		if found.site <= SiteFromPrefill || found.prefill && act.Stage == StageDecode {
			if act.Replay && w.Analysis.Of(w.Event(act).ID()).Twin().How == layer.HowReplay {
				act.From = FromReplay
			}
			return
		}
	}
	act.Site, act.Model, act.From = found.site, found.model, from
	if found.op != 0 {
		act.Op = found.op
	}
	// A line in a function that the server has for prefills is none of a decode.
	if _, _, fn := SplitLocation(a.pool.Sites.Texts[act.Site]); act.Replay && act.Stage == StageDecode &&
		framework.StageOfFunction(fn) == framework.Prefill {
		act.Site = SiteFromPrefill
	}
}

// twin is the source of a replayed activity's twin.
func (a *attribution) twin(w *Trace, act *Activity) (out source) {
	k := w.Analysis.Of(w.Event(act).ID())
	tw := k.Twin()
	if !tw.Launch.Valid() {
		return out
	}
	key := twinKey{tw.Launch, tw.Kernel, act.Operator, act.Stage}
	out, ok := a.twins[key]
	if !ok {
		in := w.Owner(tw.Launch, a.mapping).Analysis
		if a.sites[in] == nil {
			a.sites[in] = NewSites(a.pool, in)
		}
		if tw.Kernel.Valid() {
			out.site, out.op, _ = a.sites[in].Of(tw.Kernel)
		} else {
			out.site, out.op, _ = a.sites[in].find(tw.Launch, 0, false)
		}
		out.model = a.pool.model(k.ModelLine(), act.Operator)
		a.twins[key] = out
	}
	return out
}

// byName are the sources of kernels by their names, of those that one line alone launches.
func byName(mapping []*Trace) map[int32]source {
	out := map[int32]source{}
	for _, w := range mapping {
		for i := range w.Acts {
			act := &w.Acts[i]
			if act.Replay || act.Site <= SiteFromPrefill {
				continue
			}
			s, ok := out[act.Kernel]
			if !ok {
				s = source{act.Site, act.Op, act.Model, true}
			} else if s.site != act.Site {
				s.site = SiteUnresolved
			}
			s.prefill = s.prefill && act.Stage == StagePrefill
			out[act.Kernel] = s
		}
	}
	return out
}

// Align finds the twins of the replays of formal traces, which [Attribute] asks for.
func Align(ctx context.Context, formal []*layer.Analysis) error {
	for _, a := range formal {
		if !hasReplays(a.Trace()) {
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

// Owner returns the trace that an event is of: the activities' own, or that of
// a mapping.
func (w *Trace) Owner(e trace.Event, mapping []*Trace) *Trace {
	for _, m := range mapping {
		if m.Trace.At(e.ID()) == e {
			return m
		}
	}
	return w
}
