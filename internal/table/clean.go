package table

import (
	"bytes"
	"io"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Cleaner passes text on without what could act on a terminal: control
// characters other than line feeds and tabs, the characters that reorder a line,
// and invalid UTF-8 become U+FFFD, and carriage returns go. All text that strata
// prints passes one, for names come from traces, that is from
// anywhere. It is not safe for concurrent use.
type Cleaner struct {
	w io.Writer
	// Styles are control sequences that pass, such as those of colours.
	Styles []string
	// JSON escapes instead: what passes is JSON, and stays the same document.
	JSON bool

	rest []byte // the beginning of a character or style, to be ended by the next write
	out  []byte
}

// NewCleaner returns a cleaner that writes to w.
func NewCleaner(w io.Writer) *Cleaner { return &Cleaner{w: w} }

// Width says how wide tables may be; see [Table.WriteText].
func (c *Cleaner) Width() int { return widthOf(c.w) }

// Markdown says whether tables are Markdown; see [Table.WriteText].
func (c *Cleaner) Markdown() bool { return markdownOf(c.w) }

// Unwrap returns the writer that the cleaner writes to.
func (c *Cleaner) Unwrap() io.Writer { return c.w }

// Write implements io.Writer.
func (c *Cleaner) Write(p []byte) (int, error) {
	if len(c.rest) == 0 && plainText(p) {
		return c.w.Write(p)
	}
	text := p
	if len(c.rest) > 0 {
		text = append(c.rest, p...)
		c.rest = nil
	}
	c.out = c.out[:0]
	for len(text) > 0 {
		n, whole := c.next(text)
		if !whole {
			c.rest = bytes.Clone(text)
			break
		}
		text = text[n:]
	}
	if _, err := c.w.Write(c.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// End writes what the end of the text left open.
func (c *Cleaner) End() error {
	if len(c.rest) == 0 {
		return nil
	}
	c.rest = nil
	_, err := io.WriteString(c.w, string(utf8.RuneError))
	return err
}

// plainText reports whether a text has ASCII alone, and of its control
// characters line feeds and tabs alone.
func plainText(p []byte) bool {
	for _, b := range p {
		if b < ' ' && b != '\n' && b != '\t' || b >= 0x7f {
			return false
		}
	}
	return true
}

// next appends the first character of a text, and returns its length; it
// reports whether all of it is there.
func (c *Cleaner) next(text []byte) (n int, whole bool) {
	if text[0] == '\x1b' {
		for _, s := range c.Styles {
			if bytes.HasPrefix(text, []byte(s)) {
				c.out = append(c.out, s...)
				return len(s), true
			}
			if len(text) < len(s) && s[:len(text)] == string(text) {
				return 0, false
			}
		}
	}
	if !utf8.FullRune(text) {
		return 0, false
	}
	r, n := utf8.DecodeRune(text)
	switch {
	case r == '\n', r == '\t':
		c.out = append(c.out, text[0])
	case r == utf8.RuneError && n == 1: // not UTF-8
		c.out = utf8.AppendRune(c.out, utf8.RuneError)
	case !unsafeRune(r):
		c.out = append(c.out, text[:n]...)
	case c.JSON && r >= ' ': // in a string: the encoder has escaped the others
		const sixteen = 16
		c.out = append(c.out, `\u`...)
		hex := strconv.FormatInt(int64(r), sixteen)
		c.out = append(append(c.out, "0000"[len(hex):]...), hex...)
	case r != '\r':
		c.out = utf8.AppendRune(c.out, utf8.RuneError)
	}
	return n, true
}

// The styles of terminals, each on until Plain.
const (
	Bold   = "\x1b[1m"
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"
	Plain  = "\x1b[0m"
)

// Styles are all of them, for [Cleaner].
func Styles() []string { return []string{Bold, Red, Green, Yellow, Plain} }

// unsafeRune recognises the characters that could act on a terminal or reorder a line.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || isBidi(r)
}
