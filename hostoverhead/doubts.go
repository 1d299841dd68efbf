package hostoverhead

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/trace"
)

// Limits of the doubts. They only choose words, never a figure.
const (
	fewKernels    = 100  // kernels below which ratios of a window mean little
	dominantGap   = 0.30 // share of the window that one gap takes before it is suspected to be a pause
	orphanShare   = 0.10 // kernels without a launch call
	ncclOnlyShare = 0.20 // of busy time
	transferShare = 0.20 // of idle time during which copies run
)

// doubts lists what speaks against the verdict.
func (w *workload) doubts(v *Verdict, d *deviceWork) []Doubt {
	out := []Doubt{}
	add := func(code string, weight Confidence, format string, args ...any) {
		out = append(out, Doubt{code, weight, fmt.Sprintf(format, args...)})
	}
	h := w.t.Health()
	m := &v.AggregateMetrics
	if m.Kernels < fewKernels {
		add("few-kernels", ConfidenceLow, "the window holds only %s: this is hardly a running server", counted(m.Kernels, "kernel"))
	}
	if !m.LaunchOverhead.Applicable {
		add("no-launch-calls", ConfidenceMedium, "no API calls were recorded: the launch overhead (M2) is unknown")
	}
	if w.cfg.useM3 && !m.PrepImpact.Applicable {
		why := "no annotations or NVTX ranges were recorded"
		if len(w.prep) > 0 {
			why = "the host preparation ranges lie outside the time in which kernels run"
		} else if w.t.LaneLen(trace.LaneAnnotation) > 0 {
			why = "no range matches the host preparation names"
		}
		add("no-host-prep", ConfidenceMedium, "%s: host preparation (M3) is unknown", why)
	}
	if d.rows > 0 {
		add("graph-kernels-hidden", ConfidenceMedium, "%d graph replays are recorded as a whole: they count as busy from end to end, gaps between their kernels are not seen", d.rows)
	}
	if h.EmptyGraphs > 0 {
		weight := ConfidenceLow
		if d.rows+d.replays > 0 {
			weight = ConfidenceMedium
		}
		add("graph-launches-without-kernels", weight, "%d graph launches have no kernels in the trace: idle time is overstated", h.EmptyGraphs)
	}
	if h.Activities > 0 && float64(h.Orphans) > orphanShare*float64(h.Activities) {
		add("launches-missing", ConfidenceMedium, "%d of %d GPU activities have no launch call in the trace: the API calls recorded are not all there were, M2 is understated", h.Orphans, h.Activities)
	}
	w.transferDoubt(v, d, add)
	w.pauseDoubt(v, d, add)
	w.warmUpDoubt(v, d, add)
	if v.NCCLCaveat {
		add("nccl", ConfidenceMedium, "kernels that exchange data between GPUs take %.0f%% of the busy time: idle time may be waiting for other ranks", 100*m.NCCL.Value)
	}
	if m.NCCLOnly.Applicable && m.NCCLOnly.Value > ncclOnlyShare {
		add("busy-with-nccl-only", ConfidenceMedium, "during %.0f%% of the busy time only kernels that exchange data between GPUs run: the GPU waits for others while it counts as busy", 100*m.NCCLOnly.Value)
	}
	switch {
	case len(v.Phases) > 0:
	case v.Steps > 0:
		add("no-steps", ConfidenceHigh, "%s found, but not whether context or generation", counted(v.Steps, "step"))
	default:
		add("no-steps", ConfidenceHigh, "no steps were recognised: context and generation are not told apart")
	}
	if v.DevicesMode == "merged" && len(w.t.Devices()) > 1 {
		add("merged-devices", ConfidenceMedium, "%d devices are merged into one: an idle one hides behind a busy one", len(w.t.Devices()))
	}
	rank := map[Confidence]int{ConfidenceLow: 0, ConfidenceMedium: 1, ConfidenceHigh: 2}
	slices.SortStableFunc(out, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(rank[a.Weight], rank[b.Weight]), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// transferDoubt looks for idle time in which the device copies: no kernel runs,
// but it is the memory bus that is waited for, not the host.
func (w *workload) transferDoubt(v *Verdict, d *deviceWork, add func(string, Confidence, string, ...any)) {
	win := d.window()
	idle := interval.Gaps(d.busy, win)
	copying := interval.Overlap(idle, d.copies)
	if float64(copying) <= transferShare*float64(interval.Total(idle)) {
		return
	}
	weight := ConfidenceMedium
	rest := ratio(interval.Total(idle)-copying, win.Len())
	if (rest.Value > v.Thresholds.GPUIdle) != (v.AggregateMetrics.GPUIdle.Value > v.Thresholds.GPUIdle) {
		weight = ConfidenceLow
	}
	add("idle-is-transfers", weight, "during %.0f%% of the idle time copies run: without them the device is idle %s of the time", 100*float64(copying)/float64(interval.Total(idle)), percent(rest))
}

// pauseDoubt looks for one gap that makes up much of the window: start-up, or
// a server without requests, rather than a slow host.
func (w *workload) pauseDoubt(v *Verdict, d *deviceWork, add func(string, Confidence, string, ...any)) {
	var longest interval.Span
	for _, g := range interval.Between(d.busy) {
		if g.Len() > longest.Len() {
			longest = g
		}
	}
	win := d.window()
	if float64(longest.Len()) <= dominantGap*float64(win.Len()) {
		return
	}
	rest := win.Len() - longest.Len()
	without := ratio(rest-interval.Total(d.busy), rest)
	weight := ConfidenceMedium
	if without.Applicable && (without.Value > v.Thresholds.GPUIdle) != (v.AggregateMetrics.GPUIdle.Value > v.Thresholds.GPUIdle) {
		weight = ConfidenceLow
	}
	add("one-long-gap", weight, "one gap of %s makes up %.0f%% of the window (start-up, or no requests?); without it the GPU is idle %s of the time",
		microseconds(longest.Len()), 100*float64(longest.Len())/float64(win.Len()), percent(without))
}

// warmUpDoubt compares the window with its steady steps.
func (w *workload) warmUpDoubt(v *Verdict, d *deviceWork, add func(string, Confidence, string, ...any)) {
	steps := w.stepsOf(d)
	steady := steadySteps(steps)
	if len(steady) < minPhase {
		return
	}
	m := w.measureSteps(d, w.timesOf(d, steps, func(i int) bool { _, ok := slices.BinarySearch(steady, i); return ok }))
	if !m.GPUIdle.Applicable || m.Kernels == 0 {
		return
	}
	if (m.GPUIdle.Value > v.Thresholds.GPUIdle) != (v.AggregateMetrics.GPUIdle.Value > v.Thresholds.GPUIdle) {
		add("window-is-not-steady", ConfidenceLow, "over the %d steady steps alone the GPU is idle %s of the time, over the whole window %s: warm-up or other phases decide the figure",
			len(steady), percent(m.GPUIdle), percent(v.AggregateMetrics.GPUIdle))
	}
}

// evidence says in sentences what the verdict rests on.
func (w *workload) evidence(v *Verdict, d *deviceWork) []string {
	out := []string{}
	where := "all devices merged"
	if v.DevicesMode == "each" && d.id != trace.NoDevice {
		where = fmt.Sprintf("device %d", d.id)
		if len(w.devices) > 1 {
			where += fmt.Sprintf(", the most idle of %d", len(w.devices))
		}
	}
	m := &v.AggregateMetrics
	out = append(out, fmt.Sprintf("%s: busy %s of %s, %d kernels", where, microseconds(m.BusyNS), microseconds(m.WindowNS), m.Kernels))
	out = append(out, crossedWords("whole window", v.AggregateVerdict, m, v.CrossedDetails, &v.Thresholds))
	for _, phase := range []string{phaseContext, phaseGeneration} {
		if p := v.Phases[phase]; p != nil {
			out = append(out, crossedWords(fmt.Sprintf("%s, %s", phase, counted(p.IterationCount, "step")), p.Verdict, &p.Metrics, p.CrossedDetails, &p.Thresholds))
		}
	}
	return out
}

// crossedWords is one sentence: the answer of one set of metrics, and those that
// crossed with their thresholds.
func crossedWords(what string, answer Answer, m *Metrics, crossed map[string]bool, limits *Thresholds) string {
	var list []string
	for _, k := range judged {
		if crossed[k.key] {
			sign := ">"
			if k.below {
				sign = "<"
			}
			list = append(list, fmt.Sprintf("%s %s %s %.2f", k.key, k.value(m), sign, k.limit(limits)))
		}
	}
	if len(list) == 0 {
		list = []string{"no metric crossed"}
	}
	return fmt.Sprintf("%s: %s (%s)", what, answer, strings.Join(list, ", "))
}

func percent(r Ratio) string {
	if !r.Applicable {
		return "n/a"
	}
	return fmt.Sprintf("%.1f%%", 100*r.Value)
}

// microseconds formats a duration in ns for people: µs, ms or s with three
// significant decimals.
func microseconds(ns int64) string {
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.3f s", float64(ns)/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.3f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.3f µs", float64(ns)/1e3)
}
