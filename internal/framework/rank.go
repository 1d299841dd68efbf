package framework

import (
	"slices"
	"strings"
)

// Rank says how specific a Python frame is about where a kernel comes
// from; the order is from least to most.
type Rank int8

// The ranks of frames.
const (
	NoFrame       Rank = iota // not a Python frame
	RankNoise                 // threading, contextlib, built-in methods
	RankNoSignal              // wrappers that every call goes through
	RankLibrary               // site-packages, torch internals, the standard library
	RankUser                  // a script whose package is not known
	RankModel                 // model code outside the servers
	RankKernels               // a server's kernel package, which wraps ops
	RankFramework             // code of a server
)

// rankedRoots are the packages whose code has a rank of its own. A path is shown from the root on.
var (
	serverRoots, kernelRoots = ServerRoots(All())
	rankedRoots              = [...]struct {
		rank  Rank
		roots []string
	}{{RankFramework, serverRoots}, {RankKernels, kernelRoots}, {RankModel, ModelRoots(All())}}
)

// constructor is the function that makes an object.
const constructor = "__init__"

// noSignalFuncs are functions every call passes through.
var noSignalFuncs = []string{"__call__", "_call_impl", "_wrapped_call_impl", "__torch_function__", "__torch_dispatch__",
	"_fn", "inner", "wrapper", "custom_wrapper", "outer_wrapper", "wrapper_custom", "dispatch_wrapper",
	"decorate_context",
	"_wrapper", "wrapped", "_wrapped", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>"}

// noSignalFiles are files, by the end of their path, whose lines name the
// machinery and not the model.
var noSignalFiles = []string{"py_executor.py", "parameter.py", "torch/fx/graph_module.py", "torch/_ops.py",
	"torch/utils/_contextlib.py", "torch/nn/modules/module.py"}

// runnerParts mark graph runners anywhere in a file's name.
var runnerParts = []string{"cuda_graph", "cudagraph", "piecewise_backend"}

// noiseFiles are standard-library files that only pass calls on.
var noiseFiles = []string{"threading.py", "contextlib.py", "runpy.py", "functools.py", "selectors.py", "queue.py",
	"socket.py",
	"subprocess.py", "tempfile.py", "weakref.py", "abc.py", "typing.py", "inspect.py", "enum.py", "copy.py", "os.py",
	"random.py", "logging/__init__.py", "multiprocessing/process.py", "multiprocessing/spawn.py",
	"multiprocessing/popen_spawn_posix.py",
	"concurrent/futures/thread.py", "_collections_abc.py", "collections/__init__.py", "dataclasses.py", "re.py",
	"uuid.py", "json/__init__.py",
	"importlib/__init__.py", "torch_guard.py"}

// root returns where in the path the package begins that gives the frame its
// rank, and that rank.
func (f Frame) root() (int, Rank) {
	for _, r := range rankedRoots {
		for _, root := range r.roots {
			if i := RootIn(f.Path, root); i >= 0 {
				return i, r.rank
			}
		}
	}
	for _, dir := range []string{"site-packages/", "dist-packages/"} {
		if i := strings.LastIndex(f.Path, dir); i >= 0 {
			i += len(dir)
			if strings.Contains(f.Path[i:], "/models/") || strings.Contains(f.Path[i:], "/model/") {
				return i, RankModel
			}
			return i, RankLibrary
		}
	}
	switch {
	case strings.HasPrefix(f.Path, "torch/"), strings.HasPrefix(f.Path, "torch_"), strings.HasPrefix(f.Path, "<"):
		return 0, RankLibrary
	case strings.Contains(f.Path, "/lib/python3"):
		return strings.LastIndexByte(f.Path, '/') + 1, RankLibrary
	case strings.Contains(f.Path, "/models/"), strings.HasPrefix(f.Path, "models/"), strings.HasPrefix(f.Path, "/"):
		return 0, RankModel
	case strings.Contains(f.Path, "/"):
		return 0, RankLibrary // an installed package; the profiler strips sys.path
	}
	return 0, RankUser
}

// Rank returns the frame's rank for what a launch runs, or a replayed graph. A graph runner says nothing about what it
// replays. What it launches itself, such as the copies of a step's inputs, comes from nowhere else.
func (f Frame) Rank(replay bool) Rank {
	base := f.Path[strings.LastIndexByte(f.Path, '/')+1:]
	short := f.Path
	if _, version, ok := strings.Cut(f.Path, "/lib/python3"); ok {
		_, short, _ = strings.Cut(version, "/")
	}
	if slices.Contains(noiseFiles, short) || strings.HasPrefix(short, "asyncio/") {
		return RankNoise
	}
	if slices.Contains(noSignalFuncs, f.Func) || f.Generated() {
		return RankNoSignal
	}
	for _, s := range noSignalFiles {
		if strings.HasSuffix("/"+f.Path, "/"+s) {
			return RankNoSignal
		}
	}
	if strings.Contains(base, "profiler") {
		return RankNoSignal // its hooks wrap everything
	}
	_, r := f.root()
	runner := r == RankFramework &&
		slices.ContainsFunc(runnerParts, func(s string) bool { return strings.Contains(base, s) })
	if runner && (replay || strings.Contains(f.Func, "capture") || f.Func == constructor) {
		return RankNoSignal // the complete model runs inside the last two
	}
	return r
}

// Location renders "path:line func" with the path from its package's root.
func (f Frame) Location() string {
	i, _ := f.root()
	return f.Path[i:] + ":" + f.Line + " " + f.Func
}
