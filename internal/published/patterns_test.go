package published

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// TestPatternsAreThePublishedOnes: none is lost or changed. More were added before the rule became a room of its own.
func TestPatternsAreThePublishedOnes(t *testing.T) {
	data, err := os.ReadFile(testdata.Shared(t, "catalog/fusion-patterns.json"))
	if err != nil {
		t.Fatal(err)
	}
	var start struct {
		Patterns []struct {
			Pattern        string
			CandidatePaths []string   `json:"candidate_paths"`
			Active         []string   `json:"active_keywords"`
			Split          [][]string `json:"split_groups"`
			Priority       int
			MinSharePct    float64 `json:"min_share_pct"`
			LikelySharePct float64 `json:"likely_share_pct"`
		}
	}
	if err := json.Unmarshal(data, &start); err != nil {
		t.Fatal(err)
	}
	if len(start.Patterns) == 0 {
		t.Fatal("the catalogue holds no patterns")
	}
	all := patterns()
	for _, want := range start.Patterns {
		i := slices.IndexFunc(all, func(p pattern) bool { return p.Pattern == want.Pattern })
		if i < 0 {
			t.Errorf("pattern %q is missing", want.Pattern)
			continue
		}
		got := all[i]
		if !slices.Equal(got.Active, want.Active) || !slices.EqualFunc(got.Split, want.Split, slices.Equal[[]string]) ||
			!slices.Equal(got.CandidatePaths, want.CandidatePaths) || got.Priority != want.Priority ||
			got.MinSharePct != want.MinSharePct || got.LikelySharePct != want.LikelySharePct {
			t.Errorf("pattern %q is %+v, published is %+v", want.Pattern, got, want)
		}
	}
}
