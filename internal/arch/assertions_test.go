package arch

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// failing are the methods of testing.TB that make a test fail.
var failing = map[string]bool{
	"Error": true, "Errorf": true, "Fatal": true, "Fatalf": true, "Fail": true, "FailNow": true,
}

// CheckAssertions reports test functions that cannot fail: a TestX or FuzzX
// that neither calls a failing method of testing.TB nor a function of this
// module that does with it, and an Example without an output comment. It
// reads syntax only: a function counts as failing when a call like t.Errorf
// is in it, or a call to another such function. Package internal/testdata
// does not count: finding a file is no assertion.
func CheckAssertions(s *Source) []string {
	funcs := indexFuncs(s)
	var bad []string
	for _, p := range s.Packages {
		for _, f := range p.Files {
			if !f.Test {
				continue
			}
			for _, decl := range f.AST.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Recv != nil || fn.Body == nil {
					continue
				}
				pos := s.Fset.Position(fn.Pos())
				switch kind(fn) {
				case "test":
					if !funcs.asserts(p.Dir, f, fn, map[*ast.FuncDecl]bool{}) {
						bad = append(bad, fmt.Sprintf("%s:%d: %s cannot fail: no assertion in it", f.Path, pos.Line,
							fn.Name.Name))
					}
				case "example":
					if !hasOutput(f, fn) {
						bad = append(bad, fmt.Sprintf("%s:%d: %s has no output comment, so it is not run", f.Path,
							pos.Line, fn.Name.Name))
					}
				}
			}
		}
	}
	return bad
}

// CheckOneWay reports tests that ask testing.Short: testdata.Long says what is left out.
func CheckOneWay(s *Source) []string {
	var bad []string
	for _, p := range s.Packages {
		for _, f := range p.Files {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Short" {
					if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "testing" {
						bad = append(bad, fmt.Sprintf("%s:%d: testing.Short: ask testdata.Long", f.Path,
							s.Fset.Position(n.Pos()).Line))
					}
				}
				return true
			})
		}
	}
	return bad
}

// CheckExamples reports public packages without an example: an importer's
// first question is what a call looks like.
func CheckExamples(s *Source) []string {
	var bad []string
	for _, p := range s.Packages {
		if p.Name == "main" || p.testOnly() || within(p.Dir, "internal") || strings.Contains(p.Dir, "/internal/") ||
			within(p.Dir, "examples") || within(p.Dir, "docs") {
			continue
		}
		found := false
		for _, f := range p.Files {
			for _, decl := range f.AST.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && f.Test && fn.Recv == nil && kind(fn) == "example" {
					found = true
				}
			}
		}
		if !found {
			bad = append(bad, fmt.Sprintf("%s: package %s has no example function", p.Dir, p.Name))
		}
	}
	return bad
}

// kind says what the go command makes of a function in a test file.
func kind(fn *ast.FuncDecl) string {
	name := fn.Name.Name
	params := fn.Type.Params.NumFields()
	switch {
	case name == "TestMain":
		return ""
	case strings.HasPrefix(name, "Test") && params == 1, strings.HasPrefix(name, "Fuzz") && params == 1:
		return "test"
	case strings.HasPrefix(name, "Example") && params == 0:
		return "example"
	}
	return ""
}

// located is a function with the file that holds it.
type located struct {
	file *File
	fn   *ast.FuncDecl
}

// funcIndex finds the functions and methods of the module by directory and
// name. Methods of one name are not separated: syntax alone cannot.
type funcIndex struct {
	src   *Source
	byDir map[string]map[string][]located
}

// indexFuncs builds the index.
func indexFuncs(s *Source) *funcIndex {
	ix := &funcIndex{src: s, byDir: map[string]map[string][]located{}}
	for _, p := range s.Packages {
		names := map[string][]located{}
		for _, f := range p.Files {
			for _, decl := range f.AST.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
					names[fn.Name.Name] = append(names[fn.Name.Name], located{f, fn})
				}
			}
		}
		ix.byDir[p.Dir] = names
	}
	return ix
}

// asserts reports whether fn, or a function of the module that it calls with a
// testing value, can fail a test.
func (ix *funcIndex) asserts(dir string, f *File, fn *ast.FuncDecl, seen map[*ast.FuncDecl]bool) bool {
	if seen[fn] {
		return false
	}
	seen[fn] = true
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if found {
			return false
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		found = ix.callAsserts(dir, f, call, seen)
		return !found
	})
	return found
}

// callAsserts reports whether one call can fail a test.
func (ix *funcIndex) callAsserts(dir string, f *File, call *ast.CallExpr, seen map[*ast.FuncDecl]bool) bool {
	fun := call.Fun
	if g, ok := fun.(*ast.IndexExpr); ok { // an instantiated generic function
		fun = g.X
	}
	switch e := fun.(type) {
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok {
			if failing[e.Sel.Name] && testingName(id.Name) {
				return true
			}
			if target, ok := ix.imported(f, id.Name); ok {
				return target != "internal/testdata" && ix.anyAsserts(target, e.Sel.Name, seen)
			}
		} else if failing[e.Sel.Name] { // h.t.Errorf
			if inner, ok := e.X.(*ast.SelectorExpr); ok && testingName(inner.Sel.Name) {
				return true
			}
		}
		return ix.anyAsserts(dir, e.Sel.Name, seen) // a method of a test helper
	case *ast.Ident:
		return ix.anyAsserts(dir, e.Name, seen)
	}
	return false
}

// anyAsserts reports whether any function or method of that name in a directory
// can fail a test.
func (ix *funcIndex) anyAsserts(dir, name string, seen map[*ast.FuncDecl]bool) bool {
	for _, l := range ix.byDir[dir][name] {
		if ix.asserts(dir, l.file, l.fn, seen) {
			return true
		}
	}
	return false
}

// imported returns the directory of the module's package that f calls name.
func (ix *funcIndex) imported(f *File, name string) (string, bool) {
	for _, spec := range f.AST.Imports {
		imp := strings.Trim(spec.Path.Value, "`\"")
		local := path.Base(imp)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local != name {
			continue
		}
		return ix.src.local(imp)
	}
	return "", false
}

// testingName recognises the usual names of a testing value.
func testingName(name string) bool {
	switch name {
	case "t", "tb", "b", "f", "T", "TB", "tt", "st":
		return true
	}
	return false
}

// hasOutput reports whether an example carries an output comment.
func hasOutput(f *File, fn *ast.FuncDecl) bool {
	for _, group := range f.AST.Comments {
		if group.Pos() < fn.Body.Pos() || group.End() > fn.Body.End() {
			continue
		}
		text := strings.ToLower(strings.TrimSpace(group.Text()))
		if strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:") {
			return true
		}
	}
	return false
}
