package hostoverhead

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/fleet"
)

// TestGroupOfTheStragglers: of the groups that exchange data the one with a late rank, of several that which waits most.
func TestGroupOfTheStragglers(t *testing.T) {
	group := func(collectives int, wait int64, late string) fleet.Group {
		g := fleet.Group{Collectives: collectives, Wait: fleet.Spread{Median: wait}, Rows: []fleet.Row{{Rank: "a", Last: 1},
			{Rank: "b"}}}
		if late != "" {
			g.Late = &fleet.Late{Rank: late}
		}
		return g
	}
	for name, c := range map[string]struct {
		groups    []fleet.Group
		want      int
		straggler string
	}{
		"none":                       {nil, 0, ""},
		"no exchange":                {[]fleet.Group{group(0, 50, "a")}, 0, ""},
		"one exchange":               {[]fleet.Group{group(1, 0, "")}, 1, ""},
		"most waiting":               {[]fleet.Group{group(2, 10, ""), group(3, 20, ""), group(4, 15, "")}, 3, ""},
		"equal waiting":              {[]fleet.Group{group(2, 10, ""), group(3, 10, "")}, 2, ""},
		"a late rank":                {[]fleet.Group{group(2, 10, ""), group(3, 5, "b"), group(4, 20, "")}, 3, "second"},
		"two late ranks":             {[]fleet.Group{group(2, 10, "b"), group(3, 20, "a"), group(4, 30, "")}, 3, "first"},
		"two late ranks, equal wait": {[]fleet.Group{group(2, 10, "b"), group(3, 10, "a")}, 2, "second"},
	} {
		host := IdleCause{Host: true, NS: 3000, Names: []IdleName{{Name: "forward", NS: 2000}}}
		v := &Verdict{Ranks: []RankVerdict{{Rank: "first", Kernels: 5}, {Rank: "second", Idle: []IdleCause{host}}}}
		v.join([]fleet.Run{{Groups: c.groups}}, func(row *fleet.Row) int { return int(row.Rank[0] - 'a') })
		if v.Stragglers == nil {
			if c.want != 0 {
				t.Errorf("%s: nothing, want the group of %d collectives", name, c.want)
			}
			continue
		}
		s := v.Stragglers
		if s.Collectives != c.want || s.Straggler != c.straggler || len(s.Ranks) != 2 || s.Ranks[0].Rank != "first" ||
			s.Ranks[0].Kernels != 5 || s.Ranks[1].HostNS != 3000 || s.Ranks[0].LastShare != ratio(1, int64(c.want)) {
			t.Errorf("%s: %d collectives, straggler %q, ranks %+v", name, s.Collectives, s.Straggler, s.Ranks)
		}
		own := "Its own host keeps it idle for 3.00 µs, most of that in forward."
		if strings.Contains(s.Note, own) != (c.straggler == "second") {
			t.Errorf("%s: %q", name, s.Note)
		}
	}
}
