package table

import (
	"io"
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
func (t *Table) WriteText(w io.Writer) error {
	if len(t.cols) == 0 {
		return nil
	}
	cells := make([][]string, len(t.rows))
	width := make([]int, len(t.cols))
	for i, c := range t.cols {
		width[i] = utf8.RuneCountInString(Clean(c.Title))
	}
	for r, row := range t.rows {
		if row == nil {
			continue
		}
		cells[r] = make([]string, len(row))
		for i, s := range row {
			s = Clean(s)
			if m := t.cols[i].Max; m > 0 {
				s = Cut(s, m)
			}
			cells[r][i] = s
			width[i] = max(width[i], utf8.RuneCountInString(s))
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
		titles[i] = Clean(c.Title)
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
