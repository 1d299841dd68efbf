package triage

import (
	"context"
	"slices"

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

// twins aligns the replays of a trace with eager launches of the mapping trace,
// or of the trace itself, layer by layer.
func (a *Analysis) twins(ctx context.Context, w *work) (twinTable, error) {
	if !slices.ContainsFunc(w.acts, func(x activity) bool { return x.replay }) {
		return twinTable{}, ctx.Err()
	}
	opts := layer.Options{}
	from := w.t
	if m := a.mappingFor(w); m != nil {
		opts.Mapping, from = m.t, m.t
	}
	an, err := layer.Analyze(ctx, w.t, opts)
	if err != nil {
		return twinTable{}, ctx.Err() // no layers to align: names must do
	}
	out := twinTable{byAct: make([]twin, len(w.acts))}
	byEvent := make(map[int32]int, 0)
	if len(w.acts) != w.t.LaneLen(trace.LaneGPU) {
		for i := range w.acts {
			byEvent[w.acts[i].event] = i
		}
	}
	finder := newSiteFinder(a.pool, from)
	for i := range an.Kernels {
		if i%ctxStride == 0 && ctx.Err() != nil {
			return twinTable{}, ctx.Err()
		}
		if !an.Kernels[i].Replay {
			continue
		}
		tw := an.Source(i)
		if !tw.Launch.Valid() || tw.How != layer.HowName && tw.Confidence < minTwinConfidence {
			continue
		}
		at := an.Event(i).Index()
		if len(byEvent) > 0 {
			k, ok := byEvent[int32(at)]
			if !ok {
				continue
			}
			at = k
		}
		site, op := finder.ofTwin(tw)
		out.byAct[at] = twin{site: site, op: op, sameName: tw.How == layer.HowName}
	}
	return out, nil
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
// stage, else the first; nil where there is none.
func (a *Analysis) mappingFor(w *work) *work {
	if len(a.mapping) == 0 || len(w.acts) == 0 {
		return nil
	}
	for _, m := range a.mapping {
		if len(m.acts) > 0 && m.acts[0].stage == w.acts[0].stage {
			return m
		}
	}
	return a.mapping[0]
}
