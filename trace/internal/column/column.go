package column

import (
	"context"
)

// Sparse is a column that costs nothing while all its values are zero. It is
// as long as its last non-zero value; At answers zero beyond.
type Sparse[T comparable] struct {
	V []T // as far as there are values
}

// Set makes row i x.
func (s *Sparse[T]) Set(i int, x T) {
	var zero T
	if x == zero && i >= len(s.V) {
		return
	}
	for len(s.V) <= i {
		s.V = append(s.V, zero)
	}
	s.V[i] = x
}

// At returns row i.
func (s *Sparse[T]) At(i int) T {
	if i < len(s.V) {
		return s.V[i]
	}
	var zero T
	return zero
}

// Fill is Set for columns that most rows have a value in: they are given the
// room of the lane instead of growing step by step.
func (s *Sparse[T]) Fill(i int, x T, room int) {
	if len(s.V) == i && i == cap(s.V) && i >= minFilled && room > i {
		s.V = Grow(s.V, room-i)
	}
	s.Set(i, x)
}

// minFilled is how many rows must have a value until all are expected to.
const minFilled = 1 << 10

// widen makes the column as long as the lane, unless it is empty.
func (s *Sparse[T]) widen(n int) []T {
	if gap := n - len(s.V); len(s.V) > 0 && gap > 0 {
		s.V = append(s.V, make([]T, gap)...)
	}
	return s.V
}

// permute makes v[i] what was v[p[i]]. It works in place, with scratch that all
// columns of a lane share: copies of all of them would be most of a load's peak.
func permute[T ~int64 | ~uint64 | ~int32 | ~uint32 | ~uint16 | ~uint8](v []T, p []int32, scratch []uint64) {
	if len(v) == 0 {
		return
	}
	for i, j := range p {
		scratch[i] = uint64(v[j])
	}
	for i, x := range scratch {
		v[i] = T(x)
	}
}

// Columns holds the events of one lane, one slice a field.
//
// Invariants once a trace is finished: all dense columns have the same length;
// Start is relative to the trace's origin; GPU rows are sorted by start and input
// order, rows of other lanes by thread, start, longest first, input order. Names
// and texts are numbers of the trace's table of them, 0 is "".
type Columns struct {
	Start  []int64 // raw ns while building
	Dur    []int64
	Name   []uint32
	Kind   []uint8
	Thread []int32 // CPU lanes
	Queue  []int32 // GPU lane: index into the trace's queues

	Cat      Sparse[uint32] // only where the kind does not tell the category
	Corr     Sparse[uint64]
	Ext      Sparse[uint64]
	Graph    Sparse[uint64]
	Node     Sparse[uint64]
	Shape    Sparse[uint32] // op: input dims; activity: launch configuration
	AnnQueue Sparse[int32]  // annotations on a stream and syncs: queue index + 1
	Domain   Sparse[uint32] // NVTX domain; op: call stack
	Scope    Sparse[uint16] // process scope of the correlation
	Args     Sparse[uint32] // raw args, interned
	Bytes    Sparse[int64]  // copies and sets
	Unended  Sparse[uint8]  // 1: activities that were running when the window closed
	Value    Sparse[uint64] // of counters: the bits of a float64
	Recorded Sparse[int64]  // duration as recorded plus 1, of activities whose own was capped
}

// Len returns the number of rows.
func (c *Columns) Len() int { return len(c.Start) }

// End returns when row i ended.
func (c *Columns) End(i int) int64 { return c.Start[i] + c.Dur[i] }

// Take makes row i of what was row p[i], unless ctx ends. p may be shorter
// than the columns; see Cut.
func (c *Columns) Take(ctx context.Context, p []int32) {
	n := c.Len()
	scratch := make([]uint64, len(p))
	for _, column := range []func(){
		func() { permute(c.Start, p, scratch) },
		func() { permute(c.Dur, p, scratch) },
		func() { permute(c.Name, p, scratch) },
		func() { permute(c.Kind, p, scratch) },
		func() { permute(c.Thread, p, scratch) },
		func() { permute(c.Queue, p, scratch) },
		func() { permute(c.Cat.widen(n), p, scratch) },
		func() { permute(c.Corr.widen(n), p, scratch) },
		func() { permute(c.Ext.widen(n), p, scratch) },
		func() { permute(c.Graph.widen(n), p, scratch) },
		func() { permute(c.Node.widen(n), p, scratch) },
		func() { permute(c.Shape.widen(n), p, scratch) },
		func() { permute(c.AnnQueue.widen(n), p, scratch) },
		func() { permute(c.Domain.widen(n), p, scratch) },
		func() { permute(c.Scope.widen(n), p, scratch) },
		func() { permute(c.Args.widen(n), p, scratch) },
		func() { permute(c.Bytes.widen(n), p, scratch) },
		func() { permute(c.Unended.widen(n), p, scratch) },
		func() { permute(c.Value.widen(n), p, scratch) },
	} {
		if ctx.Err() != nil {
			return
		}
		column()
	}
}

// Cut leaves the first n rows.
func (c *Columns) Cut(n int) {
	c.Start, c.Dur, c.Name, c.Kind = c.Start[:n], c.Dur[:n], c.Name[:n], c.Kind[:n]
	c.Thread, c.Queue = c.Thread[:min(n, len(c.Thread))], c.Queue[:min(n, len(c.Queue))]
	c.Cat.cut(n)
	c.Corr.cut(n)
	c.Ext.cut(n)
	c.Graph.cut(n)
	c.Node.cut(n)
	c.Shape.cut(n)
	c.AnnQueue.cut(n)
	c.Domain.cut(n)
	c.Scope.cut(n)
	c.Args.cut(n)
	c.Bytes.cut(n)
	c.Unended.cut(n)
	c.Value.cut(n)
}

func (s *Sparse[T]) cut(n int) { s.V = s.V[:min(n, len(s.V))] }

// SortBytes is what sorting takes per row beside the columns: two permutations
// and the copy of one column.
const SortBytes = 4 + 4 + 8

// Size returns the bytes that the rows take.
func (c *Columns) Size() int64 {
	eight := len(c.Start) + len(c.Dur) + len(c.Corr.V) + len(c.Ext.V) + len(c.Graph.V) + len(c.Node.V) + len(c.Bytes.V) + len(c.Recorded.V) + len(c.Value.V)
	four := len(c.Name) + len(c.Thread) + len(c.Queue) + len(c.Cat.V) + len(c.Shape.V) + len(c.AnnQueue.V) + len(c.Domain.V) + len(c.Args.V)
	return 8*int64(eight) + 4*int64(four) + 2*int64(len(c.Scope.V)) + int64(len(c.Kind)+len(c.Unended.V))
}

// Truncate empties c and keeps its memory.
func (c *Columns) Truncate() {
	c.Start, c.Dur, c.Name, c.Kind = c.Start[:0], c.Dur[:0], c.Name[:0], c.Kind[:0]
	c.Thread, c.Queue = c.Thread[:0], c.Queue[:0]
	c.Cat.V, c.Corr.V, c.Ext.V, c.Graph.V = c.Cat.V[:0], c.Corr.V[:0], c.Ext.V[:0], c.Graph.V[:0]
	c.Node.V, c.Shape.V, c.AnnQueue.V, c.Domain.V = c.Node.V[:0], c.Shape.V[:0], c.AnnQueue.V[:0], c.Domain.V[:0]
	c.Scope.V, c.Args.V, c.Bytes.V, c.Unended.V = c.Scope.V[:0], c.Args.V[:0], c.Bytes.V[:0], c.Unended.V[:0]
}

// Append appends the rows of src. predict says how many rows a column of n
// rows is expected to end with.
func (c *Columns) Append(src *Columns, predict func(n int) int) {
	n := c.Len()
	c.Start, c.Dur = extend(c.Start, src.Start, predict), extend(c.Dur, src.Dur, predict)
	c.Name, c.Kind = extend(c.Name, src.Name, predict), extend(c.Kind, src.Kind, predict)
	c.Thread, c.Queue = extend(c.Thread, src.Thread, predict), extend(c.Queue, src.Queue, predict)
	c.Cat.extend(&src.Cat, n, predict)
	c.Corr.extend(&src.Corr, n, predict)
	c.Ext.extend(&src.Ext, n, predict)
	c.Graph.extend(&src.Graph, n, predict)
	c.Node.extend(&src.Node, n, predict)
	c.Shape.extend(&src.Shape, n, predict)
	c.AnnQueue.extend(&src.AnnQueue, n, predict)
	c.Domain.extend(&src.Domain, n, predict)
	c.Scope.extend(&src.Scope, n, predict)
	c.Args.extend(&src.Args, n, predict)
	c.Bytes.extend(&src.Bytes, n, predict)
	c.Unended.extend(&src.Unended, n, predict)
}

// extend appends src to the rows of s, which begin at row n.
func (s *Sparse[T]) extend(src *Sparse[T], n int, predict func(n int) int) {
	if len(src.V) == 0 {
		return
	}
	if gap := n - len(s.V); gap > 0 {
		s.V = reserve(s.V, gap+len(src.V), predict)
		clear(s.V[len(s.V):n])
		s.V = s.V[:n]
	}
	s.V = extend(s.V, src.V, predict)
}

func extend[T any](dst, src []T, predict func(n int) int) []T {
	return append(reserve(dst, len(src), predict), src...)
}

// maxLeap bounds how much larger than needed a column is made on the word of
// a prediction. Memory that is reserved and not written to costs nothing; copying
// on growth costs twice the column at its worst moment.
const maxLeap = 16

// reserve makes room for n more elements.
func reserve[T any](dst []T, n int, predict func(n int) int) []T {
	need := len(dst) + n
	if need <= cap(dst) {
		return dst
	}
	out := make([]T, len(dst), Room(need, predict(need)))
	copy(out, dst)
	return out
}

// Grow is slices.Grow, but does not write to the memory that it makes room in: what is never used of it then costs nothing.
func Grow[T any](v []T, n int) []T {
	if n <= cap(v)-len(v) {
		return v
	}
	out := make([]T, len(v), len(v)+n)
	copy(out, v)
	return out
}

// Room is how many elements a column is made for that needs some, and is
// predicted to end with others.
func Room(need, predicted int) int {
	size := need + need/4
	// A quarter more than predicted: compression varies along the file, and a
	// prediction that falls a little short costs the whole column once more.
	if predicted > size {
		size = min(predicted+predicted/4, maxLeap*need)
	}
	return size
}
