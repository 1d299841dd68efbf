package trace

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE: Reader is the low-level half of this package: one pass, one event at a
// time, memory that does not grow with the input. It sees everything in file
// order, phases and categories that a Trace does not store included. Texts are
// interned in a small direct-mapped cache, so that yielding an event allocates
// only when a text has not been seen lately, and callers may keep them.

// Reader reads the events of a torch.profiler trace one by one, once. It must not
// be used by two goroutines at once.
type Reader struct {
	// Input is the trace, plain or compressed. It is not closed.
	Input io.Reader
	// Options narrow complete events by Lanes and Kinds; Strict and Limits apply, too.
	Options Options

	// Meta is the metadata of the file, Losses what of it was lost or repaired, as
	// far as it was read: files have metadata after their events, too.
	Meta   Meta
	Losses []Loss

	cfg   config
	s     *scan.Scanner
	texts [intern.Slots]cachedText // see text
	rec   Record

	events bool // there was one
}

type cachedText struct{ raw, text string }

// Record is one event as the file has it. Its fields may be kept, except Args
// and Raw.
type Record struct {
	Offset   int64      // byte of the event's '{' in the decompressed input
	Index    int64      // position in traceEvents, counted from 0, lost elements included
	Phase    byte       // 'X' for complete events, 'M' for metadata, 's' and 'f' for flows, …
	Kind     event.Kind // what the category says
	Category string     // as written
	Name     string     // as written, escapes resolved
	Process  int64      // 0 when the pid is text
	PIDLabel string     // the pid where it is text
	Thread   int64      // 0 when the tid is text
	TIDLabel string     // the tid where it is text

	HasStart    bool          // the event has a timestamp
	Start       int64         // raw ns of the file's clock
	HasDuration bool          // the event has a finite duration
	Duration    time.Duration // may be negative, as written

	Device      DeviceID // args.device, None if absent
	Stream      StreamID // args.stream, None if absent
	Correlation uint64   // args.correlation, 0 if absent
	ExternalID  uint64   // args["External id"], 0 if absent

	// Args is the raw args object, nil if absent; Raw is the whole event. Both are
	// valid until the next event is asked for.
	Args json.RawMessage
	Raw  json.RawMessage // see Args
}

// Records reads the trace and iterates over its events; each is overwritten by the
// next one. An error is the last pair, after all whole events: input that
// cannot be a trace is [ErrFormat]; damage is skipped and counted (see
// [Reader.Losses]) unless [Options.Strict] is set; compressed data that ends early
// or is corrupt is an error after the last event it holds, and so is a trace that
// is cut off or damaged before its events. ctx is looked at now and then.
func (r *Reader) Records(ctx context.Context) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		r.cfg = newConfig(&r.Options)
		in, err := newInput(r.Input, "", 0, &r.cfg.limits)
		if err != nil {
			yield(nil, err)
			return
		}
		defer in.dec.Close()
		if _, err := formatOf([]Format{Kineto()}, in); err != nil {
			yield(nil, err)
			return
		}
		in.text.Resume = !r.cfg.strict
		r.s = scan.NewScanner(in.R, r.cfg.scanConfig())
		defer r.sumUp()
		for n := 0; ; n++ {
			if n%1024 == 0 && ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			rec, err := r.next()
			if err == io.EOF {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// next returns the next event that was asked for, io.EOF at the end.
func (r *Reader) next() (*Record, error) {
	for {
		ev, err := r.s.Next()
		if err != nil {
			return nil, r.ending(err)
		}
		r.events = true
		if r.fill(ev) {
			return &r.rec, nil
		}
	}
}

// ending is the error that a scan's end is.
func (r *Reader) ending(err error) error {
	if err != io.EOF {
		damage, err := scanError(err, r.cfg.strict)
		if damage != nil {
			return damage
		}
		return err
	}
	if res := r.s.Result(); empty(res, r.events) {
		if e := noEvents(res, nil); !errors.Is(e, ErrFormat) {
			return e
		}
	}
	return io.EOF
}

// sumUp sets what is known of the whole file.
func (r *Reader) sumUp() {
	b := newBuilder(&Options{})
	reportLosses(b, r.s.Result(), SourceTorch)
	r.Losses = b.losses.list
	r.Meta, _ = kinetoMeta(b, r.s.Result().Metas, false)
}

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
	rec.Kind = event.Kind(kind.OfName(kind.OfCategory(rec.Category), ev.Name))
	if ev.Has.Any(scan.HasTS) {
		rec.HasStart, rec.Start = true, ev.TS
	}
	if ev.Has.Any(scan.HasDur) {
		rec.HasDuration, rec.Duration = true, time.Duration(ev.Dur)
	}
	if ev.Phase == 'X' && !r.cfg.wants[rec.Kind] {
		return false
	}
	rec.Name = r.text(ev.Name)
	if ev.Has.Any(scan.HasPID) {
		rec.Process, rec.PIDLabel = int64(ev.PID.Num), r.text(ev.PID.Text)
	}
	if ev.Has.Any(scan.HasTID) {
		rec.Thread, rec.TIDLabel = int64(ev.TID.Num), r.text(ev.TID.Text)
	}
	if ev.Has.Any(scan.HasDevice) {
		rec.Device = deviceOf(ev.Device)
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
	e := &r.texts[intern.Slot(raw)]
	if e.raw != string(raw) {
		e.raw = string(raw)
		e.text = e.raw
		if !scan.IsPlain(raw) {
			e.text = string(scan.AppendText(nil, raw))
		}
	}
	return e.text
}
