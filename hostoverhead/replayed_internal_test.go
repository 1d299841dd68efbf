package hostoverhead

import (
	"testing"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// TestAnAnswerHasItsFinding: an answer goes to every finding that it is about, and one about none says so.
func TestAnAnswerHasItsFinding(t *testing.T) {
	for _, c := range []struct {
		code string
		want int // findings with a gain
	}{{"a", 2}, {"b", 1}, {"c", 0}} {
		list := []finding.Finding{{Code: "a"}, {Code: "b"}, {Code: "a"}}
		found := attach(list, finding.Gain{}, func(f finding.Finding) bool { return f.Code == c.code })
		n := 0
		for i := range list {
			n += len(list[i].Gains)
		}
		if n != c.want || found != (n > 0) {
			t.Errorf("%s: %d findings, found %v; want %d", c.code, n, found, c.want)
		}
	}
}

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
