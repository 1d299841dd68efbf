package table

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Writer writes what people read, in one of two forms from one description: text, or Markdown for a writer that has a
// method Markdown() bool which returns true. What is written passes a [Cleaner]; tables are as wide as its writer
// allows. It keeps the first error, for Flush. Texts may have flags in back quotes.
type Writer struct {
	*bufio.Writer
	width    int
	markdown bool
	last     block
}

// block is a part of a page; Markdown has an empty line between two, except between items of a list.
type block uint8

const (
	nothing block = iota
	title
	paragraph
	item
	rows
)

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{Writer: bufio.NewWriter(NewCleaner(w)), width: widthOf(w), markdown: markdownOf(w)}
}

// markdownOf reports whether a writer takes Markdown.
func markdownOf(w io.Writer) bool {
	m, ok := w.(interface{ Markdown() bool })
	return ok && m.Markdown()
}

// Width is how wide tables may be; see [Table.WriteText].
func (w *Writer) Width() int { return w.width }

// Markdown reports whether the form is Markdown.
func (w *Writer) Markdown() bool { return w.markdown }

// begin separates a block from the one before it.
func (w *Writer) begin(b block) {
	if w.last != nothing && (b == title || w.markdown && !(b == item && w.last == item)) {
		w.WriteByte('\n')
	}
	w.last = b
}

// Heading begins a part: level 1 is the title of all.
func (w *Writer) Heading(level int, format string, args ...any) {
	w.begin(title)
	s := fmt.Sprintf(format, args...)
	if w.markdown {
		s = strings.Repeat("#", level) + " " + EscapeProse(s)
	}
	w.WriteString(s + "\n")
}

// Say writes a sentence, or a few: a paragraph of Markdown, a line of text.
func (w *Writer) Say(format string, args ...any) {
	w.begin(paragraph)
	w.WriteString(w.text(format, args) + "\n")
}

func (w *Writer) text(format string, args []any) string {
	s := Clean(fmt.Sprintf(format, args...))
	if w.markdown {
		return EscapeProse(s)
	}
	return s
}

// Fact writes a named value, nothing where there is none.
func (w *Writer) Fact(name, format string, args ...any) {
	value := w.text(format, args)
	if value == "" {
		return
	}
	w.begin(item)
	if w.markdown {
		name = "- **" + name + "**"
	}
	w.WriteString(name + ": " + value + "\n")
}

// Item writes an item of a list.
func (w *Writer) Item(format string, args ...any) { w.mark("- ", "  - ", format, args) }

// Numbered writes an item of a list, the i-th from 1 on.
func (w *Writer) Numbered(i int, format string, args ...any) {
	w.mark(fmt.Sprintf("%d. ", i), fmt.Sprintf("%3d. ", i), format, args)
}

// Below writes a line about the item before it.
func (w *Writer) Below(format string, args ...any) { w.mark("    - ", "     ", format, args) }

func (w *Writer) mark(markdown, text, format string, args []any) {
	w.begin(item)
	if w.markdown {
		text = markdown
	}
	w.WriteString(text + w.text(format, args) + "\n")
}

// Command is a command line within a sentence.
func (w *Writer) Command(s string) string {
	if !w.markdown {
		return s
	}
	return "`" + strings.ReplaceAll(Clean(s), "`", "'") + "`"
}

// Table writes a table.
func (w *Writer) Table(t *Table) {
	w.begin(rows)
	_ = t.WriteText(w) // the Writer keeps the error
}

// List writes a table of the first of a list below a heading ("": none), a row each, and how many more there are;
// nothing of an empty list.
func List[T any](w *Writer, heading string, list []T, most int, row func(T) []string, cols ...Column) {
	if len(list) == 0 {
		return
	}
	if heading != "" {
		w.Heading(2, "%s", heading)
	}
	t := New(cols...)
	for _, x := range list[:min(len(list), most)] {
		t.Row(row(x)...)
	}
	w.Table(t)
	if n := len(list) - most; n > 0 {
		w.Say("(%d more)", n)
	}
}
