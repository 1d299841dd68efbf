package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// NOTE. Serving engines write one trace per rank and put the rank into its name:
// SGLang "…-TP-0.trace.json.gz" (also -DP-0, -EP-0), vLLM
// "dp0_pp0_tp0_dcp0_ep0_rank0.<host>_<pid>.<time>.pt.trace.json.gz", others
// "rank0". One name holds a rank, so a size needs the siblings: names that differ
// only in rank numbers and in long numbers (times, process ids). What "rank"
// divides no name says.

// runNames is what the names of a run's trace files say, by marker.
type runNames struct {
	// Kinds is what they say of each, "tp", "ep", "rank": the ranks 0 … N−1 all lie there (at least two); 0: not known.
	Kinds map[string]Size
	// OnlyTP says that the name holds a tensor-parallel rank, written as SGLang
	// does, and none of another kind: SGLang names each kind with two or more ranks.
	OnlyTP bool
	// Ranks is how many files of ranks of any kind lie side by side; 0: not known.
	Ranks int
}

// anyRank is the marker that does not say what the ranks divide.
const anyRank = "rank"

var rankMarkers = map[string]*regexp.Regexp{
	kindTP: regexp.MustCompile(`(?i)(?:^|[^a-z0-9])tp([-_]?)([0-9]{1,6})(?:[^a-z0-9]|$)`),
	kindEP: regexp.MustCompile(`(?i)(?:^|[^a-z0-9])ep([-_]?)([0-9]{1,6})(?:[^a-z0-9]|$)`),

	anyRank: regexp.MustCompile(`(?i)(?:^|[^a-z0-9])rank([-_]?)([0-9]{1,6})(?:[^a-z0-9]|$)`),
}

var (
	anyMarker   = regexp.MustCompile(`(?i)(^|[^a-z0-9])(tp|ep|dp|pp|dcp|pcp|cp|rank)([-_]?)[0-9]+`)
	otherMarker = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(?:dp|pp|dcp|pcp|cp|rank)[-_]?[0-9]+`)
	expertRank  = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])ep[-_]?[0-9]+`)
	longNumber  = regexp.MustCompile(`[0-9]{4,}`)
)

// familyKey is the part of a name that the ranks of one run share.
func familyKey(name string) string {
	key := anyMarker.ReplaceAllString(strings.ToLower(name), "$1$2$3#")
	return longNumber.ReplaceAllString(key, "#")
}

// rankIn reads a marker's number from a name; glued is true for "tp8", false for "TP-8".
func rankIn(kind, name string) (rank int, glued, ok bool) {
	m := rankMarkers[kind].FindStringSubmatch(name)
	if m == nil {
		return rank, glued, false
	}
	rank, err := strconv.Atoi(m[2])
	return rank, m[1] == "", err == nil
}

// maxSiblings bounds the directory entries looked at.
const maxSiblings = 1 << 16

// readRunNames looks at a trace's name and at the names beside it. When the
// path is a directory, its first file by name represents the run.
func readRunNames(tracePath string) runNames {
	out := runNames{Kinds: map[string]Size{}}
	if tracePath == "" {
		return out
	}
	dir, own := filepath.Dir(tracePath), filepath.Base(tracePath)
	entries, _ := os.ReadDir(runDir(tracePath)) // none readable: the name itself remains
	if isDir(tracePath) {
		dir, own = tracePath, ""
		for _, e := range entries {
			if !e.IsDir() && anyMarker.MatchString(e.Name()) {
				own = e.Name()
				break
			}
		}
	}
	family := []string{own}
	key := familyKey(own)
	for i, e := range entries {
		if i >= maxSiblings {
			break
		}
		if n := e.Name(); !e.IsDir() && n != own && familyKey(n) == key {
			family = append(family, n)
		}
	}
	for kind := range rankMarkers {
		if r, ok := rankSize(kind, own, family, dir); ok {
			out.Kinds[kind] = r
		}
	}
	out.Ranks = out.Kinds[anyRank].N
	_, glued, ok := rankIn(kindTP, own)
	out.OnlyTP = ok && !glued && !otherMarker.MatchString(own) && !expertRank.MatchString(own)
	return out
}

func rankSize(kind, own string, family []string, dir string) (Size, bool) {
	_, glued, ok := rankIn(kind, own)
	if !ok {
		return Size{}, false
	}
	seen := map[int]bool{}
	var least int
	for _, n := range family {
		if r, _, ok := rankIn(kind, n); ok {
			seen[r] = true
			least = max(least, r+1)
		}
	}
	r := Size{}
	switch lone := least - 1; {
	case len(seen) >= 2 && len(seen) == least:
		r.N = least
		r.Source = fmt.Sprintf("file names: %s 0…%d in %s", kind, least-1, dir)
	case kind != anyRank && glued && len(seen) == 1 && lone >= 2 && lone&(lone-1) == 0 && !otherMarker.MatchString(own):
		// "llama-tp8-bs32": a label people write. As a rank it would have siblings
		// or, as the engines write it, other markers beside it.
		r.N = lone
		r.Source = fmt.Sprintf("file name: %s%d taken as a size", kind, lone)
	}
	return r, true
}

// runDir is the directory of a trace that may be one.
func runDir(path string) string {
	if isDir(path) {
		return path
	}
	return filepath.Dir(path)
}
