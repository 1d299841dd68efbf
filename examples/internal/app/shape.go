package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// truncatedKey is the field of a document that says what was left out of it.
const truncatedKey = "truncated"

// Omission says what a list of a document lacks.
type Omission struct {
	// At is where the list, or the field, is: names and indices, joined by slashes.
	At string `json:"at"`
	// Total counts the rows that there are, 0 for a field that was left out.
	Total int `json:"rows_total"`
	// Omitted counts those that were left out, which are the last ones; 0 for a field that was left out.
	Omitted int `json:"rows_omitted"`
	// OmittedNS adds up the times of those where they have one.
	OmittedNS int64 `json:"omitted_ns"`
}

// Cut says what to keep of a document. The zero Cut keeps everything.
type Cut struct {
	// Limit is how many rows a list may have; 0 for all.
	Limit int
	// Fields are the fields to keep, as names joined by dots; none for all.
	Fields []string
	// Budget is how many characters the document may have; 0 for any number.
	Budget int
}

// Any reports whether anything is to be cut.
func (c *Cut) Any() bool { return c.Limit > 0 || len(c.Fields) > 0 || c.Budget > 0 }

// node is a value of a document: an object, a list, or anything else as it is written.
type node struct {
	kind byte // '{', '[' or 0
	keys []string
	kids []*node
	raw  string
}

// parseNode reads a document, keeping the order of fields.
func parseNode(data []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return readNode(d)
}

func readNode(d *json.Decoder) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(t); err != nil {
			return nil, err
		}
		return &node{raw: strings.TrimSuffix(b.String(), "\n")}, nil
	}
	n := &node{kind: byte(delim)}
	for d.More() {
		if n.kind == '{' {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			n.keys = append(n.keys, k.(string))
		}
		kid, err := readNode(d)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	_, err = d.Token() // the closing one
	return n, err
}

// get returns a field of an object, nil where it has none of that name.
func (n *node) get(key string) *node {
	if i := slices.Index(n.keys, key); n.kind == '{' && i >= 0 {
		return n.kids[i]
	}
	return nil
}

// write writes the value without white space.
func (n *node) write(b *bytes.Buffer) {
	if n.kind == 0 {
		b.WriteString(n.raw)
		return
	}
	end := map[byte]string{'{': "}", '[': "]"}[n.kind]
	b.WriteByte(n.kind)
	for i, kid := range n.kids {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.kind == '{' {
			b.WriteString(quoted(n.keys[i]) + ":")
		}
		kid.write(b)
	}
	b.WriteString(end)
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return string(b)
}

// ShapedDocument is a document that can be cut and written.
type ShapedDocument struct {
	root    *node
	omitted []Omission
	compact bool // JSON has no white space
}

// Omitted says what was left out.
func (d *ShapedDocument) Omitted() []Omission { return d.omitted }

// apply cuts the document. size says how many characters it has in the form that will be written.
func (d *ShapedDocument) apply(c Cut, size func() int) error {
	if len(c.Fields) > 0 {
		if err := d.keep(c.Fields); err != nil {
			return err
		}
	}
	if c.Limit > 0 {
		d.limit(c.Limit)
	}
	if c.Budget > 0 {
		return d.fit(c.Budget, size)
	}
	return nil
}

// keep drops all fields but those that are named. The document's schema stays.
func (d *ShapedDocument) keep(fields []string) error {
	for _, f := range fields {
		if !has(d.root, strings.Split(f, ".")) {
			return fmt.Errorf("no field %q in this document (strata schema lists them)", f)
		}
	}
	d.root = only(d.root, append(split(fields), []string{"schema"}))
	return nil
}

func split(fields []string) (out [][]string) {
	for _, f := range fields {
		out = append(out, strings.Split(f, "."))
	}
	return out
}

// has reports whether a document has a field somewhere at that path; lists without rows have any.
func has(n *node, path []string) bool {
	if len(path) == 0 {
		return true
	}
	if n.kind == '[' {
		return len(n.kids) == 0 || slices.ContainsFunc(n.kids, func(k *node) bool { return has(k, path) })
	}
	kid := n.get(path[0])
	return kid != nil && has(kid, path[1:])
}

// only returns a copy with the fields on the paths.
func only(n *node, paths [][]string) *node {
	if slices.ContainsFunc(paths, func(p []string) bool { return len(p) == 0 }) || n.kind == 0 {
		return n
	}
	out := &node{kind: n.kind}
	for i, kid := range n.kids {
		if n.kind == '[' {
			out.kids = append(out.kids, only(kid, paths))
			continue
		}
		var below [][]string
		for _, p := range paths {
			if p[0] == n.keys[i] {
				below = append(below, p[1:])
			}
		}
		if below != nil {
			out.keys, out.kids = append(out.keys, n.keys[i]), append(out.kids, only(kid, below))
		}
	}
	return out
}

// limit cuts every list to so many rows.
func (d *ShapedDocument) limit(most int) { d.root = d.cut(d.root, "", most) }

func (d *ShapedDocument) cut(n *node, at string, most int) *node {
	if n.kind == 0 {
		return n
	}
	out := &node{kind: n.kind, keys: n.keys}
	for i, kid := range n.kids {
		if n.kind == '[' && i >= most {
			o := Omission{At: at, Total: len(n.kids), Omitted: len(n.kids) - most}
			for _, r := range n.kids[most:] {
				o.OmittedNS += timeOf(r)
			}
			d.omit(o)
			break
		}
		name := strconv.Itoa(i)
		if n.kind == '{' {
			name = n.keys[i]
		}
		out.kids = append(out.kids, d.cut(kid, strings.TrimPrefix(at+"/"+name, "/"), most))
	}
	return out
}

// omit remembers an omission; one of the same place grows.
func (d *ShapedDocument) omit(o Omission) {
	if i := slices.IndexFunc(d.omitted, func(p Omission) bool { return p.At == o.At }); i >= 0 {
		p := &d.omitted[i]
		p.Omitted, p.OmittedNS = p.Omitted+o.Omitted, p.OmittedNS+o.OmittedNS
		return
	}
	d.omitted = append(d.omitted, o)
}

// timeOf is the time that a row is about, 0 where it has none.
func timeOf(row *node) int64 {
	const nsPerUS, nsPerMS = 1e3, 1e6
	for _, k := range []struct {
		name   string
		factor float64
	}{{"total_ns", 1}, {"time_ns", 1}, {"gpu_time_ns", 1}, {"wall_ns", 1}, {"per_step_ns", 1}, {"dur_ns", 1}, {"ns", 1},
		{"gpu_time_us", nsPerUS}, {"dur_us", nsPerUS}, {"total_us", nsPerUS},
		{"time_ms", nsPerMS}, {"wall_ms", nsPerMS}, {"duration_ms", nsPerMS}} {
		if v := row.get(k.name); v != nil {
			if f, err := strconv.ParseFloat(v.raw, 64); err == nil {
				return int64(f * k.factor)
			}
		}
	}
	return 0
}

// mostOmissions is how many omissions a document lists under a budget, which their list is part of.
const mostOmissions = 12

// The steps that fit a document into a budget: shorter lists, then still shorter ones with complete fields left out.
var (
	fewerRows = []int{64, 32, 16, 8, 4}
	leastRows = []int{4, 2, 1, 0}
)

// fewFields is how many fields a document keeps as long as its lists can be shorter.
const fewFields = 6

// fit shortens all lists until the document has at most so many characters, then leaves out fields from the last one
// on, too: documents have what matters first.
func (d *ShapedDocument) fit(most int, size func() int) error {
	d.compact = true
	whole, before := d.root, slices.Clone(d.omitted)
	if size() <= most {
		return nil
	}
	start := func(rows int) bool {
		d.root, d.omitted = whole, slices.Clone(before)
		d.limit(rows)
		return size() <= most
	}
	if slices.ContainsFunc(fewerRows, start) {
		return nil
	}
	for _, rows := range leastRows {
		if start(rows) {
			return nil
		}
		for i := len(whole.keys) - 1; i > fewFields || rows == 0 && i > 0; i-- {
			if d.drop(i, whole.keys[i]); size() <= most {
				return nil
			}
		}
	}
	return fmt.Errorf("--budget %d: too little for this document", most)
}

// drop leaves out the last field, the one at i.
func (d *ShapedDocument) drop(i int, name string) {
	d.root = &node{kind: '{', keys: d.root.keys[:i], kids: d.root.kids[:i]}
	d.omitted = slices.DeleteFunc(d.omitted, func(o Omission) bool {
		return o.At == name ||
			strings.HasPrefix(o.At, name+"/")
	})
	d.omitted = append(d.omitted, Omission{At: name})
}

// shown is the document with what was left out of it.
func (d *ShapedDocument) shown() *node {
	if len(d.omitted) == 0 || d.root.kind != '{' {
		return d.root
	}
	out := &node{kind: '{', keys: append(slices.Clone(d.root.keys), truncatedKey), kids: slices.Clone(d.root.kids)}
	list := &node{kind: '['}
	rest := Omission{At: "elsewhere"}
	for i, o := range d.omitted {
		if i >= mostOmissions && len(d.omitted) > mostOmissions+1 {
			rest.Total, rest.Omitted, rest.OmittedNS = rest.Total+o.Total, rest.Omitted+o.Omitted,
				rest.OmittedNS+o.OmittedNS
			continue
		}
		list.kids = append(list.kids, o.node())
	}
	if rest.Omitted > 0 {
		list.kids = append(list.kids, rest.node())
	}
	out.kids = append(out.kids, list)
	return out
}

func (o Omission) node() *node {
	n := func(v int64) *node { return &node{raw: strconv.FormatInt(v, 10)} }
	return &node{kind: '{', keys: []string{"at", "rows_total", "rows_omitted", "omitted_ns"},
		kids: []*node{{raw: quoted(o.At)}, n(int64(o.Total)), n(int64(o.Omitted)), n(o.OmittedNS)}}
}

// JSON returns the document, indented unless characters are few.
func (d *ShapedDocument) JSON() string {
	var b, indented bytes.Buffer
	d.shown().write(&b)
	if d.compact || json.Indent(&indented, b.Bytes(), "", "  ") != nil { // it was read as JSON
		return b.String() + "\n"
	}
	return indented.String() + "\n"
}

// Markdown returns the document as a block of code in Markdown: no program has words for any part of its document.
func (d *ShapedDocument) Markdown() string {
	text, fence := d.JSON(), "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "json\n" + text + fence + "\n"
}

// WriteShaped cuts a document and writes it in a form, such as [ShapedDocument.JSON].
func WriteShaped(w io.Writer, data []byte, c Cut, form func(*ShapedDocument) string) error {
	n, err := parseNode(data)
	if err != nil {
		return err
	}
	d := &ShapedDocument{root: n}
	if err := d.apply(c, func() int { return utf8.RuneCountInString(form(d)) }); err != nil {
		return err
	}
	_, err = io.WriteString(w, form(d))
	return err
}
