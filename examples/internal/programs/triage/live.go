package triage

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/triage"
)

// server is where traces are captured from before they are read.
type server struct {
	url, mappingURL string
	// Folders and prefixes of the two, "" those of both.
	mappingDir, formalDir, mappingPrefix, formalPrefix string

	made     string // folder made for the traces, "" none
	allow    bool   // report on an INVALID capture with exit code 0
	validity *triage.Capture
	settings live.Settings
}

// define adds the flags of a live capture.
func (s *server) define(fs *flag.FlagSet) {
	fs.StringVar(&s.url, "url", "", "capture from the running server at `URL` first, and report on that")
	fs.StringVar(&s.url, "formal-url", "", "the same as --url: the `URL` of the real setup, read for time")
	fs.StringVar(&s.mappingURL, "mapping-url", "",
		"`URL` of the same model with CUDA graphs off, captured first and read for source lines; the traces go to the "+
			"folders mapping and formal of --output-dir")
	s.settings.FolderFlags(fs)
	fs.StringVar(&s.mappingDir, "mapping-output-dir", "", "`DIR` for the traces of --mapping-url instead")
	fs.StringVar(&s.formalDir, "formal-output-dir", "", "`DIR` for the traces of --formal-url instead")
	fs.StringVar(&s.mappingPrefix, "mapping-profile-prefix", "", "--profile-prefix of --mapping-url")
	fs.StringVar(&s.formalPrefix, "formal-profile-prefix", "", "--profile-prefix of --formal-url")
	fs.BoolVar(&s.allow, "allow-invalid", false, "end with 0 also where the capture is INVALID; the report's first "+
		"lines say so all the same")
	s.settings.RequestFlags(fs)
	s.settings.WindowFlags(fs)
	s.settings.ProbeFlags(fs)
}

// check finds wrong usage. formal and mapping are paths that were given.
func (s *server) check(env *app.Env, formal bool, mapping string) error {
	switch {
	case s.url == "" && s.mappingURL == "":
		if s.settings.O.OutputDir != "" {
			return app.Usagef("--output-dir is for the traces of --url; --output names the report's file")
		}
		about := flag.NewFlagSet("", flag.ContinueOnError)
		new(server).define(about)
		about.VisitAll(func(f *flag.Flag) {
			if env.Given(f.Name) {
				env.Notef("note: --%s is ignored: it is for a capture with --url", f.Name)
			}
		})
		return nil
	case s.url == "":
		return app.Usagef("--mapping-url needs --formal-url")
	case formal:
		return app.Usagef("--url captures its own trace; give no input with it")
	case s.mappingURL != "" && mapping != "":
		return app.Usagef("give one of --mapping-url and --mapping-input")
	}
	return nil
}

// folder makes a folder for the traces where none was named, and says where.
func (s *server) folder(env *app.Env) error {
	o := &s.settings.O
	if s.mappingURL == "" {
		o.OutputDir = cmp.Or(o.OutputDir, s.formalDir)
		o.ProfilePrefix = cmp.Or(s.formalPrefix, o.ProfilePrefix)
	}
	if o.OutputDir != "" || s.mappingDir != "" && s.formalDir != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "triage-")
	if err != nil {
		return fmt.Errorf("a folder for the traces: %w; name one with --output-dir", err)
	}
	o.OutputDir, s.made = dir, dir
	env.Notef("the traces go to %s, and stay there; --output-dir names another folder (vLLM: its torch_profiler_dir)",
		dir)
	return nil
}

// capture profiles the server, or the pair of them, and reads the traces.
func (s *server) capture(ctx context.Context, env *app.Env, framework string, layers layer.Options,
	mappingSources []triage.Source) (triage.Input, error) {
	if err := s.folder(env); err != nil {
		return triage.Input{}, err
	}
	o, err := s.settings.Options(env)
	if err != nil {
		return triage.Input{}, err
	}
	if o.Framework, err = live.Framework(framework); err != nil {
		return triage.Input{}, err
	}
	var formal, mapping *capture.Result
	if s.mappingURL == "" {
		o.URL = s.url
		formal, err = capture.Run(ctx, o)
	} else {
		a, b := o.As(capture.RoleMapping, s.mappingURL), o.As(capture.RoleFormal, s.url)
		a.OutputDir, a.ProfilePrefix = cmp.Or(s.mappingDir, a.OutputDir), cmp.Or(s.mappingPrefix, a.ProfilePrefix)
		b.OutputDir, b.ProfilePrefix = cmp.Or(s.formalDir, b.OutputDir), cmp.Or(s.formalPrefix, b.ProfilePrefix)
		mapping, formal, err = capture.RunPair(ctx, a, b)
	}
	if err != nil && s.made != "" {
		os.Remove(s.made) // which fails, as it should, where it holds something
	}
	live.WarnIfRunning(ctx, env, err)
	for _, r := range []*capture.Result{mapping, formal} {
		if r != nil {
			live.Notes(env, r)
		}
	}
	if err != nil && !errors.Is(err, capture.ErrInvalid) {
		return triage.Input{}, live.End(err)
	}
	s.validity = live.Validity(formal, mapping)
	env.Step("reading the captured traces", 0, 0)
	in, err := live.Input(ctx, formal, mapping, mappingSources, layers)
	if err != nil {
		return triage.Input{}, err
	}
	for _, a := range in.Formal {
		env.NoteHealth(a.Trace())
	}
	return in, nil
}

// invalid is the error of a report on a capture that does not hold what was asked for.
func (s *server) invalid() error {
	if s.allow {
		return nil
	}
	return live.Invalid(s.validity)
}
