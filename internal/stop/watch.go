package stop

import (
	"context"
	"iter"
	"slices"
)

// Every is after how many rows a [Watch] looks at its context: a few
// milliseconds of the slowest loops, and so rarely that a look costs nothing.
const Every = 1 << 14

// Watch looks at a context now and then. A nil Watch, and one of no context, is
// never over. It is for one goroutine.
type Watch struct {
	ctx  context.Context
	left int // rows until the next look
	err  error
}

// New returns a Watch that looks at ctx.
func New(ctx context.Context) *Watch { return &Watch{ctx: ctx, left: Every} }

// Over counts a row and reports whether the context has ended. What was
// computed until then is not to be used.
func (w *Watch) Over() bool {
	if w == nil {
		return false
	}
	if w.left--; w.left > 0 {
		return false
	}
	return w.Err() != nil
}

// Add counts n rows that are worked on at once, and reports what [Watch.Over]
// does.
func (w *Watch) Add(n int) bool {
	if w == nil {
		return false
	}
	if w.left -= n; w.left > 0 {
		return false
	}
	return w.Err() != nil
}

// Err looks at the context now and returns its error. Once it returned one, it
// returns the same, and Over and Add report true.
func (w *Watch) Err() error {
	if w == nil || w.ctx == nil {
		return nil
	}
	if w.err == nil {
		w.left = Every
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		w.left = 0
	}
	return w.err
}

// ended is what Row and Rows panic with, and Guard recovers.
type ended struct{ err error }

// Row counts a row and unwinds the stack to [Guard] when the context has ended.
func (w *Watch) Row() {
	if w.Over() {
		panic(ended{w.err})
	}
}

// Rows counts n rows that are worked on at once; see [Watch.Row].
func (w *Watch) Rows(n int) {
	if w.Add(n) {
		panic(ended{w.err})
	}
}

// Guard, deferred, sets err to the context's error when a call of [Watch.Row] or
// [Watch.Rows] unwound the stack. Other panics go on.
func Guard(err *error) {
	switch r := recover().(type) {
	case nil:
	case ended:
		*err = r.err
	default:
		panic(r)
	}
}

// Each is seq, ended early when the context ends.
func Each[T any](w *Watch, seq iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range seq {
			if w.Over() || !yield(v) {
				return
			}
		}
	}
}

// Sort sorts s by compare, or leaves it in disorder when the context ends: the
// rest then compares as equal, which costs one pass.
func Sort[T any](w *Watch, s []T, compare func(a, b T) int) {
	slices.SortFunc(s, func(a, b T) int {
		if w.Over() {
			return 0
		}
		return compare(a, b)
	})
}
