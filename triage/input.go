package triage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// errDiffusers reports that a log beside the trace says the server ran a model
// through the diffusers backend, whose kernels no registry knows.
var errDiffusers = errors.New("triage: the server fell back to the diffusers backend")

// ReadBeside reads what the server said about itself beside the traces at these
// paths, or one directory above: its server_args.json, and its logs. It fails
// with an error where a log says so.
func ReadBeside(paths ...string) (Server, error) {
	if err := diffusionGate(paths); err != nil {
		return Server{}, err
	}
	return findServer(paths)
}

// Bounds on the logs that are read: what matters is printed at startup.
const (
	maxLogs    = 32
	maxLogRead = 16 << 20
)

// diffusionGate looks into the logs beside the traces.
func diffusionGate(paths []string) error {
	seen := map[string]bool{}
	for _, p := range paths {
		dir := filepath.Dir(p)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, log := range logs[:min(len(logs), maxLogs)] {
			r, err := atomicfile.Open(log)
			if err != nil {
				continue
			}
			data, _ := io.ReadAll(io.LimitReader(r, maxLogRead))
			r.Close()
			for _, sign := range framework.Diffusion().LogMarks {
				if bytes.Contains(data, []byte(sign)) {
					return fmt.Errorf("%w: %s says %q", errDiffusers, log, sign)
				}
			}
		}
	}
	return nil
}

// Source is one loaded trace of a run and the path that reports show for it.
type Source struct {
	Trace *trace.Trace // loaded with every lane
	Path  string
}

// NewInput analyses the traces of a run, and of a mapping run if there is one:
// each formal trace against the mapping trace of the same stage. Where o speaks
// of another model than a trace shows, the trace alone is asked. Of a graph
// capture on ROCm the launch calls' args ([trace.Options.Args] of
// [event.Runtime]) name the kernels, not only their number.
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
			return nil, errNoTrace
		}
		g.Go(func() (err error) {
			if out[i], err = layer.AnalyzeAnyway(ctx, s.Trace, options(s)); err != nil {
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
			if want := activity.FileStage(formal.Path); want != activity.NoStage &&
				want == activity.MainStage(m, sources[i].Path) {
				n = 2
			}
		}
		if n > score {
			best, score = m, n
		}
	}
	return best
}
