package main

import (
	"strings"
	"testing"
)

// TestEveryLiteralIsSeen: six comparisons of the example name a literal, and one word is made of one; the others do
// not.
func TestEveryLiteralIsSeen(t *testing.T) {
	found, err := literals("testdata/words")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 7 {
		t.Errorf("found %d, want 7:\n%s", len(found), strings.Join(found, "\n"))
	}
}

// TestNoLiteralIsAWord: no value of a closed set of words is compared with a literal or made of one.
func TestNoLiteralIsAWord(t *testing.T) {
	found, err := literals("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range found {
		t.Error(line)
	}
}
