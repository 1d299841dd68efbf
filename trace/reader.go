package trace

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/internal/kind"
	"github.com/llmstrata/strata/trace/internal/shard"
)

// NOTE: Reader is the low-level half of this package: one pass, one event at a
// time, memory that does not grow with the input. It sees everything in file
// order, phases and categories that a Trace does not store included. Texts are
// interned in a small direct-mapped cache, so that yielding an event allocates
// only when a text has not been seen lately, and callers may keep them.

// Reader yields the events of a torch.profiler trace one by one. It must not
// be used by two goroutines at once.
type Reader struct {
	cfg   config
	in    *Input
	s     *scan.Scanner
	texts [1024]cachedText // a power of two, see cache
	err   error
	rec   Record

	events bool // there was one
}

type cachedText struct{ raw, text string }

// Record is one event as the file has it. Its fields may be kept, except Args
// and Raw.
type Record struct {
	Offset   int64  // byte of the event's '{' in the decompressed input
	Index    int64  // position in traceEvents, counted from 0, lost elements included
	Phase    byte   // 'X' for complete events, 'M' for metadata, 's' and 'f' for flows, …
	Kind     Kind   // what the category says
	Category string // as written
	Name     string // as written, escapes resolved
	Process  int64  // 0 when the pid is text
	PIDLabel string // the pid where it is text
	Thread   int64  // 0 when the tid is text
	TIDLabel string // the tid where it is text

	HasStart    bool          // the event has a timestamp
	Start       int64         // raw ns of the file's clock
	HasDuration bool          // the event has a finite duration
	Duration    time.Duration // may be negative, as written

	Device      DeviceID // args.device, None if absent
	Stream      StreamID // args.stream, None if absent
	Correlation uint64   // args.correlation, 0 if absent
	ExternalID  uint64   // args["External id"], 0 if absent

	// Args is the raw args object, nil if absent; Raw is the whole event. Both are
	// valid until the next call of Next.
	Args json.RawMessage
	Raw  json.RawMessage // see Args
}

// NewReader returns a Reader of r, which may be plain, gzip or zstd.
// Strict, Limits, Lanes, Kinds and Window of o apply; the last three narrow
// complete events only. Input that cannot be a trace is
// refused with [ErrFormat]. Close the Reader when done.
func NewReader(r io.Reader, o Options) (*Reader, error) {
	cfg := newConfig(&o)
	in, err := newInput(r, "", 0, &cfg.limits)
	if err != nil {
		return nil, err
	}
	if _, err := formatOf([]Format{Kineto()}, in); err != nil {
		in.dec.Close()
		return nil, err
	}
	in.text.Resume = !cfg.strict
	return &Reader{cfg: cfg, in: in, s: scan.NewScanner(in.R, cfg.scanConfig())}, nil
}

// Next returns the next event; it is overwritten by the following call. The
// error is io.EOF at the end; all whole events come before any error. Damage is
// skipped and counted (see [Reader.Losses]) unless [Options.Strict] is set; compressed
// data that ends early or is corrupt is an error after the last event it holds,
// and so is a trace that is cut off or damaged in front of its events.
func (r *Reader) Next() (*Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	for {
		ev, err := r.s.Next()
		if err != nil {
			r.err = err
			if err != io.EOF {
				damage, e := scanError(err, r.cfg.strict)
				if r.err = e; damage != nil {
					r.err = damage
				}
			} else if res := r.s.Result(); empty(res, r.events) {
				if e := noEvents(res, nil); !errors.Is(e, ErrFormat) {
					r.err = e
				}
			}
			return nil, r.err
		}
		r.events = true
		if r.fill(ev) {
			return &r.rec, nil
		}
	}
}

// Records iterates over the remaining events. A non-nil error, other than the
// end of the input, is the last pair. ctx is checked now and then.
func (r *Reader) Records(ctx context.Context) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for n := 0; ; n++ {
			if n%1024 == 0 && ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// Losses returns what was lost or repaired so far; complete at the end.
func (r *Reader) Losses() []Loss {
	b := newBuilder(&Options{})
	reportLosses(b, r.s.Result(), sourceTorch)
	return b.losses.list
}

// Meta returns the metadata read so far; complete at the end, because files
// have metadata behind their events too.
func (r *Reader) Meta() Meta {
	m, _ := kinetoMeta(newBuilder(&Options{}), r.s.Result().Metas, false)
	return m
}

// Close frees the decompressor. It does not close the underlying reader.
func (r *Reader) Close() error { return r.in.dec.Close() }

// fill makes r.rec of ev and reports whether it was asked for.
func (r *Reader) fill(ev *scan.Event) bool {
	rec := &r.rec
	*rec = Record{Offset: ev.Offset, Index: ev.Index, Phase: ev.Phase, Device: None, Stream: None, Raw: ev.Raw}
	if ev.Has.Any(scan.HasCat) {
		rec.Category = r.text(ev.Cat)
	}
	if !ev.Has.Any(scan.HasName) {
		ev.Name = nil
	}
	rec.Kind = Kind(kind.OfName(kind.OfCategory(rec.Category), ev.Name))
	if ev.Has.Any(scan.HasTS) {
		rec.HasStart, rec.Start = true, ev.TS
	}
	if ev.Has.Any(scan.HasDur) {
		rec.HasDuration, rec.Duration = true, time.Duration(ev.Dur)
	}
	if ev.Phase == 'X' {
		if !r.cfg.Wants[rec.Kind] || r.cfg.Window && (rec.Start >= r.cfg.To || rec.Start+int64(rec.Duration) < r.cfg.From) {
			return false
		}
	}
	rec.Name = r.text(ev.Name)
	if ev.Has.Any(scan.HasPID) {
		rec.Process, rec.PIDLabel = int64(ev.PID.Num), r.text(ev.PID.Text)
	}
	if ev.Has.Any(scan.HasTID) {
		rec.Thread, rec.TIDLabel = int64(ev.TID.Num), r.text(ev.TID.Text)
	}
	if ev.Has.Any(scan.HasDevice) {
		rec.Device = DeviceID(shard.Device(ev.Device))
	}
	if ev.Has.Any(scan.HasStream) {
		rec.Stream = StreamID(ev.Stream)
	}
	if ev.Has.Any(scan.HasCorrelation) {
		rec.Correlation = uint64(ev.Correlation)
	}
	if ev.Has.Any(scan.HasExternalID) {
		rec.ExternalID = uint64(ev.ExternalID)
	}
	if ev.Has.Any(scan.HasArgs) {
		rec.Args = ev.Args
	}
	return true
}

// text returns the text of the raw contents of a JSON string.
func (r *Reader) text(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	// FNV over the ends and the length: names differ there, and a collision costs
	// an allocation, not a wrong answer.
	h := uint32(2166136261) ^ uint32(len(raw))
	for _, c := range raw[:min(len(raw), 8)] {
		h = (h ^ uint32(c)) * 16777619
	}
	for _, c := range raw[max(0, len(raw)-24):] {
		h = (h ^ uint32(c)) * 16777619
	}
	e := &r.texts[(h^h>>16)%uint32(len(r.texts))]
	if e.raw != string(raw) {
		e.raw = string(raw)
		e.text = e.raw
		if !scan.IsPlain(raw) {
			e.text = string(scan.AppendText(nil, raw))
		}
	}
	return e.text
}
