package hostoverhead_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
)

// TestStragglersAreListedToALimit: of more ranks than are read, those that were
// last most often, and how many more there are.
func TestStragglersAreListedToALimit(t *testing.T) {
	for _, tt := range []struct {
		ranks, rows int
		more        string
	}{
		{hostoverhead.ListedRanks, hostoverhead.ListedRanks, ""},
		{hostoverhead.ListedRanks + 3, hostoverhead.WorstRanks, "(59 more)"},
	} {
		s := hostoverhead.Stragglers{}
		for i := range tt.ranks {
			s.Ranks = append(s.Ranks, hostoverhead.RankArrival{Rank: fmt.Sprintf("rank%d", i), Last: i})
		}
		text := s.Text()
		if rows := strings.Count(text, "\nrank") - 1; rows != tt.rows { // one is the header
			t.Errorf("%d ranks: %d rows, want %d", tt.ranks, rows, tt.rows)
		}
		if worst := fmt.Sprintf("rank%d ", tt.ranks-1); !strings.Contains(text, worst) {
			t.Errorf("%d ranks: the one that was last most often is not listed", tt.ranks)
		}
		if strings.Contains(text, "more)") != (tt.more != "") || !strings.Contains(text, tt.more) {
			t.Errorf("%d ranks: want %q in\n%s", tt.ranks, tt.more, text)
		}
	}
}
