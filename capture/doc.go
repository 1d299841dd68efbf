// Package capture drives the torch profiler of a running LLM server over HTTP
// and waits for trace files that are whole.
//
// [Run] takes a server from a URL to labelled files: it warms the server up,
// arms the profiler, sends a workload of known shape (see [Workload]), disarms
// the profiler, and waits until every expected rank has written a file whose
// size has settled and whose end is intact. It returns paths, never a parsed
// trace: a caller that wants to look inside hands in [Options].Inspect.
//
// Four servers are known: SGLang, vLLM, TensorRT-LLM and TokenSpeed. What each
// of them can do differs; the differences are kept in one driver per server,
// and an option a server does not have is an error before anything is sent.
//
// # Promises
//
//   - Every request has a timeout and obeys the context.
//   - Once a start request has been sent, no return leaves the profiler
//     running as far as this side can help it: errors, panics of callbacks
//     aside, and a cancelled context are followed by a stop request with a
//     timeout of its own ([Timeouts].Cleanup).
//   - A trace that lay in the folder before the profiler was armed is never
//     returned as this run's.
//   - Files are read, moved and written below [Options].OutputDir only; links
//     that lead out of it are not followed.
//
// Answers of servers are read with encoding/json, not with the faster decoder
// the rest of the module uses for documents: they are small, and they come from
// the other side of a network.
package capture
