package perfetto

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/pftrace"
)

// FromEvents reports whether [Annotate] and [Slice] make a copy of this name of a
// trace's events, in Perfetto's own format, and need no file that the trace was
// loaded from: names that end in .pftrace.
func FromEvents(path string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.ToLower(path), ".gz"), ".pftrace")
}

// newFile is the mode of a copy whose original is no file that can be looked at.
const newFile = 0o666

// writePftrace writes t to dst, which appears only when all of it was written.
func writePftrace(ctx context.Context, t *trace.Trace, src, dst string, o pftrace.WriteOptions) (written int64, err error) {
	if same, err := sameFile(src, dst); err == nil && same {
		return 0, fmt.Errorf("perfetto: output %s is the trace itself", dst)
	}
	f, err := atomicfile.Create(dst, newFile)
	if err != nil {
		return 0, fmt.Errorf("perfetto: %w", err)
	}
	return written, f.Finish(func() error {
		z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		if err != nil {
			return err
		}
		out := bufio.NewWriterSize(z, 1<<16)
		if written, err = pftrace.Write(ctx, out, t, o); err != nil {
			return fmt.Errorf("perfetto: writing %s: %w", dst, err)
		}
		if err := errors.Join(out.Flush(), z.Close()); err != nil {
			return fmt.Errorf("perfetto: writing %s: %w", dst, err)
		}
		return nil
	}())
}

func pftraceTracks(tracks []Track) []pftrace.Track {
	out := make([]pftrace.Track, 0, len(tracks))
	for _, tr := range tracks {
		x := pftrace.Track{Name: tr.Name}
		for _, s := range tr.Spans {
			x.Spans = append(x.Spans, pftrace.Span(s))
		}
		out = append(out, x)
	}
	return out
}

// slicePftrace is [Slice] for a dst in Perfetto's own format.
func slicePftrace(ctx context.Context, t *trace.Trace, sel *selection, src, dst string, o SliceOptions) (SliceStats, error) {
	var stats SliceStats
	if o.Redact.any() {
		return stats, fmt.Errorf("perfetto: %s: nothing can be hidden in a .pftrace: write a .json.gz instead", dst)
	}
	n, err := writePftrace(ctx, t, src, dst, pftrace.WriteOptions{Keep: func(e trace.Event) bool { return sel.keeps(t, e) }})
	stats.Kept, stats.Dropped, stats.Activities = n, int64(t.Len())-n, sel.count(t)
	return stats, err
}

// count is how many activities of t are kept.
func (s *selection) count(t *trace.Trace) (n int) {
	for e := range t.Events(trace.LaneGPU) {
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
	switch e.Lane() {
	case trace.LaneGPU:
		_, ok := s.activities[keyOf(t, e)]
		return ok
	case trace.LaneLaunch:
		if s.correlation[e.Correlation()] && e.Correlation() != trace.NoCorrelation {
			return true
		}
	case trace.LaneCounter:
		return touches(s.devices[e.Device()], start, end)
	}
	if isWindowProcess(th.ProcessLabel) && th.ProcessLabel != "" {
		return true
	}
	if k := e.Kind(); k == trace.KindGPUAnnotation || k == trace.KindSync || k == trace.KindOverhead {
		if touches(s.devices[e.Device()], start, end) {
			return true
		}
	}
	return e.Thread() != trace.NoThread && touches(s.threads[threadKey{newIdent(th.ProcessLabel, int64(th.Process)), newIdent(th.Label, int64(th.ID))}], start, end)
}
