// Package triage turns profiler traces of an LLM server into one report with
// three tables: where GPU time goes and from which source line, which kernels
// run alone although they could overlap, and which known fusion is not used.
//
// [NewInput] takes the loaded traces of a run and of its mapping run, [Analyze]
// computes a [Report] from them. A Report is plain data; [Report.WriteMarkdown]
// and [Report.WriteText] render it. [Bundle] joins reports, [Report.WriteProfile]
// exports GPU time as a pprof profile.
//
// # Terminology
//
//   - A stage is the part of serving a kernel belongs to: extend (prefill),
//     decode, mixed (both in one batch), or all if the trace does not show it.
//   - A row is all launches of one canonical kernel name in a stage.
//   - A site is a source line a kernel was launched from.
//   - The formal trace is the one read for time. A mapping trace, if given, is
//     the same model with CUDA graphs off, read only for source lines.
//   - A split chain is a run of kernels for which the registry knows a fused
//     path; a fused path is active when its kernel is seen.
//
// # What the numbers can say
//
// GPU time of a row is the sum of its launches; the busy time of a stage is a
// union of intervals, never a sum. A trace shows what overlapped, not what may
// legally overlap: the overlap table ranks places to look at, by a bound of what
// they can win. A split chain is evidence that a known fusion was not used, not
// that it applies to this model.
package triage
