package fleet

import (
	"strconv"
	"testing"
	"time"

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

// TestStepsThatDifferLeaveDistance: where every other step has another collective on one rank, the ends of the others
// still show that the two are one group, however many there are.
func TestStepsThatDifferLeaveDistance(t *testing.T) {
	for _, steps := range []int{40, 500, 800} {
		lanes := make([]*lane, 2)
		for r := range lanes {
			rank := &Rank{Calls: []Call{{Kind: classify.AllReduce}}}
			for s := range steps {
				one := Step{Number: int64(s), Start: int64(s) * int64(time.Millisecond)}
				for c := range 20 {
					late := int64(r*(c%5)) * int64(time.Microsecond)
					one.Call = append(one.Call, 0)
					one.At = append(one.At, int64(c)*40_000+late)
					one.Took = append(one.Took, 20_000-late)
				}
				if r == 1 && s%2 == 0 {
					one.Call, one.At, one.Took = append(one.Call, 0), append(one.At, 900_000), append(one.Took, 9_000)
				}
				rank.Steps = append(rank.Steps, one)
			}
			lanes[r] = lanesOf(&member{Rank: rank}, func(int) bool { return true })[true]
		}
		if off, ok := distance(lanes[0], lanes[1]); !ok || off != 0 {
			t.Errorf("%d steps: %d ns apart, %t; want 0 and one group", steps, off, ok)
		}
	}
}
