package kind

import "strings"

// The lanes.
const (
	NoLane = iota
	GPULane
	LaunchLane
	OpLane
	PythonLane
	AnnotationLane
	SyncLane
	OtherLane
	CounterLane
	Lanes // how many numbers there are
)

// The kinds.
const (
	Invalid = iota
	Kernel
	Memcpy
	Memset
	Graph
	Runtime
	Driver
	Op
	Frame
	Module
	Annotation
	GPUAnnotation
	Range
	Mark
	Sync
	Overhead
	Other
	Counter
	OSCall
	OffCPU
	Sample
	Kinds // how many numbers there are
)

// kinds says of each kind how it is called, where it is stored, and which category
// current Kineto writes for it.
var kinds = [Kinds]struct {
	name     string
	lane     uint8
	category string
}{
	Invalid:       {"invalid", NoLane, ""},
	Kernel:        {"kernel", GPULane, "kernel"},
	Memcpy:        {"memcpy", GPULane, "gpu_memcpy"},
	Memset:        {"memset", GPULane, "gpu_memset"},
	Graph:         {"graph", GPULane, "graph"},
	Runtime:       {"runtime", LaunchLane, "cuda_runtime"},
	Driver:        {"driver", LaunchLane, "cuda_driver"},
	Op:            {"op", OpLane, "cpu_op"},
	Frame:         {"frame", PythonLane, "python_function"},
	Module:        {"module", PythonLane, "python_function"},
	Annotation:    {"annotation", AnnotationLane, "user_annotation"},
	GPUAnnotation: {"gpu_annotation", AnnotationLane, "gpu_user_annotation"},
	Range:         {"range", AnnotationLane, "nvtx"},
	Mark:          {"mark", AnnotationLane, "mark"},
	Sync:          {"sync", SyncLane, "cuda_sync"},
	Overhead:      {"overhead", SyncLane, "overhead"},
	Other:         {"other", OtherLane, ""},
	Counter:       {"counter", CounterLane, "counter"},
	OSCall:        {"os_call", SyncLane, "os_call"},
	OffCPU:        {"off_cpu", SyncLane, "off_cpu"},
	Sample:        {"sample", SyncLane, "sample"},
}

// Name returns a kind's lower-case name; a number that is none is invalid.
func Name(kind uint8) string { return kinds[known(kind)].name }

// Lane returns the lane that holds events of a kind.
func Lane(kind uint8) uint8 { return kinds[known(kind)].lane }

// Category returns the category that current Kineto writes for a kind; only others
// are stored for each event.
func Category(kind uint8) string { return kinds[known(kind)].category }

func known(kind uint8) uint8 {
	if kind >= Kinds {
		return Invalid
	}
	return kind
}

// kineto maps the categories that Kineto and its forks have written over the years
// to kinds. Capitalised names are those of PyTorch before 1.9; a category that is
// not listed becomes Other, never a kernel.
var kineto = map[string]uint8{
	"kernel": Kernel, "Kernel": Kernel, "concurrent_kernel": Kernel,
	"gpu_memcpy": Memcpy, "Memcpy": Memcpy, "memcpy": Memcpy,
	"gpu_memset": Memset, "Memset": Memset, "memset": Memset,
	"cuda_runtime": Runtime, "Runtime": Runtime, "runtime": Runtime,
	"mtia_runtime": Runtime, "xpu_runtime": Runtime, "glow_runtime": Runtime, "privateuse1_runtime": Runtime,
	"cuda_driver": Driver, "xpu_driver": Driver, "privateuse1_driver": Driver,
	"cpu_op": Op, "Operator": Op, "operator": Op,
	"python_function": Frame, "Python": Frame,
	"user_annotation": Annotation, "gpu_user_annotation": GPUAnnotation,
	"cuda_sync": Sync, "cuda_event": Sync, "overhead": Overhead,
}

// modulePrefix opens the name of a python_function event that is a module call.
const modulePrefix = "nn.Module: "

// Of returns the kind of a Kineto event of category cat and name name.
func Of(cat, name string) uint8 {
	k := OfCategory(cat)
	if k == Frame && len(name) > len(modulePrefix) && strings.HasPrefix(name, modulePrefix) {
		return Module
	}
	return k
}

// OfCategory is Of for an event whose name is not looked at.
func OfCategory(cat string) uint8 {
	if k, ok := kineto[cat]; ok {
		return k
	}
	return Other
}

// OfName corrects the kind of a category by the name, which has not become a string
// yet.
func OfName(kind uint8, name []byte) uint8 {
	if kind == Frame && len(name) > len(modulePrefix) && string(name[:len(modulePrefix)]) == modulePrefix {
		return Module
	}
	return kind
}

// IsGraphLaunch reports whether name is a call that replays a captured graph:
// cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch, with or without a version suffix.
func IsGraphLaunch(name string) bool { return strings.Contains(name, "GraphLaunch") }

// IsKernelLaunch reports whether an API call launches a kernel, graphs apart: cudaLaunchKernel, cudaLaunchKernelExC,
// cuLaunchKernel(Ex), cudaLaunchCooperativeKernel and their HIP names.
func IsKernelLaunch(name string) bool {
	return strings.Contains(name, "Launch") && strings.Contains(name, "Kernel") && !IsGraphLaunch(name)
}

// BeginsCapture reports whether a call begins to record a graph on a stream, which runs nothing until the end of it.
func BeginsCapture(name string) bool { return strings.Contains(name, "BeginCapture") }

// Instantiates reports whether a call makes what replays launch of a recorded graph.
func Instantiates(name string) bool { return strings.Contains(name, "GraphInstantiate") }

// EndsCapture reports whether a call ends what [BeginsCapture] begins.
func EndsCapture(name string) bool { return strings.Contains(name, "EndCapture") }
