package perfetto

import (
	"fmt"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/pftrace"
)

// DefaultGap is the shortest span without any activity on the device that
// [Tracks] draws: shorter ones are ordinary launch distance (a dispatch takes
// a few µs) and would bury the others.
const DefaultGap = 20 * time.Microsecond

// Tracks returns the passes, layers, halves and categories of a GPU and
// the gaps of at least minGap (DefaultGap when 0) on it, as tracks for
// [Annotate]. Where kernels of two streams overlap, a track shows the one that
// started first; the true end is among a slice's args.
func Tracks(a *layer.Device, minGap time.Duration) []pftrace.Track {
	if minGap <= 0 {
		minGap = DefaultGap
	}
	passes, layers, halves := pftrace.Track{Name: "forward passes"}, pftrace.Track{Name: "layers"},
		pftrace.Track{Name: "halves"}
	for i := range a.Passes {
		p := &a.Passes[i]
		args := map[string]any{"layers": p.NumLayers, "kernels": p.Kernels, "found_by": p.PassEvidence,
			"layers_found_by": p.LayerEvidence}
		if p.Batch >= 0 {
			args["batch"] = p.Batch
		}
		if p.Tokens >= 0 {
			args["tokens"] = p.Tokens
		}
		add(&passes, fmt.Sprintf("pass %d %s", p.Index, p.Stage), p.Start, p.End, args)
		for _, l := range p.Layers() {
			args := map[string]any{"wall_us": float64(l.Wall) / 1e3, "sum_us": float64(l.Sum) / 1e3,
				"kernels": len(l.Kernels), "kind": l.Kind}
			for category, time := range categoryTimes(a, &l) {
				args["sum_us "+category] = float64(time) / 1e3
			}
			add(&layers, fmt.Sprintf("layer %d %s", p.LayerNumber(l.Index), l.Type), l.Start, l.End, args)
			if a.Analysis().BlocksPerLayer > 1 {
				addHalves(&halves, a, &l)
			}
		}
	}
	tracks := []pftrace.Track{passes, layers}
	if len(halves.Spans) > 0 {
		tracks = append(tracks, halves)
	}
	return append(tracks, categories(a), gaps(a, minGap))
}

// categoryTimes adds up a layer's kernels by category.
func categoryTimes(a *layer.Device, l *layer.Layer) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, k := range l.Kernels {
		kernel := a.Kernel(int(k))
		out[a.CategoryLabel(kernel.Category())] += kernel.Event().Duration()
	}
	return out
}

// add appends a span that begins where the last one ends if they overlap.
func add(tr *pftrace.Track, name string, start, end trace.Time, args map[string]any) {
	if n := len(tr.Spans); n > 0 && start < tr.Spans[n-1].End {
		last := &tr.Spans[n-1]
		if last.Args == nil {
			last.Args = map[string]any{}
		}
		last.Args["overlaps_next_us"] = float64(last.End-start) / 1e3
		start = max(start, last.Start)
		last.End = start
	}
	tr.Spans = append(tr.Spans, pftrace.Span{Name: name, Start: start, End: max(start, end), Args: args})
}

// addHalves adds the blocks of one layer.
func addHalves(tr *pftrace.Track, a *layer.Device, l *layer.Layer) {
	for h, label := range a.Analysis().HalfLabels {
		var start, end trace.Time
		n := 0
		for _, k := range l.Kernels {
			kernel := a.Kernel(int(k))
			if kernel.Place().Half != h {
				continue
			}
			e := kernel.Event()
			if n == 0 || e.Start() < start {
				start = e.Start()
			}
			end = max(end, e.End())
			n++
		}
		if n > 0 {
			add(tr, label, start, end, map[string]any{"layer": l.Index, "kernels": n})
		}
	}
}

// categories joins consecutive kernels of one category and layer.
func categories(a *layer.Device) pftrace.Track {
	tr := pftrace.Track{Name: "categories"}
	type run struct {
		category    classify.Category
		pass, layer int
		start, end  trace.Time
		n           int
	}
	var cur run
	flush := func() {
		if cur.n > 0 {
			add(&tr, a.CategoryLabel(cur.category), cur.start, cur.end, map[string]any{"kernels": cur.n})
		}
	}
	for k := range a.Kernels() {
		e, at, category := k.Event(), k.Place(), k.Category()
		if cur.n > 0 && category == cur.category && at.Pass == cur.pass && at.Layer == cur.layer {
			cur.end = max(cur.end, e.End())
			cur.n++
			continue
		}
		flush()
		cur = run{category, at.Pass, at.Layer, e.Start(), e.End(), 1}
	}
	flush()
	return tr
}

// gaps lists spans in which nothing ran on the analysed device.
func gaps(a *layer.Device, minGap time.Duration) pftrace.Track {
	tr := pftrace.Track{Name: fmt.Sprintf("gaps ≥ %v", minGap)}
	var end trace.Time
	for k := range a.Kernels() {
		e := k.Event()
		if k.Index() > 0 && time.Duration(e.Start()-end) >= minGap {
			name := "gap"
			if a.IsLost(layer.TimeSpan{Start: end, End: e.Start()}) {
				name = finding.NotRecorded.String()
			}
			add(&tr, name, end, e.Start(), map[string]any{"before": e.Name()})
		}
		end = max(end, e.End())
	}
	return tr
}
