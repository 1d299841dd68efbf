package hostoverhead

import (
	"testing"

	"github.com/llmstrata/strata/layer"
)

// TestVerdictOnAnotherFile: a verdict on a file that is not among the analyses is an error; one that is gone is none.
func TestVerdictOnAnotherFile(t *testing.T) {
	v := &Verdict{Verdict: Yes, Ranks: []RankVerdict{{File: 1}}}
	if err := v.Replay(t.Context(), make([]*layer.Analysis, 1), nil); err == nil {
		t.Error("a verdict on file 1 of 1 is explained")
	}
	if err := v.Replay(t.Context(), make([]*layer.Analysis, 2), nil); err != nil {
		t.Errorf("an analysis that is gone: %v", err)
	}
}
