package table

import (
	"io"
	"strings"
)

// Align says to which side of its column a cell is set.
type Align uint8

// The sides.
const (
	Left  Align = iota // text
	Right              // numbers
)

// Keep is a part of a text.
type Keep uint8

// The parts.
const (
	Start Keep = iota // as [Cut] leaves it
	End               // of a path: the end is kept
	Both              // start and end; the middle goes
)

// Column describes one column of a [Table].
type Column struct {
	// Title is in the header line.
	Title string
	// Align sets the cells and the title.
	Align Align
	// Max is the widest a cell may be in fixed-width text, in characters;
	// longer ones are cut as [Cut] does. 0 means no limit. Markdown is cut at
	// [MaxMarkdown] only.
	Max int
	// Code says that the cells are names from code: Markdown shows them as code spans.
	Code bool
	// Keep says which part of a cell stays when it is cut.
	Keep Keep
}

// MaxMarkdown is the longest line of a cell in Markdown, in characters. Names of
// kernels reach 2500; a reader of more is not helped, and viewers give up. JSON
// and CSV have them whole.
const MaxMarkdown = 4000

// Text returns a left-aligned column.
func Text(title string) Column { return Column{Title: title} }

// Code returns a left-aligned column of names from code; of long ones the middle is cut.
func Code(title string) Column { return Column{Title: title, Code: true, Keep: Both} }

// Path returns a left-aligned column of places in code; of long ones the start is cut.
func Path(title string) Column { return Column{Title: title, Code: true, Keep: End} }

// lineBreak separates the lines of a cell.
const lineBreak = "\x1f"

// Lines returns a cell of several lines, one a text.
func Lines(texts ...string) string { return strings.Join(texts, lineBreak) }

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
		for i, s := range row {
			lines := strings.Split(s, lineBreak)
			for k, l := range lines {
				l = t.cols[i].cut(l, MaxMarkdown)
				if lines[k] = EscapeMarkdown(l); t.cols[i].Code {
					lines[k] = CodeSpan(l)
				}
			}
			b.WriteString(" " + strings.Join(lines, "<br>") + " |")
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
