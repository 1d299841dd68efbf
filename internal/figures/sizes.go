package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// longFunction is how many lines fit a screen.
const longFunction = 60

// size is what a package is made of, tests apart.
type size struct {
	files, lines, statements int
	exported                 int // types, functions, methods of exported types, constants, variables; of public packages
	long                     int // functions over longFunction lines
}

func (s *size) add(o size) {
	s.files += o.files
	s.lines += o.lines
	s.statements += o.statements
	s.exported += o.exported
	s.long += o.long
}

// measure parses the packages of a checkout.
func measure(root string) (map[string]size, error) {
	packages := map[string]size{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && len(e.Name()) > 1 && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		s, err := measureFile(path, rel)
		if err != nil {
			return err
		}
		sum := packages[rel]
		sum.add(s)
		packages[rel] = sum
		return nil
	})
	return packages, err
}

// measureFile parses one file of the package in dir.
func measureFile(path, dir string) (size, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return size{}, err
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		return size{}, err
	}
	s := size{files: 1, lines: strings.Count(string(src), "\n")}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return true
		case ast.Stmt:
			s.statements++
		case *ast.FuncDecl:
			if files.Position(n.End()).Line-files.Position(n.Pos()).Line >= longFunction {
				s.long++
			}
		}
		return true
	})
	if public := f.Name.Name != "main" && !strings.Contains("/"+dir+"/", "/internal/"); public {
		for _, d := range f.Decls {
			s.exported += exported(d)
		}
	}
	return s, nil
}

// exported counts the exported names that a declaration declares.
func exported(d ast.Decl) int {
	n := 0
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported() {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				count(spec.Name)
			case *ast.ValueSpec:
				count(spec.Names...)
			}
		}
	}
	return n
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e
	}
	return &ast.Ident{Name: "_"}
}
