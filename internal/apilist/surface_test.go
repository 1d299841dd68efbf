package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The bounds of the exported surface: names of types, functions, methods,
// constants and variables. Fields of documents stand in schemas.
const (
	maxNames   = 500 // of the module
	maxPackage = 90  // of a package
)

// TestSurfaceOnlyShrinks holds the committed list against surface.json: the total,
// and the packages above the bound. A figure that has fallen is to be written
// down; one may never rise.
func TestSurfaceOnlyShrinks(t *testing.T) {
	text, err := os.ReadFile("api.txt")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("surface.json")
	if err != nil {
		t.Fatal(err)
	}
	var budget surface
	if err := json.Unmarshal(data, &budget); err != nil {
		t.Fatal(err)
	}
	for _, bad := range exceeding(countNames(string(text)), budget) {
		t.Error(bad)
	}
}

// surface is how many names there are.
type surface struct {
	Total    int            `json:"total"`
	Packages map[string]int `json:"packages"`
}

// countNames counts the names of a list.
func countNames(list string) surface {
	got := surface{Packages: map[string]int{}}
	for line := range strings.Lines(list) {
		rest, ok := strings.CutPrefix(line, "pkg ")
		pkg, what, listed := strings.Cut(rest, ", ")
		if !ok || !listed || strings.HasPrefix(what, "field ") || strings.Contains(what, " embeds ") || strings.Contains(what, " is sealed") {
			continue
		}
		got.Total++
		got.Packages[pkg]++
	}
	return got
}

// exceeding says what is above its budget, or above the bound without one.
func exceeding(got, budget surface) []string {
	var bad []string
	if limit := max(budget.Total, maxNames); got.Total > limit {
		bad = append(bad, sentence("the module", got.Total, limit))
	}
	for pkg, n := range got.Packages {
		if limit := max(budget.Packages[pkg], maxPackage); n > limit {
			bad = append(bad, sentence(pkg, n, limit))
		}
	}
	return bad
}

func sentence(of string, n, limit int) string {
	return fmt.Sprintf("%s exports %d names, at most %d (internal/apilist/surface.json): unexport what nobody outside needs", of, n, limit)
}

func TestNamesAboveTheBudgetAreFound(t *testing.T) {
	lines := func(pkg string, n int) string { return strings.Repeat("pkg "+pkg+", func F()\n", n) }
	fields := strings.Repeat("pkg small, field T.F int\n", 1000)
	for _, c := range []struct {
		name, list string
		budget     surface
		want       int
	}{
		{"in bounds", lines("a", maxPackage) + fields, surface{}, 0},
		{"a package above", lines("a", maxPackage+1), surface{}, 1},
		{"a package with a budget", lines("a", maxPackage+1), surface{Packages: map[string]int{"a": maxPackage + 1}}, 0},
		{"a package above its budget", lines("a", maxPackage+2), surface{Packages: map[string]int{"a": maxPackage + 1}}, 1},
		{"the module", lines("a", 90) + lines("b", 90) + lines("c", 90) + lines("d", 90) + lines("e", 90) + lines("f", 51), surface{}, 1},
		{"the module with a budget", lines("a", 90) + lines("b", 90) + lines("c", 90) + lines("d", 90) + lines("e", 90) + lines("f", 51), surface{Total: 501}, 0},
	} {
		if got := exceeding(countNames(c.list), c.budget); len(got) != c.want {
			t.Errorf("%s: %q, want %d findings", c.name, got, c.want)
		}
	}
}
