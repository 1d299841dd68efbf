// Kernel-export writes one row for each GPU activity of a trace, with the pass,
// layer and category it belongs to and where it was launched from, as CSV or
// newline-delimited JSON for spreadsheets and data frames.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

func main() { app.Main(program()) }

// options are the program's own flags.
type options struct {
	stacks, module bool
	device         string
}

// program describes kernel-export.
func program() app.Program {
	var o options
	return app.Program{
		Name:    "kernel-export",
		Summary: "writes one row for each kernel, memory copy and memory set of a trace: when and where it ran, its pass, layer and category, and what launched it.",
		Examples: []string{
			"kernel-export                                        # the demo trace as CSV",
			"kernel-export --trace x.json.gz --stacks --module    # with source lines and modules",
			"kernel-export --trace x.json.gz --format ndjson --output kernels.ndjson",
		},
		Common:  app.AllFlags,
		Formats: []string{"csv", "ndjson"},
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&o.stacks, "stacks", false, "fill location: the Python source line that launched each activity (needs more memory)")
			fs.BoolVar(&o.module, "module", false, "fill module: the nn.Module path of each activity, outermost first (needs more memory)")
			fs.StringVar(&o.device, "device", "first", "whose activities to write, a device `NUMBER`; first: the lowest one of the trace; all: every one")
		},
		Run: func(ctx context.Context, env *app.Env) error { return export(ctx, env, o) },
	}
}

// export loads the trace and writes its rows.
func export(ctx context.Context, env *app.Env, o options) error {
	if _, err := parseDevice(o.device); err != nil {
		return app.Usagef("%w", err)
	}
	model, err := env.LayerOptions()
	if err != nil {
		return err
	}
	t, err := env.Load(ctx, app.Need{}) // frames too: layers are found by their modules
	if err != nil {
		return err
	}
	device, err := chooseDevice(env, t, o.device)
	if err != nil {
		return err
	}
	places, err := findPlaces(ctx, env, t, model, device)
	if err != nil {
		return err
	}
	var w rowWriter = newCSV(env.Stdout)
	if env.Format == "ndjson" {
		w = newNDJSON(env.Stdout)
	}
	describe := newDescriber(t, o, places)
	index := 0
	var row Row
	for e := range t.Events(trace.LaneGPU) {
		if device != trace.NoDevice && e.Device() != device {
			continue
		}
		if index%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		describe.row(e, index, &row)
		if err := w.write(&row); err != nil {
			return err
		}
		index++
	}
	return w.flush()
}

// checkEvery is how many rows are written between two looks at the context.
const checkEvery = 4096

// parseDevice reads --device: a number, or trace.NoDevice for the words.
func parseDevice(s string) (trace.DeviceID, error) {
	if s == "first" || s == "all" {
		return trace.NoDevice, nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return trace.NoDevice, fmt.Errorf("--device %q: want a number, first or all", s)
	}
	return trace.DeviceID(n), nil
}

// chooseDevice returns the device to write, trace.NoDevice for all.
func chooseDevice(env *app.Env, t *trace.Trace, want string) (trace.DeviceID, error) {
	devices := t.Devices()
	if len(devices) == 0 {
		return trace.NoDevice, errors.New("the trace has no GPU activity")
	}
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = strconv.Itoa(int(d))
	}
	switch want {
	case "all":
		return trace.NoDevice, nil
	case "first":
		if len(devices) > 1 {
			env.Notef("device %s of %s; --device chooses another one, or all", names[0], strings.Join(names, ", "))
		}
		return devices[0], nil
	}
	id, err := parseDevice(want)
	if err != nil {
		return trace.NoDevice, err
	}
	for _, d := range devices {
		if d == id {
			return id, nil
		}
	}
	return trace.NoDevice, fmt.Errorf("--device %d: the trace has %s", id, strings.Join(names, ", "))
}

// describer fills rows; it remembers what names mean.
type describer struct {
	opts     options
	places   places
	sources  *triage.Sources
	rules    *classify.Ruleset
	names    map[trace.NameID]named
	building []string
}

// named is what a kernel's name tells.
type named struct{ category, canonical string }

// newDescriber returns a describer of t's activities.
func newDescriber(t *trace.Trace, o options, p places) *describer {
	return &describer{opts: o, places: p, sources: triage.NewSources(t), rules: classify.Default(), names: map[trace.NameID]named{}}
}

// row fills r with everything about e.
func (d *describer) row(e trace.Event, index int, r *Row) {
	n, ok := d.names[e.NameID()]
	if !ok {
		n = named{string(d.rules.Classify(e.Name()).Category), classify.Canonical(e.Name())}
		d.names[e.NameID()] = n
	}
	*r = Row{
		Index: index, Start: int64(e.Start()), Duration: e.Duration().Nanoseconds(),
		Device: int64(e.Device()), Stream: int64(e.Stream()), Kind: e.Kind().String(),
		Category: n.category, Name: e.Name(), Canonical: n.canonical,
		Correlation: uint64(e.Correlation()),
	}
	r.Pass, r.Layer, r.Half, r.Stage = d.places.of(e)
	if e.IsReplay() {
		r.Graph = 1
	}
	if op := e.Op(); op.Valid() {
		r.CPUOp = op.Name()
	}
	if d.opts.stacks {
		r.Location = d.sources.Location(e)
	}
	if d.opts.module {
		r.Module = d.modules(e)
	}
}

// modules returns the path of nn.Module frames around e's launch, outermost
// first, joined by slashes.
func (d *describer) modules(e trace.Event) string {
	d.building = d.building[:0]
	for f := range e.Stack() {
		if f.Kind() == trace.KindModule {
			d.building = append(d.building, strings.TrimPrefix(f.Name(), "nn.Module: "))
		}
	}
	for i, j := 0, len(d.building)-1; i < j; i, j = i+1, j-1 {
		d.building[i], d.building[j] = d.building[j], d.building[i]
	}
	return strings.Join(d.building, "/")
}
