package shape

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/table"
)

// WriteMarkdown cuts a document and writes it as Markdown: single values as a list, objects as sections, lists of
// objects as tables. Times have their unit, shares are percentages.
func WriteMarkdown(w io.Writer, data []byte, c Cut) error {
	d, err := Read(data)
	if err != nil {
		return err
	}
	if err := d.Apply(c, func(d *Document) int { return utf8.RuneCountInString(d.Markdown()) }); err != nil {
		return err
	}
	_, err = io.WriteString(w, d.Markdown())
	return err
}

// Markdown returns the document as Markdown.
func (d *Document) Markdown() string {
	var b strings.Builder
	n := d.shown()
	title := "Document"
	if s := n.get("schema"); s != nil {
		title = s.text()
	}
	fmt.Fprintf(&b, "# %s\n", table.EscapeMarkdown(title))
	section(&b, n, 2)
	return b.String()
}

// deepest is the level of the smallest heading.
const deepest = 6

// section writes the fields of an object: single values first, then the others under headings. Of an item that is not
// known there is nothing to say but why.
func section(b *strings.Builder, n *node, level int) {
	if k := n.get("known"); k != nil && k.raw == "false" {
		if why := n.get("why_unknown"); why != nil {
			fmt.Fprintf(b, "\nUnknown: %s.\n", table.EscapeMarkdown(table.Clean(why.text())))
		}
		return
	}
	lines := false
	for i, k := range n.keys {
		kid := n.kids[i]
		fact := isFact(kid)
		if kid.kind != 0 && !fact || k == "schema" || k == "known" || empty(kid) {
			continue
		}
		if !lines {
			b.WriteByte('\n')
			lines = true
		}
		fmt.Fprintf(b, "* **%s**: %s\n", title(k), table.EscapeMarkdown(table.Clean(inline(k, kid))))
	}
	for i, k := range n.keys {
		kid := n.kids[i]
		if kid.kind == 0 || len(kid.kids) == 0 || isFact(kid) {
			continue
		}
		fmt.Fprintf(b, "\n%s %s\n", strings.Repeat("#", min(level, deepest)), title(k))
		switch {
		case kid.kind == '{':
			section(b, kid, level+1)
		case kid.kids[0].kind == '{':
			b.WriteByte('\n')
			if text := kid.kids[0].get("text"); text != nil && len(kid.kids[0].keys) > wide {
				paragraphs(b, kid)
			} else {
				rows(b, kid)
			}
		default:
			b.WriteByte('\n')
			for _, e := range kid.kids {
				fmt.Fprintf(b, "* %s\n", table.EscapeMarkdown(table.Clean(inline(k, e))))
			}
		}
	}
}

// wide is how many columns a table may have whose rows have a text of their own: beyond it rows are numbered
// paragraphs.
const wide = 8

// paragraphs writes a list of objects one below the other, each with its text first.
func paragraphs(b *strings.Builder, n *node) {
	for i, r := range n.kids {
		fmt.Fprintf(b, "%d. **%s**", i+1, table.EscapeMarkdown(table.Clean(r.get("text").text())))
		rest := &node{kind: '{'}
		for i, k := range r.keys {
			if k != "text" {
				rest.keys, rest.kids = append(rest.keys, k), append(rest.kids, r.kids[i])
			}
		}
		fmt.Fprintf(b, " (%s)\n", table.EscapeMarkdown(table.Clean(inline("", rest))))
	}
}

// isFact reports whether an object is a value with where it is from, which fit one line.
func isFact(n *node) bool { return n.kind == '{' && slices.Equal(n.keys, []string{"value", "from"}) }

// rows writes a list of objects as a table. A column is there where any row has a value.
func rows(b *strings.Builder, n *node) {
	var keys []string
	for _, r := range n.kids {
		for i, k := range r.keys {
			if !slices.Contains(keys, k) && !empty(r.kids[i]) {
				keys = append(keys, k)
			}
		}
	}
	var cols []table.Column
	for _, k := range keys {
		c := table.Text(title(k))
		if timed(k) || share(k) {
			c = table.Number(title(k))
		}
		cols = append(cols, c)
	}
	t := table.New(cols...)
	for _, r := range n.kids {
		cells := make([]string, len(keys))
		for i, k := range keys {
			if v := r.get(k); v != nil {
				cells[i] = inline(k, v)
			}
		}
		t.Row(cells...)
	}
	// A strings.Builder does not fail.
	_ = t.WriteMarkdown(b)
}

// inline is a value in one line.
func inline(key string, n *node) string {
	switch n.kind {
	case 0:
		return value(key, n)
	case '[':
		var out []string
		for _, k := range n.kids {
			out = append(out, inline(key, k))
		}
		return strings.Join(out, "; ")
	}
	if isFact(n) {
		v, from := n.kids[0].text(), n.kids[1].text()
		if v == "" {
			return "unknown: " + from
		}
		return v + " (" + from + ")"
	}
	var out []string
	for i, k := range n.keys {
		if !empty(n.kids[i]) {
			out = append(out, title(k)+" "+inline(k, n.kids[i]))
		}
	}
	return strings.Join(out, ", ")
}

// empty reports whether a value says nothing.
func empty(n *node) bool {
	return n.kind != 0 && len(n.kids) == 0 || n.raw == "null" || n.raw == `""`
}

// units are the endings of names that say how a number is to be read.
var units = []struct {
	ending string
	factor float64 // to nanoseconds
}{{"_ns", 1}, {"_us", 1e3}, {"_ms", 1e6}, {"_s", 1e9}}

func timed(key string) bool { return unit(key) > 0 }

// unit is how many nanoseconds the unit of a name is, 0 where it is no time.
func unit(key string) float64 {
	for _, u := range units {
		if strings.HasSuffix(key, u.ending) || key == u.ending[1:] && u.ending == "_ns" {
			return u.factor
		}
	}
	return 0
}

// value is a single value for people.
func value(key string, n *node) string {
	f, err := strconv.ParseFloat(n.raw, 64)
	if err != nil {
		return n.text()
	}
	const percent = 100
	switch u := unit(key); {
	case u > 0:
		return table.Duration(time.Duration(f * u))
	case share(key):
		return table.Pct(percent*f, 1)
	case strings.HasSuffix(key, "_pct"):
		return table.Pct(f, 1)
	}
	return n.raw
}

// share reports whether a name is that of a part from 0 to 1.
func share(key string) bool {
	return key == "share" || strings.HasSuffix(key, "_share") || strings.Contains("_"+key, "_share_of_")
}

// title is the name of a field for people: without its unit, with spaces.
func title(key string) string {
	for _, u := range units {
		key = strings.TrimSuffix(key, u.ending)
	}
	key = strings.TrimSuffix(key, "_pct")
	return strings.ReplaceAll(key, "_", " ")
}
