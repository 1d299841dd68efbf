package framework

import (
	"slices"
	"strings"
)

// Frame is the name of a Python frame taken apart: "path/file.py(123): func".
type Frame struct {
	Path string // as recorded, with forward slashes
	Line string // digits
	Func string
}

// ParseFrame reads a Python frame's name. Anything else, such as a built-in
// method or an nn.Module, is no frame with a source line.
func ParseFrame(name string) (Frame, bool) {
	path, fn, ok := strings.Cut(name, "): ")
	if !ok {
		return Frame{}, false
	}
	open := strings.LastIndexByte(path, '(')
	if open <= 0 {
		return Frame{}, false
	}
	line := path[open+1:]
	if line == "" || strings.Trim(line, "0123456789") != "" {
		return Frame{}, false
	}
	return Frame{Path: strings.ReplaceAll(path[:open], "\\", "/"), Line: line, Func: fn}, true
}

// writtenParts are parts of the paths of code that a compiler wrote, compilerParts of the compilers that run it.
var (
	writtenParts = []string{"<eval_with_key>", "torch_compile_cache/", "torchinductor", "inductor_cache/",
		"triton/cache/"}
	compilerParts = []string{"torch/_dynamo/", "torch/_inductor/", "torch/fx/", "torch/_functorch/"}
)

func (f Frame) in(parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(f.Path, p) })
}

// Written reports code that a compiler wrote: Inductor's and Triton's caches, traced graphs. The lines around it are
// where the compiled function begins, which is the same for all of it.
func (f Frame) Written() bool { return f.in(writtenParts) }

// Generated reports code that nobody wrote or that only runs such code: what compilers wrote, code from strings,
// torch.compile's own.
func (f Frame) Generated() bool {
	return strings.HasPrefix(f.Path, "<") || f.Written() || f.in(compilerParts)
}

// The kinds of files of a framework that define models.
const (
	NoModelFile = iota
	LayerFile   // building blocks: linear layers, norms, experts
	ModelFile   // a model's own definition
)

// ModelFile says whether a file defines models or their building blocks, and
// where in the path the part begins that is the framework's.
func (f Frame) ModelFile(list []Framework) (kind, from int) {
	if f.Generated() {
		return NoModelFile, 0
	}
	for i := range list {
		for _, r := range list[i].ModelRoots {
			if at := RootIn(f.Path, r); at >= 0 {
				return ModelFile, at
			}
		}
		for _, r := range list[i].Roots {
			at := RootIn(f.Path, r)
			switch {
			case at < 0:
			case strings.Contains(f.Path[at:], "/models/"):
				return ModelFile, at
			case strings.Contains(f.Path[at:], "/layers/"), strings.Contains(f.Path[at:], "/modules/"):
				return LayerFile, at
			}
		}
	}
	return NoModelFile, 0
}
