// Package hostoverhead answers whether the CPU is the bottleneck of an inference run and where the GPU's idle time
// goes.
//
// [Analyze] says how much faster a run could be at most if the host cost nothing, with its evidence: a ledger in
// which every nanosecond of idle time has one cause, the gaps by length, which kernels run outside CUDA graphs, and
// which rank the others wait for. [Breakdown] says what a step is made of, [Series]
// gives that step by step to package layer/compare, and [Compare] renders what that says of two runs.
//
// In an Nsight Systems export NVTX ranges name the host operations; in a torch.profiler trace annotations and Python
// frames do.
//
// # Terms
//
// Busy is the union of the kernel intervals of one device, including graph replays recorded as one row; idle is
// the rest of the window. Exposed host work is host work during idle time: the part that making it faster, or
// overlapping it, can win back.
package hostoverhead
