package table

import (
	"io"
	"strings"
	"unicode/utf8"
)

// gap is between two columns, narrowGap where that keeps a table in one piece, or names longer.
const gap, narrowGap = "  ", " "

// WriteText writes the table in fixed width: the titles, a rule, the rows; two
// spaces between columns and none at the ends of lines. Widths count
// characters, not bytes.
//
// A writer that has a method Width() int says how many characters wide the
// table may be, as for [Table.WriteFit]; one whose method Markdown() bool
// returns true gets Markdown.
func (t *Table) WriteText(w io.Writer) error {
	if markdownOf(w) {
		return t.WriteMarkdown(w)
	}
	return t.WriteFit(w, widthOf(w))
}

// widthOf is how wide the tables of a writer may be, 0 where it does not say.
func widthOf(w io.Writer) int {
	if sized, ok := w.(interface{ Width() int }); ok {
		return sized.Width()
	}
	return 0
}

// WriteFit is WriteText for a table of at most so many characters; 0: no limit. Texts are cut, the longest first, and
// titles broken until the lines fit; a table of too many columns goes on below itself, with its first column once more.
// Numbers are never cut. The columns' own limits only hold where there is no room given.
func (t *Table) WriteFit(w io.Writer, room int) error {
	if len(t.cols) == 0 {
		return nil
	}
	f := t.layout(room > 0)
	if room <= 0 {
		return f.write(w)
	}
	for i, part := range f.fit(room) {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := part.write(w); err != nil {
			return err
		}
	}
	return nil
}

// fixed is a table as lines of cells with the widths of its columns.
type fixed struct {
	cols   []Column
	titles []string
	rows   [][][]string // row, column, line; nil for a rule
	cells  []int        // how wide the cells of each column are
	width  []int        // of each column
	gap    string
}

// layout cuts the cells at the columns' own limits, unless they are fitted to a width.
func (t *Table) layout(fitted bool) *fixed {
	f := &fixed{gap: gap, cols: t.cols, titles: make([]string, len(t.cols)), rows: make([][][]string, len(t.rows)),
		cells: make([]int, len(t.cols))}
	for i, c := range t.cols {
		f.titles[i] = Clean(c.Title)
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
				f.cells[i] = max(f.cells[i], utf8.RuneCountInString(l))
			}
		}
	}
	f.spread()
	return f
}

// spread gives every column the width that its cells and its title need.
func (f *fixed) spread() {
	f.width = make([]int, len(f.cols))
	for i, t := range f.titles {
		f.width[i] = max(f.cells[i], utf8.RuneCountInString(t))
	}
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
	tail := wholeWord(s, CutStart(s, (max+len(ellipsis))/2), max)
	head := prefix(s, max-utf8.RuneCountInString(tail))
	from, to := baseName(s)
	switch {
	case len(head) >= to, len(s)-len(tail)+len(ellipsis) <= from, baseNeeds(s) > max:
		return head + tail
	case from == 0:
		return Cut(s, max)
	}
	return ellipsis + Cut(s[from:], max-len(ellipsis))
}

// baseNeeds is how many characters the base name of a name takes, with what shows that something is missing.
func baseNeeds(s string) int {
	from, to := baseName(s)
	need := utf8.RuneCountInString(s[from:to])
	if from > 0 {
		need += len(ellipsis)
	}
	if to < len(s) {
		need += len(ellipsis)
	}
	return min(need, utf8.RuneCountInString(s))
}

// wholeWord lets the end of a name that was cut for so many characters begin with a whole word, such as a tile: the
// word before the cut where a third of the characters stays for the start of the name, else the next one.
func wholeWord(s, tail string, max int) string {
	at := len(s) - len(tail) + len(ellipsis)
	if len(tail) <= len(ellipsis) || at < 1 {
		return tail
	}
	const separators = "_:<>(), ./"
	if start := strings.LastIndexAny(s[:at], separators) + 1; max-len(ellipsis)-utf8.RuneCountInString(s[start:]) >= max/3 {
		return ellipsis + s[start:]
	}
	if next := strings.IndexAny(s[at:len(s)-1], separators); next >= 0 {
		return ellipsis + s[at+next+1:]
	}
	return tail
}

// baseName is where the name of a function is in a name from code: without its namespaces, folders, arguments and
// what it returns.
func baseName(s string) (from, to int) {
	if to = strings.IndexAny(s, "<("); to <= 0 {
		to = len(s)
	}
	return strings.LastIndexAny(s[:to], ":/ ") + 1, to
}

// total is the width of a line.
func (f *fixed) total() int {
	n := len(f.gap) * (len(f.cols) - 1)
	for _, w := range f.width {
		n += w
	}
	return n
}

func (f *fixed) write(w io.Writer) error {
	rule := strings.Repeat("-", f.total()) + "\n"
	var b strings.Builder
	f.head(&b)
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

// head writes the titles, broken where they are wider than their columns; the last lines of all are side by side.
func (f *fixed) head(b *strings.Builder) {
	titles, most := make([][]string, len(f.cols)), 1
	for i, t := range f.titles {
		titles[i] = Fill(t, f.width[i])
		most = max(most, len(titles[i]))
	}
	for l := range most {
		f.line(b, func(i int) string {
			if at := l - most + len(titles[i]); at >= 0 {
				return Cut(titles[i][at], f.width[i])
			}
			return ""
		})
	}
}

// line writes one line of cells.
func (f *fixed) line(b *strings.Builder, cell func(col int) string) {
	var l strings.Builder
	for i, c := range f.cols {
		if i > 0 {
			l.WriteString(f.gap)
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

// Fill breaks a text at spaces into lines of at most width characters; words that are longer stand alone, and a unit
// stays with the number before it. 0: one line.
func Fill(s string, width int) []string {
	var out []string
	line, n := "", 0
	words := strings.Fields(Clean(s))
	for i, w := range words {
		k := utf8.RuneCountInString(w)
		need := k
		if i+1 < len(words) && withUnit(w, words[i+1]) {
			need += 1 + utf8.RuneCountInString(words[i+1])
		}
		if n > 0 && width > 0 && n+1+need > width && !withUnit(words[i-1], w) {
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

// withUnit reports whether a word is a number and the next one its unit, maybe with a sign after it.
func withUnit(word, next string) bool {
	if c := word[len(word)-1]; c < '0' || c > '9' {
		return false
	}
	switch strings.TrimRight(next, ".,:;)") {
	case "%", "ms", "µs", "s", "×":
		return true
	}
	return false
}
