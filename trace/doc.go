// Package trace holds the data model of a GPU profiler trace and the readers
// that fill it.
//
// [Open] and [Read] load a torch.profiler (Kineto) JSON trace, plain or compressed (gzip, zstd, bzip2, zlib, a zip
// archive of one file), into an immutable [Trace]. [Reader] yields the same events one by one in constant memory, for
// tools that need only that. [Builder] fills a Trace from any other source; package trace/nsys uses it for Nsight
// Systems.
//
// # Terminology
//
//   - An activity is something that ran on a GPU: a kernel, a memory copy, a
//     memory set, or (from Nsight Systems) a whole graph replay.
//   - A launch is the runtime or driver API call on the CPU that caused
//     activities; one graph launch causes many.
//   - An op is a CPU operator such as aten::mm; a frame is a Python function
//     or an nn.Module call on a CPU thread.
//   - An annotation is a named range: record_function, gpu_user_annotation or NVTX.
//   - A lane holds all events of one of these sorts, as columns. Package
//     trace/event names the lanes, and the kinds of events in them.
//
// # Time
//
// [Time] is in nanoseconds since the trace's first event, kept as an integer
// parsed from the decimal text of the file: no value passes through a float.
//
// Everything derived, such as kernel → launch → op → frame, is found by
// following [Event] accessors. Read [Trace.Health] before believing a number.
package trace
