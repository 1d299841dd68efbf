package main

import (
	"strings"
	"testing"
)

// TestEveryComparisonIsSeen: five comparisons of the example name a literal, the others do not.
func TestEveryComparisonIsSeen(t *testing.T) {
	found, err := literals("testdata/words")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 5 {
		t.Errorf("found %d, want 5:\n%s", len(found), strings.Join(found, "\n"))
	}
}

// TestNoLiteralIsAWord: no value of a closed set of words is compared with a literal.
func TestNoLiteralIsAWord(t *testing.T) {
	found, err := literals("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range found {
		t.Error(line)
	}
}
