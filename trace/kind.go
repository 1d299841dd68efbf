package trace

import "github.com/llmstrata/strata/trace/internal/kind"

// Lane is a sort of event that is stored and indexed together.
//
// New lanes may be added; users must be robust to that.
type Lane uint8

// The lanes.
const (
	laneInvalid    Lane = kind.NoLane
	LaneGPU        Lane = kind.GPULane        // activities: kernels, copies, sets, graph rows; sorted by start, then input order
	LaneLaunch     Lane = kind.LaunchLane     // runtime and driver API calls; sorted by thread, start, longest first
	LaneOp         Lane = kind.OpLane         // CPU operators; sorted by thread, start, longest first
	LanePython     Lane = kind.PythonLane     // Python and module frames; sorted by thread, start, longest first
	LaneAnnotation Lane = kind.AnnotationLane // record_function, gpu_user_annotation, NVTX; sorted by thread, start, longest first
	LaneSync       Lane = kind.SyncLane       // synchronisation, profiler overhead, system calls and switches of threads; never busy time; sorted like annotations
	LaneOther      Lane = kind.OtherLane      // spans of unknown category, kept but not interpreted
	LaneCounter    Lane = kind.CounterLane    // samples of counters such as a GPU's clock, by start; see [Trace.Counters]
	laneCount           = kind.Lanes
)

// Kind is what an event is. Its zero value is invalid.
//
// New kinds may be added; users must be robust to that.
type Kind uint8

// The kinds, grouped by lane.
const (
	KindKernel Kind = kind.Kernel // a GPU kernel
	KindMemcpy Kind = kind.Memcpy // a GPU memory copy
	KindMemset Kind = kind.Memset // a GPU memory set
	KindGraph  Kind = kind.Graph  // one row for a whole graph replay, without its kernels (Nsight Systems)

	KindRuntime Kind = kind.Runtime // a CUDA/HIP runtime API call
	KindDriver  Kind = kind.Driver  // a CUDA driver API call

	KindOp Kind = kind.Op // a CPU operator

	KindFrame  Kind = kind.Frame  // a Python function frame
	KindModule Kind = kind.Module // an nn.Module call ("nn.Module: Name_3")

	KindAnnotation    Kind = kind.Annotation    // a record_function range on a CPU thread
	KindGPUAnnotation Kind = kind.GPUAnnotation // a CPU annotation projected on a GPU stream; may stretch over gaps
	KindRange         Kind = kind.Range         // an NVTX range
	KindMark          Kind = kind.Mark          // an instant annotation without a duration

	KindSync     Kind = kind.Sync     // a synchronisation activity (cuda_sync)
	KindOverhead Kind = kind.Overhead // profiler overhead

	KindOther Kind = kind.Other // anything else

	KindCounter Kind = kind.Counter // one sample of a counter, see [Event.Value]

	KindOSCall Kind = kind.OSCall // a call of the C library or the system on a thread (Nsight Systems, OSRT)
	KindOffCPU Kind = kind.OffCPU // a time in which the operating system ran something else than the thread
	KindSample Kind = kind.Sample // a moment at which a thread was found running; the name is the function, "running" where it is not known
	kindCount       = kind.Kinds
)

// String returns the kind's lower-case name.
func (k Kind) String() string { return kind.Name(uint8(k)) }

// Lane returns the lane that holds events of kind k.
func (k Kind) Lane() Lane { return Lane(kind.Lane(uint8(k))) }

// KindOf returns the kind of a Kineto event of category cat and name name. A
// category that is not known is KindOther, never a kernel.
func KindOf(cat, name string) Kind { return Kind(kind.Of(cat, name)) }
