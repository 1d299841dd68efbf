package trace

import (
	"context"
	"iter"
	"runtime"
)

// OpenFiles loads several traces, such as the ranks that [ListFiles] finds, and
// yields one pair for each path, in the order of paths: the trace, or what
// [Open] returned instead of it. A file that cannot be read does not keep the
// others from being loaded.
//
// Files are loaded ahead of the caller, but no more than [Options.FilesInFlight] are
// being loaded or waiting to be taken at any time: a caller that lets go of each
// trace before it takes the next one holds that many at most, whatever the
// number of files. The other options apply to each file by itself, a
// memory budget too. Where several files are loaded at a time each is
// scanned by one goroutine, unless [Options.Concurrency] says otherwise: decompression
// then uses all processors, which one file alone cannot. Progress is told
// for several files at once.
//
// When ctx ends, the remaining files give its error. Breaking off the iteration
// stops the loads.
func OpenFiles(ctx context.Context, paths []string, o Options) iter.Seq2[*Trace, error] {
	n := min(o.filesInFlight(), len(paths))
	if n > 1 && o.Concurrency == 0 {
		o.Concurrency = max(1, runtime.GOMAXPROCS(0)/n)
	}
	return func(yield func(*Trace, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		type loaded struct {
			t   *Trace
			err error
		}
		// One channel a file keeps the order. A file is begun when the caller is
		// done with the one that is n before it.
		results := make([]chan loaded, len(paths))
		start := func(i int) {
			results[i] = make(chan loaded, 1)
			go func() {
				t, err := Open(ctx, paths[i], o)
				results[i] <- loaded{t, err}
			}()
		}
		for i := range n {
			start(i)
		}
		defer func() { // wait for what is still being loaded
			stop()
			for _, r := range results {
				if r != nil {
					<-r
				}
			}
		}()
		for i := range paths {
			r := <-results[i]
			results[i] = nil
			if !yield(r.t, r.err) {
				return
			}
			if next := i + n; next < len(paths) {
				start(next)
			}
		}
	}
}
