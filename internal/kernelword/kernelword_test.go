package kernelword

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestListsAreComplete: the lists that consumers are tested against hold every
// word that the package declares, none twice.
func TestListsAreComplete(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "kernelword.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]int{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			for _, n := range s.(*ast.ValueSpec).Names {
				have[kindOf(n.Name)]++
			}
		}
	}
	for kind, list := range map[string][]string{"Role": Roles(), "Category": slices.Collect(maps.Keys(works)), "collective": Collectives()} {
		distinct := map[string]bool{}
		for _, w := range list {
			distinct[w] = true
		}
		if len(distinct) != have[kind] || len(list) != have[kind] || have[kind] == 0 {
			t.Errorf("%d words of kind %s are declared, the list has %d, %d of them distinct", have[kind], kind, len(list), len(distinct))
		}
	}
}

// kindOf is the list that a constant belongs to.
func kindOf(name string) string {
	for _, p := range []string{"Role", "Category", "Family", "Work"} {
		if strings.HasPrefix(name, p) {
			return p
		}
	}
	return "collective"
}
