// Package hostoverhead answers whether the CPU is the bottleneck of an
// inference run, where the GPU's idle time goes, and which host operation
// became slower between two runs.
//
// [Detect] gives the YES or NO with its evidence. [Breakdown] finds the
// iterations and steady steps of one run and what a step is made of; [Compare]
// sets two runs against each other. [Drill] explains the idle time itself: a
// ledger in which every nanosecond has one cause, the gaps by length, which
// kernels run outside CUDA graphs, the repeating kernel pattern, and which
// rank the others wait for.
//
// All of them take any [trace.Trace]. In an Nsight Systems export NVTX ranges
// name the host operations; in a torch.profiler trace annotations and Python
// frames do.
//
// # Terms
//
// Busy is the union of the kernel intervals of one device, graph replays that
// were recorded whole included; idle is the rest of the window. Exposed host
// work is host work during idle time: the part that making it faster, or
// overlapping it, can win back.
package hostoverhead
