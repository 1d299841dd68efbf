package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
)

// Source is the parsed Go code of one module: every file of every package,
// whatever its build constraints say.
type Source struct {
	// Module is the module's path, the prefix of its own import paths.
	Module string
	// Fset holds the positions of all files; names are relative to the root.
	Fset *token.FileSet
	// Packages is ordered by directory.
	Packages []*Package
}

// Package is the Go files of one directory, test files of both kinds included.
type Package struct {
	// Dir is the slash-separated directory relative to the root, "." for it.
	Dir string
	// Name is the package name of the non-test files, or of the test files
	// without their _test suffix where there are no others.
	Name string
	// Files is ordered by name.
	Files []*File
}

// File is one parsed Go file.
type File struct {
	// Path is slash-separated and relative to the module's root.
	Path string
	// Test recognises a _test.go file.
	Test bool
	// Generated recognises a file with the standard "Code generated" line.
	Generated bool
	// Imports holds the import paths in the order of the file.
	Imports []string
	// AST is the syntax tree with comments, Text what it was parsed from.
	AST  *ast.File
	Text string
}

// Load parses all packages below the root of fsys as the module of that path.
// Nested modules, hidden directories and testdata directories are left out,
// except for internal/testdata, which is a package of this module.
func Load(fsys fs.FS, module string) (*Source, error) {
	src := &Source{Module: module, Fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if dir != "." && skipDir(fsys, dir) {
			return fs.SkipDir
		}
		pkg, err := loadDir(fsys, src.Fset, dir)
		if err != nil {
			return err
		}
		if pkg != nil {
			src.Packages = append(src.Packages, pkg)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("arch: %w", err)
	}
	sort.Slice(src.Packages, func(i, j int) bool { return src.Packages[i].Dir < src.Packages[j].Dir })
	return src, nil
}

// skipDir reports whether a directory holds no package of the module.
func skipDir(fsys fs.FS, dir string) bool {
	base := path.Base(dir)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "vendor" {
		return true
	}
	if base == "testdata" && dir != "internal/testdata" {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

// loadDir parses the Go files directly in dir, nil where there are none.
func loadDir(fsys fs.FS, fset *token.FileSet, dir string) (*Package, error) {
	entries, err := fs.ReadDir(fsys, dir) // sorted by name
	if err != nil {
		return nil, err
	}
	pkg := &Package{Dir: dir}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		f, err := loadFile(fsys, fset, path.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		pkg.Files = append(pkg.Files, f)
		if pkg.Name == "" || !f.Test {
			pkg.Name = strings.TrimSuffix(f.AST.Name.Name, "_test")
		}
	}
	if len(pkg.Files) == 0 {
		return nil, nil
	}
	return pkg, nil
}

// loadFile parses one file.
func loadFile(fsys fs.FS, fset *token.FileSet, name string) (*File, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	tree, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &File{
		Path:      name,
		Test:      strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(tree),
		AST:       tree,
		Text:      string(text),
	}
	for _, spec := range tree.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		f.Imports = append(f.Imports, p)
	}
	return f, nil
}

// local returns the directory of an import path of this module, and whether it
// is one.
func (s *Source) local(importPath string) (string, bool) {
	if importPath == s.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, s.Module+"/")
}

// find returns the package of a directory, nil where there is none.
func (s *Source) find(dir string) *Package {
	i := sort.Search(len(s.Packages), func(i int) bool { return s.Packages[i].Dir >= dir })
	if i < len(s.Packages) && s.Packages[i].Dir == dir {
		return s.Packages[i]
	}
	return nil
}

// testOnly reports whether the package consists of test files.
func (p *Package) testOnly() bool {
	for _, f := range p.Files {
		if !f.Test {
			return false
		}
	}
	return true
}
