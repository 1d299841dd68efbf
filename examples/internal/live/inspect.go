package live

import (
	"context"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// inspect reads a trace and counts what a capture was made for: GPU events and
// forward passes. A trace without GPU events has no passes to look for.
func inspect(ctx context.Context, path string) (capture.Found, error) {
	tr, err := trace.Open(ctx, path)
	if err != nil {
		return capture.Found{}, err
	}
	f := capture.Found{
		Steps:     -1,
		GPUEvents: int64(tr.LaneLen(trace.LaneGPU)),
	}
	// All the rest, of whatever sort: releases before Kineto name no category.
	f.CPUEvents = int64(tr.Len()) - f.GPUEvents
	if h := tr.Health(); h.Status != trace.HealthOK && len(h.Findings) > 0 {
		f.Note = "trace is " + h.Status.String() + ": " + h.Findings[0].Message
	}
	if f.GPUEvents == 0 {
		f.Steps = 0
		return f, nil
	}
	a, err := layer.Analyze(ctx, tr, layer.Options{})
	if ctx.Err() != nil {
		return f, ctx.Err()
	}
	if err == nil && len(a.Devices) > 0 {
		f.Steps = steps(&a.Devices[0])
	}
	return f, nil
}

// steps counts passes that ran the model: an idle step or a graph being
// captured is none.
func steps(a *layer.Device) int {
	n := 0
	for i := range a.Passes {
		if s := a.Passes[i].Stage; s != layer.StageIdle && s != layer.StageCapture {
			n++
		}
	}
	return n
}
