package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// forbiddenNames are package names that say nothing about what is inside.
var forbiddenNames = map[string]bool{
	"util": true, "utils": true, "common": true, "types": true, "helper": true, "helpers": true,
	"misc": true, "base": true, "shared": true, "lib": true, "manager": true,
}

// CheckNames reports packages with a name that says nothing.
func CheckNames(s *Source) []string {
	var bad []string
	for _, p := range s.Packages {
		if forbiddenNames[p.Name] || forbiddenNames[path.Base(p.Dir)] {
			bad = append(bad, fmt.Sprintf("%s: package %s: the name says nothing about what is inside", p.Dir, p.Name))
		}
	}
	return bad
}

// CheckPackageDocs reports packages without a package comment. Packages of tests
// only need none.
func CheckPackageDocs(s *Source) []string {
	var bad []string
	for _, p := range s.Packages {
		if p.testOnly() {
			continue
		}
		documented := false
		for _, f := range p.Files {
			if f.Test || f.AST.Doc == nil {
				continue
			}
			documented = true
		}
		if !documented {
			bad = append(bad, fmt.Sprintf("%s: package %s has no package comment", p.Dir, p.Name))
		}
	}
	return bad
}

// CheckSymbolDocs reports exported names without a doc comment: types,
// functions, methods of exported types, constants, variables, and exported
// fields of exported structs. A comment on a group, or at the end of the line,
// documents constants, variables and fields; a field's comment also covers the
// fields on the lines right below it. Fields with a json tag are result data,
// whose names carry their units: the type's comment is enough for them. The
// comment of a type or function begins with its name. Error and Unwrap methods
// say what the error interface says and need none.
func CheckSymbolDocs(s *Source) []string {
	var bad []string
	for _, p := range s.Packages {
		if p.Name == "main" {
			continue
		}
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			bad = append(bad, undocumented(s.Fset, f)...)
		}
	}
	return bad
}

// undocumented lists the exported names of one file that lack a comment.
func undocumented(fset *token.FileSet, f *File) []string {
	var bad []string
	report := func(at ast.Node, what string) {
		pos := fset.Position(at.Pos())
		bad = append(bad, fmt.Sprintf("%s:%d: %s", f.Path, pos.Line, what))
	}
	for _, decl := range f.AST.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() || (d.Recv != nil && !exportedReceiver(d.Recv)) {
				continue
			}
			if d.Recv != nil && (d.Name.Name == "Error" || d.Name.Name == "Unwrap") {
				continue
			}
			if why := named(d.Doc, d.Name.Name); why != "" {
				report(d, "func "+d.Name.Name+why)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch sp := spec.(type) {
				case *ast.TypeSpec:
					if !sp.Name.IsExported() {
						continue
					}
					doc := sp.Doc
					if doc == nil && len(d.Specs) == 1 {
						doc = d.Doc
					}
					if why := named(doc, sp.Name.Name); why != "" {
						report(sp, "type "+sp.Name.Name+why)
					}
					// Fields are part of the interface where users import the package.
					public := !internal(path.Dir(f.Path)) && !within(f.Path, "examples")
					if st, ok := sp.Type.(*ast.StructType); ok && public {
						for _, field := range bareFields(fset, st) {
							// The type's own comment may speak of its fields by name.
							if strings.Contains(doc.Text(), field.Name) {
								continue
							}
							report(field, "field "+sp.Name.Name+"."+field.Name+" has no comment")
						}
					}
				case *ast.ValueSpec:
					if d.Doc != nil || sp.Doc != nil || sp.Comment != nil {
						continue
					}
					for _, name := range sp.Names {
						if name.IsExported() {
							report(name, d.Tok.String()+" "+name.Name+" has no comment")
						}
					}
				}
			}
		}
	}
	return bad
}

// named says what is wrong with the doc comment of name, "" where it is there
// and its first sentence begins with the name (an article may come before it).
func named(doc *ast.CommentGroup, name string) string {
	if doc == nil {
		return " has no doc comment"
	}
	words := strings.Fields(doc.Text())
	for i := 0; i < len(words) && i < 2; i++ {
		if strings.TrimRight(words[i], ".,:;'s") == name || words[i] == name {
			return ""
		}
	}
	if len(words) > 0 && strings.HasPrefix(words[0], "Deprecated:") {
		return ""
	}
	return ": its doc comment does not begin with its name"
}

// exportedReceiver reports whether a method belongs to an exported type.
func exportedReceiver(recv *ast.FieldList) bool {
	expr := recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.Ident:
			return e.IsExported()
		default:
			return false
		}
	}
}

// bareFields returns the exported named fields that no comment covers.
func bareFields(fset *token.FileSet, st *ast.StructType) []*ast.Ident {
	var bare []*ast.Ident
	covered, last := false, -1
	for _, field := range st.Fields.List {
		start := field.Pos()
		if field.Doc != nil {
			start = field.Doc.Pos()
		}
		adjacent := last >= 0 && fset.Position(start).Line <= last+1
		covered = field.Doc != nil || field.Comment != nil || (adjacent && covered)
		last = fset.Position(field.End()).Line
		if covered || field.Tag != nil && strings.Contains(field.Tag.Value, `json:"`) {
			continue
		}
		for _, name := range field.Names { // embedded fields have none
			if name.IsExported() {
				bare = append(bare, name)
			}
		}
	}
	return bare
}

// dialect are the words that comments avoid: traces do not tell, passes do not stand, and a clause within a clause
// needs two readings.
var dialect = regexp.MustCompile(`(?i)\b(stands?|stood|tells?|told|hears?|heard|in front|of which|that which|sure)\b`)

// CheckComments reports comments outside of tests with words that the house avoids.
func CheckComments(s *Source) []string {
	var bad []string
	for _, p := range s.Packages {
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, group := range f.AST.Comments {
				for _, c := range group.List {
					if word := dialect.FindString(c.Text); word != "" {
						bad = append(bad, fmt.Sprintf("%s: a comment says %q", s.Fset.Position(c.Pos()), word))
					}
				}
			}
		}
	}
	return bad
}

// columns are the most characters of a line of code.
const columns = 120

// CheckLines reports lines outside of tests that are too long without the text of a literal being so: a name of a
// kernel, a document or a pattern is not broken, a sentence is.
func CheckLines(s *Source) []string {
	var bad []string
	for _, p := range s.Packages {
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			literals := map[int]int{} // characters by line
			ast.Inspect(f.AST, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				first := s.Fset.Position(lit.Pos()).Line
				for i, text := range strings.Split(lit.Value, "\n") {
					if !sentence(text) {
						literals[first+i] += utf8.RuneCountInString(text)
					}
				}
				return true
			})
			for i, line := range strings.Split(f.Text, "\n") {
				if n := utf8.RuneCountInString(line); n > columns && n-literals[i+1] > columns/2 {
					bad = append(bad, fmt.Sprintf("%s:%d: %d columns, want at most %d", f.Path, i+1, n, columns))
				}
			}
		}
	}
	return bad
}

// plainWord is a word of a sentence.
var plainWord = regexp.MustCompile(`^["'(]*[A-Za-z][a-z-]*[)'.,:;?"]*$`)

// sentence reports whether most words of a literal are those of a sentence.
func sentence(lit string) bool {
	words, plain := strings.Fields(lit), 0
	for _, w := range words {
		if plainWord.MatchString(w) {
			plain++
		}
	}
	return len(words) > 5 && 2*plain > len(words) && !strings.Contains(lit, "::") && !strings.Contains(lit, `{"`)
}
