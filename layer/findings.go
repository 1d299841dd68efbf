package layer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// fullCoverage is the share of the GPU time in passes from which figures per pass speak for all of it.
const fullCoverage = 0.9

// Findings returns what puts the figures of the trace in doubt: a damaged recording, and GPU time outside of passes
// on the GPU with most work.
func (a *Analysis) Findings() []finding.Finding {
	var out []finding.Finding
	if errors.Is(a.Refused, ErrContradiction) {
		what := strings.TrimPrefix(a.Refused.Error(), "layer: ")
		out = append(out, finding.Finding{Kind: finding.OtherModel, Text: finding.OtherModel.Info().Title,
			Evidence: table.UpperFirst(what) + ".", Confidence: finding.High, Advice: finding.OtherModel.Info().Advice})
	}
	if h := &a.Health; h.Status == trace.HealthDegraded || h.Status == trace.HealthUnusable {
		f := finding.Finding{Kind: finding.Health, Code: string(h.Status), Text: "Recording is " + string(h.Status),
			Confidence: finding.High}
		info, attribution := gravest(h)
		if f.Do = info.Do; attribution { // times are right: what they show comes first
			f.Kind, f.Code, f.Text = finding.Doubt, string(info.Code), info.Title
		}
		switch {
		case info.Code == trace.CodeNoActivity, info.Code == trace.CodeEmpty:
			f.Do = a.recordGPU()
		case h.Orphans > 0 && h.Orphans == a.Trace().Len(event.LaneGPU):
			f.Do = "Record launch calls, too: " + a.Trace().Meta().Source.Record(trace.WantLaunches) + "."
		}
		var what []string
		for _, x := range h.Findings {
			if x.Severity != trace.HealthOK {
				what = append(what, x.Message)
			}
		}
		f.Evidence = strings.Join(what, "; ") + "."
		out = append(out, f)
	}
	if len(a.Devices) == 0 {
		return out
	}
	main := &a.Devices[0] // the busiest
	if main.Time == 0 || float64(main.InPasses) >= fullCoverage*float64(main.Time) {
		return out
	}
	left := main.Time - main.InPasses
	evidence := fmt.Sprintf("Only %s%% of GPU time is in passes. Figures per pass exclude the rest.",
		table.Percent(float64(main.InPasses), float64(main.Time), 1))
	advice := finding.Coverage.Info().Advice
	switch around := main.aroundPasses(); {
	case !slices.ContainsFunc(main.Passes, annotated):
	case 2*around > left:
		evidence += fmt.Sprintf(" %s lies before the first pass or after the last.", table.Duration(around))
		advice = finding.Advice{Do: "Record more steps, so that the ends of the window weigh less."}
	default:
		advice = finding.Advice{Do: "Annotate what runs between the steps, too."}
	}
	return append(out, finding.Finding{Kind: finding.Coverage, Text: finding.Coverage.Info().Title,
		Confidence: finding.High,
		Evidence:   evidence,
		Size: finding.Size{Measure: finding.Taken, Total: left,
			Share: float64(left) / float64(max(main.Time, time.Nanosecond)), Of: finding.OfGPU},
		Place: finding.Place{Device: finding.At(int(main.ID))}, Advice: advice})
}

// NoKernels returns [ErrNoKernels] with what to do about it, which depends on the profiler and on whether the file is
// truncated.
func (a *Analysis) NoKernels() error {
	do := strings.TrimSuffix(a.recordGPU(), ".")
	return fmt.Errorf("%w (%s)", ErrNoKernels, strings.ToLower(do[:1])+do[1:])
}

// recordGPU says how to get a trace with GPU activities.
func (a *Analysis) recordGPU() string {
	if slices.ContainsFunc(a.Health.Findings, func(f trace.Remark) bool { return f.Code == trace.CodeLossTruncated }) {
		return trace.CodeLossTruncated.Info().Do
	}
	source := a.Trace().Meta().Source
	if source == "" {
		return "Pass a trace of torch.profiler, Nsight Systems, rocprofv3, JAX or Proton."
	}
	return "Record GPU activities while the server works: " + source.Record(trace.WantGPU) + "."
}

// gravest is the code of what damages a recording most; attribution says that only what launched the work is in doubt.
func gravest(h *trace.Health) (info trace.CodeInfo, attribution bool) {
	attribution = true
	for _, f := range h.Findings { // the gravest first
		if f.Severity == trace.HealthOK {
			continue
		}
		only := slices.Equal(f.Affects, []trace.Area{trace.AffectsAttribution})
		if info.Code == "" || attribution && !only {
			info = f.Code.Info()
		}
		attribution = attribution && only
	}
	return info, attribution
}

func annotated(p ForwardPass) bool { return p.PassEvidence == ladder.RungAnnotation }

// aroundPasses is the time of what runs before the first pass or after the last.
func (a *Device) aroundPasses() (sum time.Duration) {
	if len(a.Passes) == 0 {
		return 0
	}
	from, to := a.Passes[0].Start, a.Passes[0].End
	for _, p := range a.Passes {
		from, to = min(from, p.Start), max(to, p.End)
	}
	for k := range a.Kernels() {
		if e := k.Event(); k.Place().Pass == trace.None && (e.End() <= from || e.Start() >= to) {
			sum += e.Duration()
		}
	}
	return sum
}
