package triage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/trace"
)

// ErrNoTrace reports that there is nothing to analyse.
var ErrNoTrace = errors.New("triage: no trace given")

// Source is one loaded trace of an analysis.
type Source struct {
	Trace *trace.Trace // loaded with every lane
	Path  string       // as shown in the report
	// Stage is the stage of the whole trace where its path tells, as
	// [trace.File] has it, "" to take it from the trace's annotations.
	Stage string
}

// Input is what [Analyze] works on.
type Input struct {
	Formal []Source // read for time; one per stage, or one with all of them
	// Mapping is read for source lines only; it may be empty. Of a graph capture
	// on ROCm the launch calls' args ([trace.Options.Args] of [trace.KindRuntime])
	// name the kernels, and so tell more than their number.
	Mapping []Source
	Server  Server // what the server said about itself
	// Warnings are things found while loading that the report should repeat.
	Warnings []trace.Finding
}

// Analyze computes the report: [Run] for those who need nothing else.
func Analyze(ctx context.Context, in Input, opts ...Option) (*Report, error) {
	a, err := Run(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return a.report, nil
}

// Run analyses the traces. It fails only when in has no formal trace, an option
// is wrong or ctx ends, with ctx's error; a trace without GPU activity gives a report that says
// so.
func Run(ctx context.Context, in Input, opts ...Option) (*Analysis, error) {
	if len(in.Formal) == 0 {
		return nil, ErrNoTrace
	}
	c := config{minShare: DefaultMinSharePct, overlapLimit: defaultOverlapLimit}
	for _, o := range opts {
		o.apply(&c)
	}
	if c.rules == nil {
		c.rules = classify.Default()
	}
	if c.registry == nil {
		c.registry = DefaultRegistry()
	}
	a := &Analysis{config: c, in: in, pool: newPool(c.rules)}
	if err := a.run(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// Analysis is the result of [Run]: the report and what exports need. It is not
// changed after Run returns.
type Analysis struct {
	config
	in      Input
	pool    *pool
	formal  []*work
	mapping []*work
	report  *Report
	steps   *recogniser

	modelFiles string // see findModelFiles
}

// Report returns the report. The caller must not change it.
func (a *Analysis) Report() *Report { return a.report }

func (a *Analysis) run(ctx context.Context) (err error) {
	defer stop.Guard(&err)
	a.pool.watch = stop.New(ctx)
	defer func() { a.pool.watch = nil }()
	al := a.align(ctx)
	defer al.wg.Wait()
	if a.formal, err = a.collect(a.in.Formal); err != nil {
		return err
	}
	if a.mapping, err = a.collect(a.in.Mapping); err != nil {
		return err
	}
	a.report = &Report{Mode: ModeSingle, MinSharePct: a.minShare, Stages: []StageReport{}, Similarity: []SimilarityNote{}, Health: []HealthNote{}}
	a.head()
	al.wg.Wait()
	if err := a.pool.watch.Err(); err != nil {
		return err
	}
	a.attribute(al)
	a.findModelFiles()
	a.steps = newRecogniser(a.registry, a.pool)
	for _, s := range splitStages(a.pool, a.formal) {
		stage := a.stage(s)
		a.report.Stages = append(a.report.Stages, stage)
		if len(stage.Fuse) == 0 {
			a.report.Similarity = append(a.report.Similarity, a.similarities(s)...)
		}
	}
	a.report.Summary = summarise(a.report)
	return a.pool.watch.Err()
}

func (a *Analysis) collect(sources []Source) ([]*work, error) {
	var out []*work
	for _, s := range sources {
		if s.Trace == nil {
			return nil, ErrNoTrace
		}
		w, err := a.pool.collect(s.Trace, s.Path, stageWord(s.Stage), a.process)
		if err != nil {
			return nil, err
		}
		w.part = int32(len(out))
		out = append(out, w)
	}
	return out, nil
}

// head fills the report's head: mode, framework, traces, model, health.
func (a *Analysis) head() {
	r := a.report
	r.Framework = a.frameworkOf(a.in.Formal)
	for _, s := range a.in.Formal {
		r.Traces = append(r.Traces, s.Path)
	}
	if len(a.in.Mapping) > 0 {
		r.Mode = ModeMappingFormal
		r.MappingFramework = a.frameworkOf(a.in.Mapping)
		for _, s := range a.in.Mapping {
			r.MappingTraces = append(r.MappingTraces, s.Path)
		}
	}
	r.Model = cmp.Or(a.model, a.in.Server.Model)
	r.TPSize = cmp.Or(a.tpSize, a.in.Server.TPSize)
	for _, s := range slices.Concat(a.in.Formal, a.in.Mapping) {
		r.Health = append(r.Health, healthNote(s))
	}
	if len(a.in.Warnings) > 0 {
		r.Health = append(r.Health, HealthNote{Trace: "input", Status: trace.HealthDegraded, Findings: a.in.Warnings})
	}
	slices.SortStableFunc(r.Health, func(x, y HealthNote) int { return cmp.Compare(y.Status, x.Status) })
}

// healthNote keeps the findings that touch what this report shows.
func healthNote(s Source) HealthNote {
	h := s.Trace.Health()
	n := HealthNote{Trace: s.Path, Status: h.Status}
	for _, f := range h.Findings {
		if f.Severity == trace.HealthOK {
			continue // a remark, not a warning
		}
		touches := len(f.Affects) == 0
		for _, x := range f.Affects {
			switch x {
			case "attribution", "gpu-time", "completeness":
				touches = true
			}
		}
		if touches {
			n.Findings = append(n.Findings, f)
		}
	}
	return n
}

// stage computes the three tables of one stage.
func (a *Analysis) stage(s *stageWork) StageReport {
	out := StageReport{Stage: stageOrder[s.index], GPUTimeUS: micros(s.ns), Launches: s.acts,
		Kernels: []KernelRow{}, Categories: s.categories(a.pool), Overlap: []OverlapRow{}, Fuse: []FuseRow{}}
	out.Steps, out.Batch = s.steps()
	b := s.busy(a.pool.watch)
	out.BusyUS, out.SpanUS, out.IdlePct = micros(b.union), micros(b.span), percent(b.idle, b.window)
	out.Devices = b.devices
	out.Overlap, out.OverlapNote = a.overlap(s)
	out.Fuse = a.chainFuse(s)
	for i := range s.rows {
		k := s.kernelRow(a.pool, &s.rows[i])
		if k.SharePct < a.minShare || a.kernelLimit > 0 && len(out.Kernels) == a.kernelLimit {
			out.HiddenRows++
			continue
		}
		out.Kernels = append(out.Kernels, k)
	}
	return out
}
