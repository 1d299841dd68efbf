package triage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Server is what a server said about itself, in server_args.json or over HTTP.
type Server struct {
	Framework string `json:"framework,omitempty"` // "" when unknown
	Model     string `json:"model,omitempty"`
	TPSize    int    `json:"tp_size,omitempty"` // 0 when unknown
}

// findServer reads the server_args.json beside the traces or one directory
// above; none is no error.
func findServer(paths []string) (Server, error) {
	for _, p := range paths {
		for _, dir := range []string{filepath.Dir(p), filepath.Dir(filepath.Dir(p))} {
			args, err := profile.LoadServerArgs(filepath.Join(dir, framework.ServerArgsFile))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				return Server{}, fmt.Errorf("triage: %w", err)
			}
			return Server{Framework: nameOf(args.Framework), Model: args.Model, TPSize: args.TPSize}, nil
		}
	}
	return Server{}, nil
}

// frameworks are those whose signs are looked for.
var frameworks = framework.All()

// nameOf is the name in reports of the framework that s spells, "" for none.
func nameOf(s string) string {
	f, _ := framework.ByName(frameworks, s)
	return f.Name
}

// serverKey is the registry's key of the server in a report, "" where no
// server was recognised.
func serverKey(name string) string {
	if f, ok := framework.ByName(frameworks, name); ok && f.Server() {
		return f.Key()
	}
	return ""
}

// frameworkOf returns the server that made the traces: as given, as the server
// says, from the path, from the trace.
func (a *analysis) frameworkOf(list []*layer.Analysis, paths []string) string {
	if a.Framework != "" {
		return a.Framework
	}
	if a.in.Server.Framework != "" {
		return a.in.Server.Framework
	}
	for _, p := range paths {
		if f, ok := framework.InPath(frameworks, p); ok {
			return f.Name
		}
	}
	for _, x := range list {
		if f := x.Framework(); f != "" {
			return f
		}
	}
	for _, x := range list {
		if runs(x.Trace(), ofServer) {
			return unknownFramework
		}
	}
	for _, x := range list {
		if s := x.Trace().Meta().Source; s == "" || s == trace.SourceTorch || s == trace.SourceProton ||
			runs(x.Trace(), framework.IsPyTorchKernel) {
			return framework.PyTorch().Name
		}
	}
	return unknownFramework
}

// unknownFramework is used if kernels are those of a server and it is unknown which one, and where another profiler
// than PyTorch's saw no kernel of PyTorch: the process may be of JAX, or of a program of its own.
const unknownFramework = "unknown"

// ofServer reports whether a kernel is in the namespace of a server.
func ofServer(name string) bool {
	return slices.ContainsFunc(frameworks, func(f framework.Framework) bool { return f.Server() && f.OwnsKernel(name) })
}

// runs reports whether a trace has a GPU kernel with such a name.
func runs(t *trace.Trace, such func(name string) bool) bool {
	seen := make([]bool, t.NumNames())
	for e := range t.Events(event.LaneGPU) {
		if seen[e.NameID()] {
			continue
		}
		seen[e.NameID()] = true
		if such(e.Name()) {
			return true
		}
	}
	return false
}
