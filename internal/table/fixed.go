package table

import (
	"io"
	"slices"
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

// WriteFit is WriteText for a table of at most so many characters; 0: no limit. Columns of text are narrowed, the
// widest first, and titles broken until the lines fit: names lose their arguments and folders, and go on in the next
// line where that is not enough. A table of too many columns goes on below itself, with its first column once more.
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
					l = t.cols[i].shorten(l, m)
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

// lines fits a cell into a column of so many characters. Arguments, namespaces and folders are cut; what names the
// function, the file or anything else is never: it continues on the next line.
func (c *Column) lines(s string, width int) []string {
	if utf8.RuneCountInString(s) <= width {
		return []string{s}
	}
	if s = c.cut(s, MaxMarkdown); c.Keep != Start {
		s = c.shorten(s, width)
	}
	var out []string
	for _, line := range Fill(s, width) {
		out = append(out, wrap(line, width)...)
	}
	return out
}

// mostName is the longest base name that is not cut: triton's names of many fused operators reach 170 characters;
// names of thousands are mangled, and no base names.
const mostName = 400

// shorten cuts a cell to so many characters, or, where it names more than that, to what it names.
func (c *Column) shorten(s string, max int) string {
	from, to := c.essence(s)
	switch need := essenceNeeds(s, from, to); {
	case c.Keep == Start, need <= max:
		return c.cut(s, max)
	case need > mostName:
		return c.cut(s, mostName)
	}
	if to < len(s) {
		return s[from:to] + ellipsis
	}
	return s[from:]
}

// Name is a name from code in a sentence: cleaned, and of at most so many characters where its base name has no more.
func Name(s string, max int) string {
	c := Code("")
	return c.shorten(Clean(s), max)
}

// essence is the part of a cell that no width cuts.
func (c *Column) essence(s string) (from, to int) {
	switch c.Keep {
	case Both:
		return baseName(s)
	case End:
		return strings.LastIndexByte(s, '/') + 1, len(s)
	}
	return 0, len(s)
}

// wrap breaks a name into lines, each as long as it may be, after a separator where a line has one
// after its first third.
func wrap(s string, width int) []string {
	var out []string
	width = max(width, 1)
	for utf8.RuneCountInString(s) > width {
		line := prefix(s, width)
		if at := strings.LastIndexAny(line, separators) + 1; at > len(line)/3 {
			line = line[:at]
		}
		out, s = append(out, line), s[len(line):]
	}
	return append(out, s)
}

// separators are between the words of a name.
const separators = "_:<>(), ./+"

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
	case len(head) >= to, len(s)-len(tail)+len(ellipsis) <= from, essenceNeeds(s, from, to) > max:
		return head + tail
	case from == 0:
		return Cut(s, max)
	}
	return ellipsis + Cut(s[from:], max-len(ellipsis))
}

// essenceNeeds is how many characters a part of a text takes, with what shows that something is missing.
func essenceNeeds(s string, from, to int) int {
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
	if start := strings.LastIndexAny(s[:at], separators) +
		1; max-len(ellipsis)-utf8.RuneCountInString(s[start:]) >= max/3 {
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
	for {
		end := max(from, strings.IndexAny(s[from:], "<(")+from)
		rest, unnamed := strings.CutPrefix(s[end:], "(anonymous namespace)::")
		if !unnamed {
			rest, unnamed = strings.CutPrefix(s[end:], "<unnamed>::")
		}
		if unnamed {
			from = len(s) - len(rest)
			continue
		}
		if end == from {
			end = len(s)
		}
		return max(from, strings.LastIndexAny(s[:end], ":/ ")+1), end
	}
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
		cells, most := make([][]string, len(row)), 0
		for i, lines := range row {
			for _, l := range lines {
				cells[i] = append(cells[i], f.cols[i].lines(l, f.width[i])...)
			}
			most = max(most, len(cells[i]))
		}
		for l := range most {
			f.line(&b, func(i int) string {
				if l < len(cells[i]) {
					return cells[i][l]
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

// Fill breaks a text at spaces into lines of at most width characters; longer words have lines of their own, and a unit
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
	return slices.Contains(units, strings.TrimRight(next, ".,:;)"))
}

var units = []string{"%", "ms", "µs", "s", "×"}
