// Package words has every kind of comparison that the check judges.
package words

import "strings"

// Stage is a closed set.
type Stage string

// Its words.
const (
	Prefill Stage = "prefill"
	Decode  Stage = "decode"
)

// Name has no constants: any string is one.
type Name string

// Level is a closed set of numbers with words.
type Level int

// Low is its word.
const Low Level = 1

func (Level) String() string { return "low" }

func judge(s Stage, n Name, l Level, t string) int {
	switch {
	case s == Prefill, s == "", n == "x", t == "decode": // none of these
		return 0
	case s == "prefill": // 1
		return 1
	case "decode" != s: // 2
		return 2
	case string(s) == "decode": // 3
		return 3
	case l.String() == "low": // 4
		return 4
	case strings.HasPrefix(string(s), "pre"), strings.HasPrefix(t, "pre"): // 5, and none
		return 5
	}
	switch s {
	case Decode:
	case "prefill": // 6
	}
	return 6
}

// made is of a word that is spelled twice.
var made Stage = "decode" // 7

var _ = judge
