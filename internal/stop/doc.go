// Package stop lets long computations end soon after their context does,
// without an error passed through every loop. There are two ways, one for each
// kind of code.
//
// Loops that may run out ask [Watch.Over]: a Watch remembers that it saw the
// end, so that all loops that ask it end, and who started them reads
// [Watch.Err] once.
//
// Where half a result would have to be guarded against everywhere, loops call
// [Watch.Row] or [Watch.Rows], which unwind the stack when the context has
// ended, and the entry point defers [Guard], which makes an error of that. The
// panic never leaves the goroutine of the call.
package stop
