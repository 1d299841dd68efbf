package perfetto

import (
	"bufio"
	"context"
	"fmt"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/eventjson"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/pftrace"
)

// FromEvents reports whether [Annotate] and [Slice] make a copy with the name dst of
// the events of t, and need no file that t was loaded from: names of Perfetto's own
// format (.pftrace), and every copy of a trace whose file is no JSON.
func FromEvents(t *trace.Trace, dst string) bool {
	return inOwnFormat(dst) || t.Meta().Encoding != trace.EncodingChrome
}

// inOwnFormat says whether a copy of this name is in Perfetto's own format.
func inOwnFormat(dst string) bool { return framework.Ends(dst, pftrace.Format().Suffixes) }

// newFile is the mode of a copy whose original is no file that can be looked at.
const newFile = 0o666

// writeEvents writes events of t, with tracks above them, to dst, which appears only
// when all of it was written: in Perfetto's own format, in gzip unless its name says
// zstd, or as JSON, packed as its name says. A nil keep keeps all. It returns how many events it wrote.
func writeEvents(ctx context.Context, t *trace.Trace, src, dst string, tracks []pftrace.Track,
	keep func(trace.Event) bool, o CopyOptions) (written int64, removed []string, err error) {
	unnamed := decompress.Plain // where the name says no packing
	if inOwnFormat(dst) {
		unnamed = decompress.Gzip
	}
	removed, err = o.create(ctx, src, dst, newFile, unnamed, func(out *bufio.Writer) (err error) {
		if inOwnFormat(dst) {
			written, err = pftrace.Write(ctx, out, t,
				pftrace.WriteOptions{Tracks: tracks, Category: annotationCategory, Keep: keep})
		} else {
			part := eventjson.Part{Trace: t, Tracks: tracks, Keep: keep}
			written, err = eventjson.Write(ctx, out, []eventjson.Part{part},
				eventjson.Options{BaseTime: t.Meta().BaseTime, Category: annotationCategory})
		}
		if err != nil {
			return fmt.Errorf("perfetto: writing %s: %w", dst, err)
		}
		return nil
	})
	return written, removed, err
}

// sliceEvents is [Slice] for a copy that is made of events.
func sliceEvents(ctx context.Context, t *trace.Trace, sel *selection, src, dst string, o CopyOptions) (SliceStats,
	error) {
	var stats SliceStats
	if o.Redact.any() {
		return stats, fmt.Errorf("perfetto: %s: names are hidden in a .json.gz of a JSON trace only: write such a copy "+
			"first, then slice it", dst)
	}
	n, removed, err := writeEvents(ctx, t, src, dst, nil, func(e trace.Event) bool { return sel.keeps(t, e) }, o)
	stats.Kept, stats.Dropped, stats.Activities, stats.Removed = n, int64(t.Len())-n, sel.count(t), removed
	return stats, err
}

// count is how many activities of t are kept.
func (s *selection) count(t *trace.Trace) (n int) {
	for e := range t.Events(event.LaneGPU) {
		if s.keeps(t, e) {
			n++
		}
	}
	return n
}

// keeps is chosen for an event of the loaded trace.
func (s *selection) keeps(t *trace.Trace, e trace.Event) bool {
	th := t.Thread(e.Thread())
	start, end := t.Raw(e.Start()), t.Raw(e.End())
	switch e.Kind().Lane() {
	case event.LaneGPU:
		_, ok := s.activities[keyOf(t, e)]
		return ok
	case event.LaneLaunch:
		if c := e.Data().Correlation; s.correlation[c] && c != 0 {
			return true
		}
	case event.LaneCounter:
		return touches(s.devices[e.Device()], start, end)
	}
	if windowProcesses[th.ProcessLabel] && th.ProcessLabel != "" {
		return true
	}
	if k := e.Kind(); k == event.GPUAnnotation || k == event.Sync || k == event.Overhead {
		if touches(s.devices[e.Device()], start, end) {
			return true
		}
	}
	return e.Thread() != trace.None && touches(s.threads[threadKey{newIdent(th.ProcessLabel, int64(th.Process)),
		newIdent(th.Label, int64(th.ID))}], start, end)
}
