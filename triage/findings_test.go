package triage_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/triage"
)

// TestFindingsAreTheTables: each finding states the figure of its row, has its stage in the words of package layer,
// and advice.
func TestFindingsAreTheTables(t *testing.T) {
	seen := map[finding.Kind]int{}
	for _, name := range []string{"train-graphs-5streams-a100.json.gz", "sglang-qwen3-8b-decode-graph-mi300.json.gz"} {
		r := analyze(t, "traces/torch/"+name, "", triage.Options{})
		for _, f := range r.Findings {
			seen[f.Kind]++
			s := stageNamed(r, f.Stage)
			if s == nil {
				t.Errorf("%s: a finding of stage %q, which the report does not have", name, f.Stage)
				continue
			}
			var ns int64
			switch f.Kind {
			case finding.ExposedCommunication:
				for _, row := range s.Exposure.Rows {
					if string(row.Category) == f.Code {
						ns = row.ExposedNS - row.WaitingNS
					}
				}
			case finding.RankWait:
				for _, row := range s.Exposure.Rows {
					ns += row.WaitingNS
				}
			case finding.Fusion:
				for _, row := range s.Fuse {
					if row.Pattern == f.Code {
						ns = row.Gain.StepHighNS * int64(row.Gain.Steps+row.Gain.GPUs)
					}
				}
			case finding.LargestOperator:
				for _, row := range s.Operators {
					if row.Operator == f.Code {
						ns = row.GPUTimeNS
					}
				}
			}
			if int64(f.Total) != ns || f.Share <= 0 || f.Share != float64(ns)/(s.SpanUS*1e3) {
				t.Errorf("%s, %s %s: %d ns, share %v of the steps, the table has %d ns of %v µs", name, f.Kind, f.Code,
					f.Total, f.Share, ns, s.SpanUS)
			}
			if f.Do == "" || len(strings.Fields(strings.ReplaceAll(f.Text, " + ", " "))) > 10 {
				t.Errorf("%s: no advice, or a long problem: %+v", name, f)
			}
		}
	}
	for _, k := range []finding.Kind{finding.ExposedCommunication, finding.Fusion, finding.LargestOperator} {
		if seen[k] == 0 {
			t.Errorf("no finding of kind %s", k)
		}
	}
}

// stageNamed is the stage of a report that a finding is of.
func stageNamed(r *triage.Report, of finding.Stage) *triage.StageReport {
	for i := range r.Stages {
		if s := &r.Stages[i]; s.PassStage == of || of == "" && s.PassStage == finding.StageUnknown {
			return s
		}
	}
	return nil
}
