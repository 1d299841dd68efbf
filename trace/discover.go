package trace

import (
	"regexp"
	"strconv"
)

// rankPattern finds a rank in a file name: tp0, TP-0, rank0, rank-34, worker0.
var rankPattern = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:global[_-]?rank|rank|tp|worker)[_-]?(\d{1,6})(?:[^0-9]|$)`)

// RankFromPath returns the rank that a trace's file name carries.
func RankFromPath(path string) (int, bool) {
	m := rankPattern.FindStringSubmatch(path)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}
