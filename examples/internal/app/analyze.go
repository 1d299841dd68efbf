package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// LayerOptions turns the model flags into options for [layer.Analyze]: the
// profile and config that were named, or the config that belongs to the trace.
// A config that is found is announced, one that is not found is no error:
// the trace's own evidence may do.
func (e *Env) LayerOptions() (layer.Options, error) {
	o := layer.Options{NumLayers: e.NumLayers, Anchor: e.Anchor}
	var err error
	if e.Boundaries != published.AnchorOpens { // see AnalyzeTrace
		o.Boundaries = e.Boundaries
	}
	if e.Profile != "" {
		if o.Profile, err = profile.Resolve(e.Profile); err != nil {
			return o, err
		}
	}
	switch {
	case e.Config != "":
		if o.Config, err = profile.ResolveConfig(e.Config); err != nil {
			return o, err
		}
	case e.Demo():
		if o.Config, err = profile.ParseConfig(strings.NewReader(demo.Config())); err != nil {
			return o, err
		}
	default:
		config, source, err := profile.FindConfig(e.Trace)
		switch {
		case err == nil:
			o.Config = config
			e.Notef("config: %s (%s)", config.Path, source)
		case !errors.Is(err, profile.ErrNoConfig):
			e.Notef("config: %v", err)
		}
	}
	if o.Config != nil {
		o.Config.HashLast = e.HashLayers == hashLast
	}
	return o, nil
}

// Analyze loads the trace, finds its passes and layers as the model flags say, and returns the GPU that --device
// names. The lanes that this needs are always kept.
func (e *Env) Analyze(ctx context.Context) (*layer.Device, error) {
	o, err := e.LayerOptions()
	if err != nil {
		return nil, err
	}
	t, err := e.Load(ctx, trace.Options{})
	if err != nil {
		return nil, err
	}
	a, err := e.AnalyzeTrace(ctx, t, o)
	if err != nil {
		return nil, err
	}
	return e.GPU(a)
}

// Architecture is what the config of an analysis says of the model, nil without one.
func Architecture(a *layer.Analysis) *profile.ArchSummary {
	if a.Config == nil {
		return nil
	}
	s := a.Config.Summary()
	return &s
}

// AnalyzeTrace finds the passes and layers of a trace that is loaded already,
// by the published rule where --boundaries asks for that. Only what the user says of the model must be of the trace.
func (e *Env) AnalyzeTrace(ctx context.Context, t *trace.Trace, o layer.Options) (*layer.Analysis, error) {
	if e.Config == "" && e.Profile == "" && e.Anchor == "" && e.NumLayers == 0 && e.Boundaries == boundaryModes[0] {
		return e.AnalyzeAnyway(ctx, t, o)
	}
	return e.analyzeTrace(ctx, t, o, layer.Analyze)
}

// AnalyzeAnyway is [Env.AnalyzeTrace], without what is known about the model where that contradicts the trace.
func (e *Env) AnalyzeAnyway(ctx context.Context, t *trace.Trace, o layer.Options) (*layer.Analysis, error) {
	a, err := e.analyzeTrace(ctx, t, o, layer.AnalyzeAnyway)
	if err == nil {
		e.NoteRefused(e.TraceName(), a)
	}
	return a, err
}

// NoteRefused says what of a model that was given is not of a trace.
func (e *Env) NoteRefused(name string, a *layer.Analysis) {
	if a.Refused != nil {
		e.Notef("%s: %v; passes and layers are those that the trace shows by itself", name, a.Refused)
	}
}

type analyze func(context.Context, *trace.Trace, layer.Options) (*layer.Analysis, error)

func (e *Env) analyzeTrace(ctx context.Context, t *trace.Trace, o layer.Options, by analyze) (*layer.Analysis, error) {
	e.Step("finding passes and layers", 0, 0)
	if e.Boundaries == published.AnchorOpens {
		by = published.Analyze
	}
	a, err := by(ctx, t, o)
	e.progress.clear()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.TraceName(), err)
	}
	e.Judging(a.Health.Status) // passes may lack records
	return a, nil
}

// LoadAnalysis reads a trace file, "" for the one that --trace names or the demo, and finds its passes. A config that
// belongs to the file but contradicts the trace is left out with a note: passes are then found by their own evidence.
func (e *Env) LoadAnalysis(ctx context.Context, path string) (*layer.Analysis, error) {
	of := *e
	if path != "" {
		of.Trace = path
	}
	o, err := of.LayerOptions()
	if err != nil {
		return nil, err
	}
	t, err := of.Load(ctx, trace.Options{})
	if err != nil {
		return nil, err
	}
	return of.AnalyzeAnyway(ctx, t, o)
}

// LoadRanks is [Env.LoadAnalysis] for every rank of a directory, or for all files that a pattern names, in their
// order; with paths, of these files. Labels name them where there are several: rank and stage.
func (e *Env) LoadRanks(ctx context.Context, paths ...string) (ranks []*layer.Analysis, labels []string, err error) {
	if e.Demo() && len(paths) == 0 {
		a, err := e.LoadAnalysis(ctx, "")
		return []*layer.Analysis{a}, nil, err
	}
	of := *e
	if len(paths) > 0 {
		of.Trace = paths[0] // the model's config is looked for beside it
	}
	o, err := of.LayerOptions()
	if err != nil {
		return nil, nil, err
	}
	if len(paths) == 0 {
		paths = []string{of.Trace}
	}
	rec, err := of.OpenRun(ctx, paths, strata.Options{AllRanks: true})
	if err != nil {
		return nil, nil, err
	}
	for _, p := range rec.Parts {
		a, err := of.AnalyzeAnyway(ctx, p.Trace, o)
		if err != nil {
			return nil, nil, err
		}
		ranks = append(ranks, a)
		label := ""
		if len(rec.Parts) > 1 && p.Rank >= 0 {
			label = strings.TrimSpace(fmt.Sprintf("rank %d %s", p.Rank, strings.ToLower(p.Stage)))
		}
		labels = append(labels, label)
	}
	return ranks, labels, nil
}

// Parallelism returns how the run of an analysis was spread over GPUs. It uses the size that the user gave, 0 for none,
// the names of the files beside path, "" for --trace, and the trace itself.
func (e *Env) Parallelism(a *layer.Analysis, path string, tp, ep int) (profile.Parallelism, error) {
	meta := a.Trace().Meta()
	p, err := profile.InferParallelism(profile.ParallelHints{TP: tp, EP: ep, TracePath: cmp.Or(path, e.Trace),
		Distributed: meta.Distributed, WorldSize: meta.WorldSize,
		Divided: a.Divided()})
	if err != nil { // a flag out of range
		return p, Usagef("%w", err)
	}
	return p, nil
}

// KnownTP is the tensor-parallel size that [Env.Parallelism] finds, 0 if it is unknown.
func (e *Env) KnownTP(a *layer.Analysis, path string, tp int) (int, error) {
	p, err := e.Parallelism(a, path, tp, 0)
	return p.TP.N, err
}

// The words of --device: the GPU with most GPU time, and, in programs that can show several, all of them.
const (
	Busiest = "busiest"
	AllGPUs = "all"
)

// GPU returns the GPU of an analysis that --device names, and says which of several it is.
func (e *Env) GPU(a *layer.Analysis) (*layer.Device, error) {
	want, err := e.DeviceID()
	if err != nil {
		return nil, err
	}
	d, err := a.Device(want)
	switch {
	case errors.Is(err, layer.ErrRange):
		return nil, fmt.Errorf("--device %s: %w", e.Device, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", e.TraceName(), err)
	}
	if want == nil && len(a.Devices) > 1 {
		e.Notef("analysed GPU %d of %d, the busiest (--device selects another one)", d.ID, len(a.Devices))
	}
	return d, nil
}

// OneGPU is an analysis of only the GPU that --device names, or, for all, the analysis as it is.
func (e *Env) OneGPU(a *layer.Analysis) (*layer.Analysis, error) {
	if e.Device == AllGPUs || len(a.Devices) == 0 { // what reads a trace without GPU work has its own words for that
		return a, nil
	}
	d, err := e.GPU(a)
	if err != nil {
		return nil, err
	}
	return a.Only(d.ID), nil
}

// checkDevice refuses a --device that is neither a number nor a word of the program's.
func (e *Env) checkDevice(p Program) error {
	if p.Common&DeviceFlag == 0 {
		return nil
	}
	several := p.AllGPUs || p.SumsGPUs || p.RanksGPUs
	if e.Device == AllGPUs && several {
		return nil
	}
	_, err := e.DeviceID()
	if err != nil && several {
		err = fmt.Errorf("%w or %s", err, AllGPUs)
	}
	return err
}

// DeviceID is the number that --device names, nil for the busiest GPU.
func (e *Env) DeviceID() (*trace.DeviceID, error) {
	if e.Device == Busiest || e.Device == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(e.Device, 10, 32)
	if err != nil || n < 0 {
		return nil, Usagef("--device %q: want a number, or %s", e.Device, Busiest)
	}
	id := trace.DeviceID(n)
	return &id, nil
}

// TraceName is how output calls the trace: its path, or the demo's name.
func (e *Env) TraceName() string {
	if e.Demo() {
		return demo.Name
	}
	return e.Trace
}
