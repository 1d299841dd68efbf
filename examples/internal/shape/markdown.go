package shape

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
)

// Markdown returns the document as Markdown: single values as a list, objects as sections, lists of objects as tables.
// Times have their unit, shares are percentages. It is for parts of documents, which no program has words for.
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
		list := named(kid)
		switch {
		case list != nil:
			b.WriteByte('\n')
			rows(b, list)
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

// paragraphs writes a list of objects one below the other, each with its text first: codes and numbers in one line,
// sentences and places in lines of their own.
func paragraphs(b *strings.Builder, n *node) {
	for i, r := range n.kids {
		head := ""
		if text := r.get("text"); text != nil {
			head = text.text()
		}
		fmt.Fprintf(b, "%d. **%s**", i+1, table.EscapeMarkdown(table.Clean(head)))
		short := &node{kind: '{'}
		var long []string
		measure := r.get("measure")
		unsized := measure != nil && measure.text() == "none"
		for i, k := range r.keys {
			kid := r.kids[i]
			switch {
			case strings.HasSuffix(head, kid.text()) || empty(kid) || unsized && slices.Contains(sizes, k):
			case kid.kind != 0 || strings.Contains(kid.text(), " "):
				long = append(long, fmt.Sprintf("   - %s: %s\n", title(k), table.EscapeMarkdown(table.Clean(inline(k, kid)))))
			default:
				short.keys, short.kids = append(short.keys, k), append(short.kids, kid)
			}
		}
		fmt.Fprintf(b, " (%s)\n%s", table.EscapeMarkdown(table.Clean(inline("", short))), strings.Join(long, ""))
	}
}

// sizes are the fields of a finding that say nothing where it has no measure.
var sizes = []string{"measure", "per_step_ns", "total_ns", "share", "share_of"}

// named returns the objects of an object as rows with their names first, where all have the same fields; else nil.
func named(n *node) *node {
	out := &node{kind: '['}
	for i, k := range n.keys {
		kid := n.kids[i]
		if kid.kind != '{' || len(kid.keys) == 0 || !slices.Equal(kid.keys, n.kids[0].keys) ||
			kid.get("known") != nil || kid.get("name") != nil || isFact(kid) {
			return nil
		}
		name := &node{raw: strconv.Quote(k)}
		out.kids = append(out.kids, &node{kind: '{', keys: append([]string{"name"}, kid.keys...),
			kids: append([]*node{name}, kid.kids...)})
	}
	if len(out.kids) < 2 {
		return nil
	}
	return out
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
	for i, k := range keys {
		name := title(k)
		if slices.ContainsFunc(keys[:i], func(o string) bool { return title(o) == name }) {
			name = strings.ReplaceAll(k, "_", " ") // start_s and start_ns
		}
		c := table.Text(name)
		if timed(k) || share(k) {
			c = table.Number(name)
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
	const percent, clock = 100, 1e15 // no trace lasts so many nanoseconds, 11 days: it is a time of day
	switch u := unit(key); {
	case u == 1 && f >= clock:
		return n.raw + " ns"
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
	if key == "ns" {
		return "time"
	}
	for _, u := range units {
		key = strings.TrimSuffix(key, u.ending)
	}
	key = strings.TrimSuffix(key, "_pct")
	return strings.ReplaceAll(key, "_", " ")
}
