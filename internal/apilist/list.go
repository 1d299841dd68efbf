package main

import (
	"fmt"
	"go/types"
	"reflect"
	"sort"
	"strings"
)

// list returns the exported names of a package, one line each, sorted: a line
// opens with the package's directory, and a change of type, value, method set
// or JSON name of anything exported changes some line.
func list(dir string, pkg *types.Package) []string {
	l := lister{prefix: "pkg " + dir + ", ", own: pkg}
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			l.object(obj)
		}
	}
	sort.Strings(l.lines)
	return l.lines
}

// lister collects the lines of one package.
type lister struct {
	prefix string
	own    *types.Package
	lines  []string
}

func (l *lister) addf(format string, args ...any) {
	l.lines = append(l.lines, l.prefix+fmt.Sprintf(format, args...))
}

// text writes a type with the full paths of other packages.
func (l *lister) text(t types.Type) string {
	return types.TypeString(t, types.RelativeTo(l.own))
}

// signature writes a function's parameters and results. Names of parameters
// are no part of it: they may change without a break.
func (l *lister) signature(s *types.Signature) string {
	params := make([]string, 0, s.Params().Len())
	for i := range s.Params().Len() {
		t := s.Params().At(i).Type()
		if slice, ok := t.(*types.Slice); ok && s.Variadic() && i == s.Params().Len()-1 {
			params = append(params, "..."+l.text(slice.Elem()))
			continue
		}
		params = append(params, l.text(t))
	}
	out := l.typeParams(s.TypeParams()) + "(" + strings.Join(params, ", ") + ")"
	var results []string
	for v := range s.Results().Variables() {
		results = append(results, l.text(v.Type()))
	}
	switch len(results) {
	case 0:
		return out
	case 1:
		return out + " " + results[0]
	}
	return out + " (" + strings.Join(results, ", ") + ")"
}

// typeParams writes the parameters of a generic type or function.
func (l *lister) typeParams(list *types.TypeParamList) string {
	var out []string
	for p := range list.TypeParams() {
		out = append(out, p.Obj().Name()+" "+l.text(p.Constraint()))
	}
	if len(out) == 0 {
		return ""
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// object lists one name of the package's scope.
func (l *lister) object(obj types.Object) {
	switch o := obj.(type) {
	case *types.Const:
		l.addf("const %s %s = %s", o.Name(), l.text(o.Type()), o.Val().ExactString())
	case *types.Var:
		l.addf("var %s %s", o.Name(), l.text(o.Type()))
	case *types.Func:
		l.addf("func %s%s", o.Name(), l.signature(o.Signature()))
	case *types.TypeName:
		l.typeName(o)
	}
}

// typeName lists a type with its exported fields and methods.
func (l *lister) typeName(o *types.TypeName) {
	named, ok := o.Type().(*types.Named)
	if o.IsAlias() || !ok {
		l.addf("type %s = %s", o.Name(), l.text(types.Unalias(o.Type())))
		return
	}
	name := o.Name() + l.typeParams(named.TypeParams())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		l.addf("type %s struct", name)
		l.fields(o.Name(), u)
	case *types.Interface:
		l.addf("type %s interface", name)
		l.interfaceOf(o.Name(), u)
	default:
		l.addf("type %s %s", name, l.text(u))
	}
	for m := range named.Methods() {
		if !m.Exported() {
			continue
		}
		recv := o.Name()
		if _, ok := m.Signature().Recv().Type().(*types.Pointer); ok {
			recv = "*" + recv
		}
		l.addf("method (%s) %s%s", recv, m.Name(), l.signature(m.Signature()))
	}
}

// fields lists the exported fields of a struct, in any order, with their JSON
// names.
func (l *lister) fields(of string, s *types.Struct) {
	for i := range s.NumFields() {
		f := s.Field(i)
		if !f.Exported() {
			continue
		}
		line := "field " + of + "." + f.Name() + " " + l.text(f.Type())
		if f.Embedded() {
			line += " (embedded)"
		}
		if tag, ok := reflect.StructTag(s.Tag(i)).Lookup("json"); ok {
			line += fmt.Sprintf(" json:%q", tag)
		}
		l.addf("%s", line)
	}
}

// interfaceOf lists the methods of an interface. One that others cannot
// implement is called sealed.
func (l *lister) interfaceOf(of string, t *types.Interface) {
	for m := range t.ExplicitMethods() {
		if m.Exported() {
			l.addf("method (%s) %s%s", of, m.Name(), l.signature(m.Signature()))
		} else {
			l.addf("type %s is sealed", of)
		}
	}
	for e := range t.EmbeddedTypes() {
		l.addf("type %s embeds %s", of, l.text(e))
	}
}

// difference returns the lines of want that got lacks, marked "-", and those
// that only got has, marked "+", in the order of the list. Both are sorted.
func difference(want, got []string) []string {
	var out []string
	for len(want) > 0 || len(got) > 0 {
		switch {
		case len(got) == 0 || len(want) > 0 && want[0] < got[0]:
			out = append(out, "- "+want[0])
			want = want[1:]
		case len(want) == 0 || got[0] < want[0]:
			out = append(out, "+ "+got[0])
			got = got[1:]
		default:
			want, got = want[1:], got[1:]
		}
	}
	return out
}
