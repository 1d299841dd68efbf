// Command literals lists string literals that are compared with a value of a closed
// vocabulary, or become one outside of its constants. Each closed set of words of this
// module is a named type with documented constants, and a literal beside it is a second
// spelling that no compiler checks. A type is a vocabulary where its package declares a
// constant of it. Comparisons in tests are read, too; of calls, those of package strings that
// ask for a part.
//
// Outside of tests no string is compared with a literal at all, but in readers of formats:
// internal/arch has that rule, which needs no types.
//
//	go run ./literals ../..
//
// It prints a line for each, and exits with 1 if there are any.
package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	found, err := literals(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "literals:", err)
		os.Exit(2)
	}
	for _, line := range found {
		fmt.Println(line)
	}
	if len(found) > 0 {
		fmt.Fprintf(os.Stderr, "literals: %d literals: name the constant\n", len(found))
		os.Exit(1)
	}
}

// literals reads the packages of the module at dir.
func literals(dir string) ([]string, error) {
	mode := packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
		packages.NeedImports | packages.NeedModule
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Dir: dir, Tests: true}, "./...")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		c := checker{pkg: p, named: map[*ast.BasicLit]bool{}}
		for _, f := range p.Syntax {
			c.test = strings.HasSuffix(p.Fset.Position(f.Pos()).Filename, "_test.go")
			ast.Inspect(f, c.visit)
		}
		found = append(found, c.found...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil // files of a package are read again with its tests
}

type checker struct {
	pkg   *packages.Package
	test  bool                   // whether the file is one of tests
	named map[*ast.BasicLit]bool // literals that were compared
	found []string
}

func (c *checker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST // where words are spelled
	case *ast.BasicLit:
		c.made(n)
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			c.compare(n.X, n.Y)
			c.compare(n.Y, n.X)
		}
	case *ast.CallExpr:
		if asksForPart(n) {
			c.compare(n.Args[0], n.Args[1])
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			return true
		}
		for _, clause := range n.Body.List {
			for _, value := range clause.(*ast.CaseClause).List {
				c.compare(n.Tag, value)
			}
		}
	}
	return true
}

// partsOf are the functions of package strings that compare a part of their first argument with the second.
var partsOf = []string{"Contains", "EqualFold", "HasPrefix", "HasSuffix", "CutPrefix", "CutSuffix", "TrimPrefix",
	"TrimSuffix"}

func asksForPart(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 2 || !slices.Contains(partsOf, fun.Sel.Name) {
		return false
	}
	pkg, ok := fun.X.(*ast.Ident)
	return ok && pkg.Name == "strings"
}

// made notes a literal that becomes a word of a vocabulary outside the declarations of
// its constants: a misspelled one is a word that no table has.
func (c *checker) made(lit *ast.BasicLit) {
	value := c.pkg.TypesInfo.Types[lit]
	if c.test || c.named[lit] || value.Value == nil || value.Value.Kind() != constant.String ||
		constant.StringVal(value.Value) == "" {
		return
	}
	if name := c.closed(value.Type); name != "" {
		c.note(lit, name+" made of")
	}
}

// compare notes a value of a vocabulary beside a literal that is a word: "" is the
// absence of one.
func (c *checker) compare(value, literal ast.Expr) {
	lit, ok := ast.Unparen(literal).(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING || constant.StringVal(c.pkg.TypesInfo.Types[lit].Value) == "" {
		return
	}
	name := c.vocabulary(value)
	if name == "" {
		return
	}
	c.named[lit] = true
	c.note(lit, name+" compared with")
}

func (c *checker) note(lit *ast.BasicLit, what string) {
	at := c.pkg.Fset.Position(lit.Pos())
	file := at.Filename
	if m := c.pkg.Module; m != nil {
		file = strings.TrimPrefix(file, m.Dir+"/")
	}
	c.found = append(c.found, fmt.Sprintf("%s:%d: %s %s", file, at.Line, what, lit.Value))
}

// vocabulary names the closed set of words that a value is of, also where it was
// converted to a string or asked for its String; "" if of none.
func (c *checker) vocabulary(value ast.Expr) string {
	value = ast.Unparen(value)
	if name := c.closed(c.pkg.TypesInfo.TypeOf(value)); name != "" {
		return name
	}
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return ""
	}
	fun, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if ok && fun.Sel.Name == "String" && len(call.Args) == 0 && !c.test { // a test of String compares spellings
		return c.closed(c.pkg.TypesInfo.TypeOf(fun.X))
	}
	if len(call.Args) == 1 && c.pkg.TypesInfo.Types[call.Fun].IsType() {
		return c.closed(c.pkg.TypesInfo.TypeOf(call.Args[0]))
	}
	return ""
}

// ours reports whether a package is of the module that is read.
func (c *checker) ours(p *types.Package) bool {
	return c.pkg.Module != nil && strings.HasPrefix(p.Path(), c.pkg.Module.Path)
}

// closed names a defined type of this module for which its package declares a constant
// that is more than the absence of a word.
func (c *checker) closed(t types.Type) string {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !c.ours(named.Obj().Pkg()) {
		return ""
	}
	basic, ok := named.Underlying().(*types.Basic)
	if !ok || basic.Info()&(types.IsString|types.IsInteger) == 0 {
		return ""
	}
	scope := named.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		k, ok := scope.Lookup(name).(*types.Const)
		if ok && types.Identical(k.Type(), named) && k.Val().ExactString() != `""` {
			return named.Obj().Pkg().Name() + "." + named.Obj().Name()
		}
	}
	return ""
}
