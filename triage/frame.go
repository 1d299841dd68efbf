package triage

import (
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
)

// frameRank says how much a Python frame tells about where a kernel comes
// from; the order is from least to most.
type frameRank int8

const (
	rankNone      frameRank = iota // not a Python frame
	rankNoise                      // threading, contextlib, built-in methods
	rankNoSignal                   // wrappers that every call goes through
	rankRunner                     // graph runners: they say nothing about what they replay
	rankLibrary                    // site-packages, torch internals, the standard library
	rankUser                       // a script whose package is not known
	rankModel                      // model code outside the servers
	rankKernels                    // a server's kernel package, which wraps ops
	rankFramework                  // code of a server
)

// serverRoots and kernelRoots are the packages of the servers, and modelRoots
// those that hold model definitions. A path is shown from the root on.
var (
	serverRoots, kernelRoots = framework.ServerRoots(framework.All())
	modelRoots               = framework.ModelRoots(framework.All())
)

// noSignalFuncs are functions every call passes through.
var noSignalFuncs = set("__call__", "_call_impl", "_wrapped_call_impl", "__torch_function__", "__torch_dispatch__",
	"_fn", "inner", "wrapper", "custom_wrapper", "outer_wrapper", "wrapper_custom", "dispatch_wrapper", "decorate_context",
	"_wrapper", "wrapped", "_wrapped", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>")

// noSignalFiles are files, by the end of their path, whose lines name the
// machinery and not the model.
var noSignalFiles = []string{"py_executor.py", "parameter.py", "torch/fx/graph_module.py", "torch/_ops.py",
	"torch/utils/_contextlib.py", "torch/nn/modules/module.py"}

// runnerParts mark graph runners anywhere in a file's name.
var runnerParts = []string{"cuda_graph", "cudagraph", "piecewise_backend"}

// noiseFiles are standard-library files that only pass calls on.
var noiseFiles = set("threading.py", "contextlib.py", "runpy.py", "functools.py", "selectors.py", "queue.py", "socket.py",
	"subprocess.py", "tempfile.py", "weakref.py", "abc.py", "typing.py", "inspect.py", "enum.py", "copy.py", "os.py",
	"random.py", "logging/__init__.py", "multiprocessing/process.py", "multiprocessing/spawn.py", "multiprocessing/popen_spawn_posix.py",
	"concurrent/futures/thread.py", "_collections_abc.py", "collections/__init__.py", "dataclasses.py", "re.py", "uuid.py", "json/__init__.py",
	"importlib/__init__.py", "torch_guard.py")

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// frame is a Python frame's name taken apart.
type frame struct {
	path string // as recorded, with forward slashes
	line string // digits, or ""
	fn   string
}

// parseFrame reads "path/file.py(123): func". Anything else, such as a
// built-in method or an nn.Module, is not a frame with a source line.
func parseFrame(name string) (frame, bool) {
	f, ok := framework.ParseFrame(name)
	return frame{path: f.Path, line: f.Line, fn: f.Func}, ok
}

// root returns where in the path the package begins that gives the frame its
// rank, and that rank.
func (f frame) root() (int, frameRank) {
	for _, r := range serverRoots {
		if i := framework.RootIn(f.path, r); i >= 0 {
			return i, rankFramework
		}
	}
	for _, r := range kernelRoots {
		if i := framework.RootIn(f.path, r); i >= 0 {
			return i, rankKernels
		}
	}
	for _, r := range modelRoots {
		if i := framework.RootIn(f.path, r); i >= 0 {
			return i, rankModel
		}
	}
	for _, dir := range []string{"site-packages/", "dist-packages/"} {
		if i := strings.LastIndex(f.path, dir); i >= 0 {
			i += len(dir)
			if strings.Contains(f.path[i:], "/models/") || strings.Contains(f.path[i:], "/model/") {
				return i, rankModel
			}
			return i, rankLibrary
		}
	}
	switch {
	case strings.HasPrefix(f.path, "torch/"), strings.HasPrefix(f.path, "torch_"), strings.HasPrefix(f.path, "<"):
		return 0, rankLibrary
	case strings.Contains(f.path, "/lib/python3"):
		return strings.LastIndexByte(f.path, '/') + 1, rankLibrary
	case strings.Contains(f.path, "/models/"), strings.HasPrefix(f.path, "models/"), strings.HasPrefix(f.path, "/"):
		return 0, rankModel
	case strings.Contains(f.path, "/"):
		return 0, rankLibrary // an installed package; the profiler strips sys.path
	}
	return 0, rankUser
}

// rank returns the frame's rank.
func (f frame) rank() frameRank {
	base := f.path[strings.LastIndexByte(f.path, '/')+1:]
	short := f.path
	if i := strings.Index(short, "/lib/python3"); i >= 0 {
		if j := strings.IndexByte(short[i+len("/lib/"):], '/'); j >= 0 {
			short = short[i+len("/lib/")+j+1:]
		}
	}
	if noiseFiles[short] || strings.HasPrefix(short, "asyncio/") {
		return rankNoise
	}
	if noSignalFuncs[f.fn] {
		return rankNoSignal
	}
	for _, s := range noSignalFiles {
		if strings.HasSuffix(f.path, s) && (len(f.path) == len(s) || f.path[len(f.path)-len(s)-1] == '/') {
			return rankNoSignal
		}
	}
	if strings.Contains(base, "profiler") {
		return rankNoSignal // its hooks wrap everything
	}
	_, r := f.root()
	if r == rankFramework {
		for _, s := range runnerParts {
			if !strings.Contains(base, s) {
				continue
			}
			if strings.Contains(f.fn, "capture") || f.fn == "__init__" {
				return rankNoSignal // the whole model runs inside of either
			}
			return rankRunner
		}
	}
	return r
}

// location renders "path:line func" with the path from its package's root.
func (f frame) location() string {
	i, _ := f.root()
	return f.path[i:] + ":" + f.line + " " + f.fn
}

// locationParts splits a rendered location; line is "" where it has none.
func locationParts(loc string) (path, line, fn string) {
	head, fn, ok := strings.Cut(loc, " ")
	if !ok {
		return "", "", ""
	}
	i := strings.LastIndexByte(head, ':')
	if i < 0 {
		return "", "", ""
	}
	return head[:i], head[i+1:], fn
}

// moduleClass is the class in the name of a module frame, "nn.Module: Qwen3Attention_0".
func moduleClass(name string) string {
	_, class, _ := strings.Cut(name, ": ")
	return classOf(class)
}

// classOf is the class of an instance, "Qwen3Attention_0".
func classOf(class string) string {
	if i := strings.LastIndexByte(class, '_'); i > 0 {
		if _, err := strconv.Atoi(class[i+1:]); err == nil {
			return class[:i]
		}
	}
	return class
}
