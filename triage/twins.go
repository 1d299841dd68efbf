package triage

import (
	"context"
	"sync"

	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// twin is the eager launch that a replayed activity stands for.
type twin struct {
	site, op int32
	sameName bool
}

// twinTable holds the twins of one trace's activities.
type twinTable struct{ byAct []twin }

// at returns the twin of activity i, false where there is none.
func (t twinTable) at(i int) (twin, bool) {
	if i >= len(t.byAct) || t.byAct[i].site <= siteReplay {
		return twin{}, false
	}
	return t.byAct[i], true
}

// minTwinConfidence is how sure the alignment of layers must be of a twin whose
// name differs. A kernel that only stands between two matched ones (a position
// match) is below it.
const minTwinConfidence = 0.5

// alignments are the layers of the formal traces that replay graphs, found
// while the activities are collected.
type alignments struct {
	wg   sync.WaitGroup
	of   []*layer.Device // per formal trace: its busiest GPU; nil where it replays nothing or has no layers
	from []*trace.Trace  // per formal trace: where its twins are
}

// align begins to find the layers of the formal traces, and the twins of their
// replayed kernels in the mapping trace, or in the trace itself.
func (a *Analysis) align(ctx context.Context) *alignments {
	al := &alignments{of: make([]*layer.Device, len(a.in.Formal)), from: make([]*trace.Trace, len(a.in.Formal))}
	mappings := make([]*trace.Trace, len(a.in.Formal)) // before anything runs beside: this may unwind
	analysed := map[*trace.Trace]func() *layer.Analysis{nil: func() *layer.Analysis { return nil }}
	for i, s := range a.in.Formal {
		m := a.mappingFor(s)
		mappings[i] = m
		if analysed[m] == nil {
			analysed[m] = sync.OnceValue(func() *layer.Analysis { return analyzeAnyway(ctx, m, a.layers) })
		}
	}
	for i, s := range a.in.Formal {
		if s.Trace == nil {
			continue
		}
		m := mappings[i]
		al.wg.Go(func() {
			al.from[i] = s.Trace
			if m != nil {
				al.from[i] = m
			}
			if !hasReplays(stop.New(ctx), s.Trace) {
				return
			}
			opts := a.layers
			opts.Mapping = analysed[m]()
			an := analyzeAnyway(ctx, s.Trace, opts)
			if an == nil || len(an.Devices) == 0 {
				return // no layers to align: names must do
			}
			if d := &an.Devices[0]; d.Align(ctx) == nil { // else ctx has ended, and so does the run
				al.of[i] = d
			}
		})
	}
	return al
}

// analyzeAnyway analyses a trace with what options say of the model, or, where that is of another model, without; nil when ctx has
// ended.
func analyzeAnyway(ctx context.Context, t *trace.Trace, opts layer.Options) *layer.Analysis {
	an, err := layer.Analyze(ctx, t, opts)
	if err != nil && ctx.Err() == nil {
		an, err = layer.Analyze(ctx, t, layer.Options{Mapping: opts.Mapping})
	}
	if err != nil {
		return nil
	}
	return an
}

func hasReplays(watch *stop.Watch, t *trace.Trace) bool {
	for e := range stop.Each(watch, t.Events(trace.LaneGPU)) {
		if e.IsReplay() {
			return true
		}
	}
	return false
}

// twins returns what the replays of a formal trace were aligned with.
func (a *Analysis) twins(al *alignments, w *work) twinTable {
	an, from := al.of[w.part], al.from[w.part]
	if an == nil {
		return twinTable{}
	}
	out := twinTable{byAct: make([]twin, len(w.acts))}
	byEvent := make(map[int32]int, 0)
	if len(w.acts) != w.t.LaneLen(trace.LaneGPU) {
		for i := range w.acts {
			byEvent[w.acts[i].event] = i
		}
	}
	finder := newSiteFinder(a.pool, from)
	known := map[[2]trace.Event]twin{} // replays have few twins, and each many times
	for k := range an.Kernels() {
		a.pool.watch.Row()
		if !k.Replay() {
			continue
		}
		tw := k.Twin()
		if !tw.Launch.Valid() || tw.How != layer.HowName && tw.Confidence < minTwinConfidence {
			continue
		}
		at := k.Event().Index()
		if len(byEvent) > 0 {
			k, ok := byEvent[int32(at)]
			if !ok {
				continue
			}
			at = k
		}
		key := [2]trace.Event{tw.Launch, tw.Kernel}
		found, ok := known[key]
		if !ok {
			found.site, found.op = finder.ofTwin(tw)
			known[key] = found
		}
		found.sameName = tw.How == layer.HowName
		out.byAct[at] = found
	}
	return out
}

// ofTwin returns the site and op of an eager launch.
func (f *siteFinder) ofTwin(tw layer.Twin) (site, op int32) {
	if tw.Kernel.Valid() {
		site, op, _ = f.of(tw.Kernel)
		return site, op
	}
	if o := tw.Launch.Op(); o.Valid() {
		op = f.op(o)
	} else {
		op = f.op(tw.Launch)
	}
	if best := f.bestFrame(f.t.FrameAt(tw.Launch.Thread(), tw.Launch.Start()), false); best.Valid() {
		return f.site(best), op
	}
	return siteUnresolved, op
}

// mappingFor returns the mapping trace for a formal one: that of the same
// stage, else the first with GPU activities, else the first; nil where there is
// none.
func (a *Analysis) mappingFor(formal Source) *trace.Trace {
	var best *trace.Trace
	score := -1
	want := mainStage(a.pool.watch, formal)
	for _, m := range a.in.Mapping {
		if m.Trace == nil {
			continue
		}
		n := 0
		if m.Trace.LaneLen(trace.LaneGPU) > 0 {
			n = 1
			if len(a.in.Mapping) > 1 && mainStage(a.pool.watch, m) == want {
				n = 2
			}
		}
		if n > score {
			best, score = m.Trace, n
		}
	}
	return best
}

// mainStage returns the stage of a trace, or that of most of its steps; "" where
// neither is known.
func mainStage(watch *stop.Watch, s Source) string {
	if s.Stage != "" || s.Trace == nil {
		return stageWord(s.Stage)
	}
	best, most := "", 0
	counts := newStages(watch, s.Trace).count()
	for _, name := range stageOrder {
		if n := counts[name].steps; n > most {
			best, most = name, n
		}
	}
	return best
}
