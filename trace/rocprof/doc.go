// Package rocprof reads what AMD's rocprofv3 records: its JSON documents
// (*_results.json) and its databases (rocpd, *_results.db), into the model of
// package trace.
//
//	t, err := trace.Open(ctx, "1234_results.json", trace.Options{Formats: rocprof.Formats()})
//
// A dispatch is linked to a call of the HIP API where one of the same id was
// recorded; with kernels alone nothing says what launched them. What the
// profiler does not record is unknown: there are no rows for memory sets, and
// times have no wall clock.
package rocprof
