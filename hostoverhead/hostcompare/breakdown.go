package hostcompare

import (
	"context"
	"fmt"
	"slices"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/hostoverhead/internal/steps"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/layer"
)

// The sorts of an [Operation].
const (
	opRange  string = "range"  // NVTX range, annotation, or, without any, Python frame
	opKernel string = "kernel" // GPU kernel
	opAPI    string = "api"    // CUDA or HIP API call
)

// Operation is what one step spends on one named thing.
type Operation struct {
	Kind         string  `json:"kind"`
	Name         string  `json:"name"`             // numbers generalised to N
	US           float64 `json:"us_per_step"`      // µs per step, divided by Ranks
	CountPerStep float64 `json:"count_per_step"`   // occurrences per step, divided by Ranks
	Source       string  `json:"source,omitempty"` // for frames: file and line of one of them, "a.py(12)"; for ranges: the frame around the first

	perStep []float64 // µs of each steady step, divided by Ranks
	place   string    // name of the operation around it
}

// Run is what the steps of one run are made of.
type Run struct {
	Label           string  `json:"label"`
	Iterations      int     `json:"iterations"`       // groups of all-reduces; steps when there is no all-reduce
	CommonSize      int     `json:"common_size"`      // most frequent number of all-reduces per iteration, 0 without all-reduce
	BenchIters      int     `json:"bench_iterations"` // iterations of the benchmark phase
	SteadySteps     int     `json:"steady_steps"`     // steps measured
	WallUSPerStep   float64 `json:"wall_us_per_step"` // from one step's start to the next one's
	StepUS          float64 `json:"step_us"`          // average duration of the step range
	GapUS           float64 `json:"gap_us"`           // median time between a step's end and the next one's start
	RangeUSPerStep  float64 `json:"nvtx_us_per_step"` // union of the operations' ranges, divided by Ranks
	GPUUSPerStep    float64 `json:"gpu_us_per_step"`  // sum of kernel times, divided by Ranks
	KernelsPerStep  float64 `json:"kernels_per_step"` // divided by Ranks
	APIUSPerStep    float64 `json:"api_us_per_step"`  // sum of API call times, divided by Ranks
	Steps           Stats   `json:"step_stats_us"`
	Gaps            Stats   `json:"gap_stats_us"`
	MaxGeneration   int     `json:"max_generation_requests"` // of the steady steps, −1 unknown
	ContextSteps    int     `json:"context_steps"`           // of the benchmark phase
	AllSteps        int     `json:"steps"`                   // of the benchmark phase
	LaunchesPerStep float64 `json:"launches_per_step"`       // kernel and graph launch calls, divided by Ranks
	StepsFound      int     `json:"steps_found"`             // in the whole trace
	TPSize          int     `json:"tp_size"`                 // of the run, 0 unknown
	Ranks           int     `json:"ranks"`                   // by which figures summed over ranks are divided
	GPU             string  `json:"gpu,omitempty"`           // model of the first device

	Operations []Operation `json:"operations"` // by µs per step
	Kernels    []Operation `json:"kernels"`    // by µs per step
	APICalls   []Operation `json:"api_calls"`  // by µs per step
	Notes      []string    `json:"notes"`      // what limits the figures

	wall, step, gap, gpu, api []float64 // samples of the steady steps, µs
	launches                  []float64 // samples of the steady steps
}

// Breakdown finds the steady steps of a run and what they are made of. It
// returns a [layer.ErrNoKernels] for a trace without kernels, and ctx's error when
// cancelled; a trace without steps gives a Run with SteadySteps 0 and a note.
func Breakdown(ctx context.Context, a *layer.Analysis, o Options) (*Run, error) {
	one, _ := o.sides()
	return breakdown(ctx, a, &o, one)
}

func breakdown(ctx context.Context, a *layer.Analysis, o *Options, is side) (*Run, error) {
	w, err := newWorkload(ctx, a, o.Steps)
	if err != nil {
		return nil, err
	}
	b := w.findIterations()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &Run{Label: is.label, Iterations: b.iterations, CommonSize: b.common, BenchIters: b.bench, Ranks: o.Ranks, MaxGeneration: -1, Notes: []string{}}
	if r.Ranks <= 0 {
		r.Ranks = w.ranks()
	}
	r.TPSize = tensorSize(o.Ranks, is.tpSize, r.Ranks)
	if ds := w.t.Meta().Devices; w.only != nil {
		r.GPU = a.Devices[0].GPU
	} else if len(ds) > 0 {
		r.GPU = ds[0].Name
	}
	all := steps.Of(a, nil) // they join the ranks
	r.StepsFound = len(all)
	bench := benchSteps(all, b)
	if b.iterations == 0 {
		r.Iterations, r.BenchIters = len(bench), len(bench)
		r.Notes = append(r.Notes, "no all-reduce kernels: iterations are the step ranges")
	} else if b.bench == 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("no benchmark phase: no run of %d iterations of which half have %d all-reduces", minPhase, b.common))
	}
	r.AllSteps = len(bench)
	for _, s := range bench {
		if s.Phase == names.Context {
			r.ContextSteps++
		}
	}
	if len(bench) == 0 {
		r.Notes = append(r.Notes, "no steps recognised: figures per step are unknown")
		return r, nil
	}
	w.fill(r, bench)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// tensorSize is the tensor-parallel size of a run, 0 where nothing tells: one
// device may be one of any number of ranks.
func tensorSize(given, told, ranks int) int {
	switch {
	case given > 0:
		return given
	case told > 0:
		return told
	case ranks > 1:
		return ranks
	}
	return 0
}

// fill measures the steady steps. A step without a successor within 100 ms has
// no gap and is left out where there are enough others.
func (w *workload) fill(r *Run, bench []steps.Step) {
	followed := func(i int) bool {
		return i+1 < len(bench) && bench[i+1].Span.Start-bench[i].Span.End <= int64(phaseGap)
	}
	all := steps.Steady(bench)
	steady := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return !followed(i) })
	if len(steady) < minPhase {
		steady = all // a short recording: what a step holds is still worth telling
	}
	if len(steady) < minPhase {
		r.Notes = append(r.Notes, fmt.Sprintf("only %d steady steps: figures are not reliable", len(steady)))
	}
	if len(steady) == 0 {
		return
	}
	r.SteadySteps = len(steady)
	windows := make([]interval.Span, len(steady))
	for k, i := range steady {
		s := bench[i]
		windows[k] = steps.Period(bench, i)
		r.wall = append(r.wall, us(windows[k].Len()))
		r.step = append(r.step, us(s.Longest))
		if followed(i) {
			r.gap = append(r.gap, us(max(windows[k].End-s.Span.End, 0)))
		}
		r.MaxGeneration = max(r.MaxGeneration, s.Gen)
	}
	if len(r.gap) == 0 {
		r.Notes = append(r.Notes, "no step is followed by another: gaps between steps are unknown")
	}
	r.Steps, r.Gaps = statsOf(r.step), statsOf(r.gap)
	r.WallUSPerStep, r.StepUS, r.GapUS = stat.Mean(r.wall), r.Steps.Avg, r.Gaps.P50

	ranges := newTally(w, opRange, windows, r.Ranks)
	ranges.addRanges()
	r.Operations, r.RangeUSPerStep = ranges.operations(), ranges.union()
	kernels := newTally(w, opKernel, windows, r.Ranks)
	kernels.addKernels()
	r.Kernels = kernels.operations()
	r.GPUUSPerStep, r.KernelsPerStep, r.gpu = kernels.totals()
	calls := newTally(w, opAPI, windows, r.Ranks)
	r.launches = calls.addCalls()
	r.APICalls = calls.operations()
	r.APIUSPerStep, _, r.api = calls.totals()
	r.LaunchesPerStep = stat.Mean(r.launches)
}
