package perfettomap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
)

// files are the trace file and what was written from it.
type files struct {
	source    string // the trace
	annotated string // "" unless written
	sliced    string // "" unless written
	temp      string // folder of the demo trace, "" for a trace of the user's
	gone      func() // it is
}

// newFiles returns the trace file of an analysis for copies of it. The demo
// trace becomes a temporary file.
func newFiles(env *app.Env, a *layer.Device, o options) (*files, error) {
	t := a.Analysis().Trace()
	copied := func(path string) bool { return path != "" && !perfetto.FromEvents(t, path) }
	switch {
	case copied(o.annotate) || copied(o.slice) || o.open && o.annotate == "" && o.slice == "":
	case env.Demo():
		return &files{}, nil
	default:
		return &files{source: t.Meta().Path}, nil
	}
	if !perfetto.CanOpen(t) {
		return nil, fmt.Errorf("the Perfetto UI does not read %s: --open needs --annotate FILE or --slice FILE, too",
			env.Trace)
	}
	// Not env.Trace: that may be a directory.
	f := &files{source: t.Meta().Path}
	if !env.Demo() {
		if info, err := os.Stat(f.source); err != nil || !info.Mode().IsRegular() {
			return nil, errors.New("--annotate, --slice and --open read the trace once more: name a file, no stream or archive")
		}
		return f, nil
	}
	var err error
	if f.temp, err = os.MkdirTemp("", "strata-demo-"); err != nil {
		return nil, err
	}
	f.gone = atomicfile.Temporary(f.temp)
	f.source = filepath.Join(f.temp, "strata-demo.json.gz")
	if err := os.WriteFile(f.source, demo.Trace(), 0o600); err != nil {
		f.remove()
		return nil, err
	}
	return f, nil
}

// remove deletes temporary files; best effort, the system cleans up as well.
func (f *files) remove() {
	if f.temp != "" {
		os.RemoveAll(f.temp)
		f.gone()
	}
}

// served returns the file that says most about the trace.
func (f *files) served() string {
	switch {
	case f.annotated != "":
		return f.annotated
	case f.sliced != "":
		return f.sliced
	}
	return f.source
}

// annotate writes --annotate.
func (f *files) annotate(ctx context.Context, env *app.Env, a *layer.Device, o options) error {
	env.Step("writing "+o.annotate, 0, 0)
	tracks, err := tracksOf(ctx, a, o.minGap, env.Device == app.Busiest)
	if err != nil {
		return err
	}
	stats, err := perfetto.Annotate(ctx, a.Analysis().Trace(), f.source, o.annotate, tracks,
		perfetto.CopyOptions{KeepMetadata: o.keepMetadata})
	if err != nil {
		return err
	}
	f.annotated = o.annotate
	spans := 0
	for _, t := range tracks {
		spans += len(t.Spans)
	}
	env.Notef("wrote %s: %s (%d tracks, %d slices added)", o.annotate, fileSize(o.annotate), len(tracks), spans)
	noteRemoved(env, stats.Removed)
	return nil
}

// slice writes --slice.
func (f *files) slice(ctx context.Context, env *app.Env, a *layer.Device, pm *perfetto.Map, o options) error {
	keep, what, err := chosen(env, a, pm.Pass, o)
	if err != nil {
		return err
	}
	env.Step("writing "+o.slice, 0, 0)
	stats, err := perfetto.Slice(ctx, a.Analysis().Trace(), keep, f.source, o.slice,
		perfetto.CopyOptions{Redact: o.redact, KeepMetadata: o.keepMetadata})
	if err != nil {
		return err
	}
	f.sliced = o.slice
	env.Notef("wrote %s: %s, %s with %s GPU activities, %s of %s events", o.slice, fileSize(o.slice), what,
		table.Count(int64(stats.Activities)), table.Count(stats.Kept), table.Count(stats.Kept+stats.Dropped))
	noteRemoved(env, stats.Removed)
	if o.redact != (perfetto.Redaction{}) {
		env.Notef("%d texts remain in it; read them before you send it:", len(stats.Names))
		for _, n := range stats.Names {
			env.Notef("  %s", n)
		}
	}
	if len(o.layers.indexList) > 0 || o.redact.Names || env.Boundaries == published.AnchorOpens {
		return nil // it cannot show the same
	}
	return compareSlice(ctx, env, a, o, len(keep))
}

// compareSlice notes where a slice, read by itself, does not show the passes that it was cut from, with so many
// activities.
func compareSlice(ctx context.Context, env *app.Env, of *layer.Device, o options, activities int) error {
	rec, err := strata.Open(ctx, o.slice, env.LoadOptions())
	if err != nil {
		return err
	}
	model := of.Analysis()
	a, err := layer.AnalyzeAnyway(ctx, rec.Parts[0].Trace, layer.Options{Config: model.Config, Profile: model.Profile,
		NumLayers: env.NumLayers, Boundaries: model.Boundaries})
	if err != nil {
		return err
	}
	d, err := a.Device(&of.ID)
	if err != nil {
		return err
	}
	placed := 0
	for k := range d.Kernels() {
		if k.Place().Pass >= 0 {
			placed++
		}
	}
	if n := max(1, len(o.slicePasses)); len(d.Passes) != n || placed != activities {
		env.Notef("read by itself, the slice shows %s with %s of its %s GPU activities, not %s with all: other parts of the "+
			"recording place the rest", table.Counted(len(d.Passes), "pass", "passes"), table.Count(int64(placed)),
			table.Count(int64(activities)), table.Counted(n, "pass", "passes"))
	}
	return nil
}

// noteRemoved names what a copy lacks.
func noteRemoved(env *app.Env, removed []string) {
	if len(removed) > 0 {
		env.Notef("left out, or replaced by stars: %s; --keep-metadata keeps all", strings.Join(removed, ", "))
	}
}

// chosen returns the activities that --slice keeps, and their description.
func chosen(env *app.Env, a *layer.Device, pass int, o options) ([]trace.EventID, string, error) {
	passes := []int(o.slicePasses)
	if len(passes) == 0 {
		if pass < 0 {
			return nil, "", errors.New("--slice: the trace has no forward pass")
		}
		passes = []int{pass}
	}
	for _, p := range passes {
		if p >= len(a.Passes) {
			return nil, "", fmt.Errorf("--slice-passes: forward pass %d out of range: the trace has passes 0 to %d", p,
				len(a.Passes)-1)
		}
	}
	var keep []trace.EventID
	for k := range a.Kernels() {
		at := k.Place()
		if slices.Contains(passes, at.Pass) && (len(o.layers.indexList) == 0 || at.Layer != trace.None &&
			slices.Contains(o.layers.indexList, a.Passes[at.Pass].LayerNumber(at.Layer))) {
			keep = append(keep, k.Event().ID())
		}
	}
	if !slices.ContainsFunc(passes, func(p int) bool { return a.Passes[p].Complete() }) {
		env.Notef("the recording cuts every pass in the slice; to number its layers in the slice, too, keep a complete " +
			"pass beside it with --slice-passes")
	}
	what := "pass " + indexList(passes).String()
	if len(o.layers.indexList) > 0 {
		what += ", layers " + o.layers.String()
	}
	return keep, what, nil
}

func fileSize(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "size unknown"
	}
	return table.Bytes(info.Size())
}
