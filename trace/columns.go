package trace

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

func (s *sparse[T]) permute(p []int32) {
	if len(s.v) == 0 {
		return
	}
	out := make([]T, len(p))
	for i, j := range p {
		out[i] = s.at(int(j))
	}
	s.v = out
}

func permute[T any](v []T, p []int32) []T {
	if len(v) == 0 {
		return v
	}
	out := make([]T, len(p))
	for i, j := range p {
		out[i] = v[j]
	}
	return out
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
	domain   sparse[NameID] // NVTX domain
	scope    sparse[uint16] // process scope of the correlation
	args     sparse[NameID] // raw args, interned
	bytes    sparse[int64]  // copies and sets
}

func (c *columns) len() int { return len(c.start) }

func (c *columns) applyOrder(p []int32) {
	c.start, c.dur, c.name, c.kind = permute(c.start, p), permute(c.dur, p), permute(c.name, p), permute(c.kind, p)
	c.thread, c.queue = permute(c.thread, p), permute(c.queue, p)
	c.cat.permute(p)
	c.corr.permute(p)
	c.ext.permute(p)
	c.graph.permute(p)
	c.node.permute(p)
	c.shape.permute(p)
	c.annQueue.permute(p)
	c.domain.permute(p)
	c.scope.permute(p)
	c.args.permute(p)
	c.bytes.permute(p)
}
