package app

import (
	"context"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/triage"
)

// RefusePublished is the error of a program that prints no layers and is asked for the boundaries of the published
// script.
func (e *Env) RefusePublished() error {
	if e.Boundaries == published.AnchorOpens {
		return Usagef("--boundaries %s is for programs that print layers", e.Boundaries)
	}
	return nil
}

// ReportOptions are the options of a report, by the flags of every program that makes one: of the model, the GPU, the
// floors, and of the older run to compare with, "" for none. The model's config is looked for beside the first of
// paths.
func (e *Env) ReportOptions(ctx context.Context, paths []string, r *Reckoning, against string) (o strata.ReportOptions,
	err error) {
	if err := e.RefusePublished(); err != nil {
		return o, err
	}
	o.Flags = e.carried
	if len(paths) > 0 {
		e.Trace = paths[0]
	}
	if o.Layers, err = e.LayerOptions(); err != nil {
		return o, err
	}
	if o.Device, err = e.DeviceID(); err != nil {
		return o, err
	}
	if o.Light, err = r.Options(); err != nil {
		return o, err
	}
	if against != "" {
		o.Against, err = e.Open(ctx, against, strata.Options{AllRanks: true})
	}
	return o, err
}

// Paths are the files that --trace and the arguments name.
func (e *Env) Paths() []string {
	if e.Trace == "" {
		return e.Args
	}
	return append([]string{e.Trace}, e.Args...)
}

// OpenServed is [Env.OpenRun] with what the server's files beside the traces say.
func (e *Env) OpenServed(ctx context.Context, paths []string, o strata.Options) (*strata.Recording, triage.Server,
	error) {
	rec, err := e.OpenRun(ctx, paths, o)
	if err != nil || len(paths) == 0 {
		return rec, triage.Server{}, err
	}
	var files []string
	for _, p := range rec.Parts {
		files = append(files, p.Path)
	}
	server, err := triage.ReadBeside(files...)
	return rec, server, err
}
