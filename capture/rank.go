package capture

import (
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

// wanted is one trace to wait for.
type wanted struct {
	Rank rank
	// Half is the stage under the server's by-stage mode, else "".
	Half Stage `json:",omitempty"`
}

func (w wanted) String() string { return strings.TrimSpace(w.Rank.String() + " " + string(w.Half)) }

// wantRanks lists the traces that a stage must write, nil when that is unknown.
func wantRanks(ranks []rank, expect int, byStage bool) []wanted {
	if expect > 0 {
		ranks = nil
		for i := range expect {
			ranks = append(ranks, noRank.with(axisGlobal, i))
		}
	}
	var w []wanted
	for _, r := range ranks {
		if !byStage {
			w = append(w, wanted{Rank: r})
			continue
		}
		w = append(w, wanted{r, StagePrefill}, wanted{r, StageDecode})
	}
	return w
}

// halfOf is the stage that SGLang puts at the end of a name by stage.
func halfOf(name string) Stage {
	return Stage(framework.ReadFileName(nil, path.Base(name)).Stage)
}

// isMerged recognises the file SGLang adds with all ranks in it.
func isMerged(name string) bool { return strings.HasPrefix(path.Base(name), "merged-") }

// missingRanks lists the ranks of want without a complete file; an empty answer is enough to stop waiting. Names
// without any label are counted, not matched, and a set as large as wanted is complete whatever its labels are:
// servers number their processes in more ways than this package knows. Without want it names the gaps in what is
// there: ranks 0 and 2 show that 1 is missing. Engines that write to folders of their own may share labels.
func missingRanks(complete []string, want []wanted) []string {
	type key struct {
		dir  string
		rank rank
		half Stage
	}
	labelled := map[key]bool{}
	unlabelled := 0
	byHalf := len(want) > 0 && want[0].Half != ""
	for _, f := range complete {
		if isMerged(f) || isFrontend(f) {
			continue
		}
		k := key{dir: path.Dir(f), rank: parseRank(f)}
		if byHalf {
			k.half = halfOf(f)
		}
		if k.rank == noRank {
			unlabelled++
			continue
		}
		labelled[k] = true
	}
	if len(want) == 0 {
		var ranks []rank
		for k := range labelled {
			ranks = append(ranks, k.rank)
		}
		return gaps(ranks)
	}
	// A front end's trace has no rank; it counts as one only if no trace has a rank.
	have := len(labelled)
	if have == 0 {
		have = unlabelled
	}
	if have >= len(want) {
		return nil
	}
	var names []string
	for _, w := range want {
		met := false
		for k := range labelled {
			if k.rank.fits(w.Rank) && k.half == w.Half {
				met = true
			}
		}
		if !met {
			names = append(names, w.String())
		}
	}
	if len(labelled) == 0 && unlabelled > 0 && len(names) > unlabelled {
		return []string{fmt.Sprintf("%d more (the names have no rank)", len(want)-unlabelled)}
	}
	return names
}

// gaps finds the holes in ranks labelled along one axis.
func gaps(ranks []rank) []string {
	for _, axis := range []int{axisGlobal, axisTP} {
		seen, most := map[int]bool{}, none
		for _, r := range ranks {
			seen[r[axis]], most = true, max(most, r[axis])
		}
		if seen[none] || most == none || most >= maxWorld {
			continue
		}
		var names []string
		for i := range most {
			if !seen[i] {
				names = append(names, axisNames[axis]+strconv.Itoa(i))
			}
		}
		return names
	}
	return nil
}
