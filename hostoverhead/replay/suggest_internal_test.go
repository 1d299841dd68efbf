package replay

import (
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// TestAnAnswerHasItsFinding: an answer goes to every finding that it is about. One about none is an error, unless it is
// refused.
func TestAnAnswerHasItsFinding(t *testing.T) {
	code := func(f *finding.Finding, e *Edit) bool { return f.Code == e.Name }
	for _, c := range []struct {
		name, refused string
		want          int // findings with a gain
		fails         bool
	}{{"a", "", 2, false}, {"b", "", 1, false}, {"c", "", 0, true}, {"c", "nothing shows it", 0, false},
		{"a", "no", 0, false}} {
		list := []finding.Finding{{Code: "a"}, {Code: "b"}, {Code: "a"}}
		err := attach(list, []Gain{{Edit: Edit{Kind: Cause, Name: c.name}, Refused: c.refused}}, code)
		n := 0
		for i := range list {
			n += len(list[i].Gains)
		}
		if n != c.want || (err != nil) != c.fails {
			t.Errorf("%s, refused %q: %d findings, %v; want %d, an error %v", c.name, c.refused, n, err, c.want, c.fails)
		}
	}
}

// TestVerdictOnAnotherFile: a verdict on a file that is not among the analyses is an error; one that is gone is none.
func TestVerdictOnAnotherFile(t *testing.T) {
	v := &hostoverhead.Verdict{Verdict: hostoverhead.Yes, Ranks: []hostoverhead.RankVerdict{{File: 1}}}
	if err := Explain(t.Context(), make([]*layer.Analysis, 1), v); err == nil {
		t.Error("a verdict on file 1 of 1 is explained")
	}
	if err := Explain(t.Context(), make([]*layer.Analysis, 2), v); err != nil {
		t.Errorf("an analysis that is gone: %v", err)
	}
}
