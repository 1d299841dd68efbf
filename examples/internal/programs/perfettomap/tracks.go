package perfettomap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/pftrace"
)

// tracksOf returns the tracks of a GPU, or of every GPU of its trace, with the gaps of the host verdict, by cause.
func tracksOf(ctx context.Context, a *layer.Device, minGap time.Duration, every bool) ([]pftrace.Track, error) {
	an := a.Analysis()
	drawn := 0
	for i := range an.Devices {
		drawn = max(drawn, countGaps(&an.Devices[i], minGap))
	}
	v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{an}, hostoverhead.Options{TopGaps: &drawn})
	if errors.Is(err, layer.ErrNoKernels) {
		v, err = &hostoverhead.Verdict{}, nil
	}
	if err != nil {
		return nil, err
	}
	var out []pftrace.Track
	for i := range an.Devices {
		d := &an.Devices[i]
		if !every && d.ID != a.ID {
			continue
		}
		tracks := perfetto.Tracks(d, minGap)
		for k := range v.Ranks {
			if v.Ranks[k].Device == d.ID {
				gaps := &tracks[len(tracks)-1].Spans
				*gaps = slices.DeleteFunc(*gaps, func(s pftrace.Span) bool { return s.Name != finding.NotRecorded.String() })
				*gaps = append(*gaps, causedGaps(v.Ranks[k].Top, minGap)...)
				slices.SortFunc(*gaps, func(a, b pftrace.Span) int { return cmp.Compare(a.Start, b.Start) })
			}
		}
		if every && len(an.Devices) > 1 {
			for k := range tracks {
				tracks[k].Name = fmt.Sprintf("GPU %d: %s", d.ID, tracks[k].Name)
			}
		}
		out = append(out, tracks...)
	}
	return out, nil
}

// countGaps counts the gaps of at least minGap in which no kernel runs.
func countGaps(d *layer.Device, minGap time.Duration) (n int) {
	var from, to trace.Time // of the gap at hand
	count := func() {
		if to > from && time.Duration(to-from) >= minGap {
			n++
		}
	}
	for s := range d.Timeline() {
		switch {
		case !s.Idle():
			count()
			from, to = s.End, s.End
		case s.Start == to: // an activity that takes no time parts a gap in two slices
			to = s.End
		default:
			from, to = s.Start, s.End
		}
	}
	count()
	return n
}

// causedGaps are the gaps of at least minGap in which nothing runs on the device, named by what took most of each, with
// all causes.
func causedGaps(gaps []hostoverhead.Gap, minGap time.Duration) []pftrace.Span {
	var out []pftrace.Span
	for i := range gaps {
		g := &gaps[i]
		if time.Duration(g.NS) < minGap || len(g.Causes) == 0 {
			continue
		}
		by := map[finding.Cause]int64{}
		largest := g.Causes[0].Cause
		for _, c := range g.Causes { // a cause has one row for each name
			by[c.Cause] += c.NS
			if by[c.Cause] > by[largest] {
				largest = c.Cause
			}
		}
		args := map[string]any{"before": g.Before, "after": g.After, "largest part": g.Causes[0].Name}
		for cause, ns := range by {
			args[cause.String()+"_us"] = float64(ns) / 1e3
		}
		start := trace.Time(g.StartNS)
		out = append(out, pftrace.Span{Name: "gap: " + largest.String(), Start: start, End: start + trace.Time(g.NS),
			Args: args})
	}
	return out
}
