package trace

import (
	"context"
	"slices"
)

// sparse is a column that costs nothing while all its values are zero. It is
// as long as its last non-zero value; At answers zero beyond.
type sparse[T comparable] struct{ v []T }

func (s *sparse[T]) set(i int, x T) {
	var zero T
	if x == zero && i >= len(s.v) {
		return
	}
	for len(s.v) <= i {
		s.v = append(s.v, zero)
	}
	s.v[i] = x
}

func (s *sparse[T]) at(i int) T {
	if i < len(s.v) {
		return s.v[i]
	}
	var zero T
	return zero
}

// fill is set for columns that most rows have a value in: they are given the
// room of the lane instead of growing step by step.
func (s *sparse[T]) fill(i int, x T, room int) {
	if len(s.v) == i && i == cap(s.v) && i >= minFilled && room > i {
		s.v = slices.Grow(s.v, room-i)
	}
	s.set(i, x)
}

// minFilled is how many rows must have a value until all are expected to.
const minFilled = 1 << 10

// widen makes the column as long as the lane, unless it is empty.
func (s *sparse[T]) widen(n int) []T {
	if gap := n - len(s.v); len(s.v) > 0 && gap > 0 {
		s.v = append(s.v, make([]T, gap)...)
	}
	return s.v
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

// columns holds the events of one lane, one slice a field.
//
// Invariants after finish: all dense columns have length n; start is relative
// to the trace's origin; GPU rows are sorted by (start, input order), rows of
// other lanes by (thread, start, −dur, input order).
type columns struct {
	start  []Time // raw ns while building
	dur    []int64
	name   []NameID
	kind   []Kind
	thread []ThreadIndex // CPU lanes
	queue  []int32       // GPU lane: index into Trace.queues

	cat      sparse[NameID] // only where the kind does not tell the category
	corr     sparse[CorrelationID]
	ext      sparse[uint64]
	graph    sparse[uint64]
	node     sparse[uint64]
	shape    sparse[NameID] // op: input dims; activity: launch configuration
	annQueue sparse[int32]  // annotations on a stream and syncs: queue index + 1
	domain   sparse[NameID] // NVTX domain; op: call stack
	scope    sparse[uint16] // process scope of the correlation
	args     sparse[NameID] // raw args, interned
	bytes    sparse[int64]  // copies and sets
	unended  sparse[uint8]  // 1: activities that were running when the window closed
	value    sparse[uint64] // of counters: the bits of a float64
	recorded sparse[int64]  // duration as recorded plus 1, of activities whose own was capped
}

func (c *columns) len() int { return len(c.start) }

// applyOrder makes row i of what was row p[i], unless ctx ends. p may be shorter
// than the columns; see cut.
func (c *columns) applyOrder(ctx context.Context, p []int32) {
	n := c.len()
	scratch := make([]uint64, len(p))
	for _, column := range []func(){
		func() { permute(c.start, p, scratch) },
		func() { permute(c.dur, p, scratch) },
		func() { permute(c.name, p, scratch) },
		func() { permute(c.kind, p, scratch) },
		func() { permute(c.thread, p, scratch) },
		func() { permute(c.queue, p, scratch) },
		func() { permute(c.cat.widen(n), p, scratch) },
		func() { permute(c.corr.widen(n), p, scratch) },
		func() { permute(c.ext.widen(n), p, scratch) },
		func() { permute(c.graph.widen(n), p, scratch) },
		func() { permute(c.node.widen(n), p, scratch) },
		func() { permute(c.shape.widen(n), p, scratch) },
		func() { permute(c.annQueue.widen(n), p, scratch) },
		func() { permute(c.domain.widen(n), p, scratch) },
		func() { permute(c.scope.widen(n), p, scratch) },
		func() { permute(c.args.widen(n), p, scratch) },
		func() { permute(c.bytes.widen(n), p, scratch) },
		func() { permute(c.unended.widen(n), p, scratch) },
		func() { permute(c.value.widen(n), p, scratch) },
	} {
		if ctx.Err() != nil {
			return
		}
		column()
	}
}

// cut leaves the first n rows.
func (c *columns) cut(n int) {
	c.start, c.dur, c.name, c.kind = c.start[:n], c.dur[:n], c.name[:n], c.kind[:n]
	c.thread, c.queue = c.thread[:min(n, len(c.thread))], c.queue[:min(n, len(c.queue))]
	c.cat.cut(n)
	c.corr.cut(n)
	c.ext.cut(n)
	c.graph.cut(n)
	c.node.cut(n)
	c.shape.cut(n)
	c.annQueue.cut(n)
	c.domain.cut(n)
	c.scope.cut(n)
	c.args.cut(n)
	c.bytes.cut(n)
	c.unended.cut(n)
	c.value.cut(n)
}

func (s *sparse[T]) cut(n int) { s.v = s.v[:min(n, len(s.v))] }

// sortBytes is what sorting takes per row beside the columns: two permutations
// and the copy of one column.
const sortBytes = 4 + 4 + 8

// size returns the bytes that the rows take.
func (c *columns) size() int64 {
	eight := len(c.start) + len(c.dur) + len(c.corr.v) + len(c.ext.v) + len(c.graph.v) + len(c.node.v) + len(c.bytes.v) + len(c.recorded.v) + len(c.value.v)
	four := len(c.name) + len(c.thread) + len(c.queue) + len(c.cat.v) + len(c.shape.v) + len(c.annQueue.v) + len(c.domain.v) + len(c.args.v)
	return 8*int64(eight) + 4*int64(four) + 2*int64(len(c.scope.v)) + int64(len(c.kind)+len(c.unended.v))
}

// truncate empties c and keeps its memory.
func (c *columns) truncate() {
	c.start, c.dur, c.name, c.kind = c.start[:0], c.dur[:0], c.name[:0], c.kind[:0]
	c.thread, c.queue = c.thread[:0], c.queue[:0]
	c.cat.v, c.corr.v, c.ext.v, c.graph.v = c.cat.v[:0], c.corr.v[:0], c.ext.v[:0], c.graph.v[:0]
	c.node.v, c.shape.v, c.annQueue.v, c.domain.v = c.node.v[:0], c.shape.v[:0], c.annQueue.v[:0], c.domain.v[:0]
	c.scope.v, c.args.v, c.bytes.v, c.unended.v = c.scope.v[:0], c.args.v[:0], c.bytes.v[:0], c.unended.v[:0]
}

// appendAll appends the rows of src. predict says how many rows a column of n
// rows is expected to end with.
func (c *columns) appendAll(src *columns, predict func(n int) int) {
	n := c.len()
	c.start, c.dur = extend(c.start, src.start, predict), extend(c.dur, src.dur, predict)
	c.name, c.kind = extend(c.name, src.name, predict), extend(c.kind, src.kind, predict)
	c.thread, c.queue = extend(c.thread, src.thread, predict), extend(c.queue, src.queue, predict)
	c.cat.extend(&src.cat, n, predict)
	c.corr.extend(&src.corr, n, predict)
	c.ext.extend(&src.ext, n, predict)
	c.graph.extend(&src.graph, n, predict)
	c.node.extend(&src.node, n, predict)
	c.shape.extend(&src.shape, n, predict)
	c.annQueue.extend(&src.annQueue, n, predict)
	c.domain.extend(&src.domain, n, predict)
	c.scope.extend(&src.scope, n, predict)
	c.args.extend(&src.args, n, predict)
	c.bytes.extend(&src.bytes, n, predict)
	c.unended.extend(&src.unended, n, predict)
}

// extend appends src to the rows of s, which begin at row n.
func (s *sparse[T]) extend(src *sparse[T], n int, predict func(n int) int) {
	if len(src.v) == 0 {
		return
	}
	if gap := n - len(s.v); gap > 0 {
		s.v = reserve(s.v, gap+len(src.v), predict)
		clear(s.v[len(s.v):n])
		s.v = s.v[:n]
	}
	s.v = extend(s.v, src.v, predict)
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
	size := need + need/4
	// A quarter more than predicted: compression varies along the file, and a
	// prediction that falls a little short costs the whole column once more.
	if p := predict(need); p > size {
		size = min(p+p/4, maxLeap*need)
	}
	out := make([]T, len(dst), size)
	copy(out, dst)
	return out
}
