package triage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/trace"
)

// ErrDiffusers reports that a log beside the trace says the server ran a model
// through the diffusers backend, whose kernels no registry knows.
var ErrDiffusers = errors.New("triage: the server fell back to the diffusers backend")

// Opener loads the trace at a path. [trace.Open] is one.
type Opener func(ctx context.Context, path string) (*trace.Trace, error)

// Load finds the traces of a file or profile directory (see [trace.Discover]),
// opens them, and reads what the server said about itself beside them.
func Load(ctx context.Context, path string, open Opener) ([]Source, Server, error) {
	files, err := trace.Discover(path)
	if err != nil {
		return nil, Server{}, err
	}
	if err := diffusionGate(files); err != nil {
		return nil, Server{}, err
	}
	var out []Source
	for _, f := range files {
		t, err := open(ctx, f.Path)
		if err != nil {
			return nil, Server{}, err
		}
		out = append(out, Source{Trace: t, Path: f.Path, Stage: f.Stage})
	}
	server, err := findServer(files)
	return out, server, err
}

// Bounds on the logs that are read: what matters is printed at startup.
const (
	maxLogs    = 32
	maxLogRead = 16 << 20
)

// diffusionGate looks into the logs beside the traces.
func diffusionGate(files []trace.File) error {
	seen := map[string]bool{}
	for _, f := range files {
		dir := filepath.Dir(f.Path)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, log := range logs[:min(len(logs), maxLogs)] {
			r, err := os.Open(log)
			if err != nil {
				continue
			}
			data, _ := io.ReadAll(io.LimitReader(r, maxLogRead))
			r.Close()
			for _, sign := range framework.Diffusion().LogMarks {
				if bytes.Contains(data, []byte(sign)) {
					return fmt.Errorf("%w: %s says %q", ErrDiffusers, log, sign)
				}
			}
		}
	}
	return nil
}
