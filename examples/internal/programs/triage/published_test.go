package triage

import (
	"encoding/json"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/triage"
)

// TestPublishedOverlap: the published table stays reachable, with its verdicts and risks; the default lists communication only.
func TestPublishedOverlap(t *testing.T) {
	path := testdata.Shared(t, "traces/torch/train-graphs-5streams-a100.json.gz")
	rows := func(args ...string) []triage.OverlapRow {
		t.Helper()
		var doc triage.Report
		if err := json.Unmarshal([]byte(apptest.MustRun(t, program(), append([]string{"--input", path, "--format", "json"}, args...)...).Stdout), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Stages[0].Overlap
	}
	for _, o := range rows() {
		if o.Category != "communication" || o.BoundNS <= 0 {
			t.Errorf("row %+v is nothing that compute could hide", o)
		}
	}
	got := rows("--overlap-mode", "published")
	if len(got) < 5 {
		t.Fatalf("%d rows of the published rule, want 5 at least", len(got))
	}
	if o := got[0]; o.Priority != "P1" || o.Category != "communication" || o.Verdict != "headroom" || o.DepRisk != "low" || o.Recommendation != "try overlap" ||
		o.ExclusiveRatio < 0.95 || o.ExclusiveRatio > 0.96 || o.ExclusiveRatio+o.HiddenRatio < 0.999 {
		t.Errorf("first row %+v", o)
	}
	if all := rows("--overlap-mode", "published", "--overlap-table-limit", "0"); len(all) <= len(got) {
		t.Errorf("%d rows without a limit, %d with one", len(all), len(got))
	}
}
