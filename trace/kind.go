package trace

// Lane is a sort of event that is stored and indexed together.
//
// New lanes may be added; users must be robust to that.
type Lane uint8

// The lanes.
const (
	laneInvalid    Lane = iota
	LaneGPU             // activities: kernels, copies, sets, graph rows; sorted by start, then input order
	LaneLaunch          // runtime and driver API calls; sorted by thread, start, longest first
	LaneOp              // CPU operators; sorted by thread, start, longest first
	LanePython          // Python and module frames; sorted by thread, start, longest first
	LaneAnnotation      // record_function, gpu_user_annotation, NVTX; sorted by thread, start, longest first
	LaneSync            // synchronisation, profiler overhead, system calls and switches of threads; never busy time; sorted like annotations
	LaneOther           // spans of unknown category, kept but not interpreted
	LaneCounter         // samples of counters such as a GPU's clock, by start; see [Trace.Counters]
	laneCount
)

var laneNames = [...]string{"invalid", "gpu", "launch", "op", "python", "annotation", "sync", "other", "counter"}

// String returns the lane's lower-case name.
func (l Lane) String() string {
	if int(l) < len(laneNames) {
		return laneNames[l]
	}
	return "invalid"
}

// Kind is what an event is. Its zero value is invalid.
//
// New kinds may be added; users must be robust to that.
type Kind uint8

// The kinds, grouped by lane.
const (
	KindInvalid Kind = iota

	KindKernel // a GPU kernel
	KindMemcpy // a GPU memory copy
	KindMemset // a GPU memory set
	KindGraph  // one row for a whole graph replay, without its kernels (Nsight Systems)

	KindRuntime // a CUDA/HIP runtime API call
	KindDriver  // a CUDA driver API call

	KindOp // a CPU operator

	KindFrame  // a Python function frame
	KindModule // an nn.Module call ("nn.Module: Name_3")

	KindAnnotation    // a record_function range on a CPU thread
	KindGPUAnnotation // a CPU annotation projected on a GPU stream; may stretch over gaps
	KindRange         // an NVTX range
	KindMark          // an instant annotation without a duration

	KindSync     // a synchronisation activity (cuda_sync)
	KindOverhead // profiler overhead

	KindOther // anything else

	KindCounter // one sample of a counter, see [Event.Value]

	KindOSCall // a call of the C library or the system on a thread (Nsight Systems, OSRT)
	KindOffCPU // a time in which the operating system ran something else than the thread
	KindSample // a moment at which a thread was found running; the name is the function, "running" where it is not known
	kindCount
)

var kindNames = [...]string{"invalid", "kernel", "memcpy", "memset", "graph", "runtime", "driver", "op", "frame",
	"module", "annotation", "gpu_annotation", "range", "mark", "sync", "overhead", "other", "counter", "os_call", "off_cpu", "sample"}

// String returns the kind's lower-case name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// Lane returns the lane that holds events of kind k.
func (k Kind) Lane() Lane {
	switch k {
	case KindKernel, KindMemcpy, KindMemset, KindGraph:
		return LaneGPU
	case KindRuntime, KindDriver:
		return LaneLaunch
	case KindOp:
		return LaneOp
	case KindFrame, KindModule:
		return LanePython
	case KindAnnotation, KindGPUAnnotation, KindRange, KindMark:
		return LaneAnnotation
	case KindSync, KindOverhead, KindOSCall, KindOffCPU, KindSample:
		return LaneSync
	case KindOther:
		return LaneOther
	case KindCounter:
		return LaneCounter
	}
	return laneInvalid
}

// laneOfKind is Kind.Lane as a table, for loops over events.
var laneOfKind = func() (t [kindCount]Lane) {
	for k := range t {
		t[k] = Kind(k).Lane()
	}
	return
}()

// kinetoKinds maps the categories that Kineto and its forks have written over
// the years to kinds. Capitalised names are those of PyTorch before 1.9; a
// category that is not listed becomes KindOther, never a kernel.
var kinetoKinds = map[string]Kind{
	"kernel": KindKernel, "Kernel": KindKernel, "concurrent_kernel": KindKernel,
	"gpu_memcpy": KindMemcpy, "Memcpy": KindMemcpy, "memcpy": KindMemcpy,
	"gpu_memset": KindMemset, "Memset": KindMemset, "memset": KindMemset,
	"cuda_runtime": KindRuntime, "Runtime": KindRuntime, "runtime": KindRuntime,
	"mtia_runtime": KindRuntime, "xpu_runtime": KindRuntime, "glow_runtime": KindRuntime, "privateuse1_runtime": KindRuntime,
	"cuda_driver": KindDriver, "xpu_driver": KindDriver, "privateuse1_driver": KindDriver,
	"cpu_op": KindOp, "Operator": KindOp, "operator": KindOp,
	"python_function": KindFrame, "Python": KindFrame,
	"user_annotation": KindAnnotation, "gpu_user_annotation": KindGPUAnnotation,
	"cuda_sync": KindSync, "cuda_event": KindSync, "overhead": KindOverhead,
}

// modulePrefix opens the name of a python_function event that is a module call.
const modulePrefix = "nn.Module: "

// KindOf returns the kind of a Kineto event of category cat and name name.
func KindOf(cat, name string) Kind {
	k, ok := kinetoKinds[cat]
	if !ok {
		return KindOther
	}
	if k == KindFrame && len(name) > len(modulePrefix) && name[:len(modulePrefix)] == modulePrefix {
		return KindModule
	}
	return k
}
