package capture

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// none marks an axis a name says nothing about.
const none = -1

// Rank is the process a trace is of, as far as its name says. An axis that is
// not named is -1.
type Rank struct {
	// Global is "rank<n>" or "worker<n>"; DP, PP and TP are the indices along
	// data, pipeline and tensor parallelism.
	Global, DP, PP, TP int
}

// noRank is a name without any label.
var noRank = Rank{none, none, none, none}

// rankLabel finds "TP-0", "tp0", "rank12", "rank-3", "worker_1". A letter or
// digit before it makes it part of another word: "http1" is no rank.
var rankLabel = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(tp|dp|pp|rank|worker)[-_]?([0-9]{1,6})(?:$|[^0-9])`)

// ParseRank reads the labels in a trace's file name. The folder does not count.
func ParseRank(name string) Rank {
	r := noRank
	s := path.Base(name)
	for s != "" {
		// Labels share their separators ("dp0_pp0"), so the search goes on
		// from the digits and not from behind what followed them.
		m := rankLabel.FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		n, _ := strconv.Atoi(s[m[4]:m[5]]) // at most six digits
		axis := &r.Global
		switch strings.ToLower(s[m[2]:m[3]]) {
		case "tp":
			axis = &r.TP
		case "dp":
			axis = &r.DP
		case "pp":
			axis = &r.PP
		}
		if *axis == none {
			*axis = n
		}
		s = s[m[5]:]
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
	}{{"DP-", r.DP}, {"PP-", r.PP}, {"TP-", r.TP}, {"rank ", r.Global}} {
		if a.n != none {
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
	for _, p := range [][2]int{{r.Global, want.Global}, {r.DP, want.DP}, {r.PP, want.PP}, {r.TP, want.TP}} {
		if p[0] == none || p[1] == none {
			continue
		}
		if p[0] != p[1] {
			return false
		}
		shared = true
	}
	if !shared && want == (Rank{want.Global, none, none, none}) && r == (Rank{none, none, none, r.TP}) {
		return r.TP == want.Global
	}
	return shared
}

// wanted is one trace to wait for.
type wanted struct {
	rank Rank
	// half is "extend" or "decode" under the server's by-stage mode, else "".
	half string
}

func (w wanted) String() string {
	s := w.rank.String()
	if w.half != "" {
		s += " " + w.half
	}
	return s
}

// wantedTraces lists what a stage must leave behind, nil when that is unknown.
func wantedTraces(ranks []Rank, expect int, byStage bool) []wanted {
	if expect > 0 {
		ranks = nil
		for i := range expect {
			ranks = append(ranks, Rank{Global: i, DP: none, PP: none, TP: none})
		}
	}
	var w []wanted
	for _, r := range ranks {
		if !byStage {
			w = append(w, wanted{rank: r})
			continue
		}
		w = append(w, wanted{r, "extend"}, wanted{r, "decode"})
	}
	return w
}

// halfOf reads the stage SGLang puts at the end of a name by stage.
func halfOf(name string) string {
	n := strings.ToLower(path.Base(name))
	switch {
	case strings.Contains(n, "-extend"), strings.Contains(n, "-prefill"), strings.Contains(n, "_extend"), strings.Contains(n, "_prefill"):
		return "extend"
	case strings.Contains(n, "-decode"), strings.Contains(n, "_decode"):
		return "decode"
	}
	return ""
}

// isMerged recognises the file SGLang adds with all ranks in it.
func isMerged(name string) bool { return strings.HasPrefix(path.Base(name), "merged-") }

// missing says which of want no complete file stands for; an empty answer is
// enough to stop waiting. Names without any label are counted, not matched,
// and a set as large as wanted is complete whatever its labels are: servers
// number their processes in more ways than this package knows. Without want
// it names the gaps in what is there: ranks 0 and 2 show that 1 is missing.
func missing(complete []string, want []wanted) []string {
	type key struct {
		rank Rank
		half string
	}
	labelled := map[key]bool{}
	unlabelled := 0
	byHalf := len(want) > 0 && want[0].half != ""
	for _, f := range complete {
		if isMerged(f) {
			continue
		}
		k := key{rank: ParseRank(f)}
		if byHalf {
			k.half = halfOf(f)
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
	// A front end's trace has no rank; it stands for one only where none has.
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
			if k.rank.fits(w.rank) && k.half == w.half {
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
		seen, most := map[int]bool{}, none
		for _, r := range ranks {
			n := axis.of(r)
			if n == none {
				most = none
				break
			}
			seen[n], most = true, max(most, n)
		}
		if most == none || most >= 4096 {
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
