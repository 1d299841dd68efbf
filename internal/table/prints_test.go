package table_test

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

// prints are the functions of the product that write text to a writer as it is, and why nothing of a trace acts there.
var prints = map[string]string{
	"examples/internal/app": "writes to what Exec made, which cleans, errors after table.Clean, JSON as it " +
		"was encoded, and Markdown after EscapeMarkdown",
	"examples/internal/command":      "writes its own words, and what is typed after table.Clean",
	"examples/internal/programs":     "writes to Env.Stdout and Env.Stderr, which clean",
	"internal/table":                 "is what cleans",
	"internal/gate/junit.go":         "writes an XML header; the encoder writes all else",
	"internal/published/report.go":   "writes names of its own and numbers",
	"internal/eventjson/write.go":    "writes JSON, texts by an encoder",
	"examples/embed":                 "an example of the library: errors name files",
	"examples/fleet-beam/main.go":    "a program of another module: errors name files",
	"examples/fleet-parquet/main.go": "a program of another module: errors name files",
	"examples/mcp/main.go":           "a program of another module: errors name files",
}

// printing are directories whose programs users do not run on traces.
var printing = []string{"internal/tools", "internal/browsertests", "internal/gen", "internal/arch", "internal/whole",
	"internal/testdata", "examples/internal/agree", "testdata", ".git"}

// TestTextIsPrintedCleaned: where a function is given an io.Writer, it writes to
// it through a Writer or Cleaner of this package, or an encoder, never by itself;
// and nobody writes to the standard streams but package app.
func TestTextIsPrintedCleaned(t *testing.T) {
	seen := 0
	err := fs.WalkDir(os.DirFS(testdata.Root(t)), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(printing, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for at := range prints {
			if name == at || strings.HasPrefix(name, at+"/") {
				return nil
			}
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path.Join(testdata.Root(t), name), nil, 0)
		if err != nil {
			return err
		}
		seen++
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				for _, bad := range direct(f) {
					t.Errorf("%s: %s", fset.Position(bad.Pos()),
						"prints as it is: use table.NewWriter or table.NewCleaner")
				}
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Fatalf("%d files were looked at: %v", seen, err)
	}
}

// direct returns the calls that print text to a writer that the function was given, or to a standard stream.
func direct(f *ast.FuncDecl) []ast.Node {
	var out []ast.Node
	given := map[string]bool{}
	take := func(ft *ast.FuncType) {
		for _, p := range ft.Params.List {
			if s, ok := p.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Writer" && isIdent(s.X, "io") {
				for _, n := range p.Names {
					given[n.Name] = true
				}
			}
		}
	}
	take(f.Type)
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			take(n.Type)
		case *ast.SelectorExpr:
			if isIdent(n.X, "os") && (n.Sel.Name == "Stdout" || n.Sel.Name == "Stderr") {
				out = append(out, n)
			}
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if ok && isIdent(s.X, "fmt") && strings.HasPrefix(s.Sel.Name, "Print") {
				out = append(out, n)
			}
			if !ok || len(n.Args) == 0 {
				return true
			}
			to, plain := n.Args[0].(*ast.Ident)
			switch {
			case plain && given[to.Name] && (isIdent(s.X, "fmt") && strings.HasPrefix(s.Sel.Name, "Fprint") ||
				isIdent(s.X, "io") && s.Sel.Name == "WriteString"):
				out = append(out, n)
			}
		}
		return true
	})
	return out
}

func isIdent(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// TestPrintsAreFound: the check finds what it is for.
func TestPrintsAreFound(t *testing.T) {
	const src = `package p
func a(w io.Writer) { fmt.Fprintf(w, "x") }
func b(w io.Writer) { fmt.Fprintf(table.NewWriter(w), "x"); b := table.NewWriter(w); fmt.Fprintln(b) }
func c() { fmt.Println() }
func d() { f(func(w io.Writer) { io.WriteString(w, "x") }); x.Stdout = os.Stdout }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0, 1, 2} {
		if got := len(direct(file.Decls[i].(*ast.FuncDecl))); got != want {
			t.Errorf("function %d: %d prints are found, want %d", i, got, want)
		}
	}
}
