package page

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/table"
)

// text is how a text of a trace gets onto a page: cleaned, and cut to a line.
func (p *writer) text(s string) string { return table.Cut(p.clean(s), maxText) }

// prose is a sentence or a few.
func (p *writer) prose(s string) string { return table.Cut(p.clean(s), 4*maxText) }

// absolute finds paths from the root of a file system.
var absolute = regexp.MustCompile(`(^|[^\w./:~-])((/[\w.+@~-]+){2,}|[A-Za-z]:([\\/][\w.+@~-]+){2,})`)

// clean takes out what no text of a page has: control characters, and the folders of absolute paths, which name users
// and machines.
func (p *writer) clean(s string) string {
	s = table.Clean(s)
	if p.paths || !strings.ContainsAny(s, `/\`) {
		return s
	}
	return absolute.ReplaceAllStringFunc(s, func(m string) string {
		start := strings.IndexAny(m, `/\`)
		if i := strings.IndexByte(m[:start], ':'); i > 0 { // a drive
			start = i - 1
		}
		return m[:start] + withoutRoot(m[start:])
	})
}

// homes are folders whose folders are called as users.
var homes = []string{"home", "root", "Users"}

// withoutRoot leaves of an absolute path what is inside of a package, or the name of the file.
func withoutRoot(path string) string {
	for _, root := range []string{"/site-packages/", "/dist-packages/", "/python/"} {
		if i := strings.LastIndex(path, root); i >= 0 {
			return path[i+len(root):]
		}
	}
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	if first, _, _ := strings.Cut(path[1:], "/"); path[0] == '/' && !strings.Contains(base, ".") &&
		!slices.Contains(homes, first) {
		return path // the route of a server, for example
	}
	return base
}

// rich is prose whose parts in backticks are code.
func (p *writer) rich(s string) markup {
	parts := strings.Split(p.prose(s), "`")
	var b strings.Builder
	for i, part := range parts {
		part = html.EscapeString(part)
		switch {
		case i%2 == 0:
			b.WriteString(part)
		case i == len(parts)-1: // a backtick without a second one
			b.WriteString("`" + part)
		default:
			b.WriteString("<code>" + part + "</code>")
		}
	}
	return markup(b.String())
}

// number formats a value for scripts and coordinates: finite, short, exact enough for both.
func number(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	return strconv.FormatFloat(f, 'g', 9, 64)
}

// perfettoUI is the one place that links of a trace may lead to; a click opens it, the page itself asks for nothing.
const perfettoUI = "https://ui.perfetto.dev/"

// safeLink returns a link that leads to the Perfetto UI, "" for any other.
func safeLink(href string) string {
	if !strings.HasPrefix(href, perfettoUI) {
		return ""
	}
	return href
}

// anchor makes a name that links can have.
func anchor(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, id)
}

// Lengths of the parts into which code is broken, in characters: none so short that a
// column gets ragged, none so long that it needs a wide column.
const (
	minPart = 6
	maxPart = 26
)

// breakable splits a kernel's or file's name after its punctuation, so that it is broken
// there and not inside words.
func breakable(s string) []string {
	var out []string
	start, n := 0, 0
	var last rune
	for i, r := range s {
		n++
		end := i + utf8.RuneLen(r)
		if n >= maxPart || n >= minPart && (strings.ContainsRune("/,<_;", r) || r == ':' && last == ':') {
			out = append(out, s[start:end])
			start, n = end, 0
		}
		last = r
	}
	if start < len(s) || len(out) == 0 {
		out = append(out, s[start:])
	}
	return out
}

func (p *writer) table(t *Table, id string) {
	p.put(`<div class="tablebox">`)
	if t.Folded {
		p.put("<details><summary>%s (%d)</summary>", p.text(t.Caption), len(t.Rows)+t.Hidden)
	}
	rows, hidden := t.Rows, t.Hidden
	if len(rows) > maxRows {
		hidden += len(rows) - maxRows
		rows = rows[:maxRows]
	}
	if t.Search {
		p.search(id)
	}
	p.put("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table id=\"%s\">\n<caption>%s",
		p.text(t.Caption), id, p.text(t.Caption))
	if hidden > 0 {
		p.put(" (%d more rows are not shown)", hidden)
	}
	p.put("</caption>\n<thead><tr>")
	for _, c := range t.Columns {
		p.put(`<th scope="col"%s`, class(c.class()))
		if c.Help != "" {
			p.put(` title="%s"`, p.text(c.Help))
		}
		p.put("><button type=\"button\">%s</button></th>", p.text(c.Title))
	}
	p.put("</tr></thead>\n<tbody>\n")
	fold := t.FoldAfter > 0 && len(rows) > t.FoldAfter+foldedAt
	for i := range rows {
		if fold && i == t.FoldAfter {
			p.put("</tbody>\n<tbody class=\"rest\">\n")
		}
		p.row(t, rows[i])
	}
	p.put("</tbody></table></div>")
	if fold {
		p.put("<button type=\"button\" class=\"unfold js\" aria-controls=\"%s\">Show %d more rows</button>", id,
			len(rows)-t.FoldAfter)
	}
	if t.Folded {
		p.put("</details>")
	}
	p.put("</div>\n")
}

func (c *Column) class() string {
	switch {
	case c.Numeric:
		return "n"
	case c.Code:
		return "code"
	case c.Prose:
		return "prose"
	}
	return ""
}

// search is a field that filters the rows of a table.
func (p *writer) search(id string) {
	p.put(`<div class="controls js"><label>Search <input type="search" id="%s-search" aria-controls="%s" placeholder="words in any column"></label>`, id, id)
	p.put("<output aria-live=\"polite\"></output></div>\n")
}

func (p *writer) row(t *Table, r Row) {
	p.put("<tr>")
	for i := range r[:min(len(r), len(t.Columns))] {
		p.cell(&t.Columns[i], &r[i])
	}
	p.put("</tr>\n")
}

func (p *writer) cell(col *Column, c *Cell) {
	classes := col.class()
	if c.Strong {
		classes = strings.TrimSpace(classes + " strong")
	}
	p.put("<td%s", class(classes))
	if c.Hover != "" {
		p.put(` title="%s"`, table.Cut(p.clean(c.Hover), maxName))
	}
	if col.Numeric {
		p.put(` data-sort="%s"`, markup(number(c.Sort)))
	}
	p.put(">")
	if c.Bar > 0 {
		p.put(`<svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="%s" height="4"/></svg>`, markup(number(100*min(c.Bar, 1))))
	}
	if c.Series {
		p.put("%s", dot(cmp.Or(strings.TrimPrefix(p.colours[c.Text], "--"), otherColour)))
	}
	if c.Folded && len(c.Lines) > 0 {
		p.put("<details><summary>")
		p.line(c.Text, col.Code)
		p.put("</summary>")
		for _, l := range c.Lines[:min(len(c.Lines), maxFolded)] {
			p.put("<div>")
			p.line(l, col.Code)
			p.put("</div>")
		}
		p.put("</details></td>")
		return
	}
	lines := c.Lines
	if c.Text != "" {
		lines = append([]string{c.Text}, lines...)
	}
	switch href := safeLink(c.Href); {
	case c.Find != "":
		p.put(`<button type="button" class="find" data-find="%s">%s</button>`, p.text(c.Find), p.text(c.Text))
	case href != "" && len(lines) == 1:
		p.put(`<a href="%s" target="_blank" rel="noopener noreferrer">%s</a>`, href, p.text(lines[0]))
	case len(lines) == 1:
		p.line(lines[0], col.Code)
	default:
		for i, l := range lines {
			if i == maxLines {
				p.put("<div>%s</div>", fmt.Sprintf("… %d more", len(lines)-i))
				break
			}
			p.put("<div>")
			p.line(l, col.Code)
			p.put("</div>")
		}
	}
	p.put("</td>")
}

// line writes a text, of code with the places where it may be broken.
func (p *writer) line(s string, code bool) {
	if !code {
		p.put("%s", p.rich(p.text(s)))
		return
	}
	for i, part := range breakable(p.text(s)) {
		if i > 0 {
			p.put("<wbr>")
		}
		p.put("%s", part)
	}
}
