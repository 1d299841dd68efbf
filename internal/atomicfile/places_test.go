package atomicfile_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// direct are the files of programs that open or write files past this package, and why that is right.
var direct = map[string]string{
	"examples/internal/command/skill.go":              "reads what it is going to replace, and no trace",
	"examples/internal/app/memory.go":                 "files of the system",
	"examples/internal/programs/perfettomap/files.go": "the demo trace in a temporary directory",
	"internal/serve/serve.go":                         "serves a file that was read before",
	"capture/matrix.go": "package capture imports nothing of ours; its inputs are noted " +
		"by their flags",
	"capture/manifest.go":                  "as matrix.go",
	"examples/fleet-beam/pipeline.go":      "a copy in a temporary directory",
	"examples/internal/apptest/apptest.go": "tests",
	"examples/internal/apptest/server.go":  "tests",
}

// tools are directories that no program links.
var tools = []string{"internal/tools", "internal/browsertests", "internal/gen", "internal/arch", "internal/whole",
	"internal/testdata", "examples/internal/agree", "internal/atomicfile", "testdata", ".git"}

// TestFilesAreOpenedInOnePlace: what is read is known as an input, and what is
// written is checked against the inputs, only where all go through this package.
func TestFilesAreOpenedInOnePlace(t *testing.T) {
	calls := []string{"Open", "OpenFile", "ReadFile", "Create", "WriteFile", "Rename", "Truncate"}
	used, seen := map[string]bool{}, 0
	err := fs.WalkDir(os.DirFS(testdata.Root(t)), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(tools, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Join(testdata.Root(t), name), nil, 0)
		if err != nil {
			return err
		}
		seen++
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" && slices.Contains(calls, sel.Sel.Name) {
				used[name] = true
				if direct[name] == "" {
					t.Errorf("%s calls os.%s: use atomicfile.Open or atomicfile.Write, which keep inputs from being replaced", name,
						sel.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 100 {
		t.Fatalf("%d files were looked at: %v", seen, err)
	}
	for name := range direct {
		if !used[name] {
			t.Errorf("%s opens no files, or is gone: take it off the list", name)
		}
	}
}
