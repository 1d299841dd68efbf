package strata_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// TestAnalysesAgree: on every shared trace and on generated ones, report, triage, host, speed of light and comparison
// state the same stage, steps, idle time, busy time and exposure for the same thing, and a finding above a percent of
// a step is in the report with the figures that its analysis gave it.
func TestAnalysesAgree(t *testing.T) {
	checked := 0
	for name, c := range map[string]gen.Config{
		"prefill and decode": {Seed: 11, Stacks: true,
			Arch:   gen.Arch{Family: "Llama", Layers: gen.Uniform(8, gen.Layer{}), Hidden: 2048},
			Passes: []gen.Pass{{Prefills: 1, Tokens: 512}, {Decodes: 4}, {Decodes: 4}, {Decodes: 4}}},
		"decode": {Seed: 12, Arch: gen.Arch{Family: "Qwen3", Layers: gen.Uniform(12, gen.Layer{}), Hidden: 1024},
			Passes: []gen.Pass{{Decodes: 8}, {Decodes: 8}}},
	} {
		var b bytes.Buffer
		if err := gen.Write(&b, c); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), strings.ReplaceAll(name, " ", "-")+".json")
		writeFile(t, path, b.String())
		agreeOn(t, path)
		checked++
	}
	folder := testdata.Shared(t, "traces/torch")
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if i%3 != 0 && !testdata.Long() {
			continue
		}
		agreeOn(t, filepath.Join(folder, f.Name()))
		checked++
	}
	if checked < 5 {
		t.Errorf("only %d traces", checked)
	}
}

// agreeOn asks all analyses of one trace, and compares what they say.
func agreeOn(t *testing.T, path string) {
	t.Helper()
	name := filepath.Base(path)
	rec, err := strata.Open(t.Context(), path, strata.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	r, err := strata.Analyze(t.Context(), rec, strata.ReportOptions{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	a, err := layer.Analyze(t.Context(), rec.Parts[0].Trace, layer.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(a.Devices) != 1 {
		return // the report is about one of them
	}
	d := &a.Devices[0]
	g, err := triage.Analyze(t.Context(), triage.Input{Formal: []*layer.Analysis{a}, FormalPaths: []string{path}},
		triage.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	h, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
	if err != nil && h == nil {
		t.Fatalf("%s: %v", name, err)
	}
	sameSteps(t, name, r, d, g, h)
	samePasses(t.Context(), t, name, r, a)
	sameFindings(t, name, r, g, h)
}

// sameSteps: the time of all steps, and how much of it is idle.
func sameSteps(t *testing.T, name string, r *strata.Report, d *layer.Device, g *triage.Report,
	h *hostoverhead.Verdict) {
	t.Helper()
	var wall, idle time.Duration
	for _, s := range d.Steps() {
		wall += time.Duration(s.End - s.Start)
		if s.Kernel == trace.None {
			idle += time.Duration(s.End - s.Start)
		}
	}
	if r.Wall != wall || r.IdleTime != idle {
		t.Errorf("%s: the report has %v of %v idle, the timeline %v of %v", name, r.IdleTime, r.Wall, idle, wall)
	}
	overlap := false // two passes at a time count such time for the earlier one
	for p := range d.Passes[:max(0, len(d.Passes)-1)] {
		overlap = overlap || d.Passes[p+1].Start < d.StepEnd(p)
	}
	if overlap {
		return
	}
	var span, alone time.Duration
	for i := range g.Stages {
		e := g.Stages[i].Exposure
		span, alone = span+time.Duration(e.WallNS), alone+time.Duration(e.IdleNS)
		if share := 100 * float64(e.IdleNS) / float64(e.WallNS); e.WallNS > 0 &&
			math.Abs(share-g.Stages[i].IdlePct) > 1e-3 {
			t.Errorf("%s, %s: idle %v %% in the head, %v %% in the exposure", name, g.Stages[i].Stage,
				g.Stages[i].IdlePct, share)
		}
	}
	if span != wall || alone != idle {
		t.Errorf("%s: triage has %v of %v idle, the timeline %v of %v", name, alone, span, idle, wall)
	}
	if len(h.Ranks) == 1 && len(d.Passes) > 0 {
		x := &h.Ranks[0].Headroom
		if time.Duration(x.WallNS) != wall || time.Duration(x.IdleNS) != idle || x.BusyNS+x.IdleNS != x.WallNS {
			t.Errorf("%s: host has %v of %v idle, the timeline %v of %v", name, time.Duration(x.IdleNS),
				time.Duration(x.WallNS), idle, wall)
		}
		var caused int64
		for _, c := range h.Ranks[0].Idle {
			caused += c.StepsNS
		}
		if caused != x.IdleNS {
			t.Errorf("%s: the causes explain %d of %d ns idle", name, caused, x.IdleNS)
		}
	}
}

// samePasses: stage, tokens and time of each pass.
func samePasses(ctx context.Context, t *testing.T, name string, r *strata.Report, a *layer.Analysis) {
	t.Helper()
	d := &a.Devices[0]
	for _, p := range r.Passes {
		if f := &d.Passes[p.Index]; p.Stage != f.Stage || p.Tokens != f.Tokens || p.Batch != f.Batch {
			t.Errorf("%s, pass %d: the report has %s %d %d, layer %s %d %d", name, p.Index, p.Stage, p.Tokens, p.Batch,
				f.Stage, f.Tokens, f.Batch)
		}
	}
	if run, err := compare.Measure(ctx, a); err == nil {
		for i := range run.Passes {
			if p := &run.Passes[i]; p.Index < len(r.Passes) &&
				(p.Stage != r.Passes[p.Index].Stage || p.Wall != r.Passes[p.Index].Wall) {
				t.Errorf("%s, pass %d: compare has %s of %v, the report %s of %v", name, p.Index, p.Stage, p.Wall,
					r.Passes[p.Index].Stage, r.Passes[p.Index].Wall)
			}
		}
	}
	if light, err := roofline.Analyze(ctx, a, roofline.Options{}); err == nil {
		for i := range light.Passes {
			if p := &light.Passes[i]; p.Index < len(r.Passes) && p.Stage != r.Passes[p.Index].Stage {
				t.Errorf("%s, pass %d: light has %s, the report %s", name, p.Index, p.Stage, r.Passes[p.Index].Stage)
			}
		}
	}
}

// sameFindings: what an analysis found is in the report, with the same figures.
func sameFindings(t *testing.T, name string, r *strata.Report, g *triage.Report, h *hostoverhead.Verdict) {
	t.Helper()
	all := append([]finding.Finding{}, g.Findings...)
	switch { // the report knows more doubts of idle time than the host, and states none of its findings then
	case r.Host != h.Verdict && r.Host != hostoverhead.Inconclusive:
		t.Errorf("%s: the report's host is %s, host says %s", name, r.Host, h.Verdict)
	case r.Host == h.Verdict && len(h.Ranks) == 1:
		all = append(all, h.Ranks[0].Findings...)
	}
	for _, want := range all {
		if want.Share < 0.01 || want.Kind == finding.LargestOperator {
			continue
		}
		found := false
		for _, got := range r.Findings {
			found = found || got.Kind == want.Kind && got.Cause == want.Cause && got.Code == want.Code &&
				got.Stage == want.Stage && got.Size == want.Size
		}
		if !found {
			t.Errorf("%s: not in the report: %s %s, %v, %.1f %% %s", name, want.Kind, want.Code, want.PerStep,
				100*want.Share, want.Of.Title())
		}
	}
	for _, s := range g.Stages {
		for _, row := range s.Exposure.Rows {
			found := s.Exposure.WallNS == 0
			for _, e := range r.Exposure {
				found = found || e.Stage == s.PassStage && e.Category == row.Category &&
					math.Abs(100*e.Share-row.ExposedPct) < 1e-3
			}
			if !found {
				t.Errorf("%s: the report does not have %.2f %% of %s exposed in %s", name, row.ExposedPct, row.Category,
					s.Stage)
			}
		}
	}
}
