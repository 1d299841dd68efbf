package htmlreport

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/table"
)

//go:embed assets
var assets embed.FS

// The texts that are embedded in each page.
var (
	style  = asset("style.css")
	script = asset("sort.js") + "\n" + asset("filter.js")
)

func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("htmlreport: embedded file: %v", err)) // a build without it fails every test
	}
	return string(b)
}

// policy allows the page's own style and exactly its script, and nothing else:
// no request leaves the page.
func policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// view is what is written: texts cleaned and cut, geometry computed.
type view struct {
	Title, Program, Summary string
	Facts                   []Fact
	Status                  string
	Findings                []Finding
	Notes                   []string
	Sections                []sectionView
}

type sectionView struct {
	ID, Title, Text string
	Items           []itemView
	Strip           *stripView
	Flame           *flameView
	Columns         *columnsView
	Shares          *sharesView
	Bars            []*barsView
	Tree            []nodeView
	Cut             int // nodes that are not shown
	Tables          []tableView
}

func newView(r *Report) *view {
	c := newColors(r)
	v := &view{
		Title: text(r.Title), Program: text(r.Program), Summary: table.Cut(table.Clean(r.Summary), 4*maxText),
		Status: text(r.Health.Status),
	}
	for _, f := range r.Facts {
		f.Name, f.Value = text(f.Name), table.Cut(table.Clean(f.Value), 4*maxText)
		v.Facts = append(v.Facts, f)
	}
	for _, f := range r.Health.Findings {
		v.Findings = append(v.Findings, Finding{text(f.Code), text(f.Severity), table.Cut(table.Clean(f.Message), 4*maxText)})
	}
	for _, n := range r.Notes[:min(len(r.Notes), maxNotes)] {
		v.Notes = append(v.Notes, table.Cut(table.Clean(n), 4*maxText))
	}
	for i, s := range r.Sections {
		sv := sectionView{ID: "s" + strconv.Itoa(i), Title: text(s.Title), Text: table.Cut(table.Clean(s.Text), 4*maxText)}
		if s.ID != "" {
			sv.ID = anchor(s.ID)
		}
		sv.Items = newItems(s.Items)
		if s.Strip != nil {
			sv.Strip = newStrip(s.Strip)
		}
		if s.Flame != nil {
			sv.Flame = newFlame(s.Flame, c)
		}
		budget := maxNodes
		sv.Tree = newNodes(s.Tree, c, &budget, &sv.Cut)
		if s.Columns != nil {
			sv.Columns = newColumns(s.Columns, c)
		}
		if s.Shares != nil {
			sv.Shares = newShares(s.Shares, c)
		}
		for k := range s.Bars {
			sv.Bars = append(sv.Bars, newBars(&s.Bars[k], c))
		}
		for k := range s.Tables {
			sv.Tables = append(sv.Tables, newTable(&s.Tables[k], sv.ID+"t"+strconv.Itoa(k), c))
		}
		v.Sections = append(v.Sections, sv)
	}
	return v
}

func text(s string) string { return table.Cut(table.Clean(s), maxText) }

// colors gives every series of charts and tables the same colour wherever it
// appears. Strips have legends of their own.
type colors map[string]int

func newColors(r *Report) colors {
	c := colors{}
	for i, name := range r.Colors {
		c[name] = min(i, lastColor)
	}
	next := len(c)
	add := func(name string) {
		if _, ok := c[name]; !ok && name != Others {
			c[name] = min(next, maxSeries)
			next++
		}
	}
	for _, s := range r.Sections {
		for _, ch := range []*Chart{s.Columns, s.Shares} {
			if ch != nil {
				for _, name := range ch.Series {
					add(name)
				}
			}
		}
		for i := range s.Bars {
			for k := range s.Bars[i].Rows {
				add(s.Bars[i].Rows[k].Series)
			}
		}
	}
	return c
}

// class returns the style class of a series; unknown ones are grey, as Others is.
func (c colors) class(name string) string {
	i, ok := c[name]
	if !ok {
		i = greySeries
	}
	return "c" + strconv.Itoa(i)
}

// legendView is one entry of a legend.
type legendView struct{ Class, Name string }

func legend(names []string, c colors) []legendView {
	var out []legendView
	for _, n := range names {
		out = append(out, legendView{c.class(n), text(n)})
	}
	return out
}

type tableView struct {
	ID, Caption    string
	Columns        []columnView
	Rows           []rowView
	Search, Folded bool
	Controls       bool
	Hidden         int
}

type rowView struct {
	ID    string
	Cells []cellView
}

type columnView struct {
	Index   int
	Title   string
	Class   string
	Numeric bool
	Choices []string // of a filter, sorted
}

type cellView struct {
	Lines      [][]string // of the parts between which a line may be broken
	Class, Dot string
	Href       string
	Hover      string
	Sort       string // "" to sort by the text
}

// lines returns what the cell shows.
func (c *Cell) lines(code, whole bool) [][]string {
	all := c.Lines
	if c.Text != "" {
		all = append([]string{c.Text}, all...)
	}
	var out [][]string
	for i, l := range all {
		if i == maxLines {
			return append(out, []string{fmt.Sprintf("… %d more", len(all)-i)})
		}
		parts := []string{text(l)}
		if whole {
			parts[0] = table.Cut(table.Clean(l), maxName)
		}
		if code {
			parts = breakable(parts[0])
		}
		out = append(out, parts)
	}
	return out
}

// Lengths of the parts into which code is broken, in characters: none so short
// that a column gets ragged, none so long that it needs a wide column.
const (
	minPart = 6
	maxPart = 26
)

// breakable splits a kernel's or file's name after its punctuation, so that it
// is broken there and not inside words.
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

// maxChoices bounds a filter's list; a column with more values is searched
// rather than chosen from.
const maxChoices = 60

func newTable(t *Table, id string, c colors) tableView {
	v := tableView{ID: id, Caption: text(t.Caption), Search: t.Search, Folded: t.Folded, Hidden: t.Hidden}
	rows := t.Rows
	if len(rows) > maxRows {
		v.Hidden += len(rows) - maxRows
		rows = rows[:maxRows]
	}
	for i, col := range t.Columns {
		cv := columnView{Index: i, Title: text(col.Title), Numeric: col.Numeric}
		switch {
		case col.Numeric:
			cv.Class = "n"
		case col.Code:
			cv.Class = "code"
		case col.Prose:
			cv.Class = "prose"
		}
		if col.Filter {
			for _, row := range rows {
				if i < len(row) && row[i].Text != "" && !slices.Contains(cv.Choices, text(row[i].Text)) && len(cv.Choices) <= maxChoices {
					cv.Choices = append(cv.Choices, text(row[i].Text))
				}
			}
			slices.Sort(cv.Choices)
			if len(cv.Choices) < 2 || len(cv.Choices) > maxChoices {
				cv.Choices = nil
			}
		}
		v.Controls = v.Controls || t.Search || len(cv.Choices) > 0
		v.Columns = append(v.Columns, cv)
	}
	for n, row := range rows {
		var cells []cellView
		for i, cell := range row {
			if i >= len(v.Columns) {
				break
			}
			cv := cellView{Lines: cell.lines(t.Columns[i].Code, t.Columns[i].Whole), Href: safeLink(cell.Href), Class: v.Columns[i].Class, Hover: text(cell.Hover)}
			if v.Columns[i].Numeric {
				cv.Sort = number(cell.Sort)
			}
			if cell.Series {
				cv.Dot = c.class(cell.Text)
				cv.Class += " kind"
			}
			if cell.Strong {
				cv.Class += " strong"
			}
			cells = append(cells, cv)
		}
		rv := rowView{Cells: cells}
		if n < len(t.RowIDs) && t.RowIDs[n] != "" {
			rv.ID = anchor(t.RowIDs[n])
		}
		v.Rows = append(v.Rows, rv)
	}
	return v
}

// number formats a value for scripts and coordinates: finite, short, exact
// enough for both.
func number(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	return strconv.FormatFloat(f, 'g', 9, 64)
}
