package fleet

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Meeting is one collective on all ranks that run it.
type Meeting struct {
	Ranks []int   // places in the list of ranks
	Steps []int   // of each of them: the place in Rank.Steps
	Calls []int   // and in Step.Call
	Took  []int64 // and the duration
}

// Meet calls take for every collective that at least two of the ranks run together; the next one overwrites its lists.
// ahead is how far the clock of each rank is ahead of that of rank of, the first one that collectives connect it with:
// itself if none before it is connected.
func Meet(ranks []Rank, take func(Meeting)) (ahead []int64, of []int) {
	members := make([]*member, len(ranks))
	ahead, of = make([]int64, len(ranks)), make([]int, len(ranks))
	for i := range ranks {
		members[i] = &member{Rank: &ranks[i], id: i, label: strconv.Itoa(i)}
		of[i] = i
	}
	groups := groupsOf(members)
	for _, g := range groups {
		for _, row := range g.rows {
			g.each(row, func(m meeting) {
				out := Meeting{Calls: m.calls, Took: m.took}
				for _, k := range m.lanes {
					out.Ranks = append(out.Ranks, g.lanes[k].id)
					out.Steps = append(out.Steps, g.lanes[k].steps[row[k]].at)
				}
				take(out)
			})
		}
	}
	type seat struct {
		*group
		lane *lane
	}
	seats, reached := make([][]seat, len(ranks)), make([]bool, len(ranks))
	for _, g := range groups {
		for _, l := range g.lanes {
			if l.met {
				seats[l.id] = append(seats[l.id], seat{g, l})
			}
		}
	}
	for first := range ranks { // groups share ranks: from the first on, each group sets the clocks of its ranks
		if reached[first] {
			continue
		}
		reached[first] = true
		for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
			for _, s := range seats[queue[0]] {
				for _, l := range s.lanes {
					if l.met && !reached[l.id] {
						reached[l.id], of[l.id] = true, first
						ahead[l.id] = ahead[queue[0]] + l.shift - s.lane.shift
						queue = append(queue, l.id)
					}
				}
			}
		}
	}
	return ahead, of
}

// Numbers that decide whether kernels of several ranks are one exchange.
const (
	// endsWithin is how far apart ranks may end a collective, on clocks that are set by the median: the last bytes of a
	// small one reach all ranks within a few microseconds. endsShare allows more, a share of what the shortest takes, as
	// the last parts of long ones arrive one after the other; or a share of what the starts differ by, as the clocks are
	// not known better than the ends show, which follow who arrives last: ranks of other groups differ by more.
	endsWithin = int64(10 * time.Microsecond)
	endsShare  = 0.10
	// metShare is the share of the collectives that must end together for two ranks to be in one group. Ranks that
	// exchange nothing end at times that have nothing to do with each other; a few lost records must not hide a group.
	metShare = 0.90
	// closer is how much of the spread of the starts may be left in the ends: waiting takes differences of the start
	// away, and ranks that have nothing to do with each other end as far apart as they start.
	closer = 0.50
)

// span is when a collective ran on one GPU, in nanoseconds of its clock.
type span struct{ start, end int64 }

// clockOf is the median difference of the ends of pairs of collectives, theirs − mine: that of the clocks if the pairs
// are the same collectives. off is the median distance from it.
func clockOf(mine, theirs []span) (clock, off int64) {
	d := make([]int64, len(mine))
	for i := range mine {
		d[i] = theirs[i].end - mine[i].end
	}
	clock = spread(d)
	return clock, middle(d)
}

// together reports whether two GPUs end the collectives at the same times, and not because they start them so. Clocks
// of several hosts differ: the median difference is taken for that of the clocks. Both lists are of one length.
func together(mine, theirs []span) bool {
	if len(mine) == 0 || len(mine) != len(theirs) {
		return false
	}
	starts, ends := make([]int64, len(mine)), make([]int64, len(mine))
	for i := range mine {
		starts[i], ends[i] = theirs[i].start-mine[i].start, theirs[i].end-mine[i].end
	}
	spread(starts)
	spread(ends)
	slices.Sort(starts)
	most := starts[int(math.Ceil(metShare*float64(len(starts))))-1]
	met := 0
	for i := range mine {
		shorter := min(mine[i].end-mine[i].start, theirs[i].end-theirs[i].start)
		if ends[i] <= max(endsWithin, int64(endsShare*float64(max(shorter, most)))) {
			met++
		}
	}
	return float64(met) >= metShare*float64(len(mine)) && float64(middle(ends)) <= closer*float64(middle(starts))
}

// spread turns differences of two clocks into distances from their median, which it returns.
func spread(d []int64) (clock int64) {
	clock = middle(d)
	for i := range d {
		d[i] = max(d[i]-clock, clock-d[i])
	}
	return clock
}
