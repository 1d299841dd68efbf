package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/view"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// topKernels is how many kernels of a stage a record keeps: enough to see what
// changed, few enough to read.
const topKernels = 5

// MeasurePath analyses the traces that a server wrote to a directory, of one
// rank, or one trace file, with what the server said about itself beside them.
func MeasurePath(ctx context.Context, path string) (*Record, error) {
	rec, err := strata.Open(ctx, path, strata.Options{})
	if err != nil {
		return nil, err
	}
	var sources []triage.Source
	var paths []string
	for _, p := range rec.Parts {
		sources = append(sources, triage.Source{Trace: p.Trace, Path: p.Path})
		paths = append(paths, p.Path)
	}
	// The model's config.json names the types of layers. Without one the
	// trace's own evidence has to do.
	var opts layer.Options
	if config, _, err := profile.FindConfig(paths[0]); err == nil {
		opts.Config = config
	}
	in, err := triage.NewInput(ctx, sources, nil, opts)
	if err != nil {
		return nil, err
	}
	if in.Server, err = triage.ReadBeside(paths...); err != nil {
		return nil, err
	}
	return Measure(ctx, in)
}

// Measure takes the figures of a run whose traces are analysed. Everything happens in this process:
// no files are written and no programs are run, so that a benchmark can call it
// between two runs.
func Measure(ctx context.Context, in triage.Input) (*Record, error) {
	report, err := triage.Analyze(ctx, in, triage.Options{KernelLimit: topKernels})
	if err != nil {
		return nil, err
	}
	rec := &Record{Schema: schema, Framework: report.Framework, Model: report.Model}
	for _, s := range report.Stages {
		for _, k := range s.Kernels {
			row := KernelRecord{Stage: s.Stage, Kernel: k.Kernel, Category: k.Category, SharePct: round(k.SharePct),
				Launches: k.Launches}
			if len(k.Locations) > 0 {
				row.Location = k.Locations[0].Location
			}
			rec.Kernels = append(rec.Kernels, row)
		}
	}
	for i, an := range in.Formal {
		tr, err := measureTrace(ctx, an, in.FormalPaths[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.FormalPaths[i], err)
		}
		rec.Traces = append(rec.Traces, *tr)
	}
	return rec, nil
}

// measureTrace takes the figures of one trace. A trace without GPU kernels
// has none, and its health says why.
func measureTrace(ctx context.Context, an *layer.Analysis, path string) (*TraceRecord, error) {
	t := an.Trace()
	health := t.Health()
	rec := &TraceRecord{Name: filepath.Base(path), Rank: t.Meta().Rank, Health: health.Status}
	for _, f := range health.Findings {
		rec.Findings = append(rec.Findings, string(f.Code))
	}
	if len(an.Devices) == 0 {
		return rec, nil
	}
	a := &an.Devices[0] // the GPU with most GPU time
	rec.NumLayers, rec.LayerSource = a.NumLayers, string(a.LayerSource)
	rec.Passes = groupPasses(a.Passes)
	if a.Steady.Pass != trace.None {
		tl, err := view.NewTimeline(a, a.Steady.Pass)
		if err != nil {
			return nil, err
		}
		for _, c := range tl.Clusters {
			l := LayerRecord{Type: c.Type, Count: c.Count, WallUS: round(1000 * c.AvgWallMS),
				SharePct: map[string]float64{}}
			for _, s := range c.Share {
				l.SharePct[s.Key] = round(s.Value)
			}
			rec.LayerTypes = append(rec.LayerTypes, l)
		}
	}
	v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{an}, hostoverhead.Options{})
	if errors.Is(err, layer.ErrNoKernels) {
		return rec, nil
	}
	if err != nil {
		return nil, err
	}
	h := v.Headroom
	rec.Host = &HostRecord{Bottleneck: v.Verdict.String(), Confidence: v.Confidence.String(),
		Share: share(h.HostNS, h.WallNS), AtMost: h.AtMost}
	if h.WallNS > 0 {
		idle := share(h.IdleNS, h.WallNS)
		rec.Host.GPUIdle = &idle
	}
	for _, d := range v.Doubts {
		rec.Host.Doubts = append(rec.Host.Doubts, d.Code.String())
	}
	return rec, nil
}

// groupPasses sums up the passes that the window does not cut, by stage and
// batch size, in the order in which they first ran.
func groupPasses(passes []layer.ForwardPass) []PassGroup {
	var groups []PassGroup
	var walls [][]time.Duration // by group
	for i := range passes {
		p := &passes[i]
		if p.Partial != "" {
			continue
		}
		g := slices.IndexFunc(groups, func(g PassGroup) bool { return g.Stage == p.Stage && g.Batch == p.Batch })
		if g < 0 {
			g = len(groups)
			groups = append(groups, PassGroup{Stage: p.Stage, Batch: p.Batch})
			walls = append(walls, nil)
		}
		walls[g] = append(walls[g], p.Wall())
	}
	for i, w := range walls {
		slices.Sort(w)
		groups[i].Count = len(w)
		groups[i].MedianUS = micros(w[(len(w)-1)/2]) // a time that was measured, also of an even number
		groups[i].WorstUS = micros(w[len(w)-1])
	}
	return groups
}

// round leaves three decimals: nanoseconds of a time in microseconds.
func round(x float64) float64 { return math.Round(1000*x) / 1000 }

// share is a part of a time with four decimals.
func share(ns, of int64) float64 { return math.Round(1e4*float64(ns)/max(float64(of), 1)) / 1e4 }

// micros converts to microseconds.
func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
