package fleet

import (
	"maps"
	"math/rand/v2"
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

// TestGroupsWithoutNames: four ranks reduce in pairs, gather together, and scatter rarely: at most eight ends prove
// nothing, and belong to the largest group. Collectives that the traces name stand apart, and a transfer whose ends
// are nobody's has no group.
func TestGroupsWithoutNames(t *testing.T) {
	const steps = 40
	noise := func(who, step, call int) int64 {
		return rand.New(rand.NewPCG(uint64(who), uint64(step*100+call))).Int64N(100_000)
	}
	for _, rare := range []int{0, 8, 9} {
		var members []*member
		for r := range 4 {
			rank := &Rank{Rank: r, Groups: []ProcessGroup{{Name: "pp", Ranks: []int{r % 2, r%2 + 2}}},
				Calls: []Call{{Kind: classify.AllReduce, Group: -1}, {Kind: classify.AllGather, Group: -1},
					{Kind: classify.ReduceScatter, Group: -1}, {Kind: classify.AllReduce, Group: 0},
					{Kind: classify.SendRecv, Group: -1}}}
			for s := range steps {
				one := Step{Number: int64(s), Start: int64(s) * 10_000_000, Wall: 10_000_000}
				// who ends it: the pair, all, each by itself, those that the traces name, each by itself
				for call, with := range []int{r / 2, 9, r, r % 2, r} {
					if call == 2 && s >= rare {
						continue
					}
					took := 20_000 + noise(r, s, call)
					end := int64(call+1)*1_500_000 + 10*noise(with, s, call+5)
					one.Call, one.At, one.Took = append(one.Call, call), append(one.At, end-took), append(one.Took, took)
				}
				rank.Steps = append(rank.Steps, one)
			}
			members = append(members, &member{Rank: rank, id: r, label: strconv.Itoa(r)})
		}
		got := map[string]int{} // ranks of a group, and how many collectives each has
		for _, g := range groupsOf(members) {
			key, calls := "", 0
			for _, l := range g.lanes {
				key, calls = key+l.label, l.calls()
			}
			got[key+" "+strconv.Itoa(calls)]++
		}
		want := map[string]int{"01 40": 1, "23 40": 1, "0123 40": 1, "02 40": 1, "13 40": 1}
		switch rare {
		case 8:
			delete(want, "0123 40")
			want["0123 48"] = 1
		case 9:
			for r := range 4 {
				want[strconv.Itoa(r)+" 9"] = 1
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d rare collectives: groups %v, want %v", rare, got, want)
		}
	}
}
