package triage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// errNoProcess reports that [Options.Process] is of no process that launched GPU work.
var errNoProcess = errors.New("triage: no such process")

// errNoTrace reports that there is nothing to analyse.
var errNoTrace = fmt.Errorf("triage: nothing to analyse: %w", trace.ErrNoTrace)

// Input is what [Analyze] works on; [NewInput] makes one of loaded traces.
type Input struct {
	// Formal are read for time: one per stage, or one with all of them. Where
	// one was analysed with a mapping ([layer.Options.Mapping]), kernels of graph
	// replays get their source lines from there.
	Formal []*layer.Analysis
	// Mapping are read for source lines only; there may be none.
	Mapping []*layer.Analysis
	// FormalPaths and MappingPaths are what reports call the traces. A path that
	// names a stage is believed where the trace says nothing of it.
	FormalPaths, MappingPaths []string
	Server                    Server // what the server said about itself
	// Waits say of each formal trace how long its collectives wait. Nil: what [fleet.Waits] says of the formal traces.
	Waits []map[trace.DeviceID]*layer.RankWaits
	// Counter has counted the ops of the formal traces. Nil: they are counted here, on the GPUs of the traces.
	Counter *roofline.Counter
	// Warnings are things found while loading that the report should repeat.
	Warnings []trace.Remark
}

// Analyze computes the report. It fails only when in has no formal trace, or when ctx ends, with ctx's error; a trace
// without GPU activity gives a report that says so. It looks at ctx between its stages, none longer
// than a fraction of the load of the trace.
func Analyze(ctx context.Context, in Input, o Options) (*Report, error) {
	if len(in.Formal) == 0 {
		return nil, errNoTrace
	}
	a := &analysis{Options: o.complete(), registry: defaultRegistry(), in: in, pool: activity.NewPool()}
	if err := a.run(ctx); err != nil {
		return nil, err
	}
	return a.report, nil
}

// reportSchema is the form of the JSON document.
const reportSchema = "strata.triage/2"

// analysis is what a report is made of, and what exports need. It is not changed
// after Analyze returns.
type analysis struct {
	Options
	registry *fusion.Registry
	in       Input
	pool     *activity.Pool
	formal   []*activity.Trace
	mapping  []*activity.Trace
	report   *Report
	steps    *chain.Recogniser
	ops      chain.Ops // of the formal traces

	modelFiles string // see findModelFiles
	training   bool   // see isTraining
	serving    bool   // see isServing
}

func (a *analysis) run(ctx context.Context) error {
	if slices.Contains(a.in.Formal, nil) || slices.Contains(a.in.Mapping, nil) {
		return errNoTrace
	}
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return activity.Align(inner, a.in.Formal) })
	g.Go(func() error { return a.collectAll(inner) })
	if err := g.Wait(); err != nil {
		return err
	}
	a.report = &Report{Schema: reportSchema, Mode: modeSingle, MinSharePct: a.MinSharePct, Stages: []StageReport{},
		Findings: []finding.Finding{}, Health: []HealthNote{}, from: a}
	a.head()
	a.pool.Label()
	var exposures []*exposureSums
	var stages []*stageWork
	g, inner = errgroup.WithContext(ctx)
	g.Go(func() error {
		exposures = a.exposures()
		return nil
	})
	g.Go(func() (err error) {
		stages, err = a.attribute(inner)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	for _, s := range stages {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.exposure, s.exchanges = exposures[s.index].ledger(), exposures[s.index].byKernel
		a.report.Stages = append(a.report.Stages, a.stage(s))
		a.report.Findings = append(a.report.Findings, a.findings(s, &a.report.Stages[len(a.report.Stages)-1])...)
	}
	a.report.Summary = summarise(a.report)
	return ctx.Err()
}

// attribute finds where the activities come from, and which chains they make in each stage.
func (a *analysis) attribute(ctx context.Context) (stages []*stageWork, err error) {
	if a.report.MappingRefused, err = activity.Attribute(ctx, a.pool, a.formal, a.mapping); err != nil {
		return nil, err
	}
	a.findModelFiles()
	a.training, a.serving = a.isTraining(), a.isServing()
	a.steps = chain.NewRecogniser(a.registry, a.pool)
	if a.ops, err = chain.OpsOf(ctx, a.formal, cmp.Or(a.in.Counter, &roofline.Counter{})); err != nil {
		return nil, err
	}
	stages = splitStages(a.pool, a.formal)
	for _, s := range stages {
		a.findChains(s)
	}
	return stages, nil
}

// collectAll reads the activities of all traces.
func (a *analysis) collectAll(ctx context.Context) (err error) {
	if a.formal, err = a.collect(ctx, a.in.Formal, a.in.FormalPaths); err != nil {
		return err
	}
	if a.Process != "" && !slices.ContainsFunc(a.formal, func(w *activity.Trace) bool { return len(w.Acts) > 0 }) {
		if list := activity.Processes(a.in.Formal); len(list) > 0 {
			return fmt.Errorf("%w: none has %q in its id, label or name: %s", errNoProcess, a.Process,
				strings.Join(list, ", "))
		}
	}
	a.mapping, err = a.collect(ctx, a.in.Mapping, a.in.MappingPaths)
	return err
}

// pathOf is path i of a list that may be shorter.
func pathOf(paths []string, i int) string {
	if i < len(paths) {
		return paths[i]
	}
	return ""
}

func (a *analysis) collect(ctx context.Context, list []*layer.Analysis, paths []string) ([]*activity.Trace, error) {
	var out []*activity.Trace
	for i, an := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w := a.pool.Collect(ctx, an, pathOf(paths, i), a.Process)
		w.Part = int32(len(out))
		out = append(out, w)
	}
	return out, ctx.Err()
}

// head fills the report's head: mode, framework, traces, model, health.
func (a *analysis) head() {
	r := a.report
	r.Framework = a.frameworkOf(a.in.Formal, a.in.FormalPaths)
	for _, w := range a.formal {
		r.Traces = append(r.Traces, w.Path)
	}
	if len(a.in.Mapping) > 0 {
		r.Mode = modeMappingFormal
		r.MappingFramework = a.frameworkOf(a.in.Mapping, a.in.MappingPaths)
		for _, w := range a.mapping {
			r.MappingTraces = append(r.MappingTraces, w.Path)
		}
	}
	r.Model = cmp.Or(a.Model, a.in.Server.Model)
	r.TPSize = a.tensorParallel()
	for _, w := range slices.Concat(a.formal, a.mapping) {
		r.Health = append(r.Health, healthNote(w))
	}
	if len(a.in.Warnings) > 0 {
		r.Health = append(r.Health, HealthNote{Trace: "input", Status: trace.HealthDegraded, Findings: a.in.Warnings})
	}
	slices.SortStableFunc(r.Health, func(x, y HealthNote) int { return y.Status.Compare(x.Status) })
}

// tensorParallel is the number of tensor-parallel ranks, 0 if unknown.
func (a *analysis) tensorParallel() int {
	w := a.formal[0]
	m := w.Trace.Meta()
	p, _ := profile.InferParallelism(profile.ParallelHints{TP: cmp.Or(a.TPSize, a.in.Server.TPSize),
		Distributed: m.Distributed, WorldSize: m.WorldSize, TracePath: w.Path,
		Divided: w.Analysis.Divided()}) // of what contradicts itself there is none
	return p.TP.N
}

// healthNote keeps the findings that touch what this report shows.
func healthNote(w *activity.Trace) HealthNote {
	h := w.Analysis.Health
	n := HealthNote{Trace: w.Path, Status: h.Status}
	for _, f := range h.Findings {
		if f.Severity != trace.HealthOK && touches(f.Affects) { // else it is a remark, not a warning
			n.Findings = append(n.Findings, f)
		}
	}
	return n
}

// touches reports whether a finding that affects these is about what a report shows.
func touches(affects []trace.Area) bool {
	return len(affects) == 0 || slices.ContainsFunc(affects, func(x trace.Area) bool {
		return x == trace.AffectsAttribution || x == trace.AffectsGPUTime || x == trace.AffectsCompleteness
	})
}

// stage computes the three tables of one stage.
func (a *analysis) stage(s *stageWork) StageReport {
	out := StageReport{Stage: stageWord(stageOrder[s.index]), PassStage: stageOrder[s.index], GPUTimeUS: micros(s.ns),
		Launches: s.acts, Kernels: make([]KernelRow, 0, len(s.rows)), Categories: s.categories(a.pool)}
	out.Steps, out.Batch = s.steps()
	out.Operators = s.operators(a.pool)
	out.StepNS, out.TokenNS = s.perStep()
	out.ReplaySources = s.replaySources()
	out.UnresolvedPct, out.UnresolvedFix = a.unresolved(s)
	out.Exposure = s.exposure
	wall, idle := s.wall()
	out.BusyUS, out.SpanUS, out.IdlePct = micros(wall-idle), micros(wall), percent(idle, wall)
	out.Devices = s.devices()
	if out.Outside, out.OutsideNS = s.outside, s.outsideNS; s.outside > 0 {
		out.Stray, out.StrayLabel = a.pool.Name(s.stray), a.pool.Labels[s.stray]
	}
	out.Overlap, out.OverlapNote = a.overlap(s)
	out.Fuse = a.fuseRows(s)
	out.Slow = a.slow(s)
	for i := range s.rows {
		if a.KernelLimit > 0 && len(out.Kernels) == a.KernelLimit {
			out.HiddenRows = len(s.rows) - i
			break
		}
		out.Kernels = append(out.Kernels, s.kernelRow(a.pool, &s.rows[i]))
	}
	return out
}
