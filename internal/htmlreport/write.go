package htmlreport

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/mask"
)

// page is a document that grows. Nothing gets into it unescaped but what this
// package holds as constants: see put.
type page struct{ bytes.Buffer }

// markup is text that is HTML already: made by this package, never by a caller.
type markup string

// put appends a format of this package with its arguments, each of which is
// escaped for a text or a quoted attribute, unless it is a number or markup.
func (p *page) put(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = html.EscapeString(s)
		}
	}
	fmt.Fprintf(p, format, args...)
}

// Write writes the report as one HTML document.
func (r *Report) Write(w io.Writer) error {
	v := newView(r)
	var p page
	p.head(v)
	for i := range v.Sections {
		p.section(&v.Sections[i])
	}
	p.put("</main>\n<script>%s</script>\n</body>\n</html>\n", markup(script))
	m := mask.NewWriter(w)
	if _, err := m.Write(withoutFolders(p.Bytes(), r.Inputs)); err != nil {
		return err
	}
	return m.Flush()
}

// withoutFolders takes the folders of absolute paths out of a page.
func withoutFolders(page []byte, paths []string) []byte {
	var dirs []string
	for _, path := range paths {
		if dir := filepath.Dir(path); filepath.IsAbs(path) && len(dir) > 1 {
			dirs = append(dirs, dir+string(filepath.Separator))
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return len(b) - len(a) }) // one may be inside of another
	for _, dir := range slices.Compact(dirs) {
		page = bytes.ReplaceAll(page, []byte(html.EscapeString(dir)), nil)
	}
	return page
}

func (p *page) head(v *view) {
	p.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="strata %s">
<title>%s – %s</title>
<style>%s</style>
</head>
<body>
<header>
<p class="program">%s</p>
<h1>%s</h1>
`, policy(), v.Program, v.Title, v.Program, markup(style), v.Program, v.Title)
	if v.Summary != "" {
		p.put("<p class=\"summary\">%s</p>\n", v.Summary)
	}
	p.put(`<dl class="facts">`)
	for _, f := range v.Facts {
		class := markup("")
		if f.Long {
			class = ` class="long"`
		}
		p.put("<div%s><dt>%s</dt><dd>%s</dd></div>", class, f.Name, f.Value)
	}
	p.put("</dl>\n</header>\n<nav aria-label=\"Sections\"><ul><li><a href=\"#health\">Health</a></li>")
	for _, s := range v.Sections {
		p.put(`<li><a href="#%s">%s</a></li>`, s.ID, s.Title)
	}
	p.put("</ul></nav>\n<main>\n")
	p.health(v)
}

func (p *page) health(v *view) {
	badge := "warn"
	switch v.Status {
	case "ok":
		badge = "good"
	case "unusable":
		badge = "bad"
	}
	p.put("<section id=\"health\"><h2>Health <span class=\"badge %s\">%s</span></h2>\n", badge, v.Status)
	if len(v.Findings) == 0 {
		p.put("<p>Nothing was found that changes a result.</p>\n")
	} else {
		p.put(`<ul class="findings">`)
		for _, f := range v.Findings {
			p.put(`<li><b>%s</b> <span class="severity">%s</span> %s</li>`, f.Code, f.Severity, f.Message)
		}
		p.put("</ul>\n")
	}
	if len(v.Notes) > 0 {
		p.put(`<ul class="notes">`)
		for _, n := range v.Notes {
			p.put("<li>%s</li>", n)
		}
		p.put("</ul>\n")
	}
	p.put("</section>\n")
}

func (p *page) section(s *sectionView) {
	p.put("<section id=\"%s\"><h2>%s</h2>\n", s.ID, s.Title)
	if s.Text != "" {
		p.put("<p>%s</p>\n", s.Text)
	}
	if len(s.Items) > 0 {
		p.items(s.Items)
	}
	if s.Strip != nil {
		p.strip(s.Strip)
	}
	if s.Flame != nil {
		p.flame(s.Flame)
	}
	if s.Columns != nil {
		p.columns(s.Columns)
	}
	if s.Shares != nil {
		p.shares(s.Shares)
	}
	for _, b := range s.Bars {
		p.bars(b)
	}
	if len(s.Tree) > 0 {
		p.put("<div class=\"tree\">\n")
		for i := range s.Tree {
			p.node(&s.Tree[i])
		}
		p.put("</div>\n")
		if s.Cut > 0 {
			p.put("<p class=\"notes\">%d more entries are not shown.</p>\n", s.Cut)
		}
	}
	for i := range s.Tables {
		t := &s.Tables[i]
		p.put(`<div class="tablebox">`)
		if t.Folded {
			p.put("<details><summary>%s</summary>", t.Caption)
			p.grid(t)
			p.put("</details>")
		} else {
			p.grid(t)
		}
		p.put("</div>\n")
	}
	p.put("</section>\n")
}

// items writes a numbered list of findings.
func (p *page) items(items []itemView) {
	p.put("<ol class=\"items\">\n")
	for _, it := range items {
		p.put("<li id=\"%s\"><p><b>%s</b> %s</p>", it.ID, it.Size, it.Text)
		for _, l := range it.Lines {
			p.put("<p class=\"more\"><span>%s</span> ", l.Name)
			switch {
			case l.Code:
				p.put("<code>%s</code>", l.Text)
			default:
				p.link(l.Href, l.Text)
			}
			p.put("</p>")
		}
		p.put("</li>\n")
	}
	p.put("</ol>\n")
}

// link writes a text that leads somewhere, or only the text.
func (p *page) link(href, text string) {
	switch {
	case href == "":
		p.put("%s", text)
	case strings.HasPrefix(href, "#"):
		p.put(`<a href="%s">%s</a>`, href, text)
	default:
		p.put(`<a href="%s" target="_blank" rel="noopener noreferrer">%s</a>`, href, text)
	}
}

func (p *page) legend(entries []legendView) {
	if len(entries) == 0 {
		return
	}
	p.put(`<ul class="legend" aria-hidden="true">`)
	for _, l := range entries {
		shape := markup(`<rect class="` + l.Class + `" width="10" height="10"/>`)
		if l.Class == "line" {
			shape = `<path class="mark" d="M0 5h10"/>`
		}
		p.put(`<li><svg class="dot" viewBox="0 0 10 10">%s</svg>%s</li>`, shape, l.Name)
	}
	p.put("</ul>")
}

func (p *page) labels(labels []label) {
	for _, l := range labels {
		class := markup("")
		if l.Class != "" {
			class = markup(` class="` + l.Class + `"`)
		}
		p.put(`<text x="%s" y="%s"%s>%s</text>`, l.X, l.Y, class, l.Text)
	}
}

func (p *page) areas(areas []area) {
	for _, a := range areas {
		p.put(`<rect class="area" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`, a.X, a.Y, a.W, a.H, a.Title)
	}
}

// rect writes a rectangle, which leads somewhere where it has a place.
func (p *page) rect(r rectView, y, h string) {
	if r.Href != "" {
		p.put(`<a href="%s">`, r.Href)
	}
	p.put(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`, r.Class, r.X, y, r.W, h, r.Title)
	if r.Href != "" {
		p.put("</a>")
	}
	p.put("\n")
}

func (p *page) strip(s *stripView) {
	p.put("<figure>\n<svg class=\"chart\" viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"%s\">\n", s.Width, s.Height, s.Label)
	for _, t := range s.Ticks {
		p.put(`<line class="grid" x1="%s" x2="%s" y1="0" y2="%s"/><text class="axis" x="%s" y="%s" dy="15">%s</text>`, t.At, t.At, s.Bottom, t.At, s.Bottom, t.Label)
	}
	p.put("\n")
	for _, r := range s.Rects {
		p.rect(r, "4", "36")
	}
	p.labels(s.Labels)
	p.put("</svg>\n")
	p.legend(s.Legend)
	p.put("<figcaption>%s, in ms since the trace&#39;s first event.", s.Label)
	if s.Joined {
		p.put(" Neighbours were joined.")
	}
	p.put("</figcaption>\n</figure>\n")
}

func (p *page) paths(paths []path) {
	for _, q := range paths {
		p.put("<path class=\"%s\" d=\"%s\"/>\n", q.Class, q.D)
	}
}

func (p *page) columns(c *columnsView) {
	p.put("<figure>\n<svg class=\"chart\" viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"%s; the table below has the figures\">\n", c.Width, c.Height, c.Label)
	for _, t := range c.Ticks {
		p.put(`<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/><text class="axis end" x="54" y="%s" dy="4">%s</text>`, c.Left, c.Right, t.At, t.At, t.At, t.Label)
	}
	p.put("\n")
	p.paths(c.Paths)
	if c.Marks != "" {
		p.put("<path class=\"mark\" d=\"%s\"/>\n", c.Marks)
	}
	p.labels(c.Labels)
	p.areas(c.Areas)
	p.put("</svg>\n")
	p.legend(c.Legend)
	p.put("<figcaption>%s, in %s.", c.Label, c.Unit)
	p.hidden(c.Hidden)
}

func (p *page) hidden(n int) {
	if n > 0 {
		p.put(" %d more are not drawn.", n)
	}
	p.put("</figcaption>\n</figure>\n")
}

func (p *page) shares(s *sharesView) {
	p.put("<figure>\n<svg class=\"chart\" viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"%s\">\n", s.Width, s.Height, s.Label)
	p.paths(s.Paths)
	p.labels(s.Labels)
	p.areas(s.Areas)
	p.put("</svg>\n")
	p.legend(s.Legend)
	p.put("<figcaption>%s.", s.Label)
	p.hidden(s.Hidden)
}

func (p *page) bars(b *barsView) {
	p.put("<figure>\n<svg class=\"chart\" viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"%s; the table below has the figures\">\n", b.Width, b.Height, b.Label)
	for _, t := range b.Ticks {
		p.put(`<line class="grid" x1="%s" x2="%s" y1="0" y2="%s"/><text class="axis" x="%s" y="%s" dy="15">%s</text>`, t.At, t.At, b.Bottom, t.At, b.Bottom, t.Label)
	}
	p.put("\n")
	p.paths(b.Paths)
	p.labels(b.Labels)
	p.areas(b.Areas)
	p.put("</svg>\n")
	p.legend(b.Legend)
	p.put("<figcaption>%s, in %s.", b.Label, b.Unit)
	p.hidden(b.Hidden)
}

func (p *page) flame(f *flameView) {
	p.put("<figure>\n<svg class=\"chart flame\" viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"%s\">\n", f.Width, f.Height, f.Label)
	for _, r := range f.Rects {
		p.rect(r.rectView, r.Y, f.Row)
	}
	p.labels(f.Labels)
	p.put("</svg>\n")
	p.legend(f.Legend)
	p.put("<figcaption>%s.", f.Label)
	p.hidden(f.Hidden)
}

// line writes the parts of a line with the places where it may be broken.
func (p *page) line(parts []string) {
	for i, s := range parts {
		if i > 0 {
			p.put("<wbr>")
		}
		p.put("%s", s)
	}
}

func (p *page) grid(t *tableView) {
	if t.Controls {
		p.put("<div class=\"controls\">\n")
		if t.Search {
			p.put(`<label>Search <input type="search" id="%s-search" aria-controls="%s" placeholder="words in any column"></label>`, t.ID, t.ID)
		}
		for _, c := range t.Columns {
			if len(c.Choices) == 0 {
				continue
			}
			p.put(`<label>%s <select data-column="%d" aria-controls="%s"><option value="">all</option>`, c.Title, c.Index, t.ID)
			for _, o := range c.Choices {
				p.put("<option>%s</option>", o)
			}
			p.put("</select></label>\n")
		}
		p.put("<output aria-live=\"polite\"></output>\n</div>")
	}
	p.put("\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table class=\"sortable\" id=\"%s\">\n<caption>%s", t.Caption, t.ID, t.Caption)
	if t.Hidden > 0 {
		p.put(" (%d more rows are not shown)", t.Hidden)
	}
	p.put("</caption>\n<thead><tr>")
	for _, c := range t.Columns {
		p.put(`<th scope="col"%s>%s</th>`, class(c.Class), c.Title)
	}
	p.put("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		p.put("<tr")
		if row.ID != "" {
			p.put(` id="%s"`, row.ID)
		}
		p.put(">")
		for _, c := range row.Cells {
			p.cell(c)
		}
		p.put("</tr>\n")
	}
	p.put("</tbody></table></div>")
}

func class(name string) markup {
	if name == "" {
		return ""
	}
	return markup(` class="` + name + `"`)
}

func (p *page) dot(class string) {
	if class != "" {
		p.put(`<svg class="dot" viewBox="0 0 10 10" aria-hidden="true"><rect class="%s" width="10" height="10"/></svg>`, class)
	}
}

func (p *page) cell(c cellView) {
	p.put("<td%s", class(c.Class))
	if c.Hover != "" {
		p.put(` title="%s"`, c.Hover)
	}
	if c.Sort != "" {
		p.put(` data-sort="%s"`, c.Sort)
	}
	p.put(">")
	p.dot(c.Dot)
	switch {
	case c.Href != "" && len(c.Lines) == 1:
		p.link(c.Href, strings.Join(c.Lines[0], ""))
	case len(c.Lines) == 1:
		p.line(c.Lines[0])
	default:
		for _, l := range c.Lines {
			p.put("<div>")
			p.line(l)
			p.put("</div>")
		}
	}
	p.put("</td>")
}

// node writes a part of a tree: one that can be opened, or a line.
func (p *page) node(n *nodeView) {
	tag := markup("div")
	if len(n.Children) > 0 {
		tag = "details"
		p.put("<details")
	} else {
		p.put("<div class=\"leaf\"")
	}
	if n.ID != "" {
		p.put(` id="%s"`, n.ID)
	}
	if n.Open && len(n.Children) > 0 {
		p.put(" open")
	}
	p.put(">")
	if len(n.Children) > 0 {
		p.put("<summary>")
	}
	p.dot(n.Dot)
	p.put(`<span class="%s">`, n.TitleClass)
	p.link(n.Href, n.Title)
	p.put("</span>")
	for _, c := range n.Cells {
		p.put(` <span class="v">%s</span>`, c)
	}
	for _, l := range n.Links {
		p.put(" ")
		p.link(l.Href, l.Text)
	}
	if len(n.Children) > 0 {
		p.put("</summary>\n")
		for i := range n.Children {
			p.node(&n.Children[i])
		}
	}
	p.put("</%s>\n", tag)
}
