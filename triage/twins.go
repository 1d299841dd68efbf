package triage

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
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
	if i >= len(t.byAct) || t.byAct[i].site <= siteFromPrefill {
		return twin{}, false
	}
	return t.byAct[i], true
}

// minTwinConfidence is how sure the alignment of layers must be of a twin whose
// name differs. A kernel that only stands between two matched ones (a position
// match) is below it.
const minTwinConfidence = 0.5

// Source is one loaded trace of a run and the path that reports show for it.
type Source struct {
	Trace *trace.Trace // loaded with every lane
	Path  string
}

// NewInput analyses the traces of a run, and of a mapping run if there is one:
// each formal trace against the mapping trace of the same stage. Where o speaks
// of another model than a trace shows, the trace alone is asked. Of a graph
// capture on ROCm the launch calls' args ([trace.Options.Args] of
// [trace.KindRuntime]) name the kernels, and so tell more than their number.
func NewInput(ctx context.Context, formal, mapping []Source, o layer.Options) (Input, error) {
	in := Input{}
	var err error
	if in.Mapping, err = analyseAll(ctx, mapping, func(Source) layer.Options { return o }); err != nil {
		return Input{}, err
	}
	in.Formal, err = analyseAll(ctx, formal, func(s Source) layer.Options {
		o := o
		o.Mapping = mappingFor(s, in.Mapping, mapping)
		return o
	})
	if err != nil {
		return Input{}, err
	}
	for _, s := range formal {
		in.FormalPaths = append(in.FormalPaths, s.Path)
	}
	for _, s := range mapping {
		in.MappingPaths = append(in.MappingPaths, s.Path)
	}
	if err := ctx.Err(); err != nil {
		return Input{}, err
	}
	return in, nil
}

// analyseAll analyses traces at once.
func analyseAll(ctx context.Context, sources []Source, options func(Source) layer.Options) ([]*layer.Analysis, error) {
	out := make([]*layer.Analysis, len(sources))
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range sources {
		if s.Trace == nil {
			return nil, ErrNoTrace
		}
		g.Go(func() (err error) {
			o := options(s)
			if out[i], err = layer.Analyze(ctx, s.Trace, o); err != nil && ctx.Err() == nil {
				out[i], err = layer.Analyze(ctx, s.Trace, layer.Options{Rules: o.Rules, Mapping: o.Mapping, ForceMapping: o.ForceMapping})
			}
			if err != nil {
				return fmt.Errorf("triage: %s: %w", s.Path, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// mappingFor returns the mapping analysis for a formal trace: that of the same
// stage by the files' names, else the first with GPU activities, else the first;
// nil where there is none.
func mappingFor(formal Source, list []*layer.Analysis, sources []Source) *layer.Analysis {
	var best *layer.Analysis
	score := -1
	for i, m := range list {
		n := 0
		if len(m.Devices) > 0 {
			n = 1
			if want := fileStage(formal.Path); want != noStage && want == mainStage(m, sources[i].Path) {
				n = 2
			}
		}
		if n > score {
			best, score = m, n
		}
	}
	return best
}

// mainStage returns the stage of most of an analysis' steps, else what the path
// hints at.
func mainStage(a *layer.Analysis, path string) int8 {
	hint := fileStage(path)
	best, most := hint, 0
	for i, c := range stagesOf(a, hint).countSteps(a) {
		if c.steps > most {
			best, most = int8(i), c.steps
		}
	}
	return best
}

// twins returns what the replays of a formal trace were aligned with, in the
// order of its activities.
func (a *analysis) twins(ctx context.Context, w *work) (twinTable, error) {
	out := twinTable{}
	finders := map[*trace.Trace]*siteFinder{}
	known := map[twinKey]twin{} // replays have few twins, and each many times
	for i := range w.acts {
		act := &w.acts[i]
		if !act.replay {
			continue
		}
		k := w.a.Of(w.event(act).ID())
		if !k.Valid() || k.Device().NumLayers == 0 {
			continue // no layers to align: names must do
		}
		if out.byAct == nil {
			out.byAct = make([]twin, len(w.acts))
			for d := range w.a.Devices {
				if err := w.a.Devices[d].Align(ctx); err != nil {
					return out, err
				}
			}
		}
		tw := k.Twin()
		if !tw.Launch.Valid() || tw.How != layer.HowName && tw.Confidence < minTwinConfidence {
			continue
		}
		key := twinKey{tw.Launch, tw.Kernel, act.stage}
		found, ok := known[key]
		if !ok {
			from := a.traceOf(tw.Launch, w)
			if finders[from] == nil {
				finders[from] = newSiteFinder(a.pool, from)
			}
			found.site, found.op = finders[from].ofTwin(tw)
			found.model = a.pool.model(k.ModelLine())
			known[key] = found
		}
		found.sameName = tw.How == layer.HowName
		out.byAct[i] = found
	}
	return out, nil
}

// traceOf returns the trace that an event is of: the activities' own, or that of
// a mapping.
func (a *analysis) traceOf(e trace.Event, w *work) *trace.Trace {
	for _, m := range a.in.Mapping {
		if m.Trace().At(e.ID()) == e {
			return m.Trace()
		}
	}
	return w.t
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
