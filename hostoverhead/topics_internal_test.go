package hostoverhead

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestEveryDoubtIsExplained: each code has a row, and each is one that a verdict or its window can have.
func TestEveryDoubtIsExplained(t *testing.T) {
	declared, err := os.ReadFile("topics.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("doubts.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`\t(Doubt\w+)\s+DoubtCode = "([a-z-]+)"`).FindAllSubmatch(declared, -1)
	if len(codes) == 0 || len(codes) != len(DoubtCodes()) {
		t.Errorf("%d codes are declared, %d have a row", len(codes), len(DoubtCodes()))
	}
	for _, row := range topics {
		if row.title == "" || row.means == "" || row.do == "" {
			t.Errorf("%s lacks a title, a meaning or what to do", row.code)
		}
	}
	for _, m := range codes {
		if !slices.Contains(DoubtCodes(), DoubtCode(m[2])) {
			t.Errorf("%s has no row", m[1])
		}
		if !regexp.MustCompile(`\b` + string(m[1]) + `\b`).Match(source) {
			t.Errorf("%s is explained and no doubt", m[1])
		}
	}
}
