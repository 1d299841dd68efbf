// Package capture drives the torch profiler of a running LLM server over HTTP
// and waits for complete trace files.
//
// [Run] takes a server from a URL to labelled files: it warms the server up,
// arms the profiler, sends a workload of known shape (see [Workload]), disarms
// the profiler, waits until every expected rank has written a file whose size
// has settled and whose end is intact, and says whether the files hold what was
// asked for ([Verdict]). It parses no trace itself: a caller hands in
// [Options].Inspect, which looks inside.
//
// Four servers are known: SGLang, vLLM, TensorRT-LLM and TokenSpeed. What each
// of them can do differs; the differences are kept in one driver per server,
// and an option a server does not have is an error before anything is sent.
//
// # Promises
//
//   - Every request has a timeout and obeys the context.
//   - The profiler counts as on from the moment a start request is sent until
//     it is known to be off, whatever the answer was, and is then stopped with
//     one request: after errors, a cancelled context, a panic of a callback.
//     No server is started twice, or stopped twice unless it is known to take
//     that. What a killed process leaves on, [Stop] and [Collect] take up, by
//     the note that a run keeps in the folder.
//   - A trace that lay in the folder before the profiler was armed is never
//     returned as this run's, nor one whose recording had ended by then.
//   - Files are read, moved and written below [Options].OutputDir only; links
//     that lead out of it are not followed.
//   - No key or password is in a result, an error, a note or a file.
package capture
