package column

import (
	"context"
	"math"
	"slices"
	"time"
)

// Plausible reports whether differences and sums of such times fit in an
// int64: raw times up to the year 2116 as epoch, durations up to 73 years.
func Plausible(start, dur int64) bool {
	return start >= -1<<60 && start <= 1<<62 && dur <= 1<<61
}

// AbsurdDuration is the longest believable single activity. ROCm flush bugs
// and unfinished events give durations up to the window's end; the longest
// real kernels in LLM traces are well below a second, collectives that wait
// for profiler start reach seconds (17.5 s reported in Hyperloom #1249).
const AbsurdDuration = 10_000_000_000 // ns

// overlapSlack is how far an impossible duration must reach into the next
// activity of the stream before it is capped. Programmatic dependent launches
// overlap by up to 3.7 µs in our B200 trace.
const overlapSlack = 1_000_000 // ns

// maxOverlapped is how many later activities of its stream one activity may
// overlap by more than overlapSlack: work on a stream is done in order, and in
// our real traces no activity overlaps even one of another launch by so much. A
// hundred leaves room for profilers that write several streams as one.
const maxOverlapped = 100

// line is what activities are done in the order of: a stream of one process.
type line struct {
	queue int32
	scope uint16
}

// CapDurations ends activities that cannot have lasted as long as recorded
// where the next one of their stream begins: those that last absurdly long,
// were not finished when recording stopped, or overlap more than maxOverlapped
// activities of later launches. The parallel branches of one graph replay, which
// profilers write to one stream, share a launch and so are free to overlap.
// Rows are sorted by start. Activities of the kind graph are rows for whole replays;
// ordered says of each queue whether it is a stream, done in order.
func (c *Columns) CapDurations(graph uint8, ordered []bool) {
	n := c.Len()
	last := make(map[line]int32, len(ordered)) // the row looked at before, by line
	next := make([]int32, n)                   // the next row of the line, 0 for none
	other := make([]int32, n)                  // the next one of another launch
	for i := n - 1; i >= 0; i-- {
		l := line{c.Queue[i], c.Scope.At(i)}
		if k, ok := last[l]; ok {
			next[i], other[i] = k, k
			if corr := c.Corr.At(i); corr != 0 && corr == c.Corr.At(int(k)) {
				other[i] = other[k]
			}
		}
		last[l] = int32(i)
		if next[i] == 0 {
			continue
		}
		after, end := c.Start[next[i]], c.End(i)
		if end <= after+overlapSlack {
			continue
		}
		inOrder := c.Kind[i] != graph && ordered[c.Queue[i]]
		if c.Dur[i] > AbsurdDuration || c.Unended.At(i) != 0 || inOrder &&
			c.overlapped(next, other[i], end-overlapSlack) > maxOverlapped {
			c.Recorded.Set(i, c.Dur[i]+1)
			c.Dur[i] = after - c.Start[i]
		}
	}
}

// overlapped counts the rows from k on along next that begin before end, up to
// one more than maxOverlapped.
func (c *Columns) overlapped(next []int32, k int32, end int64) (n int) {
	for ; k != 0 && c.Start[k] < end && n <= maxOverlapped; k = next[k] {
		n++
	}
	return n
}

// fewAtOnce is how many activities of all streams that begin in one nanosecond are compared with each other.
const fewAtOnce = 16

// DropTwins leaves out the activities that are there twice, as where a profiler wrote a buffer again, and returns how
// many: rows of one stream that share name, launch, graph node, start and end. Work on a stream is done in order, so
// two of them do not begin and end in the same nanosecond. Where all durations are whole microseconds, times may be
// rounded and equal for two short kernels: nothing is left out. Rows are sorted by start; ordered says of each queue
// whether it is a stream.
func (c *Columns) DropTwins(ctx context.Context, ordered []bool) (dropped int64) {
	if !slices.ContainsFunc(c.Dur, func(dur int64) bool { return dur%int64(time.Microsecond) != 0 }) {
		return 0
	}
	var rows []int32 // that stay, from the first twin on
	for i := range c.Start {
		if !c.isTwin(i, ordered) {
			if rows != nil {
				rows = append(rows, int32(i))
			}
			continue
		}
		if dropped++; rows == nil {
			rows = make([]int32, i, c.Len())
			for k := range rows {
				rows[k] = int32(k)
			}
		}
	}
	if dropped > 0 {
		c.Take(ctx, rows)
		c.Cut(len(rows))
	}
	return dropped
}

// isTwin reports whether a row is the same as one before it.
func (c *Columns) isTwin(i int, ordered []bool) bool {
	if !ordered[c.Queue[i]] {
		return false
	}
	for k := i - 1; k >= max(0, i-fewAtOnce) && c.Start[k] == c.Start[i]; k-- {
		if c.Dur[k] == c.Dur[i] && c.Name[k] == c.Name[i] && c.Kind[k] == c.Kind[i] && c.Queue[k] == c.Queue[i] &&
			c.Scope.At(k) == c.Scope.At(i) && c.Corr.At(k) == c.Corr.At(i) && c.Node.At(k) == c.Node.At(i) {
			return true
		}
	}
	return false
}

// What makes an event one that is far from all others: it is FarAway from them,
// and FarSpans times as far as they are from each other, and no more than one in
// farShare events (or a single one) are. Clocks that were never read give 0,
// which is months from the time since boot, and decades from an epoch; a
// recording's first calls, before a model is loaded, are minutes from the rest.
const (
	FarAway  = int64(time.Hour)
	FarSpans = 1000
	farShare = 100
	// In fewer events than farFewest no group is clearly the recording: of three,
	// two that are near each other outvote nobody. Every recording has more.
	farFewest = 20
)

// Far are events whose time is far from all others.
type Far struct {
	First   int64  // start of the first of the others
	Gap     int64  // ns from them to the nearest one left out
	Dropped int64  // how many were left out
	Name    uint32 // of the first of them
}

// DropFar leaves out the events whose time is far from all others, which cannot
// be of this recording: one of them would make hours of idle time around
// milliseconds of work. It returns false where there is none, or where it is not
// clear which these are.
func DropFar(ctx context.Context, lanes []Columns) (Far, bool) {
	first, last, gap, ok := bulk(lanes)
	if !ok {
		return Far{}, false
	}
	far := Far{First: first, Gap: gap}
	for l := range lanes {
		c := &lanes[l]
		var rows []int32
		for i, start := range c.Start {
			if start >= first && start <= last {
				rows = append(rows, int32(i))
			} else if far.Dropped++; far.Dropped == 1 {
				far.Name = c.Name[i]
			}
		}
		if len(rows) < c.Len() {
			c.Take(ctx, rows)
			c.Cut(len(rows))
		}
	}
	return far, true
}

// bulk returns the first and last start of the events that belong together, and
// how far the nearest other event is; false where all do, or where it is not
// clear which.
func bulk(lanes []Columns) (first, last, gap int64, ok bool) {
	var starts []int64
	lo, hi, n := int64(math.MaxInt64), int64(math.MinInt64), 0
	for l := range lanes {
		for _, s := range lanes[l].Start {
			lo, hi = min(lo, s), max(hi, s)
		}
		n += lanes[l].Len()
	}
	if n < farFewest || hi-lo <= FarAway {
		return first, last, gap, false
	}
	for l := range lanes {
		starts = append(starts, lanes[l].Start...)
	}
	slices.Sort(starts)
	var from, to int // of the largest group without a gap
	for i, begin := 1, 0; i <= n; i++ {
		if i == n || starts[i]-starts[i-1] > FarAway {
			if i-begin > to-from {
				from, to = begin, i
			}
			begin = i
		}
	}
	gap = math.MaxInt64
	if from > 0 {
		gap = min(gap, starts[from]-starts[from-1])
	}
	if to < n {
		gap = min(gap, starts[to]-starts[to-1])
	}
	first, last = starts[from], starts[to-1]
	few := n-(to-from) <= max(1, n/farShare)
	return first, last, gap, to-from < n && few && last-first <= gap/FarSpans
}
