package capture

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
)

// none marks an axis a name says nothing about.
const none = -1

// The axes of a rank: data, pipeline, context and tensor parallelism, and the number in the job.
const (
	axisDP = iota
	axisPP
	axisCP
	axisTP
	axisGlobal
	axes
)

// axisNames are for people.
var axisNames = [axes]string{"DP-", "PP-", "CP-", "TP-", "rank "}

// rank is the process a trace is of, as far as its name says: the index along each axis.
type rank [axes]int

// noRank is a name without any label.
var noRank = rank{none, none, none, none, none}

// with is the rank with an index along an axis.
func (r rank) with(axis, n int) rank { r[axis] = n; return r }

// parseRank reads the labels in a trace's file name. The folder does not count.
func parseRank(name string) rank {
	r := noRank
	for _, l := range []struct {
		word string
		axis int
	}{{"rank", axisGlobal}, {"worker", axisGlobal}, {"dp", axisDP}, {"pp", axisPP}, {"cp", axisCP}, {"tp", axisTP}} {
		if n, ok := framework.Label(name, l.word); ok && r[l.axis] == none {
			r[l.axis] = n
		}
	}
	return r
}

// String is "TP-0", "DP-1 PP-0 TP-3" or "rank 2"; "" when nothing is known.
func (r rank) String() string {
	var parts []string
	for axis, n := range r {
		if n != none {
			parts = append(parts, axisNames[axis]+strconv.Itoa(n))
		}
	}
	return strings.Join(parts, " ")
}

// fits reports whether a file labelled r can be the rank wanted: no axis known to both differs, and at least one is
// shared. A wanted global rank is also met by a TP label alone, the only label single-node servers write.
func (r rank) fits(want rank) bool {
	shared := false
	for axis, n := range r {
		if n == none || want[axis] == none {
			continue
		}
		if n != want[axis] {
			return false
		}
		shared = true
	}
	n := want[axisGlobal]
	return shared || n != none && want == noRank.with(axisGlobal, n) && r == noRank.with(axisTP, n)
}

// firstRanks are n ranks by their index along an axis.
func firstRanks(axis, n int) []rank {
	ranks := make([]rank, n)
	for i := range ranks {
		ranks[i] = noRank.with(axis, i)
	}
	return ranks
}

// labelled separates the traces of ranks: engines that write to folders of their own may share labels, and
// in the server's by-stage mode each rank writes two.
type labelled struct {
	dir  string
	rank rank
	half Stage
}

// missingRanks lists the ranks of want without a complete file, or with fewer than are wanted; an empty answer is
// enough to stop waiting. Names without any label are counted, not matched, and a set as large as wanted is complete
// whatever its labels are: servers number their processes in more ways than this package knows. Without want it names
// the gaps in what is there: ranks 0 and 2 show that 1 is missing.
func missingRanks(complete []string, want []rank) []string {
	have := map[labelled]bool{}
	unlabelled := 0
	for _, f := range complete {
		k := labelled{path.Dir(f), parseRank(f), halfOf(f)}
		switch {
		case isMerged(f), isFrontend(f):
		case k.rank == noRank:
			unlabelled++
		default:
			have[k] = true
		}
	}
	// A front end's trace has no rank; it counts as one only if no trace has a rank.
	count := cmp.Or(len(have), unlabelled)
	if len(want) == 0 {
		want = upToLast(have)
	} else if count >= len(want) {
		return nil
	}
	var names []string
	left := map[rank]int{} // files of a rank wanted that no wanted one before has taken
	for _, w := range want {
		if _, ok := left[w]; !ok {
			for k := range have {
				if k.rank.fits(w) {
					left[w]++
				}
			}
		}
		if left[w]--; left[w] < 0 {
			names = append(names, w.String())
		}
	}
	if len(have) == 0 && unlabelled > 0 && len(names) > unlabelled {
		return []string{fmt.Sprintf("%d more (the names have no rank)", len(want)-unlabelled)}
	}
	return names
}

// upToLast are the ranks up to the last one of a set that is numbered along one axis.
func upToLast(have map[labelled]bool) []rank {
	for _, axis := range []int{axisGlobal, axisTP} {
		last, all := none, true
		for k := range have {
			last, all = max(last, k.rank[axis]), all && k.rank[axis] != none
		}
		if all && last != none && last < maxWorld {
			return firstRanks(axis, last+1)
		}
	}
	return nil
}
