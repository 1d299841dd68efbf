package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is a package whose mutants are built into its test binaries: each is switched on by its number in the
// environment.
type source struct {
	path, name string
	files      []string // below the module's root
	texts      map[string][]byte
	importer   types.Importer
}

// edit is an expression that mutants change.
type edit struct {
	from, to int
	write    func(render func(from, to token.Pos) string) string
}

// checked is a package with the types of its expressions.
type checked struct {
	set   *token.FileSet
	files map[string]*ast.File
	info  types.Info
	pkg   *types.Package
}

// switches is the file that each package gets: it tells whether a mutant is on, and notes which ones are reached.
const switches = `package %s

import "os"

var mutantIs, mutantLog = os.Getenv("MUTANT"), os.Getenv("MUTANT_LOG")
var mutantSeen [1 << 12]bool

func mutantOn(id int, name string) bool {
	if mutantLog != "" && !mutantSeen[id] {
		mutantSeen[id] = true
		if f, err := os.OpenFile(mutantLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
			f.WriteString(name + "\n")
			f.Close()
		}
	}
	return mutantIs == name
}

func mutantNumber[T any](id int, name string, was, is T) T {
	if mutantOn(id, name) {
		return is
	}
	return was
}
`

const switchFile = "zz_mutants.go"

// exports finds the compiled packages that the sources import.
func exports(paths []string) (types.Importer, error) {
	args := append([]string{"list", "-export", "-test", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, paths...)
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, _ := strings.Cut(strings.TrimSpace(line), " "); !strings.HasPrefix(file, "[") {
			files[path] = file
		}
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	}), nil
}

// check finds the types of a package, some files of which are changed.
func (s *source) check(changed map[string][]byte) (*checked, error) {
	c := &checked{set: token.NewFileSet(), files: map[string]*ast.File{}}
	c.info.Types = map[ast.Expr]types.TypeAndValue{}
	var files []*ast.File
	add := func(name string, text []byte) error {
		f, err := parser.ParseFile(c.set, name, text, parser.SkipObjectResolution)
		files, c.files[name] = append(files, f), f
		return err
	}
	for _, name := range s.files {
		text := s.texts[name]
		if t, ok := changed[name]; ok {
			text = t
		}
		if err := add(name, text); err != nil {
			return nil, err
		}
	}
	if err := add(switchFile, fmt.Appendf(nil, switches, s.name)); err != nil {
		return nil, err
	}
	var err error
	c.pkg, err = (&types.Config{Importer: s.importer}).Check(s.path, c.set, files, &c.info)
	return c, err
}

// constants lists the largest constant expressions of a file that are no declarations, in order.
func (c *checked) constants(file string) (all []ast.Expr) {
	ast.Inspect(c.files[file], func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.ArrayType:
			return false
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case ast.Expr:
			if v := c.info.Types[n]; v.Value != nil {
				all = append(all, n)
				return false
			}
		}
		return true
	})
	return all
}

// switchName is what switches a mutant on.
func switchName(id int) string { return fmt.Sprint("m", id) }

// edits says what a mutant changes in each file; nil if it does not compile.
func (s *source) edits(plain *checked, m mutant, id int) (map[string][]edit, error) {
	name := switchName(id)
	on := fmt.Sprintf("mutantOn(%d, %q)", id, name)
	out := map[string][]edit{}
	offset := func(p token.Pos) int { return plain.set.Position(p).Offset }
	if m.kind == comparison {
		ast.Inspect(plain.files[m.file], func(n ast.Node) bool {
			b, ok := n.(*ast.BinaryExpr)
			if !ok || offset(b.OpPos) != m.at {
				return true
			}
			out[m.file] = []edit{{offset(b.Pos()), offset(b.End()), func(render func(from, to token.Pos) string) string {
				x, y := render(b.X.Pos(), b.X.End()), render(b.Y.Pos(), b.Y.End())
				switch text := x + " " + m.text + " " + y; {
				case m.to == m.text+"=": // the boundary belongs to it now
					return fmt.Sprintf("(%s || %s && %s == %s)", text, on, x, y)
				case m.text == m.to+"=":
					return fmt.Sprintf("(%s && !(%s && %s == %s))", text, on, x, y)
				default:
					return fmt.Sprintf("((%s) != %s)", text, on)
				}
			}}}
			return true
		})
		return out, nil
	}
	text := s.texts[m.file]
	changed, err := s.check(map[string][]byte{m.file: slices.Concat(text[:m.at], []byte(m.to), text[m.at+len(m.text):])})
	if err != nil {
		return nil, err
	}
	for _, file := range s.files {
		was, is := plain.constants(file), changed.constants(file)
		for i := range was {
			v := changed.info.Types[is[i]].Value
			t := plain.info.Types[was[i]]
			if constant.Compare(v, token.EQL, t.Value) {
				continue
			}
			kind := types.TypeString(types.Default(t.Type), types.RelativeTo(plain.pkg))
			if i := strings.LastIndexByte(kind, '/'); i >= 0 {
				kind = kind[i+1:]
			}
			out[file] = append(out[file], edit{offset(was[i].Pos()), offset(was[i].End()),
				func(render func(from, to token.Pos) string) string {
					return fmt.Sprintf("mutantNumber[%s](%d, %q, %s, %s)", kind, id, name, render(was[i].Pos(), was[i].End()),
						literal(v))
				}})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s changes no expression", m.text)
	}
	return out, nil
}

// literal is a constant as source.
func literal(v constant.Value) string {
	if v.Kind() == constant.Float {
		f, _ := constant.Float64Val(v)
		return fmt.Sprintf("%g", f)
	}
	return v.ExactString()
}

// apply is the text of a file with edits; of two edits of one expression the later one holds the earlier.
func (s *source) apply(plain *checked, file string, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	text := s.texts[file]
	var render func(from, to int, edits []edit) string
	render = func(from, to int, edits []edit) string {
		var out strings.Builder
		for i, e := range edits {
			if e.from < from || e.to > to {
				continue
			}
			out.Write(text[from:e.from])
			out.WriteString(e.write(func(a, b token.Pos) string {
				return render(plain.set.Position(a).Offset, plain.set.Position(b).Offset, edits[i+1:])
			}))
			from = e.to
		}
		out.Write(text[from:to])
		return out.String()
	}
	return []byte(render(0, len(text), edits))
}

// instrument writes the package's files with all mutants switched off into dir, for an overlay; it leaves out those
// that do not compile.
func (s *source) instrument(dir string, plain *checked, mutants []mutant) (map[string]string, error) {
	files := map[string][]edit{}
	for id, m := range mutants {
		if s.texts[m.file] == nil {
			continue
		}
		edits, err := s.edits(plain, m, id)
		if err != nil {
			return nil, err
		}
		for file, list := range edits {
			files[file] = append(files[file], list...)
		}
	}
	replace := map[string]string{}
	write := func(file string, text []byte) error {
		at, err := filepath.Abs(file)
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[at] = to
		return cmp.Or(err, os.WriteFile(to, text, 0o666))
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if err := write(file, s.apply(plain, file, files[file])); err != nil {
			return nil, err
		}
	}
	return replace, write(filepath.Join(filepath.Dir(s.files[0]), switchFile), fmt.Appendf(nil, switches, s.name))
}

// compiles reports whether a mutant can be built in.
func (s *source) compiles(plain *checked, m mutant) bool {
	edits, err := s.edits(plain, m, 0)
	if err != nil {
		return false
	}
	changed := map[string][]byte{}
	for file, list := range edits {
		changed[file] = s.apply(plain, file, list)
	}
	_, err = s.check(changed)
	return err == nil
}

// overlay writes the file that -overlay reads.
func overlay(path string, replace map[string]string) error {
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	return cmp.Or(err, os.WriteFile(path, text, 0o666))
}

// timed reads the tests of a binary's output that passed, with their seconds.
func timed(out []byte) map[string]float64 {
	all := map[string]float64{}
	for line := range bytes.Lines(out) {
		var name string
		var seconds float64
		if n, _ := fmt.Sscanf(string(line), "--- PASS: %s (%fs)", &name, &seconds); n == 2 {
			all[name] = seconds
		}
	}
	return all
}
