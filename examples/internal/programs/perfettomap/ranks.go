package perfettomap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/eventjson"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/mask"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/pftrace"
)

// Rank is one trace of several that are drawn beside each other.
type Rank struct {
	Name   string  `json:"name"`     // name of the tracks
	Path   string  `json:"path"`     // file of the rank
	Begins float64 `json:"begins_s"` // on the axis of the copy
	Ends   float64 `json:"ends_s"`   // end on the axis of the copy
	Passes int     `json:"passes"`   // number of forward passes
	Layers int     `json:"layers"`   // of the model
	// Ahead is how far the rank's clock is ahead of that of the rank Of, by the collectives of the two.
	Ahead int64  `json:"clock_ahead_ns"`
	Of    string `json:"clock_of"` // its own name where no collective connects it with a rank before it

	an    *layer.Analysis
	shift int64 // to raw timestamps, ns
}

// Ranks describes a copy of several ranks.
type Ranks struct {
	Schema string `json:"schema"` // name and version of the document
	Clock  string `json:"clock"`  // what their times rest on
	Ranks  []Rank `json:"ranks"`  // the ranks, in their order

	base int64 // ns of the Unix epoch at time 0, 0 unknown
}

// What is said about the times of several ranks.
const (
	sameClock  = "ranks are aligned by their collectives, which end on all of them at the same time"
	wallClocks = "ranks without common collectives are placed by the wall clocks of their hosts, which may differ by " +
		"milliseconds"
	noClocks = "not every trace has its wall-clock time: ranks without common collectives start at 0, and the " +
		"offsets between them are unknown"
)

// runRanks writes --annotate for several ranks.
func runRanks(ctx context.Context, env *app.Env, o options, paths []string) error {
	switch {
	case o.annotate == "":
		return app.Usagef("several files or ranks are drawn into one copy: --annotate FILE is needed")
	case o.slice != "" || o.open || o.pass >= 0 || len(o.layers.indexList) > 0:
		return app.Usagef("--slice, --open, --fwd-pass and --layers are about one rank: name one file")
	case len(paths) == 0:
		return app.Usagef("--all-ranks: name the directory of a run")
	}
	list, labels, err := env.LoadRanks(ctx, paths...)
	if err != nil {
		return err
	}
	r := &Ranks{Schema: "strata.perfetto-ranks/1"}
	seen := map[string]bool{}
	for i, an := range list {
		x := Rank{Path: an.Trace().Meta().Shown(), an: an}
		x.Name = cmp.Or(labels[i], filepath.Base(x.Path))
		if seen[x.Name] {
			x.Name += " (" + filepath.Base(x.Path) + ")"
		}
		seen[x.Name] = true
		if d, err := an.Device(nil); err == nil {
			x.Passes, x.Layers = len(d.Passes), d.NumLayers
		}
		r.Ranks = append(r.Ranks, x)
	}
	r.place()
	if err := r.annotate(ctx, env, o); err != nil {
		return err
	}
	var gpus []layer.Device
	for _, an := range list {
		gpus = append(gpus, an.Devices...)
	}
	if err := r.write(env); err != nil {
		return err
	}
	return env.JudgeCoverage(gpus...)
}

// place puts the ranks on one axis: by their collectives, else by their wall clocks where all have one, else each at
// its beginning.
func (r *Ranks) place() {
	r.Clock = wallClocks
	digests := make([]fleet.Rank, len(r.Ranks))
	for i := range r.Ranks {
		at, ok := r.Ranks[i].an.Trace().Epoch()
		if digests[i].Clock = at.UnixNano(); !ok {
			r.Clock = noClocks
		}
		if d, err := r.Ranks[i].an.Device(nil); err == nil {
			digests[i].Record(d)
		}
	}
	for i := range digests {
		if r.Clock == noClocks {
			digests[i].Clock = 0
		}
	}
	ahead, of := fleet.Meet(digests, func(fleet.Meeting) {})
	apart := 0 // ranks that nothing connects with one before
	begin := int64(math.MaxInt64)
	for i := range r.Ranks {
		if begin = min(begin, digests[i].Clock-ahead[i]); of[i] == i {
			apart++
		}
	}
	for i := range r.Ranks {
		x := &r.Ranks[i]
		t := x.an.Trace()
		start, end := t.Window()
		x.Ahead, x.Of, x.shift = ahead[i], r.Ranks[of[i]].Name, digests[i].Clock-ahead[i]-begin-t.Raw(0)
		x.Begins, x.Ends = float64(t.Raw(start)+x.shift)/1e9, float64(t.Raw(end)+x.shift)/1e9
	}
	if r.Clock == wallClocks {
		r.base = begin
	}
	switch {
	case apart == 1 && len(r.Ranks) > 1:
		r.Clock = sameClock
	case apart < len(r.Ranks):
		r.Clock = sameClock + "; " + r.Clock
	}
}

// annotate writes the copy.
func (r *Ranks) annotate(ctx context.Context, env *app.Env, o options) error {
	env.Step("writing "+o.annotate, 0, 0)
	var parts []eventjson.Part
	var all []pftrace.Track
	count := 0
	for i := range r.Ranks {
		x := &r.Ranks[i]
		part := eventjson.Part{Trace: x.an.Trace(), Name: x.Name, Shift: x.shift}
		if d, err := x.an.Device(nil); err == nil {
			tracks, err := tracksOf(ctx, d, o.minGap, true)
			if err != nil {
				return err
			}
			part.Tracks = tracks
			for _, t := range tracks {
				count += len(t.Spans)
				all = append(all, x.moved(t))
			}
		}
		parts = append(parts, part)
	}
	opts := eventjson.Options{BaseTime: r.base, Category: "strata", Note: r.Clock}
	write := func() error { return writeJSON(ctx, o.annotate, parts, opts) }
	if framework.Ends(o.annotate, pftrace.Format().Suffixes) {
		write = func() error {
			return writePftrace(ctx, o.annotate, parts, opts, all, perfetto.CopyOptions{KeepMetadata: o.keepMetadata})
		}
	}
	if err := write(); err != nil {
		return err
	}
	env.Notef("wrote %s: %s (%s, %d tracks, %d slices added)", o.annotate, fileSize(o.annotate),
		table.Counted(len(r.Ranks), "rank", "ranks"), len(all), count)
	env.Notef("times: %s", r.Clock)
	return nil
}

// moved is a track with its rank's name, on the axis of the copy.
func (x *Rank) moved(t pftrace.Track) pftrace.Track {
	out := pftrace.Track{Name: x.Name + ": " + t.Name, Spans: make([]pftrace.Span, len(t.Spans))}
	by := trace.Time(x.an.Trace().Raw(0) + x.shift)
	for i, s := range t.Spans {
		s.Start, s.End = s.Start+by, s.End+by
		out.Spans[i] = s
	}
	return out
}

// writeJSON writes a document, compressed as its name says.
func writeJSON(ctx context.Context, dst string, parts []eventjson.Part, o eventjson.Options) error {
	return atomicfile.Write(dst, 0o666, func(w io.Writer) error {
		z, err := eventjson.NewCompressor(w, eventjson.Compression(dst, decompress.Plain))
		if err != nil {
			return err
		}
		m := mask.NewWriter(z)
		_, err = eventjson.Write(ctx, m, parts, o)
		return errors.Join(err, m.Flush(), z.Close())
	})
}

// clockRoom, in ns, is the room before the first event: that format has no clock for a trace that begins at 0.
const clockRoom = 1_000_000

// writePftrace writes the same in Perfetto's own format: the document is read again, as the ranks are one trace then.
func writePftrace(ctx context.Context, dst string, parts []eventjson.Part, o eventjson.Options, tracks []pftrace.Track,
	copyOptions perfetto.CopyOptions) error {
	bare := make([]eventjson.Part, len(parts))
	for i, p := range parts {
		p.Tracks, p.Shift = nil, p.Shift+clockRoom
		bare[i] = p
	}
	if o.BaseTime != 0 {
		o.BaseTime -= clockRoom
	}
	out, in := io.Pipe()
	go func() {
		_, err := eventjson.Write(ctx, in, bare, o)
		in.CloseWithError(err)
	}()
	t, err := trace.Read(ctx, out, trace.Options{})
	out.CloseWithError(err) // ends the writer where the reader gave up
	if err != nil {
		return fmt.Errorf("%s: %w", dst, err)
	}
	for i := range tracks { // times begin with the trace
		for k := range tracks[i].Spans {
			tracks[i].Spans[k].Start += clockRoom - trace.Time(t.Raw(0))
			tracks[i].Spans[k].End += clockRoom - trace.Time(t.Raw(0))
		}
	}
	_, err = perfetto.Annotate(ctx, t, "", dst, tracks, copyOptions)
	return err
}

// write prints which ranks are in the copy, and where.
func (r *Ranks) write(env *app.Env) error {
	if env.Document() {
		return env.WriteJSON(r)
	}
	t := table.New(table.Text("Rank"), table.Number("Begins (s)"), table.Number("Ends (s)"),
		table.Number("Clock (µs)"), table.Number("Passes"), table.Number("Layers"), table.Path("File"))
	for _, x := range r.Ranks {
		t.Row(x.Name, table.Fixed(x.Begins, 6), table.Fixed(x.Ends, 6), table.Fixed(float64(x.Ahead)/1e3, 1),
			table.Count(int64(x.Passes)), table.Count(int64(x.Layers)), x.Path)
	}
	b := table.NewWriter(env.Stdout)
	b.Table(t)
	b.Fact("Times", "%s.", r.Clock)
	return b.Flush()
}
