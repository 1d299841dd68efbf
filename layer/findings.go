package layer

import (
	"fmt"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// fullCoverage is the share of the GPU time in passes from which figures per pass speak for all of it.
const fullCoverage = 0.9

// Findings returns what puts the figures of the trace in doubt: a damaged recording, and GPU time outside of passes
// on the GPU with most work.
func (a *Analysis) Findings() []finding.Finding {
	var out []finding.Finding
	if h := &a.Health; h.Status == trace.HealthDegraded || h.Status == trace.HealthUnusable {
		f := finding.Finding{Kind: finding.Health, Code: string(h.Status), Text: "Recording is " + string(h.Status),
			Confidence: finding.High,
			Advice:     finding.Health.Info().Advice}
		switch source := a.Trace().Meta().Source; {
		case h.Status == trace.HealthUnusable && a.Trace().Len(event.LaneGPU) == 0:
			f.Do = "Record GPU activities: " + source.Record(trace.WantGPU) + "."
		case h.Orphans > 0 && h.Orphans == a.Trace().Len(event.LaneGPU):
			f.Do = "Record launch calls, too: " + source.Record(trace.WantLaunches) + "."
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
	var main *Device
	for i := range a.Devices {
		if d := &a.Devices[i]; main == nil || d.Time > main.Time {
			main = d
		}
	}
	if main == nil || main.Time == 0 || float64(main.InPasses) >= fullCoverage*float64(main.Time) {
		return out
	}
	left := main.Time - main.InPasses
	return append(out, finding.Finding{Kind: finding.Coverage, Text: finding.Coverage.Info().Title,
		Confidence: finding.High,
		Evidence: fmt.Sprintf("Only %s%% of GPU time is in passes. Figures per pass exclude the rest.",
			table.Percent(float64(main.InPasses), float64(main.Time), 1)),
		Size: finding.Size{Measure: finding.Taken, Total: left,
			Share: float64(left) / float64(max(main.Time, time.Nanosecond)), Of: finding.OfGPU},
		Place: finding.Place{Device: finding.At(int(main.ID))}, Advice: finding.Coverage.Info().Advice})
}
