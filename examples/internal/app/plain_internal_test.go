package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// TestPackagesOfErrors: Plain takes away the names of all packages of the module that begin errors with theirs, apart
// from programs and the generators of tests, and no other word.
func TestPackagesOfErrors(t *testing.T) {
	root := testdata.Root(t)
	var begin []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "gen" ||
				d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			text, is := n.(*ast.BasicLit)
			if !is || text.Kind != token.STRING {
				return true
			}
			if s, _ := strconv.Unquote(text.Value); strings.HasPrefix(s, f.Name.Name+": ") {
				begin = append(begin, f.Name.Name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(begin)
	if begin = slices.Compact(begin); !slices.Equal(begin, packages) {
		t.Errorf("errors begin with the packages %q, Plain takes away %q", begin, packages)
	}
}
