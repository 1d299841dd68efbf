package capture

import (
	"fmt"

	"github.com/llmstrata/strata/layer/finding"
)

// Findings are the checks of a capture that did not pass, as reasons to doubt what its traces say, failed ones first.
// They have no size.
func (r *Result) Findings() []finding.Finding {
	var failed, open []finding.Finding
	for _, s := range r.Stages {
		for _, c := range s.Checks {
			if c.Outcome == Pass || c.Outcome == Unknown && !c.Name.decides() {
				continue
			}
			f := finding.Finding{
				Kind: finding.Doubt, Code: "capture-" + string(c.Name), Stage: s.Stage.inTraces(),
				Text: fmt.Sprintf("The capture is not valid: %s", c.Name), Evidence: c.Detail,
				Advice: finding.Advice{Do: c.Fix},
			}
			if len(s.Traces) > 0 {
				f.Place.Trace = s.Traces[0].Path
			}
			if c.Outcome == Fail {
				failed = append(failed, f)
				continue
			}
			f.Text = fmt.Sprintf("The capture is not known to be valid: %s", c.Name)
			open = append(open, f)
		}
	}
	return append(failed, open...)
}

// inTraces is the stage as analyses name it, "" for a window of both.
func (s Stage) inTraces() finding.Stage {
	switch s {
	case StagePrefill:
		return finding.StagePrefill
	case StageDecode:
		return finding.StageDecode
	}
	return ""
}
