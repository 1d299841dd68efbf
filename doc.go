// Package strata is the root of a library that reads GPU profiler traces of
// LLM inference and answers what performance engineers ask of them: which
// forward passes and layers, which kernels and from which source line, what is
// exposed, which known fusion is not used, whether the host is the bottleneck,
// and where to look in Perfetto.
//
// [Open] reads any file, directory or stream that one of [Formats] knows into a
// [Recording], and [Analyze] runs every analysis on it, once, and ranks what they
// found. For one question import the package that answers it:
// [github.com/llmstrata/strata/trace] holds the data model and reads
// torch.profiler traces, [github.com/llmstrata/strata/trace/nsys] Nsight
// Systems exports,
// [github.com/llmstrata/strata/layer] finds passes and layers (its roofline says
// what they should take, its compare what differs between two runs),
// [github.com/llmstrata/strata/triage] writes the three tables,
// [github.com/llmstrata/strata/hostoverhead] judges the host,
// [github.com/llmstrata/strata/perfetto] links, annotates and slices, and
// [github.com/llmstrata/strata/capture] records from a running server.
package strata
