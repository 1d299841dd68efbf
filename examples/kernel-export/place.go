package main

import (
	"context"
	"errors"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// places says where each activity stands in the model.
type places struct {
	analysis []*layer.Analysis // one a device
	at       []place           // by position in the GPU lane
}

// place is an activity's kernel in one of the analyses; the zero place is none.
type place struct{ analysis, kernel int32 }

// findPlaces analyses the device, or each of them for trace.NoDevice.
func findPlaces(ctx context.Context, env *app.Env, t *trace.Trace, o layer.Options, device trace.DeviceID) (places, error) {
	devices := []trace.DeviceID{device}
	if device == trace.NoDevice {
		devices = t.Devices()
	}
	p := places{at: make([]place, t.LaneLen(trace.LaneGPU))}
	for _, d := range devices {
		o.Device = &d
		a, err := env.AnalyzeTrace(ctx, t, o)
		if errors.Is(err, layer.ErrNoEvidence) || errors.Is(err, layer.ErrContradiction) {
			env.Notef("device %d: no passes and layers: %v", d, err)
			continue // the rows are worth having without
		}
		if err != nil {
			return p, err
		}
		p.analysis = append(p.analysis, a)
		for i := range a.Kernels {
			p.at[a.Event(i).Index()] = place{int32(len(p.analysis)), int32(i)}
		}
	}
	return p, nil
}

// of returns an activity's pass, layer, half and stage: −1 and "" outside any.
func (p places) of(e trace.Event) (pass, lay int, half, stage string) {
	at := p.at[e.Index()]
	if at.analysis == 0 {
		return layer.None, layer.None, "", ""
	}
	a := p.analysis[at.analysis-1]
	k := a.Kernels[at.kernel]
	if k.Pass != layer.None {
		stage = string(a.Passes[k.Pass].Stage)
	}
	return k.Pass, k.Layer, a.Half(int(at.kernel)), stage
}
