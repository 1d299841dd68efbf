package perfetto

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/loss"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/pftrace"
)

// annotationCategory is the category of the events that [Annotate] adds.
const annotationCategory = "strata"

// annotationPID is the process that added tracks belong to. It is above any
// process id of Linux (2²²) and any device index, so it meets no other row,
// and so are the thread ids that count on from it.
const annotationPID = 1 << 30

// Annotate writes a copy of the trace file src to dst with tracks added above
// all others. The original events are copied byte for byte. The copy is
// compressed as its name says (.gz, .zst), else as src is; memory does not grow
// with the file. A truncated file's copy ends after its last whole event, so that
// viewers open it. When ctx is cancelled dst is not written and the error is
// ctx's.
//
// A dst that ends in .pftrace is written in Perfetto's own format, in gzip, from
// the events of t, whatever src is: kernels that overlap on a stream show whole,
// which viewers do not show of JSON. It lacks what
// docs/format/pftrace.md lists. A JSON copy of a trace that was loaded from no JSON
// is made of its events, too, see [FromEvents].
func Annotate(ctx context.Context, t *trace.Trace, src, dst string, tracks []pftrace.Track) error {
	if err := checkTracks(ctx, tracks); err != nil {
		return err
	}
	if FromEvents(t, dst) {
		_, err := writeEvents(ctx, t, src, dst, tracks, nil)
		return err
	}
	at, err := firstEvent(ctx, src)
	if err != nil {
		return err
	}
	return rewriteText(ctx, src, dst, func(in *source, out *bufio.Writer) error {
		var first firstByte
		if _, err := io.CopyN(io.MultiWriter(out, &first), in, at); err != nil {
			return fmt.Errorf("perfetto: %s: %w", src, err)
		}
		if err := writeTracks(out, t, tracks); err != nil {
			return fmt.Errorf("%s: %w", dst, err)
		}
		if endsWhole(t) {
			_, err := io.Copy(out, in)
			return err
		}
		return copyRest(in, out, at, first == '[')
	})
}

// cutReasons are the losses that may hide where a file's last whole event ends.
var cutReasons = []string{loss.Truncated, loss.BadCompression, loss.BadEvent, loss.Limit}

// endsWhole reports whether the file that t was loaded from was read to the document's end: a copy then needs not be scanned for the
// last whole event, which takes twice as long as the copying.
func endsWhole(t *trace.Trace) bool {
	return !slices.ContainsFunc(t.Health().Losses, func(l trace.Loss) bool { return slices.Contains(cutReasons, l.Reason) })
}

// firstByte remembers the first byte written to it that is neither white space
// nor part of a byte order mark: it tells an array of events from a document.
type firstByte byte

// Write implements io.Writer.
func (f *firstByte) Write(p []byte) (int, error) {
	if *f == 0 {
		if rest := bytes.TrimLeft(p, bom+" \t\r\n"); len(rest) > 0 {
			*f = firstByte(rest[0])
		}
	}
	return len(p), nil
}

// bom is the byte order mark that some tools put before JSON.
const bom = "\ufeff"

// firstEvent returns the byte offset of the first event of the file at path.
func firstEvent(ctx context.Context, path string) (int64, error) {
	in, err := openSource(ctx, path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	ev, err := scan.NewScanner(in, scan.Config{}).Next()
	if errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("perfetto: %s: no event to annotate", path)
	}
	if err != nil {
		return 0, fmt.Errorf("perfetto: %s: %w", path, err)
	}
	return ev.Offset, nil
}

// copyRest copies the stream from the first event on. The scanner reads along
// to learn where the last whole event ends; what follows it is held back, so
// that it can be replaced if the stream turns out to be cut off there.
func copyRest(in *source, out *bufio.Writer, base int64, array bool) error {
	held := &holdback{out: out, base: base, safe: base}
	// The scanner starts inside the array: give it the array's opening.
	open := `{"traceEvents":[`
	if array {
		open = "["
	}
	sc := scan.NewScanner(io.MultiReader(strings.NewReader(open), io.TeeReader(in, held)), scan.Config{})
	for {
		ev, err := sc.Next()
		if err == nil {
			held.safe = base + ev.Offset - int64(len(open)) + int64(len(ev.Raw))
			continue
		}
		var damage *decompress.Damage
		if err != io.EOF && !errors.As(err, &damage) {
			return fmt.Errorf("perfetto: %w", err)
		}
		if err := held.release(); err != nil {
			return err
		}
		res := sc.Result()
		if damage == nil && !res.Truncated || held.whole(array) {
			_, err = out.Write(held.buf)
			return err
		}
		return closeDocument(out, array, res.Metas)
	}
}

// closeDocument ends a document that was cut off after an event, with those
// top-level values behind its events that are whole.
func closeDocument(out *bufio.Writer, array bool, metas []scan.Meta) error {
	text := "\n]"
	if !array {
		for _, m := range metas {
			if json.Valid(m.Value) {
				text += ",\n\"" + m.Key + "\": " + string(m.Value)
			}
		}
		text += "\n}"
	}
	_, err := out.WriteString(text + "\n")
	return err
}

// maxHeld bounds what [holdback] keeps: the largest event of a scan, the
// largest top-level values, and the scanner's own buffers. Beyond that the
// input is damaged in a way that no closing bracket heals, and is passed on as
// it stands.
const maxHeld = 96 << 20

// holdback passes bytes on only up to an offset that is known to be the end
// of a whole event.
type holdback struct {
	out  *bufio.Writer
	base int64  // offset of buf[0]
	safe int64  // bytes before this offset may be passed on
	buf  []byte // not passed on yet
}

// Write implements io.Writer for the scanner's input.
func (h *holdback) Write(p []byte) (int, error) {
	if len(h.buf)+len(p) > maxHeld {
		h.safe = max(h.safe, h.base+int64(len(h.buf)))
	}
	if err := h.release(); err != nil {
		return 0, err
	}
	h.buf = append(h.buf, p...)
	return len(p), nil
}

func (h *holdback) release() error {
	n := int(min(h.safe-h.base, int64(len(h.buf))))
	if n <= 0 {
		return nil
	}
	_, err := h.out.Write(h.buf[:n])
	h.base += int64(n)
	h.buf = h.buf[:copy(h.buf, h.buf[n:])]
	return err
}

// whole reports whether what follows the last whole event ends the document: a
// damaged checksum behind it then costs nothing.
func (h *holdback) whole(array bool) bool {
	rest := bytes.TrimSpace(h.buf)
	if array {
		return bytes.Equal(rest, []byte("]"))
	}
	return bytes.HasPrefix(rest, []byte("]")) && json.Valid(append([]byte(`{"traceEvents":[`), rest...))
}

// traceEvent is an event as Annotate writes it.
type traceEvent struct {
	Ph   string         `json:"ph"`
	Cat  string         `json:"cat,omitempty"`
	Name string         `json:"name"`
	PID  int            `json:"pid"`
	TID  int            `json:"tid"`
	TS   json.Number    `json:"ts,omitempty"`
	Dur  json.Number    `json:"dur,omitempty"`
	Args map[string]any `json:"args,omitempty"`
}

// checkTracks reports spans that are out of order. The error is also ctx's.
func checkTracks(ctx context.Context, tracks []pftrace.Track) error {
	for _, tr := range tracks {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := trace.Time(0)
		for k, s := range tr.Spans {
			if s.End < s.Start || k > 0 && s.Start < last {
				return fmt.Errorf("perfetto: track %q: span %d (%q) overlaps the one before it or ends before it starts", tr.Name, k, s.Name)
			}
			last = s.End
		}
	}
	return ctx.Err()
}

// writeTracks writes the added events, each followed by a comma. It looks at no
// context: out, of [rewrite], does.
func writeTracks(out *bufio.Writer, t *trace.Trace, tracks []pftrace.Track) error {
	var b bytes.Buffer // of one event
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	add := func(e traceEvent) error {
		b.Reset()
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("perfetto: %w", err)
		}
		b.Truncate(b.Len() - 1) // Encode's newline
		b.WriteString(",\n")
		_, err := out.Write(b.Bytes())
		return err
	}
	meta := func(name string, tid int, args map[string]any) error {
		return add(traceEvent{Ph: "M", Name: name, PID: annotationPID, TID: tid, Args: args})
	}
	err := errors.Join(
		meta("process_name", annotationPID, map[string]any{"name": "passes and layers (strata)"}),
		meta("process_sort_index", annotationPID, map[string]any{"sort_index": -1000}))
	if err != nil {
		return err
	}
	for i, tr := range tracks {
		tid := annotationPID + 1 + i
		err := errors.Join(
			meta("thread_name", tid, map[string]any{"name": tr.Name}),
			meta("thread_sort_index", tid, map[string]any{"sort_index": i}))
		if err != nil {
			return err
		}
		for _, s := range tr.Spans {
			err := add(traceEvent{
				Ph: "X", Cat: annotationCategory, Name: s.Name, PID: annotationPID, TID: tid,
				TS: micros(t.Raw(s.Start)), Dur: micros(int64(s.End - s.Start)), Args: s.Args,
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// micros formats ns as Kineto does: microseconds with three decimals, exact.
func micros(ns int64) json.Number { return json.Number(decimal.AppendMicros(nil, ns)) }
