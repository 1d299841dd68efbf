package table

import (
	"io"
	"strings"
	"unicode/utf8"
)

// leastColumn is to how many characters a column of text is narrowed to fit a width: enough for the end of a source line.
const leastColumn = 12

// gap stands between two columns.
const gap = "  "

// WriteText writes the table in fixed width: the titles, a rule, the rows; two
// spaces between columns and none at the ends of lines. Widths count
// characters, not bytes.
//
// A writer that has a method Width() int says how many characters wide the
// table may be, as for [Table.WriteFit].
func (t *Table) WriteText(w io.Writer) error {
	room := 0
	if sized, ok := w.(interface{ Width() int }); ok {
		room = sized.Width()
	}
	return t.WriteFit(w, room)
}

// WriteFit is WriteText for a table of at most so many characters; 0: no limit. Texts are cut, the longest first, until
// the lines fit, and the columns' own limits only hold where there is no room given.
// Numbers are never cut, so a table of very many columns may still be wider.
func (t *Table) WriteFit(w io.Writer, room int) error {
	if len(t.cols) == 0 {
		return nil
	}
	f := t.layout(room > 0)
	if room > 0 {
		f.fit(room)
	}
	return f.write(w)
}

// fixed is a table as lines of cells with the widths of its columns.
type fixed struct {
	cols   []Column
	titles []string
	rows   [][][]string // row, column, line; nil for a rule
	width  []int
}

// layout cuts the cells at the columns' own limits, unless they are fitted to a width.
func (t *Table) layout(fitted bool) *fixed {
	f := &fixed{cols: t.cols, titles: make([]string, len(t.cols)), rows: make([][][]string, len(t.rows)), width: make([]int, len(t.cols))}
	for i, c := range t.cols {
		f.titles[i] = Clean(c.Title)
		f.width[i] = utf8.RuneCountInString(f.titles[i])
	}
	for r, row := range t.rows {
		if row == nil {
			continue
		}
		f.rows[r] = make([][]string, len(row))
		for i, s := range row {
			for l := range strings.SplitSeq(s, lineBreak) {
				l = Clean(l)
				if m := t.cols[i].Max; m > 0 && !fitted {
					l = f.cut(i, l, m)
				}
				f.rows[r][i] = append(f.rows[r][i], l)
				f.width[i] = max(f.width[i], utf8.RuneCountInString(l))
			}
		}
	}
	return f
}

func (f *fixed) cut(col int, s string, max int) string { return f.cols[col].cut(s, max) }

// cut shortens a cell to so many characters.
func (c *Column) cut(s string, max int) string {
	switch n := utf8.RuneCountInString(s); {
	case n <= max || c.Keep == Start:
		return Cut(s, max)
	case c.Keep == End:
		return CutStart(s, max)
	}
	tail := CutStart(s, (max+len(ellipsis))/2)
	return prefix(s, max-utf8.RuneCountInString(tail)) + tail
}

// total is the width of a line.
func (f *fixed) total() int {
	n := len(gap) * (len(f.cols) - 1)
	for _, w := range f.width {
		n += w
	}
	return n
}

// fit narrows the widest column of text until lines have at most so many characters.
func (f *fixed) fit(room int) {
	for over := f.total() - room; over > 0; over-- {
		longest := -1
		for i, n := range f.width {
			if f.cols[i].Align == Left && n > leastColumn && (longest < 0 || n > f.width[longest]) {
				longest = i
			}
		}
		if longest < 0 {
			return
		}
		f.width[longest]--
	}
}

func (f *fixed) write(w io.Writer) error {
	rule := strings.Repeat("-", f.total()) + "\n"
	var b strings.Builder
	f.line(&b, func(i int) string { return Cut(f.titles[i], f.width[i]) })
	b.WriteString(rule)
	for _, row := range f.rows {
		if row == nil {
			b.WriteString(rule)
		}
		lines := 0
		for _, c := range row {
			lines = max(lines, len(c))
		}
		for l := range lines {
			f.line(&b, func(i int) string {
				if l < len(row[i]) {
					return f.cut(i, row[i][l], f.width[i])
				}
				return ""
			})
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		b.Reset()
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line writes one line of cells.
func (f *fixed) line(b *strings.Builder, cell func(col int) string) {
	var l strings.Builder
	for i, c := range f.cols {
		if i > 0 {
			l.WriteString(gap)
		}
		s := cell(i)
		pad := strings.Repeat(" ", f.width[i]-utf8.RuneCountInString(s))
		if c.Align == Right {
			l.WriteString(pad + s)
		} else {
			l.WriteString(s + pad)
		}
	}
	b.WriteString(strings.TrimRight(l.String(), " "))
	b.WriteByte('\n')
}

// Fill breaks a text at spaces into lines of at most width characters; words that are longer stand alone. 0: one line.
func Fill(s string, width int) []string {
	var out []string
	line, n := "", 0
	for _, w := range strings.Fields(Clean(s)) {
		k := utf8.RuneCountInString(w)
		if n > 0 && width > 0 && n+1+k > width {
			out = append(out, line)
			line, n = "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+w, n+k
	}
	return append(out, line)
}
