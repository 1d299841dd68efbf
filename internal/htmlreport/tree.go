package htmlreport

import (
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

type itemView struct {
	ID, Size, Text string
	Lines          []Line
}

func newItems(items []Item) []itemView {
	var out []itemView
	for i, it := range items[:min(len(items), maxRows)] {
		v := itemView{ID: "finding-" + strconv.Itoa(i+1), Size: text(it.Size), Text: table.Cut(table.Clean(it.Text), 4*maxText)}
		if it.ID != "" {
			v.ID = anchor(it.ID)
		}
		for _, l := range it.Lines {
			v.Lines = append(v.Lines, Line{text(l.Name), table.Cut(table.Clean(l.Text), maxName), l.Code, safeLink(l.Href)})
		}
		out = append(out, v)
	}
	return out
}

type nodeView struct {
	ID, Title, Href, TitleClass, Dot string
	Cells                            []string
	Links                            []Line
	Open                             bool
	Children                         []nodeView
}

// newNodes makes what is shown of a tree until its budget of nodes is used up,
// level by level, so that what is left out is deep below.
func newNodes(nodes []Node, c colors, budget, cut *int) []nodeView {
	var out []nodeView
	for i := range nodes {
		if *budget == 0 {
			*cut += len(nodes) - i
			break
		}
		*budget--
		n := &nodes[i]
		v := nodeView{Title: text(n.Title), Href: safeLink(n.Href), TitleClass: "t", Open: n.Open}
		if n.ID != "" {
			v.ID = anchor(n.ID)
		}
		if n.Code {
			v.TitleClass = "t code"
		}
		if n.Series != "" {
			v.Dot = c.class(n.Series)
		}
		for _, s := range n.Cells {
			v.Cells = append(v.Cells, text(s))
		}
		for _, l := range n.Links {
			v.Links = append(v.Links, Line{Text: text(l.Text), Href: safeLink(l.Href)})
		}
		out = append(out, v)
	}
	for i := range out {
		out[i].Children = newNodes(nodes[i].Children, c, budget, cut)
	}
	return out
}

// perfettoUI is the one place outside of the page that links may lead to; a
// click opens it, the page itself asks for nothing.
const perfettoUI = "https://ui.perfetto.dev/"

// safeLink returns a link that leads into the page or to the Perfetto UI, ""
// for any other.
func safeLink(href string) string {
	switch {
	case strings.HasPrefix(href, "#"):
		return "#" + anchor(href[1:])
	case strings.HasPrefix(href, perfettoUI):
		return href
	}
	return ""
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
