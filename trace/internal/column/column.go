package column

import (
	"context"
	"reflect"
)

// Sparse is a column that costs nothing while all its values are zero. It is
// as long as its last non-zero value; At answers zero beyond.
type Sparse[T number] struct {
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
func permute[T number](v []T, p []int32, scratch []uint64) {
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

	Cat   Sparse[uint32] // only where the category does not follow from the kind
	Corr  Sparse[uint64]
	Ext   Sparse[uint64]
	Graph Sparse[uint64]
	Node  Sparse[uint64]
	Shape Sparse[uint32] // op: input dims; activity: launch configuration
	// op: types, strides and values of its inputs, between separators; activity: what a collective says of itself
	Inputs   Sparse[uint32]
	AnnQueue Sparse[int32]  // annotations on a stream and syncs: queue index + 1
	Domain   Sparse[uint32] // NVTX domain; op: call stack
	Scope    Sparse[uint16] // process scope of the correlation
	Args     Sparse[uint32] // raw args, interned
	Bytes    Sparse[int64]  // copies and sets
	Unended  Sparse[uint8]  // 1: activities that were running when the window closed
	Value    Sparse[uint64] // of counters: the bits of a float64
	Recorded Sparse[int64]  // duration as recorded plus 1, of activities whose own was capped
}

// InputSeparator is between the parts of Inputs: JSON cannot contain it.
const InputSeparator = 0

// Len returns the number of rows.
func (c *Columns) Len() int { return len(c.Start) }

// End returns when row i ended.
func (c *Columns) End(i int) int64 { return c.Start[i] + c.Dur[i] }

// field is a column, whatever its values are.
type field interface {
	permute(p []int32, scratch []uint64, rows int)
	cut(n int)
	extend(src field, n int, predict func(n int) int)
	size() int64
}

// fields are all columns, always in the same order.
func (c *Columns) fields() [21]field {
	return [...]field{
		(*dense[int64])(&c.Start), (*dense[int64])(&c.Dur), (*dense[uint32])(&c.Name), (*dense[uint8])(&c.Kind),
		(*dense[int32])(&c.Thread), (*dense[int32])(&c.Queue),
		&c.Cat, &c.Corr, &c.Ext, &c.Graph, &c.Node, &c.Shape, &c.Inputs, &c.AnnQueue, &c.Domain, &c.Scope, &c.Args,
		&c.Bytes, &c.Unended, &c.Value, &c.Recorded,
	}
}

// Take makes row i of what was row p[i], unless ctx ends. p may be shorter
// than the columns; see Cut.
func (c *Columns) Take(ctx context.Context, p []int32) {
	n := c.Len()
	scratch := make([]uint64, len(p))
	for _, f := range c.fields() {
		if ctx.Err() != nil {
			return
		}
		f.permute(p, scratch, n)
	}
}

// Cut leaves the first n rows.
func (c *Columns) Cut(n int) {
	for _, f := range c.fields() {
		f.cut(n)
	}
}

// SortBytes is what sorting takes per row beside the columns: two permutations
// and the copy of one column.
const SortBytes = 4 + 4 + 8

// Size returns the bytes that the rows take.
func (c *Columns) Size() (n int64) {
	for _, f := range c.fields() {
		n += f.size()
	}
	return n
}

// Truncate empties c and keeps its memory.
func (c *Columns) Truncate() { c.Cut(0) }

// Append appends the rows of src. predict says how many rows a column of n
// rows is expected to end with.
func (c *Columns) Append(src *Columns, predict func(n int) int) {
	n, from := c.Len(), src.fields()
	for i, f := range c.fields() {
		f.extend(from[i], n, predict)
	}
}

// number is what a column holds.
type number interface {
	~int64 | ~uint64 | ~int32 | ~uint32 | ~uint16 | ~uint8
}

// dense is a column with a value in every row, or of no row at all.
type dense[T number] []T

func (d *dense[T]) permute(p []int32, scratch []uint64, _ int) { permute(*d, p, scratch) }

func (d *dense[T]) cut(n int) { *d = (*d)[:min(n, len(*d))] }

func (d *dense[T]) extend(src field, _ int, predict func(n int) int) {
	*d = extend(*d, *src.(*dense[T]), predict)
}

func (d *dense[T]) size() int64 { return bytes(*d) }

func (s *Sparse[T]) permute(p []int32, scratch []uint64, rows int) {
	permute(s.widen(rows), p, scratch)
}

func (s *Sparse[T]) cut(n int) { s.V = s.V[:min(n, len(s.V))] }

func (s *Sparse[T]) size() int64 { return bytes(s.V) }

// bytes is what the rows of a column take.
func bytes[T any](v []T) int64 {
	return int64(len(v)) * int64(reflect.TypeFor[T]().Size())
}

// extend appends src to the rows of s; src begins at row n.
func (s *Sparse[T]) extend(other field, n int, predict func(n int) int) {
	src := other.(*Sparse[T])
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

// Grow is slices.Grow, but does not write to the memory that it makes room in: what is never used of it then costs
// nothing.
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
