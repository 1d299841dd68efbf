package activity

import (
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
)

// Rank says how specific a Python frame is about where a kernel comes
// from; the order is from least to most.
type Rank int8

const (
	NoFrame   Rank = iota // not a Python frame
	Noise                 // threading, contextlib, built-in methods
	NoSignal              // wrappers that every call goes through
	Runner                // graph runners: they say nothing about what they replay
	Library               // site-packages, torch internals, the standard library
	User                  // a script whose package is not known
	Model                 // model code outside the servers
	Kernels               // a server's kernel package, which wraps ops
	Framework             // code of a server
)

// serverRoots and kernelRoots are the packages of the servers, and modelRoots
// those that hold model definitions. A path is shown from the root on.
var (
	serverRoots, kernelRoots = framework.ServerRoots(framework.All())
	modelRoots               = framework.ModelRoots(framework.All())
)

// constructor is the function that makes an object.
const constructor = "__init__"

// noSignalFuncs are functions every call passes through.
var noSignalFuncs = set("__call__", "_call_impl", "_wrapped_call_impl", "__torch_function__", "__torch_dispatch__",
	"_fn", "inner", "wrapper", "custom_wrapper", "outer_wrapper", "wrapper_custom", "dispatch_wrapper",
	"decorate_context",
	"_wrapper", "wrapped", "_wrapped", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>")

// noSignalFiles are files, by the end of their path, whose lines name the
// machinery and not the model.
var noSignalFiles = []string{"py_executor.py", "parameter.py", "torch/fx/graph_module.py", "torch/_ops.py",
	"torch/utils/_contextlib.py", "torch/nn/modules/module.py"}

// runnerParts mark graph runners anywhere in a file's name.
var runnerParts = []string{"cuda_graph", "cudagraph", "piecewise_backend"}

// noiseFiles are standard-library files that only pass calls on.
var noiseFiles = set("threading.py", "contextlib.py", "runpy.py", "functools.py", "selectors.py", "queue.py",
	"socket.py",
	"subprocess.py", "tempfile.py", "weakref.py", "abc.py", "typing.py", "inspect.py", "enum.py", "copy.py", "os.py",
	"random.py", "logging/__init__.py", "multiprocessing/process.py", "multiprocessing/spawn.py",
	"multiprocessing/popen_spawn_posix.py",
	"concurrent/futures/thread.py", "_collections_abc.py", "collections/__init__.py", "dataclasses.py", "re.py",
	"uuid.py", "json/__init__.py",
	"importlib/__init__.py", "torch_guard.py")

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// Frame is a Python frame's name taken apart, with how specific it is.
type Frame struct{ framework.Frame }

// ParseFrame reads "path/file.py(123): func". Anything else, such as a
// built-in method or an nn.Module, is not a frame with a source line.
func ParseFrame(name string) (Frame, bool) {
	f, ok := framework.ParseFrame(name)
	return Frame{f}, ok
}

// root returns where in the path the package begins that gives the frame its
// rank, and that rank.
func (f Frame) root() (int, Rank) {
	for _, r := range serverRoots {
		if i := framework.RootIn(f.Path, r); i >= 0 {
			return i, Framework
		}
	}
	for _, r := range kernelRoots {
		if i := framework.RootIn(f.Path, r); i >= 0 {
			return i, Kernels
		}
	}
	for _, r := range modelRoots {
		if i := framework.RootIn(f.Path, r); i >= 0 {
			return i, Model
		}
	}
	for _, dir := range []string{"site-packages/", "dist-packages/"} {
		if i := strings.LastIndex(f.Path, dir); i >= 0 {
			i += len(dir)
			if strings.Contains(f.Path[i:], "/models/") || strings.Contains(f.Path[i:], "/model/") {
				return i, Model
			}
			return i, Library
		}
	}
	switch {
	case strings.HasPrefix(f.Path, "torch/"), strings.HasPrefix(f.Path, "torch_"), strings.HasPrefix(f.Path, "<"):
		return 0, Library
	case strings.Contains(f.Path, "/lib/python3"):
		return strings.LastIndexByte(f.Path, '/') + 1, Library
	case strings.Contains(f.Path, "/models/"), strings.HasPrefix(f.Path, "models/"), strings.HasPrefix(f.Path, "/"):
		return 0, Model
	case strings.Contains(f.Path, "/"):
		return 0, Library // an installed package; the profiler strips sys.path
	}
	return 0, User
}

// Rank returns the frame's rank.
func (f Frame) Rank() Rank {
	base := f.Path[strings.LastIndexByte(f.Path, '/')+1:]
	short := f.Path
	if _, version, ok := strings.Cut(f.Path, "/lib/python3"); ok {
		_, short, _ = strings.Cut(version, "/")
	}
	if noiseFiles[short] || strings.HasPrefix(short, "asyncio/") {
		return Noise
	}
	if noSignalFuncs[f.Func] || f.Generated() {
		return NoSignal
	}
	for _, s := range noSignalFiles {
		if strings.HasSuffix(f.Path, s) && (len(f.Path) == len(s) || f.Path[len(f.Path)-len(s)-1] == '/') {
			return NoSignal
		}
	}
	if strings.Contains(base, "profiler") {
		return NoSignal // its hooks wrap everything
	}
	_, r := f.root()
	if r == Framework {
		for _, s := range runnerParts {
			if !strings.Contains(base, s) {
				continue
			}
			if strings.Contains(f.Func, "capture") || f.Func == constructor {
				return NoSignal // the complete model runs inside either
			}
			return Runner
		}
	}
	return r
}

// Location renders "path:line func" with the path from its package's root.
func (f Frame) Location() string {
	i, _ := f.root()
	return f.Path[i:] + ":" + f.Line + " " + f.Func
}

// SplitLocation splits a rendered location; line is "" where it has none.
func SplitLocation(loc string) (path, line, fn string) {
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

// ModuleClass is the class in the name of a module frame, "nn.Module: Qwen3Attention_0".
func ModuleClass(name string) string {
	_, class, _ := strings.Cut(name, ": ")
	return ClassOf(class)
}

// ClassOf is the class of an instance, "Qwen3Attention_0".
func ClassOf(class string) string {
	if i := strings.LastIndexByte(class, '_'); i > 0 {
		if _, err := strconv.Atoi(class[i+1:]); err == nil {
			return class[:i]
		}
	}
	return class
}
