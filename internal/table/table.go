package table

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Align says to which side of its column a cell is set.
type Align uint8

// The sides.
const (
	Left  Align = iota // text
	Right              // numbers
)

// Column describes one column of a [Table].
type Column struct {
	// Title stands in the header line.
	Title string
	// Align sets the cells and the title.
	Align Align
	// Max is the widest a cell may be in fixed-width text, in characters;
	// longer ones are cut as [Cut] does. 0 means no limit. Markdown is not cut.
	Max int
}

// Text returns a left-aligned column.
func Text(title string) Column { return Column{Title: title} }

// Number returns a right-aligned column.
func Number(title string) Column { return Column{Title: title, Align: Right} }

// Limit returns the column with its Max set.
func (c Column) Limit(max int) Column { c.Max = max; return c }

// Table collects rows and writes them in one of the formats. The zero value
// has no columns; use [New]. It is not safe for concurrent use.
type Table struct {
	cols []Column
	rows [][]string // a nil row is a rule
}

// New returns an empty table with these columns.
func New(cols ...Column) *Table { return &Table{cols: cols} }

// Row appends a row. Missing cells are empty, cells beyond the columns are
// dropped.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(t.cols))
	copy(row, cells)
	t.rows = append(t.rows, row)
}

// Rule appends a horizontal line. Markdown has none between rows and leaves it
// out.
func (t *Table) Rule() { t.rows = append(t.rows, nil) }

// Len returns the number of rows, rules not counted.
func (t *Table) Len() int {
	n := 0
	for _, r := range t.rows {
		if r != nil {
			n++
		}
	}
	return n
}

// WriteText writes the table in fixed width: the titles, a rule, the rows; two
// spaces between columns and none at the ends of lines. Widths count
// characters, not bytes.
//
// A writer that has a method Width() int says how many characters wide the
// table may be, 0 for no limit: then texts are cut, the longest first, until
// the lines fit, and the columns' own limits only hold where there is no room.
// Numbers are never cut, so a table of very many columns may still be wider.
func (t *Table) WriteText(w io.Writer) error {
	if len(t.cols) == 0 {
		return nil
	}
	room := 0
	if sized, ok := w.(interface{ Width() int }); ok {
		room = sized.Width()
	}
	cells := make([][]string, len(t.rows))
	full, width := make([]int, len(t.cols)), make([]int, len(t.cols))
	for i, c := range t.cols {
		full[i] = utf8.RuneCountInString(Clean(c.Title))
	}
	copy(width, full)
	for r, row := range t.rows {
		if row == nil {
			continue
		}
		cells[r] = make([]string, len(row))
		for i, s := range row {
			s = Clean(s)
			cells[r][i] = s
			n := utf8.RuneCountInString(s)
			full[i] = max(full[i], n)
			if m := t.cols[i].Max; m > 0 {
				n = min(n, m)
			}
			width[i] = max(width[i], n)
		}
	}
	if room > 0 {
		width = t.fit(full, room)
	}
	for r, row := range cells {
		for i, s := range row {
			cells[r][i] = Cut(s, width[i])
		}
	}
	var b strings.Builder
	line := func(row []string) {
		var l strings.Builder
		for i, s := range row {
			if i > 0 {
				l.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(s))
			if t.cols[i].Align == Right {
				l.WriteString(pad + s)
			} else {
				l.WriteString(s + pad)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " "))
		b.WriteByte('\n')
	}
	titles := make([]string, len(t.cols))
	total := 2 * (len(t.cols) - 1)
	for i, c := range t.cols {
		titles[i] = Cut(Clean(c.Title), width[i])
		total += width[i]
	}
	rule := strings.Repeat("-", total) + "\n"
	flush := func() error {
		_, err := io.WriteString(w, b.String())
		b.Reset()
		return err
	}
	line(titles)
	b.WriteString(rule)
	for r := range t.rows {
		if t.rows[r] == nil {
			b.WriteString(rule)
		} else {
			line(cells[r])
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return flush()
}

// minText is how far a text is cut at most to make a table fit: a word is left.
const minText = 12

// fit returns the widths of columns with which the lines fit into the room, or
// come as near as cutting texts can.
func (t *Table) fit(full []int, room int) []int {
	width := slices.Clone(full)
	over := 2*(len(width)-1) - room
	for _, n := range width {
		over += n
	}
	for over > 0 {
		longest := -1
		for i, n := range width {
			if t.cols[i].Align == Left && n > minText && (longest < 0 || n > width[longest]) {
				longest = i
			}
		}
		if longest < 0 {
			break
		}
		width[longest]--
		over--
	}
	return width
}

// WriteMarkdown writes the table in the pipe syntax of GitHub's Markdown, with
// the alignment in its second line.
func (t *Table) WriteMarkdown(w io.Writer) error {
	if len(t.cols) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteByte('|')
	for _, c := range t.cols {
		b.WriteString(" " + EscapeMarkdown(c.Title) + " |")
	}
	b.WriteString("\n|")
	for _, c := range t.cols {
		if c.Align == Right {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteByte('\n')
	for _, row := range t.rows {
		if row == nil {
			continue
		}
		b.WriteByte('|')
		for _, s := range row {
			b.WriteString(" " + EscapeMarkdown(s) + " |")
		}
		b.WriteByte('\n')
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		b.Reset()
	}
	_, err := io.WriteString(w, b.String())
	return err
}
