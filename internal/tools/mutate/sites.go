package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"strconv"
)

// kind is what a mutant changes.
type kind uint8

const (
	number kind = iota
	comparison
)

func (k kind) String() string { return [...]string{"number", "comparison"}[k] }

// site is a place that can be changed: text at an offset of a file.
type site struct {
	file     string // below the module's root
	line, at int
	text     string
	kind     kind
	path     []ast.Node // from the file to the literal or the comparison
}

func (s site) where() string { return fmt.Sprintf("%s:%d", filepath.ToSlash(s.file), s.line) }

// sitesIn finds the places of a file. Numbers that only give a size or a position
// are left out: array lengths, indices, capacities, bit sizes, base of a format.
func sitesIn(files *token.FileSet, path string, f *ast.File, k kind) []site {
	var sites []site
	var stack []ast.Node
	add := func(pos token.Pos, text string) {
		p := files.Position(pos)
		sites = append(sites, site{file: path, line: p.Line, at: p.Offset, text: text, kind: k,
			path: append([]ast.Node(nil), stack...)})
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if onlySize(n) {
			return false
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.BasicLit:
			if k == number && (n.Kind == token.INT || n.Kind == token.FLOAT) {
				add(n.Pos(), n.Value)
			}
		case *ast.BinaryExpr:
			if _, ok := swaps[n.Op]; ok && k == comparison {
				add(n.OpPos, n.Op.String())
			}
		}
		return true
	})
	return sites
}

// onlySize reports whether the numbers below a node are sizes, positions and bases.
func onlySize(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.ArrayType, *ast.SliceExpr:
		return true
	case *ast.IndexExpr:
		_, literal := n.Index.(*ast.BasicLit)
		return literal
	case *ast.CallExpr: // comparisons inside such calls are rare
		switch fun := n.Fun.(type) {
		case *ast.Ident:
			return fun.Name == "make"
		case *ast.SelectorExpr:
			pkg, ok := fun.X.(*ast.Ident)
			return ok && pkg.Name == "strconv"
		}
	}
	return false
}

// swaps says what becomes of a comparison: its boundary moves, or it turns round.
var swaps = map[token.Token][2]string{
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.EQL: {"!=", "!="}, token.NEQ: {"==", "=="},
}

// negative reports whether a minus stands before the number.
func (s site) negative() bool {
	if len(s.path) < 2 {
		return false
	}
	u, ok := s.path[len(s.path)-2].(*ast.UnaryExpr)
	return ok && u.Op == token.SUB
}

// mutated is what the place says instead. −1 becomes 0: it says that there is none
// nearly everywhere, and −2 would say the same.
func (s site) mutated(rng *rand.Rand) string {
	pick := rng.IntN(3)
	if s.kind == comparison {
		for op, to := range swaps {
			if op.String() == s.text {
				return to[pick%2]
			}
		}
	}
	if n, err := strconv.ParseInt(s.text, 0, 64); err == nil {
		switch {
		case n == 0:
			return "1"
		case n == 1 && s.negative():
			return "0"
		case pick == 0 || n == 1:
			return strconv.FormatInt(n+1, 10)
		case pick == 1 && n < 1<<58:
			return strconv.FormatInt(n*10, 10)
		}
		return "0"
	}
	f, err := strconv.ParseFloat(s.text, 64)
	if err != nil || f == 0 {
		return "1.0"
	}
	return strconv.FormatFloat(f*[3]float64{0, 1.5, 10}[pick], 'f', -1, 64)
}
