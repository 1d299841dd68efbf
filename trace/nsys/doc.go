// Package nsys reads the SQLite exports of NVIDIA Nsight Systems into a
// [trace.Trace].
//
// # What becomes what
//
//	CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET   activities
//	CUPTI_ACTIVITY_KIND_GRAPH_TRACE                one activity per replay (KindGraph)
//	CUPTI_ACTIVITY_KIND_RUNTIME                    launches, names without their version suffix
//	NVTX_EVENTS                                    ranges and marks with their domain; ranges that
//	                                               torch.autograd.profiler.emit_nvtx wrote for
//	                                               operators become ops
//	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION            sync events
//	CUPTI_ACTIVITY_KIND_OVERHEAD, PROFILER_OVERHEAD overhead
//	OSRT_API, SCHED_EVENTS, COMPOSITE_EVENTS       calls of the system, times off the CPU, samples
//	DIAGNOSTIC_EVENT                               losses, where the recorder says that it lost events
//
// A launch and its activities are joined on process and correlationId, since
// ranks count their correlations separately.
//
// nsys creates tables only when it has rows for them and has added and dropped
// columns over the years. A missing table or column never fails the load; what
// it costs is in [trace.Trace.Health].
//
// # The file
//
// The export is opened read-only and immutable: it is not locked or written to
// and no journal appears beside it. An export that still has a write-ahead log
// beside it is read without the log, which the health report says.
package nsys
