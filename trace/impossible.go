package trace

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// absurdDuration is the longest believable single activity. ROCm flush bugs
// and unfinished events give durations up to the window's end; the longest
// real kernels in LLM traces are well below a second, collectives that wait
// for profiler start reach seconds (17.5 s reported in Hyperloom #1249).
const absurdDuration = 10_000_000_000 // ns

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

// capDurations ends activities that cannot have lasted as long as recorded
// where the next one of their stream begins: those that last absurdly long,
// were not finished when recording stopped, or overlap more than maxOverlapped
// activities of later launches. The parallel branches of one graph replay, which
// profilers write to one stream, share a launch and so are free to overlap.
// Rows are sorted by start.
func (c *columns) capDurations(queues []queue) {
	n := c.len()
	last := make(map[line]int32, len(queues)) // the row looked at before, by line
	next := make([]int32, n)                  // the next row of the line, −1 for none
	other := make([]int32, n)                 // the next one of another launch
	for i := n - 1; i >= 0; i-- {
		l := line{c.queue[i], c.scope.at(i)}
		next[i], other[i] = -1, -1
		if k, ok := last[l]; ok {
			next[i], other[i] = k, k
			if corr := c.corr.at(i); corr != 0 && corr == c.corr.at(int(k)) {
				other[i] = other[k]
			}
		}
		last[l] = int32(i)
		if next[i] < 0 {
			continue
		}
		after, end := c.start[next[i]], c.start[i]+Time(c.dur[i])
		if end <= after+overlapSlack {
			continue
		}
		ordered := c.kind[i] != KindGraph && queues[c.queue[i]].stream != NoStream
		if c.dur[i] > absurdDuration || c.unended.at(i) != 0 || ordered && c.overlapped(next, other[i], end-overlapSlack) > maxOverlapped {
			c.recorded.set(i, c.dur[i]+1)
			c.dur[i] = int64(after - c.start[i])
		}
	}
}

// overlapped counts the rows from k on along next that begin before end, up to
// one more than maxOverlapped.
func (c *columns) overlapped(next []int32, k int32, end Time) (n int) {
	for ; k >= 0 && c.start[k] < end && n <= maxOverlapped; k = next[k] {
		n++
	}
	return n
}

// What makes an event one that is far from all others: it is farAway from them,
// and farSpans times as far as they are from each other, and no more than one in
// farShare events (or a single one) are. Clocks that were never read give 0,
// which is months from the time since boot, and decades from an epoch; a
// recording's first calls, before a model is loaded, are minutes from the rest.
const (
	farAway  = int64(time.Hour)
	farSpans = 1000
	farShare = 100
	// In fewer events than farFewest no group is clearly the recording: of three,
	// two that are near each other outvote nobody. Every recording has more.
	farFewest = 20
)

// dropFar leaves out the events whose time is far from all others, which cannot
// be of this recording, and counts them as lost: one of them would make hours of
// idle time around milliseconds of work.
func (b *Builder) dropFar(ctx context.Context) {
	first, last, gap, ok := b.bulk()
	if !ok {
		return
	}
	name, dropped := "", int64(0)
	for l := range b.t.lanes {
		c := &b.t.lanes[l]
		var rows []int32
		for i, start := range c.start {
			if int64(start) >= first && int64(start) <= last {
				rows = append(rows, int32(i))
			} else if dropped++; name == "" {
				name = b.t.names[c.name[i]]
			}
		}
		if len(rows) < c.len() {
			c.applyOrder(ctx, rows)
			c.cut(len(rows))
		}
	}
	if b.minRaw < first-farAway {
		b.minRaw = first
	}
	b.LoseDetail(LossBadTime, dropped, fmt.Sprintf("far from all other events, %q by %d s", name, gap/int64(time.Second)))
}

// bulk returns the first and last start of the events that belong together, and
// how far the nearest other event is; false where all do, or where it is not
// clear which.
func (b *Builder) bulk() (first, last, gap int64, ok bool) {
	var starts []Time
	lo, hi, n := Time(1<<62), Time(-1<<60), 0
	for l := range b.t.lanes {
		for _, s := range b.t.lanes[l].start {
			lo, hi = min(lo, s), max(hi, s)
		}
		n += b.t.lanes[l].len()
	}
	if n < farFewest || int64(hi-lo) <= farAway {
		return 0, 0, 0, false
	}
	for l := range b.t.lanes {
		starts = append(starts, b.t.lanes[l].start...)
	}
	slices.Sort(starts)
	from, to := 0, 0 // of the largest group without a gap
	for i, begin := 1, 0; i <= n; i++ {
		if i == n || int64(starts[i]-starts[i-1]) > farAway {
			if i-begin > to-from {
				from, to = begin, i
			}
			begin = i
		}
	}
	gap = int64(1) << 62
	if from > 0 {
		gap = min(gap, int64(starts[from]-starts[from-1]))
	}
	if to < n {
		gap = min(gap, int64(starts[to]-starts[to-1]))
	}
	first, last = int64(starts[from]), int64(starts[to-1])
	few := n-(to-from) <= max(1, n/farShare)
	return first, last, gap, to-from < n && few && last-first <= gap/farSpans
}
