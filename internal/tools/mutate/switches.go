package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// mutant is a changed place with its number, which turns its switch on.
type mutant struct {
	site
	id int
	to string
}

// source is one package: its files as they were read, with types.
type source struct {
	dir   string // below the module's root
	files *token.FileSet
	texts map[string]string // by path below the module's root
	trees map[string]*ast.File
	pkg   *types.Package
	info  *types.Info
}

// edit replaces a range of a file. An expression that stays constant (op empty)
// becomes a choice between itself and with; a comparison one between two operators.
type edit struct {
	lo, hi, id int
	typ, with  string
	at         int // of the operator
	op, to     string
}

// check finds the types of a package's files. Its errors are returned, not only the first.
func check(dir string, files *token.FileSet, texts map[string]string, imports types.Importer) (*source, []types.Error,
	error) {
	s := &source{dir: dir, files: files, texts: texts, trees: map[string]*ast.File{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
			Defs: map[*ast.Ident]types.Object{}}}
	var list []*ast.File
	for _, path := range sortedKeys(texts) {
		f, err := parser.ParseFile(files, path, texts[path], parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		s.trees[path] = f
		list = append(list, f)
	}
	var wrong []types.Error
	conf := types.Config{Importer: imports, Error: func(err error) {
		if e, ok := err.(types.Error); ok {
			wrong = append(wrong, e)
		}
	}}
	s.pkg, _ = conf.Check(dir, files, list, s.info)
	return s, wrong, nil
}

// sites are the places of a kind in all files of the package, in order.
func (s *source) sites(k kind) []site {
	var all []site
	for _, path := range sortedKeys(s.trees) {
		all = append(all, sitesIn(s.files, path, s.trees[path], k)...)
	}
	return all
}

// edits says how to build a mutant in behind its switch: which ranges of which
// files change, and what is added at the end of its file. ok is false where the
// language wants a constant.
func (s *source) edits(m mutant) (changes map[string][]edit, added string, ok bool) {
	last := m.path[len(m.path)-1]
	if m.kind == comparison {
		x := last.(*ast.BinaryExpr)
		if s.info.Types[x].Value != nil {
			return nil, "", false
		}
		return map[string][]edit{m.file: {{lo: s.offset(x.Pos()), hi: s.offset(x.End()), id: m.id, at: m.at, op: m.text,
			to: m.to}}}, "", true
	}
	for _, n := range m.path {
		if d, isDecl := n.(*ast.GenDecl); isDecl && d.Tok == token.CONST {
			return s.constant(m)
		}
	}
	e, ok := s.choice(m.file, m.path, m.id, s.offset(last.Pos()), m.text, m.to)
	return map[string][]edit{m.file: {e}}, "", ok
}

// choice makes the outermost constant expression around a path's end a choice.
func (s *source) choice(file string, path []ast.Node, id, at int, from, to string) (edit, bool) {
	var out ast.Expr
	for i := len(path) - 1; i >= 0; i-- {
		x, isExpr := path[i].(ast.Expr)
		if !isExpr || s.info.Types[x].Value == nil {
			break
		}
		out = x
	}
	if out == nil {
		return edit{}, false
	}
	lo, hi := s.offset(out.Pos()), s.offset(out.End())
	name, ok := s.typeName(file, types.Default(s.info.Types[out].Type))
	text := s.texts[file]
	return edit{lo: lo, hi: hi, id: id, typ: name, with: text[lo:at] + to + text[at+len(from):hi]}, ok
}

// typeName writes a type as the file may name it.
func (s *source) typeName(file string, t types.Type) (string, bool) {
	ok := true
	name := types.TypeString(t, func(p *types.Package) string {
		if p == s.pkg {
			return ""
		}
		for _, spec := range s.trees[file].Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); path == p.Path() {
				if spec.Name != nil {
					return spec.Name.Name
				}
				return p.Name()
			}
		}
		ok = false
		return p.Name()
	})
	return name, ok
}

// constant gives a constant of the package a changed twin, and makes each use a choice.
func (s *source) constant(m mutant) (changes map[string][]edit, added string, ok bool) {
	var spec *ast.ValueSpec
	for _, n := range m.path {
		if v, isSpec := n.(*ast.ValueSpec); isSpec {
			spec = v
		}
		if _, local := n.(*ast.FuncDecl); local {
			return nil, "", false
		}
	}
	if spec == nil || len(spec.Names) != 1 || len(spec.Values) != 1 || spec.Names[0].IsExported() {
		return nil, "", false
	}
	lo, hi := s.offset(spec.Values[0].Pos()), s.offset(spec.Values[0].End())
	text := s.texts[m.file]
	value := text[lo:m.at] + m.to + text[m.at+len(m.text):hi]
	if strings.Contains(value, "iota") {
		return nil, "", false
	}
	typ := ""
	if spec.Type != nil {
		typ = " " + text[s.offset(spec.Type.Pos()):s.offset(spec.Type.End())]
	}
	twin := fmt.Sprintf("%s_mutant%d", spec.Names[0].Name, m.id)
	added = fmt.Sprintf("\nconst %s%s = %s\n", twin, typ, value)
	changes = map[string][]edit{}
	ok = true
	object := s.info.Defs[spec.Names[0]]
	for _, file := range sortedKeys(s.trees) {
		var stack []ast.Node
		ast.Inspect(s.trees[file], func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			if x, isIdent := n.(*ast.Ident); isIdent && s.info.Uses[x] == object {
				e, fits := s.choice(file, stack, m.id, s.offset(x.Pos()), x.Name, twin)
				ok = ok && fits && !constantNeeded(stack)
				changes[file] = append(changes[file], e)
			}
			return true
		})
	}
	return changes, added, ok && len(changes) > 0
}

// constantNeeded reports whether a path ends inside another constant or a length.
func constantNeeded(path []ast.Node) bool {
	for _, n := range path {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
			return true
		}
		if _, ok := n.(*ast.ArrayType); ok {
			return true
		}
	}
	return false
}

func (s *source) offset(p token.Pos) int { return s.files.Position(p).Offset }

// switched is the package with the mutants behind switches.
func (s *source) switched(mutants []mutant) map[string]string {
	edits, added := map[string][]edit{}, map[string]string{}
	for _, m := range mutants {
		changes, more, _ := s.edits(m)
		for file, list := range changes {
			edits[file] = append(edits[file], list...)
		}
		added[m.file] += more
	}
	out := map[string]string{}
	for file, text := range s.texts {
		if len(edits[file]) == 0 && added[file] == "" {
			continue
		}
		list := edits[file]
		sort.Slice(list, func(i, j int) bool { // outermost first
			a, b := list[i], list[j]
			return a.lo < b.lo || a.lo == b.lo && (a.hi > b.hi || a.hi == b.hi && a.op > b.op)
		})
		out[file] = withImport(render(text, 0, len(text), list)) + added[file]
	}
	return out
}

// render writes text[lo:hi] with the edits inside that range, which are in order.
func render(text string, lo, hi int, edits []edit) string {
	var b strings.Builder
	for len(edits) > 0 {
		e := edits[0]
		inside := 1
		for inside < len(edits) && edits[inside].lo < e.hi {
			inside++
		}
		inner := edits[1:inside]
		edits = edits[inside:]
		b.WriteString(text[lo:e.lo])
		lo = e.hi
		if e.op == "" {
			fmt.Fprintf(&b, "mutantswitch.Of[%s](%d, %s, %s)", e.typ, e.id, render(text, e.lo, e.hi, inner), e.with)
			continue
		}
		var left, right []edit
		for _, x := range inner {
			if x.lo < e.at {
				left = append(left, x)
			} else {
				right = append(right, x)
			}
		}
		l, r := render(text, e.lo, e.at, left), render(text, e.at+len(e.op), e.hi, right)
		fmt.Fprintf(&b, "(mutantswitch.On(%d) && (%s%s%s) || mutantswitch.Off(%d) && (%s%s%s))", e.id, l, e.to, r, e.id,
			l, e.op, r)
	}
	b.WriteString(text[lo:hi])
	return b.String()
}

var packageClause = regexp.MustCompile(`(?m)^package \w+`)

// withImport adds the import of the switches to a file.
func withImport(text string) string {
	at := packageClause.FindStringIndex(text)[1]
	return text[:at] + `; import mutantswitch "` + module + `/internal/mutantswitch"` + text[at:] +
		"\nvar _ = mutantswitch.On\n"
}

var switchNumber = regexp.MustCompile(`mutantswitch\.O\w+(?:\[[^\]]*\])?\((\d+)|_mutant(\d+)`)

// blamed are the mutants in the lines that do not compile.
func blamed(texts map[string]string, wrong []types.Error) map[int]bool {
	ids := map[int]bool{}
	for _, e := range wrong {
		p := e.Fset.Position(e.Pos)
		lines := strings.Split(texts[filepath.FromSlash(p.Filename)], "\n")
		if p.Line < 1 || p.Line > len(lines) {
			continue
		}
		for _, m := range switchNumber.FindAllStringSubmatch(lines[p.Line-1], -1) {
			id, _ := strconv.Atoi(m[1] + m[2])
			ids[id] = true
		}
	}
	return ids
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
