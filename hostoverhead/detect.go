package hostoverhead

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// ErrNoKernels says that the trace holds no GPU kernels, so that nothing can
// be said about their idle time.
var ErrNoKernels = errors.New("hostoverhead: no GPU kernels in the trace")

// minKernelShare is the share of the busiest device's kernels below which a
// device does not decide: a rank's file shows a handful of peer copies or set-up
// kernels on other devices, which are idle by nature.
const minKernelShare = 0.01

// Detect judges whether the host is the bottleneck of the traced run, whose
// passes a tells. It returns [ErrNoKernels] for a trace without kernels, and
// ctx's error when cancelled.
func Detect(ctx context.Context, a *layer.Analysis, opts ...Option) (*Verdict, error) {
	cfg := newConfig(opts)
	w, err := analyzed(stop.New(ctx), a, &cfg)
	if err != nil {
		return nil, err
	}
	v := &Verdict{DevicesMode: "each", Device: trace.NoDevice, Phases: map[string]*PhaseVerdict{}, Health: a.Health.Status}
	deciding := w.devices[0]
	if cfg.merged {
		v.DevicesMode = "merged"
		v.setAggregate(w.aggregate(deciding))
	} else {
		deciding = w.judgeDevices(v)
		v.Device = deciding.id
	}
	v.AggregateVerdict = v.Verdict
	steps := w.stepsOf(deciding)
	v.Steps = len(steps)
	for _, phase := range []string{phaseContext, phaseGeneration} {
		p := w.judgePhase(deciding, steps, phase)
		if p == nil {
			continue
		}
		v.Phases[phase] = p
		if p.Verdict == Yes {
			v.Verdict = Yes // phases raise the verdict, never lower it
		}
	}
	v.Doubts = w.doubts(v, deciding)
	v.Confidence = ConfidenceHigh
	for _, d := range v.Doubts {
		v.Confidence = min2(v.Confidence, d.Weight)
	}
	v.Evidence = w.evidence(v, deciding)
	if err := w.stop.Err(); err != nil {
		return nil, err
	}
	return v, nil
}

// min2 is the lesser of two confidences.
func min2(a, b Confidence) Confidence {
	if rank := map[Confidence]int{ConfidenceLow: 0, ConfidenceMedium: 1, ConfidenceHigh: 2}; rank[b] < rank[a] {
		return b
	}
	return a
}

func (v *Verdict) setAggregate(m Metrics, j Judgement) {
	v.Verdict, v.AggregateMetrics = j.Verdict, m
	v.CrossedCount, v.ApplicableCount, v.HostPrepConfirmed = j.CrossedCount, j.ApplicableCount, j.HostPrepConfirmed
	v.CrossedDetails, v.Thresholds = j.CrossedDetails, j.Thresholds
	v.NCCLCaveat = m.NCCL.Applicable && m.NCCL.Value > j.Thresholds.NCCL
}

// aggregate judges the whole window of a device.
func (w *workload) aggregate(d *deviceWork) (Metrics, Judgement) {
	m := w.measure(d, []interval.Span{d.window()})
	return m, judge(&m, w.cfg.aggregate, w.cfg.useM3)
}

// judgeDevices judges every device and returns the worst one: most idle among
// those with enough work.
func (w *workload) judgeDevices(v *Verdict) *deviceWork {
	busiest := 0
	for _, d := range w.devices {
		busiest = max(busiest, len(d.kernels))
	}
	var worst *deviceWork
	var sum Metrics
	n := 0
	for _, d := range w.devices {
		m, j := w.aggregate(d)
		dv := DeviceVerdict{Device: d.id, Name: w.gpuName(d.id), Judgement: j, Metrics: m}
		dv.Ignored = float64(len(d.kernels)) < minKernelShare*float64(busiest)
		v.Devices = append(v.Devices, dv)
		if dv.Ignored {
			continue
		}
		addMetrics(&sum, &m)
		n++
		if worst == nil || m.GPUIdle.Value > v.AggregateMetrics.GPUIdle.Value {
			worst = d
			v.setAggregate(m, j)
		}
	}
	if n > 1 {
		v.MeanMetrics = sum.divide(n)
	}
	return worst
}

// ratios lists the addressable ratios of metrics.
func (m *Metrics) ratios() []*Ratio {
	return []*Ratio{&m.GPUIdle, &m.LaunchOverhead, &m.PrepExposed, &m.PrepImpact, &m.PrepIdleAttribution, &m.GPUUtilization, &m.NCCL, &m.GraphLaunch, &m.NCCLOnly}
}

// addMetrics sums ratios; a ratio that is not applicable anywhere it is asked
// for counts as 0 where it is missing.
func addMetrics(sum, m *Metrics) {
	to, from := sum.ratios(), m.ratios()
	for i := range to {
		if from[i].Applicable {
			to[i].Applicable = true
			to[i].Value += from[i].Value
		}
	}
	sum.WindowNS += m.WindowNS
	sum.BusyNS += m.BusyNS
	sum.Kernels += m.Kernels
}

func (m *Metrics) divide(n int) *Metrics {
	for _, r := range m.ratios() {
		r.Value /= float64(n)
	}
	m.WindowNS, m.BusyNS, m.Kernels = m.WindowNS/int64(n), m.BusyNS/int64(n), m.Kernels/n
	return m
}

func (w *workload) gpuName(id trace.DeviceID) string {
	for _, g := range w.t.Meta().Devices {
		if g.ID == id {
			return g.Name
		}
	}
	return ""
}

// judgePhase judges the steps of one phase, nil when there are none.
func (w *workload) judgePhase(d *deviceWork, steps []step, phase string) *PhaseVerdict {
	limits := w.cfg.context
	if phase == phaseGeneration {
		limits = w.cfg.generation
	}
	p := &PhaseVerdict{}
	times := w.timesOf(d, steps, func(i int) bool {
		if steps[i].phase != phase {
			return false
		}
		p.IterationCount++
		return true
	})
	p.Metrics = w.measureSteps(d, times)
	if p.Metrics.Kernels == 0 {
		return nil
	}
	p.GraphSteps = w.graphSteps(d, steps, phase)
	p.Judgement = judge(&p.Metrics, limits, w.cfg.useM3)
	p.CUDAGraphsDetected = p.GraphSteps > 0
	return p
}

// graphSteps counts the steps of a phase that launch a graph, or, where the
// launches were not recorded, in which a replayed kernel starts.
func (w *workload) graphSteps(d *deviceWork, steps []step, phase string) int {
	var hosts, gpus []interval.Span
	for i, g := range gpuPeriods(steps) {
		if steps[i].phase != phase {
			continue
		}
		hosts = append(hosts, period(steps, i))
		if !g.Empty() {
			gpus = append(gpus, g)
		}
	}
	slices.SortFunc(gpus, func(a, b interval.Span) int { return cmp.Compare(a.Start, b.Start) })
	launched, replayed := newMarks(hosts), newMarks(gpus)
	if d.replays > 0 {
		for _, e := range w.kernelsOf(d) {
			if e.IsReplay() {
				replayed.mark(e.Start())
			}
		}
	}
	for _, th := range d.threads {
		for e := range w.onThread(trace.LaneLaunch, th) {
			if e.IsGraphLaunch() {
				launched.mark(e.Start())
			}
		}
	}
	return max(launched.count, replayed.count)
}

// marks are windows, disjoint and in order, some of which were hit.
type marks struct {
	windows []interval.Span
	hit     []bool
	count   int
}

func newMarks(windows []interval.Span) *marks {
	return &marks{windows: windows, hit: make([]bool, len(windows))}
}

// mark notes the window that holds a time.
func (m *marks) mark(t trace.Time) {
	if i := interval.From(m.windows, int64(t)); i < len(m.windows) && m.windows[i].Contains(int64(t)) && !m.hit[i] {
		m.hit[i] = true
		m.count++
	}
}
