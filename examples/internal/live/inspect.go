package live

import (
	"context"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// inspect reads a trace and says what a capture is judged by: GPU events,
// forward passes by stage, the process and when it was recorded. A trace
// without GPU events has no passes to look for.
func inspect(ctx context.Context, path string) (capture.Found, error) {
	rec, err := strata.OpenFiles(ctx, []string{path}, strata.Options{})
	if err != nil {
		return capture.Found{}, err
	}
	tr := rec.Parts[0].Trace
	m := tr.Meta()
	f := capture.Found{
		Steps: -1, Coverage: -1,
		GPUEvents: int64(tr.Len(event.LaneGPU)),
		Ranked:    m.Rank >= 0 && m.WorldSize > 0, Rank: m.Rank, WorldSize: m.WorldSize,
	}
	// All the rest, of whatever sort: releases before Kineto name no category.
	f.CPUEvents = int64(tr.Len()) - f.GPUEvents
	if epoch, ok := tr.Epoch(); ok {
		start, end := tr.Window()
		f.Start, f.End = epoch.Add(time.Duration(start)), epoch.Add(time.Duration(end))
	}
	if h := tr.Health(); h.Status != trace.HealthOK && len(h.Findings) > 0 {
		f.Note = "trace is " + string(h.Status) + ": " + h.Findings[0].Message
	}
	if f.GPUEvents == 0 {
		countAnnotations(tr, &f)
		return f, nil
	}
	a, err := layer.Analyze(ctx, tr, layer.Options{})
	if ctx.Err() != nil {
		return f, ctx.Err()
	}
	if err == nil && len(a.Devices) > 0 {
		countPasses(a, &f)
	}
	return f, nil
}

// countPasses counts passes that ran the model, by stage, on the device with
// most work: an idle step or a graph being captured is none, and a draft is
// part of another's step.
func countPasses(a *layer.Analysis, f *capture.Found) {
	f.Steps, f.Stages = 0, map[string]int{}
	for i := range a.Devices[0].Passes {
		p := &a.Devices[0].Passes[i]
		countStep(f, string(p.Stage), p.Tokens)
	}
	inPasses := 0
	for d := range a.Devices {
		for i := range a.Devices[d].Passes {
			inPasses += a.Devices[d].Passes[i].Kernels
		}
	}
	f.Coverage = float64(inPasses) / float64(f.GPUEvents)
}

// countAnnotations counts the steps that a server without a GPU has annotated.
// Traces of before Kineto name no categories: there they are among the rest.
func countAnnotations(tr *trace.Trace, f *capture.Found) {
	f.Steps, f.Stages = 0, map[string]int{}
	known := framework.All()
	for _, lane := range []event.Lane{event.LaneAnnotation, event.LaneOp, event.LaneOther} {
		for e := range tr.Events(lane) {
			if _, st, ok := framework.ReadStep(known, e.Name()); ok && !st.Weak {
				countStep(f, st.Stage, st.Tokens)
			}
		}
		if f.Steps > 0 {
			return
		}
	}
}

// countStep counts one pass.
func countStep(f *capture.Found, stage string, tokens int64) {
	switch stage {
	case framework.Idle, framework.Capture:
		return
	case framework.Draft:
	default:
		f.Steps++
	}
	f.Stages[stage]++
	if stage == framework.Prefill && tokens >= 0 {
		f.PrefillTokens += tokens
	}
}
