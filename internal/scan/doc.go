// Package scan reads the events of torch-profiler (Kineto, Chrome trace event
// format) JSON without building a document.
//
// There is one set of rules, the machine in machine.go, and two ways to run it:
//
//   - [Scanner] pulls events one by one from an io.Reader in constant memory.
//   - [Parallel] cuts the stream into segments, lets several goroutines scan
//     them ahead of time on the guess that each starts between two events, and
//     takes the results in order, scanning again wherever the guess was wrong.
//
// Both give the same events, in the same order, with the same losses at the
// same offsets, however the bytes arrive. Offsets count bytes of the stream
// that is read, that is: after decompression.
//
// # Damage
//
// Profiler files are written by servers that get killed, and by code that does
// not escape what it writes. A broken event costs that event: scanning goes on
// at the next place that looks like the start of an event, namely
//
//	} , { "K"      with any white space, K one of the usual event keys
//
// counted from the broken event's own start, so that a stray quote cannot
// swallow its neighbours. Every loss and every repair is recorded with its
// reason and offset. [Config].Strict turns the first one into an error.
package scan
