package table

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// CSV writes rows of comma-separated values (RFC 4180, lines ending with a
// single line feed) cell by cell, so that millions of rows cost no
// allocation. Errors of the writer stick and are returned by [CSV.Flush]. It
// is not safe for concurrent use.
type CSV struct {
	w     *bufio.Writer
	num   []byte
	first bool
}

// csvBuffer is large enough that a row of a long kernel name rarely splits.
const csvBuffer = 64 << 10

// NewCSV returns a writer of rows to w.
func NewCSV(w io.Writer) *CSV {
	return &CSV{w: bufio.NewWriterSize(w, csvBuffer), num: make([]byte, 0, 32), first: true}
}

// Header writes a row of texts and ends it.
func (c *CSV) Header(names ...string) {
	for _, n := range names {
		c.String(n)
	}
	c.End()
}

// String appends a cell, quoted where the text holds a comma, a quote, a line
// break, or a space at its start.
func (c *CSV) String(s string) {
	c.comma()
	if s == "" || !(strings.ContainsAny(s, ",\"\r\n") || s[0] == ' ' || s[0] == '\t') {
		c.w.WriteString(s)
		return
	}
	c.w.WriteByte('"')
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			break
		}
		c.w.WriteString(s[:i])
		c.w.WriteString(`""`)
		s = s[i+1:]
	}
	c.w.WriteString(s)
	c.w.WriteByte('"')
}

// Int appends a number.
func (c *CSV) Int(n int64) {
	c.comma()
	c.num = strconv.AppendInt(c.num[:0], n, 10)
	c.w.Write(c.num)
}

// Uint appends an unsigned number.
func (c *CSV) Uint(n uint64) {
	c.comma()
	c.num = strconv.AppendUint(c.num[:0], n, 10)
	c.w.Write(c.num)
}

// Bool appends 1 or 0.
func (c *CSV) Bool(b bool) {
	if b {
		c.Int(1)
	} else {
		c.Int(0)
	}
}

// End ends the row and returns the first error of the writer so far.
func (c *CSV) End() error {
	c.first = true
	return c.w.WriteByte('\n')
}

// Flush writes what is buffered and returns the first error of the writer.
func (c *CSV) Flush() error { return c.w.Flush() }

// comma separates a cell from the one before it.
func (c *CSV) comma() {
	if !c.first {
		c.w.WriteByte(',')
	}
	c.first = false
}
