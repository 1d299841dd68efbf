package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
}

func (s site) where() string { return fmt.Sprintf("%s:%d", filepath.ToSlash(s.file), s.line) }

// sitesOf finds the places of a kind in the sources of a package of the copy at
// root, tests apart, in order: the module itself may be edited meanwhile.
func sitesOf(root, pkg string, k kind) ([]site, error) {
	list, err := os.ReadDir(filepath.Join(root, pkg))
	if err != nil {
		return nil, err
	}
	var all []site
	for _, e := range list {
		if e.IsDir() || filepath.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		path := filepath.Join(pkg, e.Name())
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		found, err := sitesIn(path, data, k)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no place to change in %s", pkg)
	}
	return all, nil
}

// sitesIn finds the places of a file. Numbers that only give a size or a position
// are left out: array lengths, indices, capacities, bit sizes, base of a format.
func sitesIn(path string, src []byte, k kind) ([]site, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var sites []site
	add := func(pos token.Pos, text string) {
		p := files.Position(pos)
		sites = append(sites, site{file: path, line: p.Line, at: p.Offset, text: text, kind: k})
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.ArrayType:
			return false
		case *ast.IndexExpr:
			if _, literal := n.Index.(*ast.BasicLit); literal {
				return false
			}
		case *ast.SliceExpr:
			return false
		case *ast.CallExpr:
			return !sizes(n)
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
	return sites, nil
}

// sizes reports whether a call's numbers are sizes and bases: make, strconv, and
// comparisons inside them are rare.
func sizes(call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name == "make"
	case *ast.SelectorExpr:
		pkg, ok := fun.X.(*ast.Ident)
		return ok && pkg.Name == "strconv"
	}
	return false
}

// swaps says what becomes of a comparison: its boundary moves, or it turns round.
var swaps = map[token.Token][2]string{
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.EQL: {"!=", "!="}, token.NEQ: {"==", "=="},
}

// mutated is what the place says instead.
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
