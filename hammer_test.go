package strata_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/internal/whole"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// TestHammer uses one fresh Trace, and one Analysis of it, from many goroutines
// at once, so that every link that is made on first use is asked for first by
// several. Under the race detector it shows that readers do not disturb each
// other; the results must be equal in any case.
//
// Recipe: each goroutine begins with another accessor or analysis, then goes
// round through all; what it sees is one JSON document, compared with that of a
// goroutine working alone on a Trace of its own.
func TestHammer(t *testing.T) {
	rounds := 3
	if !testdata.Long() {
		rounds = 1
	}
	t.Run("generated", func(t *testing.T) {
		hammer(t, rounds, func() (*trace.Trace, error) {
			return trace.Read(t.Context(), bytes.NewReader(whole.Small(gen.FullGraph, gen.NVIDIA)), trace.Options{})
		})
	})
	if !testdata.Long() {
		return
	}
	t.Run("real", func(t *testing.T) {
		path := testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz")
		hammer(t, 1, func() (*trace.Trace, error) { return trace.Open(t.Context(), path, trace.Options{}) })
	})
}

// hammer does it with one trace.
//
// One function: the list of uses is what it is about.
func hammer(t *testing.T, rounds int, open func() (*trace.Trace, error)) {
	ctx := t.Context()
	load := func() (*trace.Trace, *layer.Device) {
		tr, err := open()
		if err != nil {
			t.Fatal(err)
		}
		a, err := layer.Analyze(ctx, tr, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return tr, &a.Devices[0]
	}
	uses := []func(*trace.Trace, *layer.Device) any{
		func(tr *trace.Trace, _ *layer.Device) any { return linkSum(tr) },
		func(_ *trace.Trace, d *layer.Device) any {
			v, err := hostoverhead.Analyze(context.Background(), []*layer.Analysis{d.Analysis()},
				hostoverhead.Options{})
			return []any{v, err}
		},
		func(_ *trace.Trace, d *layer.Device) any {
			r, err := hostoverhead.Breakdown(context.Background(), d.Analysis(), hostoverhead.BreakdownOptions{})
			c, cerr := hostoverhead.Compare(context.Background(), d.Analysis(), d.Analysis(),
				hostoverhead.BreakdownOptions{})
			return []any{r, err, c, cerr}
		},
		func(_ *trace.Trace, dev *layer.Device) any {
			v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{dev.Analysis(), dev.Analysis()},
				hostoverhead.Options{})
			return []any{v, err}
		},
		func(tr *trace.Trace, _ *layer.Device) any { // as its own mapping
			src := []triage.Source{{Trace: tr, Path: "a"}}
			in, err := triage.NewInput(ctx, src, src, layer.Options{})
			if err != nil {
				return err
			}
			a, err := triage.Analyze(ctx, in, triage.Options{})
			if err != nil {
				return err
			}
			var profile bytes.Buffer
			err = a.WriteProfile(&profile)
			return []any{whole.ReportText(a), profile.Len() > 0, err}
		},
		func(tr *trace.Trace, _ *layer.Device) any {
			r, err := triage.Analyze(ctx, whole.TriageInput(t, tr, layer.Options{}), triage.Options{})
			return []any{whole.ReportText(r), err}
		},
		func(tr *trace.Trace, _ *layer.Device) any {
			a, err := layer.Analyze(ctx, tr, layer.Options{Boundaries: "repeats"})
			return []any{a, err}
		},
		func(tr *trace.Trace, d *layer.Device) any {
			r, err := roofline.Analyze(ctx, d.Analysis(), roofline.Options{Device: "H100"})
			m, merr := compare.Measure(ctx, d.Analysis())
			rep, rerr := strata.Analyze(ctx, &strata.Recording{Name: "x",
				Parts: []strata.Part{{File: trace.File{Path: "x"}, Trace: tr}}}, strata.ReportOptions{})
			return []any{r, err, m, merr, rep, rerr}
		},
		func(_ *trace.Trace, a *layer.Device) any {
			m, err := perfetto.NewMap(a, 0, nil, "")
			return []any{m, err, len(perfetto.Tracks(a, perfetto.DefaultGap))}
		},
		func(_ *trace.Trace, a *layer.Device) any {
			var all []any
			for k := range a.Kernels() {
				all = append(all, k.Twin().How, k.Half(), k.Event().ID(), k.Place())
			}
			for p := range a.Passes {
				for _, l := range a.Passes[p].Layers() {
					d, err := view.NewDetail(a, p, l.Index)
					all = append(all, d, err)
				}
				tl, err := view.NewTimeline(a, p)
				all = append(all, tl, err)
			}
			return all
		},
	}
	see := func(tr *trace.Trace, a *layer.Device, first int) []string {
		out := make([]string, len(uses))
		for k := range uses {
			i := (first + k) % len(uses)
			text, err := json.Marshal(uses[i](tr, a))
			if err != nil {
				text = []byte(err.Error())
			}
			out[i] = string(text)
		}
		return out
	}
	alone, analysis := load()
	want := see(alone, analysis, 0)
	for round := range rounds {
		tr, a := load()
		got := make([][]string, 2*len(uses))
		var wg sync.WaitGroup
		start := make(chan struct{})
		for g := range got {
			wg.Go(func() {
				<-start
				got[g] = see(tr, a, g)
			})
		}
		close(start)
		wg.Wait()
		for g := range got {
			if diff := cmp.Diff(want, got[g]); diff != "" {
				t.Fatalf("round %d, goroutine %d sees something else (-alone +together):\n%s", round, g, diff)
			}
		}
	}
}

// TestRanksInParallel loads the traces of several ranks together and analyses them
// beside each other. The results are those of one rank after the other.
func TestRanksInParallel(t *testing.T) {
	const ranks = 6
	dir := t.TempDir()
	var paths []string
	for r := range ranks {
		cfg := gen.Config{
			Seed: uint64(r + 1), Arch: gen.Arch{Layers: gen.Uniform(2, gen.Layer{FFN: gen.Dense})},
			Passes: []gen.Pass{{Mode: gen.Eager, Decodes: 2, Context: 64},
				{Mode: gen.FullGraph, Decodes: 2, Context: 64}},
			Dialect: gen.SGLang, TP: ranks, Rank: r,
		}
		path := filepath.Join(dir, fmt.Sprintf("1-TP-%d.trace.json", r))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := gen.Write(f, cfg); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	analyse := func(tr *trace.Trace) string {
		r, rerr := triage.Analyze(t.Context(), whole.TriageInput(t, tr, layer.Options{}), triage.Options{})
		a, aerr := layer.Analyze(t.Context(), tr, layer.Options{})
		v, verr := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
		text, err := json.Marshal([]any{v, verr, r, rerr, a, aerr})
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	want := make([]string, ranks)
	for i, path := range paths {
		tr, err := trace.Open(t.Context(), path, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want[i] = analyse(tr)
	}
	rec, err := strata.OpenFiles(t.Context(), paths, strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, ranks)
	var wg sync.WaitGroup
	for i, part := range rec.Parts {
		wg.Go(func() { got[i] = analyse(part.Trace) })
	}
	wg.Wait()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-one by one +together):\n%s", diff)
	}
}

// linkSum goes through every accessor and mixes what it sees into one number.
func linkSum(tr *trace.Trace) uint64 {
	var sum uint64
	mix := func(v uint64) { sum = (sum ^ v) * 1099511628211 } // FNV-1a's prime
	for _, lane := range whole.Lanes {
		for e := range tr.Events(lane) {
			mix(uint64(e.Start()))
			for _, x := range []trace.Event{e.Launch(), e.Op(), e.Frame(), e.Parent(),
				tr.Innermost(event.LaneAnnotation, e.Thread(), e.Start())} {
				mix(uint64(x.ID()))
			}
			for a := range e.Activities() {
				mix(uint64(a.ID()))
			}
			for f := range e.Frame().Enclosing() {
				mix(uint64(f.ID()))
			}
			mix(uint64(e.Data().Correlation) + e.Data().GraphID + uint64(e.Data().Bytes))
			mix(uint64(len(e.Name()) + len(e.Shape()) + len(e.Data().Args) + len(e.Data().Category) +
				len(e.Data().Domain)))
		}
		for th := range len(tr.Threads()) {
			for e := range tr.OnThread(lane, trace.ThreadIndex(th)) {
				mix(uint64(e.ID()))
			}
		}
	}
	mix(uint64(len(tr.Health().Findings) + len(tr.Meta().Counts)))
	for _, d := range tr.Devices() {
		for _, s := range tr.Streams(d) {
			for e := range tr.OnStream(d, s) {
				mix(uint64(e.ID()))
			}
		}
	}
	return sum
}
