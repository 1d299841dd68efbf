package framework

import (
	"slices"
	"strings"
)

// Framework is what one server or library says of itself in traces, paths and
// logs. Every field but Name may be empty.
type Framework struct {
	// Name is how its makers write it, and how reports show it.
	Name string
	// Keys are its spellings in paths and registries, lower case, the one of
	// registries first. Each is long enough not to be part of another word.
	Keys []string
	// Aliases are further spellings that a flag accepts.
	Aliases []string
	// Roots begin the part of a Python file's path that belongs to the
	// server. A framework without roots is no server: PyTorch runs below all.
	Roots []string
	// KernelRoots are those of its kernel package: the server's code, too,
	// but the line that calls it says more than the wrapper inside.
	KernelRoots []string
	// ModelRoots are those of packages that hold model definitions.
	ModelRoots []string
	// Ops are the namespaces of its operators, "vllm::".
	Ops []string
	// Step reads a step annotation; nil: it writes none.
	Step func(annotation string) (Step, bool)
	// RankLabels are the words before the rank in its trace files' names,
	// the one that says most first. See [ReadFileName].
	RankLabels []string
	// LogMarks are parts of log lines that show that it serves.
	LogMarks []string
	// Launch says in one sentence what a server must be launched with to be
	// profiled over HTTP.
	Launch string
}

// All returns the frameworks that are known, servers first, in the order in
// which documents list them. The slice is the caller's.
func All() []Framework {
	return []Framework{SGLang(), VLLM(), TensorRTLLM(), TokenSpeed(), PyTorch(), Diffusion()}
}

// Server reports whether f serves requests with code of its own.
func (f *Framework) Server() bool { return len(f.Roots) > 0 }

// Key is the spelling of registries, "" where f has none.
func (f *Framework) Key() string {
	if len(f.Keys) == 0 {
		return ""
	}
	return f.Keys[0]
}

// OwnsFile reports whether a Python file is part of the server or its kernel
// package.
func (f *Framework) OwnsFile(path string) bool {
	in := func(root string) bool { return RootIn(path, root) >= 0 }
	return slices.ContainsFunc(f.Roots, in) || slices.ContainsFunc(f.KernelRoots, in)
}

// OwnsOp reports whether an operator has one of the framework's namespaces.
func (f *Framework) OwnsOp(name string) bool {
	return slices.ContainsFunc(f.Ops, func(ns string) bool { return strings.HasPrefix(name, ns) })
}

// OwnsKernel reports whether a kernel's name is in one of the framework's
// namespaces. Servers borrow each other's kernels, so that this shows that some
// server ran, not which.
func (f *Framework) OwnsKernel(name string) bool {
	return slices.ContainsFunc(f.Ops, func(ns string) bool {
		i := strings.Index(name, ns)
		return i == 0 || i > 0 && strings.ContainsRune(" <(&,", rune(name[i-1]))
	})
}

// ByName returns the framework that a flag or file names. Case, spaces, dashes
// and underscores do not matter.
func ByName(list []Framework, s string) (Framework, bool) {
	want := squeeze(s)
	if want == "" {
		return Framework{}, false
	}
	for _, f := range list {
		same := func(k string) bool { return squeeze(k) == want }
		if same(f.Name) || slices.ContainsFunc(f.Keys, same) || slices.ContainsFunc(f.Aliases, same) {
			return f, true
		}
	}
	return Framework{}, false
}

var squeezer = strings.NewReplacer("-", "", "_", "", " ", "")

func squeeze(s string) string { return squeezer.Replace(strings.ToLower(s)) }

// InPath returns the server that a path names, the last part of the path
// first: people name folders after what they measure.
func InPath(list []Framework, path string) (Framework, bool) {
	parts := strings.Split(strings.ToLower(strings.ReplaceAll(path, `\`, "/")), "/")
	for _, p := range slices.Backward(parts) {
		for _, f := range list {
			if f.Server() && slices.ContainsFunc(f.Keys, func(k string) bool { return strings.Contains(p, k) }) {
				return f, true
			}
		}
	}
	return Framework{}, false
}

// ServerRoots are the roots of all servers, and those of their kernel packages.
func ServerRoots(list []Framework) (code, kernels []string) {
	for _, f := range list {
		code = append(code, f.Roots...)
		kernels = append(kernels, f.KernelRoots...)
	}
	return code, kernels
}

// ModelRoots are the roots of all packages that hold model definitions.
func ModelRoots(list []Framework) []string {
	var out []string
	for _, f := range list {
		out = append(out, f.ModelRoots...)
	}
	return out
}

// RootIn finds a root at the beginning of a segment of a path, −1 where it is
// not.
func RootIn(path, root string) int {
	for from := 0; ; {
		i := strings.Index(path[from:], root)
		if i < 0 {
			return -1
		}
		i += from
		if i == 0 || path[i-1] == '/' {
			return i
		}
		from = i + 1
	}
}
