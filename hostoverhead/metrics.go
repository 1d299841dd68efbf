package hostoverhead

import (
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/trace"
)

// Metrics are the figures of one window, as hostoverhead.md §2 defines them.
type Metrics struct {
	GPUIdle             Ratio `json:"gpu_idle_ratio"`             // M1: idle / window
	LaunchOverhead      Ratio `json:"launch_overhead_ratio"`      // M2: time in kernel launch calls / window
	PrepExposed         Ratio `json:"host_prep_exposed_ratio"`    // M3a: exposed preparation / preparation
	PrepImpact          Ratio `json:"host_prep_perf_impact"`      // M3b: exposed preparation / window
	PrepIdleAttribution Ratio `json:"host_prep_idle_attribution"` // M3c: exposed preparation / idle
	GPUUtilization      Ratio `json:"gpu_utilization"`            // M4: busy / window
	NCCL                Ratio `json:"nccl_ratio"`                 // M5: time of exchanges between GPUs / busy

	GraphLaunch Ratio `json:"graph_launch_ratio"` // time in graph launch calls / window; reported, not judged
	NCCLOnly    Ratio `json:"nccl_only_ratio"`    // time in which only they run / busy
	WindowNS    int64 `json:"window_ns"`          // length of the window
	BusyNS      int64 `json:"busy_ns"`            // of it, at least one kernel running
	Kernels     int   `json:"kernels"`            // kernels that start in the window
}

// metric is one judged figure.
type metric struct {
	key, title string
	value      func(*Metrics) Ratio
	limit      func(*Thresholds) float64
	below      bool // crossed below the limit instead of above
	prep       bool // one of M3
}

// judged lists the metrics of the verdict in report order.
var judged = []metric{
	{"gpu_idle_ratio", "M1  GPU idle ratio", func(m *Metrics) Ratio { return m.GPUIdle }, func(t *Thresholds) float64 { return t.GPUIdle }, false, false},
	{"launch_overhead_ratio", "M2  launch overhead ratio", func(m *Metrics) Ratio { return m.LaunchOverhead }, func(t *Thresholds) float64 { return t.LaunchOverhead }, false, false},
	{"host_prep_exposed_ratio", "M3a host-prep exposed ratio", func(m *Metrics) Ratio { return m.PrepExposed }, func(t *Thresholds) float64 { return t.PrepExposed }, false, true},
	{"host_prep_perf_impact", "M3b host-prep perf impact", func(m *Metrics) Ratio { return m.PrepImpact }, func(t *Thresholds) float64 { return t.PrepImpact }, false, true},
	{"host_prep_idle_attribution", "M3c host-prep idle attribution", func(m *Metrics) Ratio { return m.PrepIdleAttribution }, func(t *Thresholds) float64 { return t.PrepIdleAttribution }, false, true},
	{"gpu_utilization", "M4  GPU utilization", func(m *Metrics) Ratio { return m.GPUUtilization }, func(t *Thresholds) float64 { return t.GPUUtilization }, true, false},
}

// measure computes the metrics of one device over a set of windows.
func (w *workload) measure(d *deviceWork, windows []interval.Span) Metrics {
	return w.measureSteps(d, timesOf{windows, windows})
}

// measureSteps computes the metrics of one device over the times of steps:
// launch calls count where the host made them for these steps, which may be while
// the device is still busy with others.
func (w *workload) measureSteps(d *deviceWork, times timesOf) Metrics {
	windows := times.gpu
	total, busy := interval.Total(windows), interval.Overlap(d.busy, windows)
	m := Metrics{WindowNS: total, BusyNS: busy}
	m.GPUIdle, m.GPUUtilization = ratio(total-busy, total), ratio(busy, total)
	var nccl int64
	for _, e := range w.kernelsOf(d) {
		if i := interval.From(windows, int64(e.Start())); i < len(windows) && windows[i].Contains(int64(e.Start())) {
			m.Kernels++
		}
		if w.names.collective(e.NameID()) {
			nccl += interval.Covered(windows, spanOf(e))
		}
	}
	m.NCCL = ratio(nccl, busy)
	m.NCCLOnly = ratio(busy-interval.Overlap(d.compute, windows), busy)
	if w.t.LaneLen(trace.LaneLaunch) > 0 {
		launch, graph := w.launchTime(d, times.host)
		m.LaunchOverhead, m.GraphLaunch = ratio(launch, total), ratio(graph, total)
	}
	w.measurePrep(d, windows, &m)
	return m
}

// launchTime sums, over the threads that work for the device, the time inside
// kernel launch and inside graph launch calls. A driver call inside a runtime
// call is not counted twice.
func (w *workload) launchTime(d *deviceWork, windows []interval.Span) (kernels, graphs int64) {
	for _, th := range d.threads {
		var k, g []interval.Span
		for e := range w.onThread(trace.LaneLaunch, th) {
			switch name := e.Name(); {
			case trace.IsGraphLaunchName(name):
				g = append(g, spanOf(e))
			case isKernelLaunch(name):
				k = append(k, spanOf(e))
			}
		}
		kernels += interval.Overlap(interval.UnionInPlace(k), windows)
		graphs += interval.Overlap(interval.UnionInPlace(g), windows)
	}
	return kernels, graphs
}

// measurePrep computes M3. Nested ranges and those of several ranks that work
// for the same device are one union: time is not counted twice.
func (w *workload) measurePrep(d *deviceWork, windows []interval.Span, m *Metrics) {
	if !w.cfg.useM3 {
		return
	}
	for p := range w.cfg.prep {
		var spans []interval.Span
		for _, r := range w.prep {
			if w.stop.Over() {
				break
			}
			if r.pattern == p && w.drivesDevice(r.thread, d) {
				spans = append(spans, r.span)
			}
		}
		prep := interval.Intersect(interval.UnionInPlace(spans), windows)
		if len(prep) == 0 {
			continue
		}
		exposed := interval.Overlap(prep, interval.Between(d.busy))
		m.PrepExposed = ratio(exposed, interval.Total(prep))
		m.PrepImpact = ratio(exposed, m.WindowNS)
		m.PrepIdleAttribution = ratio(exposed, m.WindowNS-m.BusyNS)
		return
	}
}
