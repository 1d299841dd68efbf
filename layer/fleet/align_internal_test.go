package fleet

import (
	"strconv"
	"testing"

	"github.com/llmstrata/strata/classify"
)

// TestEachCollectiveIsLookedAtOnce: a digest in which every collective is a call and a group of its own costs no more
// than one of few calls. Digests are others' data.
func TestEachCollectiveIsLookedAtOnce(t *testing.T) {
	const steps, perStep = 20, 200
	m := &member{Rank: &Rank{}}
	for i := range steps {
		m.Steps = append(m.Steps, Step{})
		for range perStep {
			n := len(m.Calls)
			m.Calls = append(m.Calls, Call{Kind: classify.AllReduce, Group: n})
			m.Groups = append(m.Groups, ProcessGroup{Name: strconv.Itoa(n)})
			s := &m.Steps[i]
			s.Call, s.At, s.Took = append(s.Call, n), append(s.At, 0), append(s.Took, 1)
		}
	}
	asked := 0
	lanes := lanesOf(m, func(call int) string {
		asked++
		return m.Groups[m.Calls[call].Group].Name
	})
	if asked != steps*perStep || len(lanes) != steps*perStep {
		t.Errorf("%d looks at %d collectives, %d lanes", asked, steps*perStep, len(lanes))
	}
	groups := groupsOf([]*member{m})
	if len(groups) != steps*perStep || len(groups[0].rows) != 1 || len(groups[0].lanes[0].steps[0].calls) != 1 {
		t.Errorf("%d groups, want %d of one collective each", len(groups), steps*perStep)
	}
}
