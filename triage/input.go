package triage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/llmstrata/strata/internal/framework"
)

// ErrDiffusers reports that a log beside the trace says the server ran a model
// through the diffusers backend, whose kernels no registry knows.
var ErrDiffusers = errors.New("triage: the server fell back to the diffusers backend")

// ReadBeside reads what the server said about itself beside the traces at these
// paths, or one directory above: its server_args.json, and its logs. It fails
// with [ErrDiffusers] where a log says so.
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
