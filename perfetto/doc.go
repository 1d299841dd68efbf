// Package perfetto connects a trace with the Perfetto UI: links that open the
// UI at a pass or layer, a one-shot local server that hands the UI a file,
// copies of a trace with passes and layers drawn in ([Annotate]), and cuts
// that are small enough to share ([Slice]).
//
// # Time
//
// The UI shows seconds since the trace's first event but its links and SQL
// tables use raw nanoseconds: the file's ts, in µs, times 1000. [trace.Time]
// is the former, [trace.Trace.Raw] gives the latter.
package perfetto
