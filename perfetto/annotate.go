package perfetto

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/internal/kind"
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
// all others. The original events are copied byte for byte, the values beside
// them as [CopyOptions] say. The copy is
// compressed as its name says (.gz, .zst), else as src is; memory does not grow
// with the file. A truncated file's copy ends after its last complete event, so that
// viewers open it. When ctx is cancelled dst is not written and the error is
// ctx's.
//
// A dst that ends in .pftrace is written in Perfetto's own format, in gzip, from
// the events of t, whatever src is: kernels that overlap on a stream show in full,
// which viewers cannot do with JSON. It lacks what
// docs/format/pftrace.md lists. A JSON copy of a trace that was loaded from no JSON
// is made of its events, too, see [FromEvents].
func Annotate(ctx context.Context, t *trace.Trace, src, dst string, tracks []pftrace.Track, o CopyOptions) (CopyStats,
	error) {
	if o.Redact.any() {
		return CopyStats{}, fmt.Errorf("perfetto: %s: names are hidden in a slice, not in an annotated copy", dst)
	}
	if err := checkTracks(ctx, tracks); err != nil {
		return CopyStats{}, err
	}
	if FromEvents(t, dst) {
		_, removed, err := writeEvents(ctx, t, src, dst, tracks, nil, o)
		return CopyStats{removed}, err
	}
	c := &copier{o: o, wants: func(*scan.Event) bool { return true }}
	err := c.rewrite(ctx, src, dst, func(out *bufio.Writer) error { return writeTracks(out, t, tracks) }, func() error {
		if c.kept == 0 {
			return fmt.Errorf("perfetto: %s: no event to annotate", src)
		}
		return nil
	})
	return CopyStats{c.removed}, err
}

// CopyStats says what [Annotate] left out.
type CopyStats struct {
	Removed []string `json:"removed,omitempty"` // see [SliceStats]
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
				return fmt.Errorf("perfetto: track %q: span %d (%q) overlaps the one before it or ends before it starts", tr.Name,
					k, s.Name)
			}
			last = s.End
		}
	}
	return ctx.Err()
}

// writeTracks writes the added events, each followed by a comma. It looks at no
// context: out does.
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
		meta(kind.ProcessName, annotationPID, map[string]any{kind.KeyName: "passes and layers (strata)"}),
		meta("process_sort_index", annotationPID, map[string]any{kind.SortIndex: -1000}))
	if err != nil {
		return err
	}
	for i, tr := range tracks {
		tid := annotationPID + 1 + i
		err := errors.Join(
			meta(kind.ThreadName, tid, map[string]any{kind.KeyName: tr.Name}),
			meta("thread_sort_index", tid, map[string]any{kind.SortIndex: i}))
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
