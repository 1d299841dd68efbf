package documents

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

const module = "github.com/llmstrata/strata"

// comments reads what the sources say about types, fields and constants.
type comments struct {
	t        *testing.T
	root     string
	packages map[string]*parsed // by import path
}

// parsed are the type declarations of a package.
type parsed struct {
	fset  *token.FileSet
	types map[string]*ast.TypeSpec
	docs  map[string]string
	// words are the constants of named string types, in their order.
	words map[string][]string
}

func newComments(t *testing.T) *comments {
	return &comments{t, testdata.Root(t), map[string]*parsed{}}
}

// of reads a package of the module; nil for others.
func (c *comments) of(path string) *parsed {
	dir, ours := strings.CutPrefix(path, module)
	if !ours {
		return nil
	}
	if p := c.packages[path]; p != nil {
		return p
	}
	p := &parsed{token.NewFileSet(), map[string]*ast.TypeSpec{}, map[string]string{}, map[string][]string{}}
	c.packages[path] = p
	dir = filepath.Join(c.root, filepath.FromSlash(dir))
	entries, err := os.ReadDir(dir)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(p.fset, filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				p.read(g)
			}
		}
	}
	return p
}

func (p *parsed) read(g *ast.GenDecl) {
	for _, s := range g.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			p.types[s.Name.Name] = s
			p.docs[s.Name.Name] = oneLine(s.Doc, s.Comment)
			if p.docs[s.Name.Name] == "" && len(g.Specs) == 1 {
				p.docs[s.Name.Name] = oneLine(g.Doc)
			}
		case *ast.ValueSpec:
			name, ok := s.Type.(*ast.Ident)
			if g.Tok != token.CONST || !ok || len(s.Values) != 1 {
				continue
			}
			if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if word, err := strconv.Unquote(lit.Value); err == nil {
					p.words[name.Name] = append(p.words[name.Name], word)
				}
			}
		}
	}
}

// structOf returns the syntax of a named struct type, nil where it is another thing.
func (c *comments) structOf(t reflect.Type) *ast.StructType {
	p := c.of(t.PkgPath())
	if p == nil || p.types[t.Name()] == nil {
		return nil
	}
	st, _ := p.types[t.Name()].Type.(*ast.StructType)
	return st
}

// typeDoc is the comment of a named type.
func (c *comments) typeDoc(t reflect.Type) string {
	if p := c.of(t.PkgPath()); p != nil {
		return p.docs[t.Name()]
	}
	return ""
}

// words are the documented values of a named string type.
func (c *comments) words(t reflect.Type) []string {
	if p := c.of(t.PkgPath()); p != nil {
		return p.words[t.Name()]
	}
	return nil
}

// fields returns the comment of each field of a struct, "" where there is none. A comment covers the fields on the
// lines right below it that have none.
func (c *comments) fields(pkg string, st *ast.StructType) map[string]string {
	out := map[string]string{}
	if st == nil {
		return out
	}
	fset, last, group := c.of(pkg).fset, -1, ""
	for _, f := range st.Fields.List {
		begin := f.Pos()
		if f.Doc != nil {
			begin = f.Doc.Pos()
		}
		if fset.Position(begin).Line > last+1 {
			group = ""
		}
		last = fset.Position(f.End()).Line
		text := oneLine(f.Doc, f.Comment)
		if f.Doc != nil {
			group = oneLine(f.Doc)
		}
		if text == "" {
			text = group
		}
		for _, n := range f.Names {
			out[n.Name] = text
		}
	}
	return out
}

// nested returns the struct that a field is of where that has no name: of the field itself, or of its elements.
func nested(st *ast.StructType, field string) *ast.StructType {
	if st == nil {
		return nil
	}
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			if n.Name != field {
				continue
			}
			for e := f.Type; ; {
				switch x := e.(type) {
				case *ast.StructType:
					return x
				case *ast.StarExpr:
					e = x.X
				case *ast.ArrayType:
					e = x.Elt
				case *ast.MapType:
					e = x.Value
				default:
					return nil
				}
			}
		}
	}
	return nil
}

// oneLine joins comments, without line breaks and links to names.
func oneLine(groups ...*ast.CommentGroup) string {
	var out []string
	for _, g := range groups {
		out = append(out, strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(g.Text()))...)
	}
	return strings.Join(out, " ")
}
