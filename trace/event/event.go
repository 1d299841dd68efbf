package event

import "github.com/llmstrata/strata/internal/kind"

// Lane is a sort of event that is stored and indexed together. Its zero value
// holds nothing.
//
// New lanes may be added; users must be robust to that.
type Lane uint8

// The lanes.
const (
	// activities: kernels, copies, sets, graph rows; sorted by start, then input order
	LaneGPU    Lane = kind.GPULane
	LaneLaunch Lane = kind.LaunchLane // runtime and driver API calls; sorted by thread, start, longest first
	LaneOp     Lane = kind.OpLane     // CPU operators; sorted by thread, start, longest first
	LanePython Lane = kind.PythonLane // Python and module frames; sorted by thread, start, longest first
	// record_function, gpu_user_annotation, NVTX; sorted by thread, start, longest first
	LaneAnnotation Lane = kind.AnnotationLane
	// synchronisation, profiler overhead, system calls and switches of threads; never busy time; sorted like
	// annotations
	LaneSync    Lane = kind.SyncLane
	LaneOther   Lane = kind.OtherLane   // spans of unknown category, kept but not interpreted
	LaneCounter Lane = kind.CounterLane // samples of counters such as a GPU's clock, by start
)

// Kind is what an event is. Its zero value is invalid.
//
// New kinds may be added; users must be robust to that.
type Kind uint8

// The kinds, grouped by lane.
const (
	Kernel Kind = kind.Kernel // a GPU kernel
	Memcpy Kind = kind.Memcpy // a GPU memory copy
	Memset Kind = kind.Memset // a GPU memory set
	Graph  Kind = kind.Graph  // one row for a whole graph replay, without its kernels (Nsight Systems)

	Runtime Kind = kind.Runtime // a CUDA/HIP runtime API call
	Driver  Kind = kind.Driver  // a CUDA driver API call

	Op Kind = kind.Op // a CPU operator

	Frame  Kind = kind.Frame  // a Python function frame
	Module Kind = kind.Module // an nn.Module call ("nn.Module: Name_3")

	Annotation    Kind = kind.Annotation    // a record_function range on a CPU thread
	GPUAnnotation Kind = kind.GPUAnnotation // a CPU annotation projected on a GPU stream; may stretch over gaps
	Range         Kind = kind.Range         // an NVTX range
	Mark          Kind = kind.Mark          // an instant annotation without a duration

	Sync     Kind = kind.Sync     // a synchronisation activity (cuda_sync)
	Overhead Kind = kind.Overhead // profiler overhead
	OSCall   Kind = kind.OSCall   // a call of the C library or the system on a thread (Nsight Systems, OSRT)
	OffCPU   Kind = kind.OffCPU   // a time in which the operating system ran something else than the thread
	// a moment at which a thread was found running; the name is the function, "running" where it is not known
	Sample Kind = kind.Sample

	Other Kind = kind.Other // anything else

	Counter Kind = kind.Counter // one sample of a counter, with a value
)

// String returns the kind's lower-case name.
func (k Kind) String() string { return kind.Name(uint8(k)) }

// Lane returns the lane that holds events of kind k, the zero Lane where none does.
func (k Kind) Lane() Lane { return Lane(kind.Lane(uint8(k))) }
