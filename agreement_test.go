package strata_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	for _, path := range damaged(t) {
		agreeOn(t, path[1])
		checked++
	}
	cut := filepath.Join(t.TempDir(), "cut-at-both-ends.json")
	writeFile(t, cut, cutAtBothEnds(t))
	agreeOn(t, cut)
	checked++
	for name, text := range map[string]string{"beside.json": besideEachOther(t, 1, nil),
		"beside-queued.json": besideEachOther(t, 4, nil), // launched earlier than it runs
		"beside-lost.json":   besideEachOther(t, 1, func(worker, pass int) bool { return pass == 2 })} {
		path := filepath.Join(t.TempDir(), name)
		writeFile(t, path, text)
		agreeOn(t, path)
		checked++
	}
	for seed := range uint64(3) { // two GPUs; one does much more
		path := filepath.Join(t.TempDir(), fmt.Sprintf("two-gpus-%d.json", seed))
		writeFile(t, path, twoGPUs(t, seed))
		agreeOn(t, path)
		checked++
	}
	agreeOn(t, testdata.Shared(t, "traces/nsys/torchrun-2gpu-hopper.sqlite"))
	agreeOn(t, testdata.Shared(t, "traces/torch/xdit-flux1-mi300.json.gz")) // four models
	folder := testdata.Shared(t, "traces/torch")
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if i%5 != 0 && !testdata.Long() {
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
	if len(a.Devices) == 0 {
		return
	}
	d, err := a.Device(nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	g, err := triage.Analyze(t.Context(), triage.Input{Formal: []*layer.Analysis{a}, FormalPaths: []string{path}},
		triage.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	h, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
	if err != nil && h == nil {
		t.Fatalf("%s: %v", name, err)
	}
	light, err := roofline.Analyze(t.Context(), a, roofline.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	sameSteps(t, name, r, a, d, g, h)
	samePasses(t.Context(), t, name, r, a, d, light)
	sameFindings(t, name, r, d, g, h, light)
	sameGPUs(t, name, r, a, d, g, h)
	stepsOfOneModel(t, name, r, d)
}

// stepsOfOneModel: a mean step is that of passes of one model, which its text names where there are several, or it is
// marked as one of several models, and texts have the sum.
func stepsOfOneModel(t *testing.T, name string, r *strata.Report, d *layer.Device) {
	t.Helper()
	for _, f := range r.Found() {
		if f.Measure == finding.NoMeasure || f.Of != finding.OfStep || f.GPUs > 1 {
			continue
		}
		models := map[string]bool{}
		for p := range d.Passes {
			if f.Stage == "" || f.Stage == d.Passes[d.StepOf(p)].Stage {
				models[d.ModelOf(d.StepOf(p))] = true
			}
		}
		_, each := f.Each()
		switch several := len(models) > 1; {
		case several && f.Model == "" && !f.Mixed:
			t.Errorf("%s: %s is %s, which are of %d models", name, f.Text, each, len(models))
		case f.Model != "" && (!models[f.Model] || !strings.HasSuffix(each, f.Model)):
			t.Errorf("%s: %s is %s, want of one of %v", name, f.Text, each, models)
		case f.Mixed && (!several || each != "in all steps"):
			t.Errorf("%s: %s is %s, which are of %v", name, f.Text, each, models)
		}
	}
}

// cutAtBothEnds is a trace of five decodes; the window holds a half of the first and of the last one.
func cutAtBothEnds(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := gen.Write(&b, gen.Config{Seed: 13, Arch: gen.Arch{Family: "Qwen3", Layers: gen.Uniform(12, gen.Layer{}),
		Hidden: 1024}, Passes: []gen.Pass{{Decodes: 8}, {Decodes: 8}, {Decodes: 8}, {Decodes: 8},
		{Decodes: 8}}}); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	events := doc["traceEvents"].([]any)
	first, last := math.Inf(1), math.Inf(-1)
	at := func(x any) (ts float64, timed bool) {
		ts, timed = x.(map[string]any)["ts"].(float64)
		return ts, timed
	}
	for _, x := range events {
		if ts, timed := at(x); timed && x.(map[string]any)["cat"] == "kernel" {
			first, last = min(first, ts), max(last, ts)
		}
	}
	tenth := (last - first) / 10
	doc["traceEvents"] = slices.DeleteFunc(events, func(x any) bool {
		ts, timed := at(x)
		return timed && (ts < first+tenth || ts > last-tenth)
	})
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// besideEachOther is a trace of two workers of one GPU, each with a stream of its own, whose passes overlap in time.
// The first one launches its kernels in one part of the time that they run, and those of lost passes are not recorded.
func besideEachOther(t *testing.T, parts int, lost func(worker, pass int) bool) string {
	t.Helper()
	var events []map[string]any
	id := 0
	for worker := range 2 {
		const start = 1000
		at := start + 270*worker // µs
		launched := func() int {
			if worker > 0 {
				return at
			}
			return start + (at-start)/parts
		}
		for pass := range 5 {
			begin := launched()
			kernel := func(name string, took int) {
				took /= 1 + 2*worker
				id++
				args := map[string]any{"correlation": id, "device": 0, "stream": 7 + worker}
				if lost == nil || !lost(worker, pass) {
					events = append(events, map[string]any{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
						"ts": launched() - 5, "dur": 1, "pid": 1, "tid": 1 + worker, "args": map[string]any{"correlation": id}},
						map[string]any{"ph": "X", "cat": "kernel", "name": name, "ts": at, "dur": took, "pid": 0,
							"tid": 7 + worker, "args": args})
				}
				at += took + 2
			}
			kernel("void at::native::indexSelectSmallIndex<c10::BFloat16>(P)", 8)
			for range 8 {
				kernel("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)", 8)
				kernel("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 12)
				kernel("void flash::flash_fwd_splitkv_kernel<T>(P)", 10)
				kernel("nvjet_tst_64x8_64x16_2x1_v_bz_TNT", 12)
				kernel("void vllm::act_and_mul_kernel<c10::BFloat16>(P)", 8)
			}
			events = append(events, map[string]any{"ph": "X", "cat": "user_annotation",
				"name": "execute_context_0(0)_generation_4(4)", "ts": begin - 8, "dur": launched() - begin,
				"pid": 1, "tid": 1 + worker})
			at += 40
		}
	}
	text, err := json.Marshal(map[string]any{"traceEvents": events})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// twoGPUs is a trace of two GPUs of one process: decodes on both; the second one runs every other kernel only.
func twoGPUs(t *testing.T, seed uint64) string {
	t.Helper()
	var b bytes.Buffer
	if err := gen.Write(&b, gen.Config{Seed: seed, Arch: gen.Arch{Family: "Qwen3", Layers: gen.Uniform(6, gen.Layer{}),
		Hidden: 1024}, Passes: []gen.Pass{{Decodes: 8}, {Decodes: 8}, {Decodes: 8}}}); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	events := doc["traceEvents"].([]any)
	kernels := 0
	for _, x := range slices.Clone(events) {
		e := x.(map[string]any)
		args, _ := e["args"].(map[string]any)
		if e["cat"] != "kernel" {
			continue
		}
		if kernels++; kernels%2 == 0 {
			continue
		}
		other := maps.Clone(e)
		other["args"] = maps.Clone(args)
		other["args"].(map[string]any)["device"], other["pid"] = 1, 1
		events = append(events, other)
	}
	doc["traceEvents"] = events
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sameGPUs: a finding is of a step of one GPU, which it names where there are several, or the mean of all of them; no
// gain is larger than a step, and fused paths gain as much as their findings say.
func sameGPUs(t *testing.T, name string, r *strata.Report, a *layer.Analysis, d *layer.Device, g *triage.Report,
	h *hostoverhead.Verdict) {
	t.Helper()
	several := len(a.Devices) > 1
	if strings.HasPrefix(name, "two-gpus") && !several {
		t.Errorf("%s: one GPU", name)
	}
	for _, f := range r.Found() {
		switch {
		case f.Measure == finding.NoMeasure:
			continue
		case f.Measure == finding.Recoverable && f.Share > 1.0001:
			t.Errorf("%s: %s %s wins %.1f %% of a step", name, f.Kind, f.Code, 100*f.Share)
		case !several && f.GPUs != 0, f.GPUs > len(a.Devices):
			t.Errorf("%s: %s %s is the mean of %d GPUs", name, f.Kind, f.Code, f.GPUs)
		case several && f.GPUs == 0 && (f.Place.Device == nil || !strings.HasPrefix(f.Where, fmt.Sprint("GPU ", d.ID))):
			t.Errorf("%s: %s %s does not say that it is of GPU %d: %q", name, f.Kind, f.Code, d.ID, f.Where)
		}
		steps := 1
		for i := range g.Stages {
			steps = max(steps, g.Stages[i].Exposure.Steps/max(f.GPUs, 1))
		}
		if n := int64(f.PerStep); n != 0 && f.GPUs > 1 && int64(f.Total)/n > int64(steps) {
			t.Errorf("%s: %s %s is summed over GPUs: %v of %v a step", name, f.Kind, f.Code, f.Total, f.PerStep)
		}
	}
	for _, p := range r.Passes {
		if p.Device != d.ID {
			t.Errorf("%s: pass %d of GPU %d, want %d", name, p.Index, p.Device, d.ID)
		}
	}
	for _, i := range r.Idle {
		if i.GPU != int(d.ID) || i.Cause == finding.NoCause {
			t.Errorf("%s: idle time of GPU %d, %q", name, i.GPU, i.Cause)
		}
	}
	if several != (r.HostGPU != nil) || several && *r.HostGPU != int(h.Ranks[h.Deciding].Device) {
		t.Errorf("%s: the host's verdict is of GPU %v, want %d", name, r.HostGPU, h.Ranks[h.Deciding].Device)
	}
	if r.Host == h.Verdict && !strings.Contains(r.HostText, h.Summary) {
		t.Errorf("%s: the host says %q, the report %q", name, h.Summary, r.HostText)
	}
	for _, doubt := range h.Doubts { // those of the recording are findings of the recording
		if doubt.Code != hostoverhead.DoubtTraceIncomplete.String() &&
			!slices.ContainsFunc(r.Findings, func(f finding.Finding) bool {
				return f.Kind == finding.Doubt && f.Evidence == doubt.Evidence && f.Confidence == doubt.Confidence
			}) {
			t.Errorf("%s: the report does not doubt that %s", name, doubt.Evidence)
		}
	}
	for _, f := range r.Fusions {
		for _, x := range r.Found() {
			if x.Kind == finding.Fusion && x.Code == f.Pattern && (x.Stage == f.Stage || x.Stage == "") &&
				(x.PerStep != f.Gain || x.GPUs != f.GPUs) {
				t.Errorf("%s: %s gains %v in the table, %v in its finding", name, f.Pattern, f.Gain, x.PerStep)
			}
		}
	}
}

// sameSteps: the time of all steps, and how much of it is idle.
func sameSteps(t *testing.T, name string, r *strata.Report, a *layer.Analysis, d *layer.Device, g *triage.Report,
	h *hostoverhead.Verdict) {
	t.Helper()
	wall, idle, lost := timeline(d)
	if r.Wall != wall || r.IdleTime != idle || r.LostTime != lost {
		t.Errorf("%s: the report has %v of %v idle, %v not recorded, the timeline %v of %v, %v", name, r.IdleTime, r.Wall,
			r.LostTime, idle, wall, lost)
	}
	if strings.HasPrefix(name, "beside") && !slices.ContainsFunc(d.Passes, func(p layer.ForwardPass) bool {
		return p.Index > 0 && p.Start < d.Passes[p.Index-1].End
	}) {
		t.Errorf("%s: no pass of %d runs beside another", name, len(d.Passes))
	}
	var span, alone, missing time.Duration
	for i := range g.Stages {
		e := g.Stages[i].Exposure
		span, alone = span+time.Duration(e.WallNS), alone+time.Duration(e.IdleNS)
		missing += time.Duration(e.LostNS)
		if share := 100 * float64(e.IdleNS) / float64(e.WallNS); e.WallNS > 0 &&
			math.Abs(share-g.Stages[i].IdlePct) > 1e-3 {
			t.Errorf("%s, %s: idle %v %% in the head, %v %% in the exposure", name, g.Stages[i].Stage,
				g.Stages[i].IdlePct, share)
		}
	}
	var allWall, allIdle, allLost time.Duration
	for i := range a.Devices {
		w, i, l := timeline(&a.Devices[i])
		allWall, allIdle, allLost = allWall+w, allIdle+i, allLost+l
	}
	sameMeanStep(t, name, r, a, d, g, h)
	if span != allWall || alone != allIdle || missing != allLost {
		t.Errorf("%s: triage has %v of %v idle, %v not recorded, the timelines %v of %v, %v", name, alone, span, missing,
			allIdle, allWall, allLost)
	}
	for k := range h.Ranks {
		if h.Ranks[k].Device != d.ID || len(d.Passes) == 0 {
			continue
		}
		x := &h.Ranks[k].Headroom
		if time.Duration(x.WallNS) != wall || time.Duration(x.IdleNS) != idle || time.Duration(x.LostNS) != lost ||
			x.BusyNS+x.IdleNS+x.LostNS != x.WallNS {
			t.Errorf("%s: host has %v of %v idle, %v not recorded, the timeline %v of %v, %v", name,
				time.Duration(x.IdleNS), time.Duration(x.WallNS), time.Duration(x.LostNS), idle, wall, lost)
		}
		var caused int64
		for _, c := range h.Ranks[k].Idle {
			caused += c.StepsNS
		}
		if caused != x.IdleNS {
			t.Errorf("%s: the causes explain %d of %d ns idle", name, caused, x.IdleNS)
		}
	}
}

// sameMeanStep: all count the steps of a GPU alike, so that the mean step is the same: one that the window cuts counts
// as a part, and the mean of a stage and model is that of its complete passes.
func sameMeanStep(t *testing.T, name string, r *strata.Report, a *layer.Analysis, d *layer.Device, g *triage.Report,
	h *hostoverhead.Verdict) {
	t.Helper()
	const rounding = 1e-6
	steps := func(d *layer.Device) (n float64) {
		for p := range d.Passes {
			if d.Passes[p].Kernels > 0 && d.StepTime(p) > 0 {
				n += d.StepShare(p)
			}
		}
		return n
	}
	var inReport, inTriage, all float64
	for _, p := range r.Passes {
		if p.Activities > 0 && p.Wall > 0 {
			inReport += p.StepShare
		}
	}
	for i := range g.Stages {
		inTriage += g.Stages[i].Exposure.CompleteSteps
	}
	for i := range a.Devices {
		all += steps(&a.Devices[i])
	}
	if math.Abs(inReport-steps(d)) > rounding || math.Abs(inTriage-all) > rounding {
		t.Errorf("%s: the report counts %v steps of %v, triage %v of %v", name, inReport, steps(d), inTriage, all)
	}
	for k := range h.Ranks {
		rank := &h.Ranks[k]
		if rank.Device != d.ID || rank.CompleteSteps == 0 {
			continue
		}
		if math.Abs(rank.CompleteSteps-steps(d)) > rounding {
			t.Errorf("%s: host counts %v steps of %v", name, rank.CompleteSteps, steps(d))
		}
		for _, f := range rank.Findings {
			want := float64(f.Total) / steps(d)
			if f.Of == finding.OfStep && f.Model == "" && math.Abs(float64(f.PerStep)-want) > 1 {
				t.Errorf("%s: %s takes %v of each step, want %v", name, f.Code, f.PerStep, time.Duration(want))
			}
		}
	}
	if strings.HasPrefix(name, "cut") {
		var complete, wall time.Duration
		n := 0
		for p := range d.Passes {
			if wall += d.StepTime(p); d.Passes[p].Partial == "" {
				complete, n = complete+d.StepTime(p), n+1
			}
		}
		if want, got := float64(complete)/float64(n), float64(wall)/steps(d); n == len(d.Passes) || n < 3 ||
			math.Abs(got-want) > 1 {
			t.Errorf("%s: the mean step is %v, that of %d complete ones of %d %v", name, got, n, len(d.Passes), want)
		}
	}
}

// timeline is the time of all steps of a GPU, and how much of it is idle, or not recorded.
func timeline(d *layer.Device) (wall, idle, lost time.Duration) {
	var at trace.Time // up to here time is counted
	for _, s := range d.Steps() {
		took := time.Duration(max(0, s.End-max(s.Start, at)))
		at = max(at, s.End)
		switch wall += took; {
		case s.Lost:
			lost += took
		case s.Idle():
			idle += took
		}
	}
	return wall, idle, lost
}

// samePasses: stage, tokens and time of each pass.
func samePasses(ctx context.Context, t *testing.T, name string, r *strata.Report, a *layer.Analysis, d *layer.Device,
	light *roofline.Report) {
	t.Helper()
	for _, p := range r.Passes {
		if f := &d.Passes[p.Index]; p.Stage != f.Stage || p.Tokens != f.Tokens || p.Batch != f.Batch {
			t.Errorf("%s, pass %d: the report has %s %d %d, layer %s %d %d", name, p.Index, p.Stage, p.Tokens, p.Batch,
				f.Stage, f.Tokens, f.Batch)
		}
	}
	if run, err := compare.Measure(ctx, a); err == nil && len(a.Devices) == 1 {
		for i := range run.Passes {
			if p := &run.Passes[i]; p.Index < len(r.Passes) &&
				(p.Stage != r.Passes[p.Index].Stage || p.Wall != r.Passes[p.Index].Wall) {
				t.Errorf("%s, pass %d: compare has %s of %v, the report %s of %v", name, p.Index, p.Stage, p.Wall,
					r.Passes[p.Index].Stage, r.Passes[p.Index].Wall)
			}
		}
	}
	for i := range light.Passes {
		p := &light.Passes[i]
		if p.Index >= len(r.Passes) {
			continue
		}
		if o := &r.Passes[p.Index]; p.Stage != o.Stage || p.Floor != o.Floor || p.Wall != o.Wall {
			t.Errorf("%s, pass %d: light has %s of %v, floor %v, the report %s of %v, floor %v", name, p.Index, p.Stage,
				p.Wall, p.Floor, o.Stage, o.Wall, o.Floor)
		}
	}
}

// sameFindings: what an analysis found is in the report, with the same figures.
func sameFindings(t *testing.T, name string, r *strata.Report, d *layer.Device, g *triage.Report,
	h *hostoverhead.Verdict, light *roofline.Report) {
	t.Helper()
	all := slices.Concat(g.Findings, light.Findings)
	switch { // the report knows more doubts of idle time than the host, and states none of its findings then
	case r.Host != h.Verdict && r.Host != hostoverhead.Inconclusive:
		t.Errorf("%s: the report's host is %s, host says %s", name, r.Host, h.Verdict)
	case r.Host == h.Verdict:
		for i := range h.Ranks {
			if h.Ranks[i].Device == d.ID {
				all = append(all, h.Ranks[i].Findings...)
			}
		}
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
