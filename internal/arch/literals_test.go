package arch

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// literals has the functions that compare words which other programs spell, such as the keys of a format, each with
// the number of its literals and the reason: "PACKAGE:FUNCTION NUMBER | REASON". Words of this module are constants.
//
//go:embed literals.txt
var literals string

// CheckLiterals reports words that are compared outside of the functions of the list, and entries that no longer hold.
// Command literals of the developers' tools has the check of types: no value of a closed set meets a literal.
func CheckLiterals(s *Source, list string) []string {
	words := map[string][]string{}
	for _, p := range s.Packages {
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, d := range f.AST.Decls {
				in := cmp.Or(p.Dir, ".") + ":" + declared(d)
				for _, lit := range comparedLiterals(d) {
					words[in] = append(words[in], fmt.Sprintf("%s: %s", s.Fset.Position(lit.Pos()), lit.Value))
				}
			}
		}
	}
	var bad []string
	for line := range strings.Lines(list) {
		var function string
		var count int
		entry, reason, _ := strings.Cut(strings.TrimSpace(line), " | ")
		if _, err := fmt.Sscan(entry, &function, &count); err != nil || reason == "" {
			bad = append(bad, fmt.Sprintf("want PACKAGE:FUNCTION NUMBER | REASON: %q", line))
			continue
		}
		if has := len(words[function]); has != count {
			bad = append(bad, fmt.Sprintf("%s compares %d literals, %d are listed", function, has, count))
		}
		delete(words, function)
	}
	for _, in := range slices.Sorted(maps.Keys(words)) {
		for _, at := range words[in] {
			bad = append(bad, fmt.Sprintf("%s compared in %s: name the constant, or list the reader of a format", at, in))
		}
	}
	return bad
}

// comparedLiterals are the literals with a letter that a declaration compares by ==, !=, case or EqualFold.
func comparedLiterals(d ast.Decl) (found []*ast.BasicLit) {
	add := func(values ...ast.Expr) {
		for _, v := range values {
			lit, ok := ast.Unparen(v).(*ast.BasicLit)
			if ok && lit.Kind == token.STRING && strings.ContainsFunc(lit.Value, unicode.IsLetter) {
				found = append(found, lit)
			}
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				add(n.X, n.Y)
			}
		case *ast.CaseClause:
			add(n.List...)
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "EqualFold" {
				add(n.Args...)
			}
		}
		return true
	})
	return found
}

// declared names a declaration: "Type.Method", "Function" or "variable".
func declared(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		of, _, _ := strings.Cut(types.ExprString(d.Recv.List[0].Type), "[")
		return strings.TrimPrefix(of, "*") + "." + d.Name.Name
	case *ast.GenDecl:
		if len(d.Specs) == 0 {
			return "declarations"
		}
		if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
			return v.Names[0].Name
		}
	}
	return "declarations"
}
