package hostoverhead

import (
	"slices"
	"testing"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

const pause = int64(phaseGap)

func span(start, end int64) interval.Span { return interval.Span{Start: start, End: end} }

// TestSteadySteps: five steps of a phase represent the run, four do not.
func TestSteadySteps(t *testing.T) {
	phase := func(n int, name string, gen int) []hostStep {
		return slices.Repeat([]hostStep{{Phase: name, Gen: gen}}, n)
	}
	for _, c := range []struct {
		name  string
		steps []hostStep
		want  []int
	}{
		{"most requests", slices.Concat(phase(1, names.Generation, 7), phase(5, names.Generation, 8)),
			[]int{1, 2, 3, 4, 5}},
		{"too few with most", slices.Concat(phase(1, names.Generation, 7), phase(4, names.Generation, 8)),
			[]int{0, 1, 2, 3, 4}},
		{"too few with most, and a context step", slices.Concat(phase(1, names.Context, 9),
			phase(1, names.Generation, 7), phase(4, names.Generation, 8)), []int{1, 2, 3, 4, 5}},
		{"requests unknown", slices.Concat(phase(1, names.Context, 9), phase(5, names.Generation, -1)),
			[]int{1, 2, 3, 4, 5}},
		{"no request", slices.Concat(phase(5, names.Generation, 0), phase(5, names.Generation, -1)),
			[]int{0, 1, 2, 3, 4}},
		{"few generation steps", slices.Concat(phase(4, names.Context, 0), phase(4, names.Generation, 8)),
			[]int{0, 1, 2, 3, 4, 5, 6, 7}},
	} {
		if got := steadySteps(c.steps); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestPeriods: a step's time ends where the next begins, or with itself where that is more than 100 ms later.
func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []hostStep
		want  interval.Span
	}{
		{"a pause", []hostStep{{Span: span(0, 10)}, {Span: span(11+pause, 12+pause)}}, span(0, 10)},
		{"just none", []hostStep{{Span: span(0, 10)}, {Span: span(10+pause, 12+pause)}}, span(0, 10+pause)},
		{"kernels after the host", []hostStep{{Span: span(0, 10), GPU: span(5, 20)},
			{Span: span(11+pause, 12+pause)}}, span(0, 20)},
		{"kernels beyond the next step", []hostStep{{Span: span(0, 10), GPU: span(5, 20+pause)},
			{Span: span(11+pause, 12+pause)}}, span(0, 11+pause)},
		{"the last", []hostStep{{Span: span(0, 10), GPU: span(5, 20)}}, span(0, 20)},
		{"next is earlier", []hostStep{{Span: span(5, 10)}, {Span: span(3, 12)}}, span(5, 5)},
	} {
		if got := periodOf(c.steps, 0); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestStepsOfRanks: passes of one step of the server are one step, with the longest host span and all kernels.
func TestStepsOfRanks(t *testing.T) {
	pass := func(step int, host, gpu interval.Span, stage layer.Stage, requests int) layer.ForwardPass {
		p := layer.ForwardPass{Step: step, Index: step, Stage: stage, Start: trace.Time(gpu.Start),
			End: trace.Time(gpu.End)}
		if !gpu.Empty() {
			p.Kernels = 1
		}
		p.Host.Start, p.Host.End, p.Host.Annotation = trace.Time(host.Start), trace.Time(host.End), trace.None
		if requests >= 0 {
			p.Annotation, p.Host.Annotation = &layer.Step{GenerationRequests: requests}, trace.None+1
		}
		return p
	}
	a := &layer.Analysis{Devices: []layer.Device{
		{ID: 3, Passes: []layer.ForwardPass{
			pass(1, span(100, 110), span(105, 120), layer.StageDecode, 4),
			pass(0, span(0, 10), span(5, 20), layer.StageUnknown, -1),
			pass(2, span(200, 200), span(205, 220), layer.StageDecode, -1)}},
		{ID: 4, Passes: []layer.ForwardPass{
			pass(1, span(95, 115), span(0, 0), layer.StagePrefill, 6),
			pass(0, span(2, 8), span(3, 30), layer.StageDecode, -1)}},
	}}
	got := stepsOf(a, nil)
	want := []hostStep{
		{Span: span(0, 10), GPU: span(3, 30), Longest: 10, Gen: -1, Phase: names.Generation, Stage: layer.StageUnknown,
			Index: 0, Pass: 1},
		{Span: span(95, 115), GPU: span(105, 120), Longest: 20, Gen: 6, Phase: names.Context,
			Stage: layer.StageDecode, Index: 1, Pass: 0},
		{Span: span(205, 220), GPU: span(205, 220), Longest: 15, Gen: -1, Phase: names.Generation,
			Stage: layer.StageDecode, Index: 2, Pass: 2},
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps\n%+v\nwant\n%+v", got, want)
	}
	second := trace.DeviceID(4)
	got = stepsOf(a, &second)
	want = []hostStep{
		{Span: span(2, 8), GPU: span(3, 30), Longest: 6, Gen: -1, Phase: names.Generation, Stage: layer.StageDecode,
			Index: 0, Pass: -1},
		{Span: span(95, 115), Longest: 20, Gen: 6, Phase: names.Context, Stage: layer.StagePrefill,
			Index: 1, Pass: -1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps of the second device\n%+v\nwant\n%+v", got, want)
	}
}
