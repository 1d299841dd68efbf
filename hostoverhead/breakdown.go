package hostoverhead

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Operation is what one step spends on one named thing.
type Operation struct {
	Kind         compare.OperationKind `json:"kind"`           // its family
	Name         string                `json:"name"`           // numbers generalised to N
	US           float64               `json:"us_per_step"`    // µs per step, divided by Ranks
	CountPerStep float64               `json:"count_per_step"` // occurrences per step, divided by Ranks
	// for frames: file and line of one of them, "a.py(12)"; for ranges: the frame around the first
	Source string `json:"source,omitempty"`

	perStep []float64 // µs of each steady step, divided by Ranks
	waits   []float64 // those in which it waits for the GPU; nil where they are not looked for
	place   string    // name of the operation around its first occurrence
	around  string    // the same of its longest
}

// Run is what the steps of one run are made of.
type Run struct {
	Label      string `json:"label"`      // name of the run
	Iterations int    `json:"iterations"` // groups of all-reduces; steps when there is no all-reduce
	// most frequent number of all-reduces per iteration, 0 without all-reduce
	CommonSize    int     `json:"common_size"`
	BenchIters    int     `json:"bench_iterations"` // iterations of the benchmark phase
	SteadySteps   int     `json:"steady_steps"`     // steps measured
	WallUSPerStep float64 `json:"wall_us_per_step"` // from one step's start to the next one's
	StepUS        float64 `json:"step_us"`          // average duration of the step range
	// median time between a step's end and the next one's start
	GapUS           float64 `json:"gap_us"`
	RangeUSPerStep  float64 `json:"nvtx_us_per_step"`        // union of the operations' ranges, divided by Ranks
	GPUUSPerStep    float64 `json:"gpu_us_per_step"`         // sum of kernel times, divided by Ranks
	KernelsPerStep  float64 `json:"kernels_per_step"`        // divided by Ranks
	APIUSPerStep    float64 `json:"api_us_per_step"`         // sum of API call times, divided by Ranks
	Steps           Stats   `json:"step_stats_us"`           // duration of the step range
	Gaps            Stats   `json:"gap_stats_us"`            // time between steps
	MaxGeneration   int     `json:"max_generation_requests"` // of the steady steps, −1 unknown
	ContextSteps    int     `json:"context_steps"`           // of the benchmark phase
	AllSteps        int     `json:"steps"`                   // of the benchmark phase
	LaunchesPerStep float64 `json:"launches_per_step"`       // kernel and graph launch calls, divided by Ranks
	StepsFound      int     `json:"steps_found"`             // in the trace
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
func Breakdown(ctx context.Context, a *layer.Analysis, o BreakdownOptions) (*Run, error) {
	return o.breakdown(ctx, a, 0)
}

// breakdown is that of the baseline, side 0, or of the target.
func (o *BreakdownOptions) breakdown(ctx context.Context, a *layer.Analysis, side int) (*Run, error) {
	w, err := newRecording(ctx, a)
	if err != nil {
		return nil, err
	}
	b := w.findIterations()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &Run{Label: o.label(side), Iterations: b.iterations, CommonSize: b.common, BenchIters: b.bench, Ranks: o.Ranks,
		MaxGeneration: -1, Notes: []string{}}
	if r.Ranks <= 0 {
		r.Ranks = w.ranks()
	}
	r.TPSize = max(cmp.Or(max(o.Ranks, 0), o.TPSizes[side]), 0)
	if r.TPSize == 0 && r.Ranks > 1 { // one device may be one of any number of ranks
		r.TPSize = r.Ranks
	}
	if ds := w.t.Meta().Devices; w.only != nil {
		r.GPU = a.Devices[0].GPU
	} else if len(ds) > 0 {
		r.GPU = ds[0].Name
	}
	all := stepsOf(a, nil) // they join the ranks
	r.StepsFound = len(all)
	bench := benchSteps(all, b)
	if b.iterations == 0 {
		r.Iterations, r.BenchIters = len(bench), len(bench)
		r.Notes = append(r.Notes, "no all-reduce kernels: iterations are the step ranges")
	} else if b.bench == 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("no benchmark phase: no run of %d iterations where half have %d all-reduces",
			minPhase, b.common))
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

// fill measures the steady steps. A step without a successor within 100 ms has
// no gap and is left out where there are enough others.
func (w *recording) fill(r *Run, bench []hostStep) {
	followed := func(i int) bool {
		return i+1 < len(bench) && bench[i+1].Span.Start-bench[i].Span.End <= int64(phaseGap)
	}
	all := steadySteps(bench)
	steady := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return !followed(i) })
	if len(steady) < minPhase {
		steady = all // a short recording: what a step holds is still worth telling
	}
	if len(steady) < minPhase {
		r.Notes = append(r.Notes, fmt.Sprintf("only %s: figures are not reliable",
			table.Counted(len(steady), "steady step", "steady steps")))
	}
	if len(steady) == 0 {
		return
	}
	r.SteadySteps = len(steady)
	windows := make([]interval.Span, len(steady))
	for k, i := range steady {
		s := bench[i]
		windows[k] = periodOf(bench, i)
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

	ranges := newTally(w, compare.RangeKind, windows, r.Ranks)
	ranges.spans = map[trace.ThreadIndex][]interval.Span{}
	ranges.addRanges()
	r.Operations, r.RangeUSPerStep = ranges.operations(), ranges.union()
	kernels := newTally(w, compare.KernelKind, windows, r.Ranks)
	kernels.addKernels()
	r.Kernels = kernels.operations()
	r.GPUUSPerStep, r.KernelsPerStep, r.gpu = kernels.totals()
	calls := newTally(w, compare.APIKind, windows, r.Ranks)
	r.launches = calls.addCalls()
	r.APICalls = calls.operations()
	r.APIUSPerStep, _, r.api = calls.totals()
	r.LaunchesPerStep = stat.Mean(r.launches)
}

// recording is a trace as this package looks at it: all ranks together, or the one GPU that the analysis is about.
type recording struct {
	t       *trace.Trace
	layers  *layer.Analysis
	step    func(trace.NameID) bool   // says that a name is a step's annotation
	general func(trace.NameID) string // the generalised form of a name
	only    *trace.DeviceID           // nil: all
	drives  drives                    // nil where only is
	ended   func() error              // of the caller's context: what is read after its end is not used
}

// lookEvery is after how many events a loop over a lane looks at its context: some milliseconds.
const lookEvery = 1 << 12

// events are those of a lane that are of the GPUs at hand, or of the threads that work for them, up to the end of the
// context.
func (w *recording) events(lane event.Lane) iter.Seq[trace.Event] {
	return func(yield func(trace.Event) bool) {
		for e := range w.t.Events(lane) {
			if e.Index()%lookEvery == 0 && w.ended() != nil {
				return
			}
			if of := w.only == nil || lane == event.LaneGPU && e.Device() == *w.only || lane != event.LaneGPU &&
				w.drives.drive(e.Thread(), *w.only); of && !yield(e) {
				return
			}
		}
	}
}

// newRecording looks at a trace. The error is layer.ErrNoKernels, or that of a context that has ended.
func newRecording(ctx context.Context, a *layer.Analysis) (*recording, error) {
	t := a.Trace()
	w := &recording{t: t, layers: a, general: names.ByName(t, names.Generalise), only: onlyGPU(a), ended: ctx.Err,
		step: names.ByName(t, a.IsStep)}
	if w.only != nil {
		w.drives = drivesOf(w.t)
	}
	for range w.kernels() {
		return w, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, a.NoKernels()
}

// ranks is how many GPUs the figures are sums over.
func (w *recording) ranks() int {
	if w.only != nil {
		return 1
	}
	return max(len(w.t.Devices()), 1)
}

// kernels are the kernels and complete graph replays, by start.
func (w *recording) kernels() iter.Seq[trace.Event] {
	return func(yield func(trace.Event) bool) {
		for e := range w.events(event.LaneGPU) {
			if k := e.Kind(); k != event.Memcpy && k != event.Memset && !yield(e) {
				return
			}
		}
	}
}

// Series measures what the host does in each step of a run, for a comparison of runs ([compare.Run].Host): the time
// of each range, annotation or, without any, Python frame. It returns a [layer.ErrNoKernels] for a trace without
// kernels, and ctx's error when cancelled.
func Series(ctx context.Context, a *layer.Analysis) (*compare.Host, error) {
	w, err := newRecording(ctx, a)
	if err != nil {
		return nil, err
	}
	all := stepsOf(a, nil) // they join the ranks
	h := &compare.Host{Passes: []int{}, Walls: []time.Duration{}, Operations: []compare.Operation{}}
	var windows []interval.Span
	for i := range all {
		p := periodOf(all, i)
		windows = append(windows, p)
		h.Passes, h.Walls = append(h.Passes, all[i].Pass), append(h.Walls, time.Duration(p.Len()))
	}
	if len(all) > 0 {
		t := newTally(w, compare.RangeKind, windows, w.ranks())
		t.findWaits()
		t.addRanges()
		h.Operations = seriesOf(t.operations())
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return h, nil
}

// seriesOf are operations as a comparison takes them.
func seriesOf(ops []Operation) []compare.Operation {
	out := make([]compare.Operation, len(ops))
	for i := range ops {
		op := &ops[i]
		class := compare.OfHost
		if op.Kind == compare.KernelKind {
			class = compare.Memory
		}
		out[i] = compare.Operation{Kind: op.Kind, Name: op.Name, Class: class, Place: op.place, Longest: op.around,
			Count: op.CountPerStep, Steps: nanoseconds(op.perStep)}
		if op.waits != nil {
			out[i].Waits = nanoseconds(op.waits)
		}
	}
	return out
}

// nanoseconds converts values in µs.
func nanoseconds(us []float64) []time.Duration {
	out := make([]time.Duration, len(us))
	for i, v := range us {
		out[i] = time.Duration(math.Round(v * 1e3))
	}
	return out
}

// Stats are order statistics of one duration, in µs.
type Stats struct {
	N   int     `json:"n"`   // samples
	Avg float64 `json:"avg"` // mean
	Min float64 `json:"min"` // shortest
	Max float64 `json:"max"` // longest
	P50 float64 `json:"p50"` // sorted[n/2]
	P90 float64 `json:"p90"` // sorted[⌊0.9 n⌋]
}

// statsOf computes Stats of samples in µs; the zero Stats for none.
func statsOf(samples []float64) Stats {
	if len(samples) == 0 {
		return Stats{}
	}
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	return Stats{N: n, Avg: stat.Mean(s), Min: s[0], Max: s[n-1], P50: s[n/2], P90: s[n*9/10]}
}

// BreakdownOptions change a breakdown or a comparison of two. The zero value is the default.
type BreakdownOptions struct {
	// Labels name the baseline and the target; "": "baseline" and "target". One run alone is the baseline.
	Labels [2]string
	// TPSizes are their tensor-parallel sizes, which may be larger than the number of ranks in a trace; 0: Ranks,
	// else the number of devices with work, and unknown for one.
	TPSizes [2]int
	// Ranks is the number by which times summed over ranks are divided; 0: the number of devices with work.
	Ranks int
}

// label is what a side is called.
func (o *BreakdownOptions) label(side int) string {
	return cmp.Or(o.Labels[side], [2]string{"baseline", "target"}[side])
}

// iterationGap is, in the published root-cause analysis, the time between all-reduces of two iterations.
const iterationGap = time.Millisecond

// Lengths of the lists in text reports. Totals are summed before they are cut.
const (
	listedOperations = 30
	listedKernels    = 15
	nameWidth        = 56
)

// WriteText writes what a step of the run is made of.
func (r *Run) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	size := "unknown"
	if r.TPSize > 0 {
		size = fmt.Sprint(r.TPSize)
	}
	b.Heading(1, "Run %s (%s)", r.Label, strings.Join(table.Known("TP size "+size, r.GPU), ", "))
	t := table.New(table.Text("per step"), table.Number("value"))
	t.Row("iterations / of common size / benchmark",
		fmt.Sprintf("%d / %d / %d", r.Iterations, r.CommonSize, r.BenchIters))
	t.Row("steady steps", fmt.Sprint(r.SteadySteps))
	for _, f := range r.figures() {
		value := table.Fixed(f.value, 1)
		if f.name == figureGapP50 && r.Gaps.N == 0 {
			value = "?"
		}
		t.Row(f.name, value)
	}
	b.Table(t)
	if r.SteadySteps > 0 {
		b.Fact("Step µs", "%s", r.Steps.words())
		b.Fact("Gap µs", "%s", r.Gaps.words())
	}
	for _, list := range []struct {
		title string
		ops   []Operation
		max   int
	}{{"Host operations", r.Operations, listedOperations}, {"Kernels", r.Kernels, listedKernels},
		{"API calls", r.APICalls, listedKernels}} {
		table.List(b, list.title, list.ops, list.max, func(o Operation) []string {
			return []string{names.Short(o.Name, nameWidth), table.Fixed(o.US, 1), table.Fixed(o.CountPerStep, 1),
				names.Short(o.Source, nameWidth)}
		}, table.Code("name").Limit(nameWidth), table.Number("µs/step"), table.Number("count/step"),
			table.Path("source").Limit(nameWidth))
	}
	for _, n := range r.Notes {
		b.Say("Note: %s", n)
	}
	return b.Flush()
}

type namedFigure struct {
	name  string
	value float64
}

// figureGapP50 is the figure of a run that is not known where no step follows another.
const figureGapP50 = "inter-step gap µs (p50)"

func (r *Run) figures() []namedFigure {
	return []namedFigure{
		{"wall time µs", r.WallUSPerStep}, {"step duration µs (avg)", r.StepUS}, {figureGapP50, r.GapUS},
		{"host operations µs (union)", r.RangeUSPerStep}, {"GPU time µs", r.GPUUSPerStep},
		{"kernels", r.KernelsPerStep},
		{"launch calls", r.LaunchesPerStep}, {"API time µs", r.APIUSPerStep},
	}
}

func (s Stats) words() string {
	if s.N == 0 {
		return "unknown"
	}
	return fmt.Sprintf("avg %.1f  min %.1f  p50 %.1f  p90 %.1f  max %.1f", s.Avg, s.Min, s.P50, s.P90, s.Max)
}

// us converts nanoseconds to µs.
func us(ns int64) float64 { return float64(ns) / 1e3 }
