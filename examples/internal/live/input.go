package live

import (
	"cmp"
	"context"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// Input makes captures the input of a triage: the formal capture is read for
// time, the mapping one, or else others, for source lines; both may be nil. What the formal
// server said about itself is the report's server. o is what is known of the model.
func Input(ctx context.Context, formal, mapping *capture.Result, others []triage.Source, o layer.Options) (triage.Input,
	error) {
	var sources []triage.Source
	var err error
	if formal == nil {
		return triage.Input{}, trace.ErrNoTrace
	}
	if mapping != nil {
		// On ROCm the args of the launch calls name the kernels that a graph
		// capture recorded.
		if others, err = load(ctx, mapping, trace.Options{Args: []event.Kind{event.Runtime}}); err != nil {
			return triage.Input{}, err
		}
	}
	if sources, err = load(ctx, formal, trace.Options{}); err != nil {
		return triage.Input{}, err
	}
	in, err := triage.NewInput(ctx, sources, others, o)
	if err != nil {
		return in, err
	}
	in.Server, err = serverOf(formal)
	return in, err
}

// load opens one trace per stage: the first in order of names that is not
// merged, which is the lowest rank's.
func load(ctx context.Context, r *capture.Result, o trace.Options) ([]triage.Source, error) {
	var paths []string
	for _, s := range r.Stages {
		// A server that separates the stages itself leaves one trace for each
		// in one folder.
		seen := map[string]bool{}
		for _, t := range s.Traces {
			stage := framework.ReadFileName(framework.All(), t.Path).Stage
			if t.Merged || seen[stage] {
				continue
			}
			seen[stage] = true
			paths = append(paths, t.Path)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	rec, err := strata.OpenFiles(ctx, paths, strata.Options{Trace: o})
	if err != nil {
		return nil, err
	}
	return Sources(rec), nil
}

// Sources are the traces of a recording.
func Sources(rec *strata.Recording) []triage.Source {
	var out []triage.Source
	for _, p := range rec.Parts {
		out = append(out, triage.Source{Trace: p.Trace, Path: p.Shown()})
	}
	return out
}

// serverOf returns what the server said about itself: to the file beside the
// first stage's traces, else to the capture.
func serverOf(r *capture.Result) (triage.Server, error) {
	server := triage.Server{Framework: r.Framework.Title(), Model: r.Info.Model, TPSize: r.Info.TP}
	for _, s := range r.Stages {
		if s.ServerArgs == "" {
			continue
		}
		said, err := triage.ReadBeside(s.ServerArgs)
		server.Model, server.TPSize = cmp.Or(said.Model, server.Model), cmp.Or(said.TPSize, server.TPSize)
		return server, err
	}
	return server, nil
}
