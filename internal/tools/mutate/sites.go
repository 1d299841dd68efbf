package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"strconv"
)

// Kinds of change.
const (
	number     = "number"
	comparison = "comparison"
)

// site is a place that can be changed: text at an offset of a file.
type site struct {
	file     string // below the module's root
	line, at int
	column   int
	kind     string
	text     string
	becomes  []string
}

// sitesIn finds the places of a kind in a file. Numbers that only give a size or a
// position are left out: array lengths, indices, capacities, bit sizes, bases.
func sitesIn(path string, source []byte, kind string) ([]site, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var sites []site
	add := func(pos token.Pos, text string, becomes ...string) {
		p := files.Position(pos)
		sites = append(sites, site{file: path, line: p.Line, at: p.Offset, column: p.Column, kind: kind, text: text,
			becomes: becomes})
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if kind == number && (n.Kind == token.INT || n.Kind == token.FLOAT) {
				add(n.Pos(), n.Value, otherNumbers(n.Value)...)
			}
		case *ast.BinaryExpr:
			if kind == comparison && swaps[n.Op] != nil {
				add(n.OpPos, n.Op.String(), swaps[n.Op]...)
			}
		}
		return n == nil || !onlySize(n)
	})
	return sites, nil
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
var swaps = map[token.Token][]string{
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.EQL: {"!="}, token.NEQ: {"=="},
}

// otherNumbers are what may replace a number.
func otherNumbers(text string) []string {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		switch {
		case n == 0:
			return []string{"1"}
		case n == 1: // of −1, which says that there is none, too: −0
			return []string{"0", "2"}
		}
		return []string{"0", strconv.FormatInt(n+1, 10), text + "0"}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f == 0 {
		return []string{"1.0"}
	}
	return []string{"0", strconv.FormatFloat(f*1.5, 'f', -1, 64), strconv.FormatFloat(f*10, 'f', -1, 64)}
}

// mutant is a site with what it becomes.
type mutant struct {
	site
	to string
}

// sample draws places in the order of a seed.
func sample(sites []site, seed uint64) []mutant {
	rng := rand.New(rand.NewPCG(seed, uint64(len(sites))))
	mutants := make([]mutant, 0, len(sites))
	for _, i := range rng.Perm(len(sites)) {
		to := sites[i].becomes
		mutants = append(mutants, mutant{sites[i], to[rng.IntN(len(to))]})
	}
	return mutants
}
