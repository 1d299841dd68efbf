package label

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
)

// None marks an axis a name says nothing about.
const None = -1

// Rank is the process a trace is of, as far as its name says. An axis that is
// not named is -1.
type Rank struct {
	// Global is "rank<n>" or "worker<n>"; DP, PP, CP and TP are the indices
	// along data, pipeline, context and tensor parallelism.
	Global, DP, PP, CP, TP int
}

// noRank is a name without any label.
var noRank = Rank{None, None, None, None, None}

// Parse reads the labels in a trace's file name. The folder does not count.
func Parse(name string) Rank {
	r := noRank
	for _, a := range []struct {
		word string
		axis *int
	}{{"rank", &r.Global}, {"worker", &r.Global}, {"dp", &r.DP}, {"pp", &r.PP}, {"cp", &r.CP}, {"tp", &r.TP}} {
		if n, ok := framework.Label(name, a.word); ok && *a.axis == None {
			*a.axis = n
		}
	}
	return r
}

// Labelled reports whether any axis is known.
func (r Rank) Labelled() bool { return r != noRank }

// String is "TP-0", "DP-1 PP-0 TP-3" or "rank 2"; "" when nothing is known.
func (r Rank) String() string {
	var parts []string
	for _, a := range []struct {
		name string
		n    int
	}{{"DP-", r.DP}, {"PP-", r.PP}, {"CP-", r.CP}, {"TP-", r.TP}, {"rank ", r.Global}} {
		if a.n != None {
			parts = append(parts, fmt.Sprintf("%s%d", a.name, a.n))
		}
	}
	return strings.Join(parts, " ")
}

// fits reports whether a file labelled r can be the rank wanted: no axis known
// to both differs, and at least one is shared. A wanted global rank is also
// met by a TP label alone, the only label single-node servers write.
func (r Rank) fits(want Rank) bool {
	shared := false
	for _, p := range [][2]int{{r.Global, want.Global}, {r.DP, want.DP}, {r.PP, want.PP}, {r.CP, want.CP}, {r.TP, want.TP}} {
		if p[0] == None || p[1] == None {
			continue
		}
		if p[0] != p[1] {
			return false
		}
		shared = true
	}
	if !shared && want == Of(want.Global) && r == (Rank{None, None, None, None, r.TP}) {
		return r.TP == want.Global
	}
	return shared
}

// Of is the process with a number in the whole job.
func Of(global int) Rank { return Rank{global, None, None, None, None} }

// Wanted is one trace to wait for.
type Wanted struct {
	// Rank is the process.
	Rank Rank
	// Half is "extend" or "decode" under the server's by-stage mode, else "".
	Half string
}

// String is the rank and the half.
func (w Wanted) String() string {
	s := w.Rank.String()
	if w.Half != "" {
		s += " " + w.Half
	}
	return s
}

// Want lists what a stage must leave behind, nil when that is unknown.
func Want(ranks []Rank, expect int, byStage bool) []Wanted {
	if expect > 0 {
		ranks = nil
		for i := range expect {
			ranks = append(ranks, Of(i))
		}
	}
	var w []Wanted
	for _, r := range ranks {
		if !byStage {
			w = append(w, Wanted{Rank: r})
			continue
		}
		w = append(w, Wanted{r, "extend"}, Wanted{r, "decode"})
	}
	return w
}

// Half reads the stage SGLang puts at the end of a name by stage.
func Half(name string) string {
	n := strings.ToLower(path.Base(name))
	switch {
	case strings.Contains(n, "-extend"), strings.Contains(n, "-prefill"), strings.Contains(n, "_extend"), strings.Contains(n, "_prefill"):
		return "extend"
	case strings.Contains(n, "-decode"), strings.Contains(n, "_decode"):
		return "decode"
	}
	return ""
}

// IsMerged recognises the file SGLang adds with all ranks in it.
func IsMerged(name string) bool { return strings.HasPrefix(path.Base(name), "merged-") }

// Missing says which of want no complete file stands for; an empty answer is
// enough to stop waiting. Names without any label are counted, not matched,
// and a set as large as wanted is complete whatever its labels are: servers
// number their processes in more ways than this package knows. Without want
// it names the gaps in what is there: ranks 0 and 2 show that 1 is missing.
func Missing(complete []string, want []Wanted) []string {
	type key struct {
		rank Rank
		half string
	}
	labelled := map[key]bool{}
	unlabelled := 0
	byHalf := len(want) > 0 && want[0].Half != ""
	for _, f := range complete {
		if IsMerged(f) || IsFrontend(f) {
			continue
		}
		k := key{rank: Parse(f)}
		if byHalf {
			k.half = Half(f)
		}
		if !k.rank.Labelled() {
			unlabelled++
			continue
		}
		labelled[k] = true
	}
	if len(want) == 0 {
		var ranks []Rank
		for k := range labelled {
			ranks = append(ranks, k.rank)
		}
		return gaps(ranks)
	}
	// A front end's trace has no rank; it stands for one only where None has.
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
func gaps(ranks []Rank) []string {
	for _, axis := range []struct {
		name string
		of   func(Rank) int
	}{{"rank ", func(r Rank) int { return r.Global }}, {"TP-", func(r Rank) int { return r.TP }}} {
		seen, most := map[int]bool{}, None
		for _, r := range ranks {
			n := axis.of(r)
			if n == None {
				most = None
				break
			}
			seen[n], most = true, max(most, n)
		}
		if most == None || most >= 4096 {
			continue
		}
		var names []string
		for i := range most {
			if !seen[i] {
				names = append(names, axis.name+strconv.Itoa(i))
			}
		}
		return names
	}
	return nil
}
