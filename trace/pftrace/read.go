package pftrace

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// reader hands the events of a trace to a builder.
type reader struct {
	b         *trace.Builder
	tracks    map[uint64]*track
	processes map[int64]*process
	sequences []*sequence
	queues    []*queue
	n         int64 // events
	waits     int64 // of them in the lists of tracks
	texts     []string
	limit     int64        // of events
	budget    int64        // bytes, 0 for none
	checked   int64        // events when full looked last
	bad       int64        // samples of counters that were not described
	samples   int64        // of counters
	stacks    bool         // Python frames were recorded
	kinds     []event.Kind // by category's text; invalid is not looked up yet
	alike     [alikeSlots]alike
	slices    [againSlots]kept // that may come again
	rows      [againSlots]row  // theirs
}

// full says which limit is reached, nil for none.
func (d *reader) full() error {
	n := d.n + d.samples
	if n == d.checked {
		return nil
	}
	d.checked = n
	switch {
	case n > d.limit:
		return fmt.Errorf("more events than allowed: %d", d.limit)
	case d.budget > 0 && n*eventBytes+d.waits*waitBytes > d.budget:
		return fmt.Errorf("%d events need more than the memory budget of %d MB", n, d.budget/1e6)
	}
	return nil
}

// The defaults of limits that mean something here.
const (
	maxPacket = 64 << 20 // bytes, as of one JSON event
	maxEvents = 1 << 28
	// eventBytes is what an event takes while the trace is read: its row of the trace's columns, what sorting takes,
	// and its place in a queue.
	eventBytes = 60 + 16 + 24
	// waitBytes is what one takes beside that while it waits, in a list that grows by being copied.
	waitBytes = 2 * 104
)

// read loads a trace from r, decompressed. Everything that could be read of a damaged file is kept, and the trace's
// health says what was lost. The error wraps [trace.ErrFormat] where r holds no packet, [trace.ErrLimit] above a
// limit; it is ctx's error when cancelled.
func read(ctx context.Context, r io.Reader, name string, o trace.Options) (*trace.Trace, error) {
	most, events := o.Limits.EventBytes, o.Limits.Events
	if most <= 0 {
		most = maxPacket
	}
	if events <= 0 {
		events = maxEvents
	}
	d := &reader{b: trace.NewBuilder(o), tracks: map[uint64]*track{}, processes: map[int64]*process{}, limit: events,
		budget: o.MemoryBudget}
	x := startParser(r, most)
	err := d.applyAll(ctx, x)
	if x.close(); err != nil {
		return nil, err
	}
	if x.err != io.EOF {
		if err := d.damage(x.err, x.packets.offset, x.n); err != nil {
			return nil, err
		}
	}
	if x.n == 0 {
		return nil, fmt.Errorf("trace: %w: it holds no packet", trace.ErrFormat)
	}
	d.finish()
	d.report(x)
	d.b.Meta.Path = name
	return d.b.Finish(ctx)
}

// applyAll does what the packets say, to the last one.
func (d *reader) applyAll(ctx context.Context, x *parser) error {
	for b := range x.full {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.apply(b); err != nil {
			return fmt.Errorf("trace: %w: %w", trace.ErrLimit, err)
		}
		x.free <- b // which has room for all batches
	}
	return ctx.Err()
}

// damage notes what ended the stream early; it returns the errors that are not damage.
func (d *reader) damage(err error, offset int64, packets int) error {
	var broken *decompress.Damage
	switch {
	case packets == 0 && errors.Is(err, errFrame):
		return fmt.Errorf("trace: %w: %w", trace.ErrFormat, err)
	case errors.Is(err, decompress.ErrLimit):
		return fmt.Errorf("trace: %w: %w", trace.ErrLimit, err)
	case errors.As(err, &broken):
		d.b.LoseDetail(event.BadCompression, 1, fmt.Sprintf("after byte %d", offset))
		d.b.LoseDetail(event.BadCompression, 0, broken.Err.Error()+", "+broken.Extent())
	case errors.Is(err, io.ErrUnexpectedEOF):
		d.b.LoseDetail(event.Truncated, 1, fmt.Sprintf("a packet that is cut off at byte %d", offset))
	case errors.Is(err, errFrame):
		d.b.LoseDetail(event.BadEvent, 1, fmt.Sprintf("everything after byte %d, where there is no packet", offset))
	default:
		return err
	}
	return nil
}

// report adds what was lost, and where the trace is from.
func (d *reader) report(x *parser) {
	lose := func(reason event.Loss, n int64, what string) {
		for range min(n, 1) {
			d.b.LoseDetail(reason, n, what)
		}
	}
	var open, orphans int64
	for _, s := range d.sequences {
		orphans += s.orphans
		for _, q := range s.queues {
			open += int64(len(q.open) - q.head)
		}
	}
	lose(event.Truncated, open, "slices without an end")
	lose(event.BadEvent, d.bad+x.bad, "packets that cannot be read")
	lose(event.BadEvent, orphans, "ends of slices without a begin")
	lose(event.Limit, x.packets.lost, "packets that are too large")
	r := x.recorded
	d.b.Meta = trace.Meta{Source: r.Source, Format: Name, Encoding: trace.EncodingPerfetto, Rank: r.Rank,
		WorldSize: r.WorldSize, Backend: r.Backend,
		Devices: r.Devices, BaseTime: x.base, WithStack: d.stacks}
}
