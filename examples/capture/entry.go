package main

import (
	"context"
	"fmt"
	"os"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// triageEntry makes the report of one entry: of its single or formal capture,
// read against its mapping capture where there is one.
func triageEntry(ctx context.Context, e capture.Entry) (*triage.Report, error) {
	var in triage.Input
	for _, c := range e.Captures {
		sources, err := load(ctx, c.Result)
		if err != nil {
			return nil, err
		}
		if c.Role == capture.RoleMapping {
			in.Mapping = sources
			continue
		}
		in.Formal = sources
		if in.Server, err = serverOf(c.Result); err != nil {
			return nil, err
		}
	}
	return triage.Analyze(ctx, in, triage.WithFramework(e.Framework.Title()))
}

// load opens one trace per stage: the first in order of names that is not
// merged, which is the lowest rank's.
func load(ctx context.Context, r *capture.Result) ([]triage.Source, error) {
	var sources []triage.Source
	for _, s := range r.Stages {
		// A server that separates the stages itself leaves one trace for each
		// in one folder.
		seen := map[string]bool{}
		for _, t := range s.Traces {
			stage := trace.StageFromPath(t.Path)
			if t.Merged || seen[stage] {
				continue
			}
			seen[stage] = true
			tr, err := trace.Open(ctx, t.Path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.Path, err)
			}
			sources = append(sources, triage.Source{Trace: tr, Path: t.Path, Stage: stage})
		}
	}
	return sources, nil
}

// serverOf reads what the server said about itself, from the file beside the
// first stage's traces.
func serverOf(r *capture.Result) (triage.Server, error) {
	for _, s := range r.Stages {
		if s.ServerArgs == "" {
			continue
		}
		f, err := os.Open(s.ServerArgs)
		if err != nil {
			return triage.Server{}, err
		}
		defer f.Close()
		return triage.ReadServerArgs(f)
	}
	return triage.Server{}, nil
}
