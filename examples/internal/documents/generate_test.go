package documents

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// node is a JSON Schema. Its fields are in the order in which people read them.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	ID          string           `json:"$id,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Ref         string           `json:"$ref,omitempty"`
	Type        any              `json:"type,omitempty"` // a string, or several
	Unit        string           `json:"x-unit,omitempty"`
	Const       string           `json:"const,omitempty"`
	Enum        []any            `json:"enum,omitempty"`
	AnyOf       []*node          `json:"anyOf,omitempty"`
	Items       *node            `json:"items,omitempty"`
	Values      *node            `json:"additionalProperties,omitempty"`
	Properties  *properties      `json:"properties,omitempty"`
	Required    []string         `json:"required,omitempty"`
	Defs        map[string]*node `json:"$defs,omitempty"`
}

// properties are written in the order of the Go fields.
type properties struct {
	names []string
	of    map[string]*node
}

func (p *properties) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i, n := range p.names {
		v, err := json.Marshal(p.of[n])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", n, v)
	}
	return []byte("{" + b.String() + "}"), nil
}

// generator makes the schema of one document.
type generator struct {
	comments *comments
	defs     map[string]*node
	// wrong lists fields without a comment, and fields of durations whose name lacks the unit.
	wrong map[string]bool
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	instantType  = reflect.TypeFor[time.Time]()
	traceTime    = reflect.TypeFor[trace.Time]()
	rawJSON      = reflect.TypeFor[json.RawMessage]()
	textWriter   = reflect.TypeFor[encoding.TextMarshaler]()
	jsonWriter   = reflect.TypeFor[json.Marshaler]()
)

// schema makes the schema of a document.
func (g *generator) schema(d *document) *node {
	n := &node{Schema: "https://json-schema.org/draft/2020-12/schema",
		ID: "https://github.com/llmstrata/strata/schema/" + d.id, Title: d.id,
		Description: "Written by `" + d.by + "`."}
	if i := strings.Index(d.by, ", "); i > 0 {
		n.Description = "Written by `" + d.by[:i] + "`: " + d.by[i+2:] + "."
	}
	for _, t := range d.types {
		n.AnyOf = append(n.AnyOf, g.value(t, nil, ""))
	}
	if len(n.AnyOf) == 1 {
		n.Ref, n.AnyOf = n.AnyOf[0].Ref, nil
	}
	n.Defs = g.defs
	for _, t := range d.types {
		if p := g.defs[defName(t)].Properties; p != nil && p.of["schema"] != nil {
			p.of["schema"].Const = d.id
			p.names, p.of["truncated"] = append(p.names, "truncated"),
				&node{Type: "array", Description: "What --limit and --budget left out.",
					Items: g.value(reflect.TypeFor[app.Omission](), nil, "")}
		}
	}
	return n
}

// defName is what a named type is called in schemas: package.Type.
func defName(t reflect.Type) string {
	pkg := t.PkgPath()
	return pkg[strings.LastIndex(pkg, "/")+1:] + "." + t.Name()
}

// unitOf is the unit that the name of a field ends in, "" for none.
func unitOf(name string) string {
	for suffix, unit := range map[string]string{"_ns": "ns", "_us": "µs", "_us_per_step": "µs", "_ms": "ms", "_s": "s",
		"_pct": "%", "_bytes": "bytes", "_share": "0…1", "_ratio": "0…1"} {
		if strings.HasSuffix(name, suffix) || name == suffix[1:] {
			return unit
		}
	}
	return ""
}

// value is the schema of a value of type t; st is the syntax of a struct without a name.
func (g *generator) value(t reflect.Type, st *ast.StructType, pkg string) *node {
	switch {
	case t == instantType:
		return &node{Type: "string", Description: "RFC 3339"}
	case t == rawJSON:
		return &node{}
	case t.Kind() == reflect.Pointer:
		return nullable(g.value(t.Elem(), st, pkg))
	case t == reflect.TypeFor[view.CategorySums]():
		return &node{Type: "object", Description: "by category",
			Values: g.value(reflect.TypeFor[view.CategorySum](), nil, "")}
	case t == reflect.TypeFor[view.Shares]():
		return &node{Type: "object", Description: "by category", Values: &node{Type: "number"}}
	case t == reflect.TypeFor[hostoverhead.Doubts]():
		return &node{Type: "array", Items: &node{Type: "object", Required: []string{"code", "message"},
			Properties: &properties{[]string{"code", "weight", "message"}, map[string]*node{
				"code":   g.words(reflect.TypeFor[hostoverhead.DoubtCode]()),
				"weight": g.words(reflect.TypeFor[finding.Band]()), "message": {Type: "string"}}}}}
	case t.Implements(jsonWriter):
		if t.Kind() == reflect.Float64 {
			return &node{Type: []string{"number", "null"}, Description: "null where it is not known"}
		}
		panic("nothing says how " + t.String() + " is written")
	case t.Implements(textWriter):
		return g.words(t)
	}
	switch t.Kind() {
	case reflect.String:
		if t.Name() != "string" {
			return g.words(t)
		}
		return &node{Type: "string"}
	case reflect.Bool:
		return &node{Type: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &node{Type: "number"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
			return &node{Type: "string", Description: "base64"}
		}
		return &node{Type: "array", Items: g.value(t.Elem(), st, pkg)}
	case reflect.Map:
		return &node{Type: "object", Values: g.value(t.Elem(), st, pkg)}
	case reflect.Interface:
		return &node{}
	case reflect.Struct:
		return g.object(t, st, pkg)
	}
	return &node{Type: "integer"}
}

// nullable allows null, too.
func nullable(n *node) *node {
	switch {
	case n.Ref != "":
		return &node{AnyOf: []*node{n, {Type: "null"}}}
	case n.Type != nil:
		if s, ok := n.Type.(string); ok {
			n.Type = []string{s, "null"}
		}
		if n.Enum != nil {
			n.Enum = append(n.Enum, nil)
		}
	}
	return n
}

// words is the schema of a set of words, which a type is unless its comment says that the set is open.
func (g *generator) words(t reflect.Type) *node {
	name := defName(t)
	if g.defs[name] != nil {
		return &node{Ref: "#/$defs/" + name}
	}
	n := &node{Type: "string", Description: g.comments.typeDoc(t)}
	if t.Kind() == reflect.String {
		n.Enum = append(n.Enum, "")
		for _, w := range g.comments.words(t) {
			if w != "" {
				n.Enum = append(n.Enum, w)
			}
		}
		if len(n.Enum) < 3 || strings.Contains(n.Description, "set is open") { // a name, no closed set
			n.Enum = nil
		}
	} else {
		seen := map[string]bool{}
		for i := range 1 << 8 {
			v := reflect.New(t).Elem()
			v.Set(reflect.ValueOf(i).Convert(t))
			text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
			if err == nil && !seen[string(text)] && !strings.ContainsAny(string(text), "(0123456789") {
				seen[string(text)] = true
				n.Enum = append(n.Enum, string(text))
			}
		}
	}
	g.defs[name] = n
	return &node{Ref: "#/$defs/" + name}
}

// object is the schema of a struct.
func (g *generator) object(t reflect.Type, st *ast.StructType, pkg string) *node {
	name := ""
	n := &node{Type: "object", Properties: &properties{of: map[string]*node{}}}
	if t.Name() != "" {
		name = defName(t)
		if g.defs[name] != nil {
			return &node{Ref: "#/$defs/" + name}
		}
		g.defs[name] = n
		st, pkg = g.comments.structOf(t), t.PkgPath()
		n.Description = g.comments.typeDoc(t)
	}
	g.addFields(n, t, st, pkg)
	if name == "" {
		return n
	}
	return &node{Ref: "#/$defs/" + name}
}

// addFields adds the fields of a struct, and of those that it embeds.
func (g *generator) addFields(n *node, t reflect.Type, st *ast.StructType, pkg string) {
	docs := g.comments.fields(pkg, st)
	for i := range t.NumField() {
		f := t.Field(i)
		tag, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			et := f.Type
			if et.Kind() == reflect.Pointer {
				et = et.Elem()
			}
			g.addFields(n, et, g.comments.structOf(et), et.PkgPath())
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		where := t.String() + "." + f.Name
		v := g.value(f.Type, nested(st, f.Name), pkg)
		if docs[f.Name] == "" {
			g.wrong[where+" has no comment"] = true
		}
		v.Description = strings.TrimSpace(docs[f.Name] + " " + suffix(v.Description))
		v.Unit = unitOf(tag)
		if (f.Type == durationType || f.Type == traceTime) && v.Unit != "ns" {
			g.wrong[where+" is a time, its name has to end in _ns"] = true
		}
		if strings.Contains(rest, "string") {
			v.Type = "string"
		}
		if n.Properties.of[tag] == nil {
			n.Properties.names = append(n.Properties.names, tag)
		}
		n.Properties.of[tag] = v // an outer field hides one of the same name that is embedded before it
		optional := slices.ContainsFunc(strings.Split(rest, ","),
			func(o string) bool { return o == "omitempty" || o == "omitzero" })
		n.Required = slices.DeleteFunc(n.Required, func(r string) bool { return r == tag })
		if !optional {
			n.Required = append(n.Required, tag)
		}
	}
}

// suffix adds a type's description after that of its field.
func suffix(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// sortedKeys returns the keys of a set.
func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
