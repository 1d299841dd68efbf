package table

import (
	"io"
	"strconv"
	"strings"
)

// CSV writes rows of comma-separated values (RFC 4180, lines ending with a
// single line feed) cell by cell, so that millions of rows cost no
// allocation. Errors of the writer stick and are returned by [CSV.Flush]. It
// is not safe for concurrent use.
type CSV struct {
	w     io.Writer
	buf   []byte // whole rows, and the one at hand
	first bool
	err   error
}

// csvBuffer is how much is written at a time: many rows.
const csvBuffer = 64 << 10

// NewCSV returns a writer of rows to w.
func NewCSV(w io.Writer) *CSV { return &CSV{w: w, first: true} }

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
	if !strings.ContainsAny(s, ",\"\r\n") && !strings.HasPrefix(s, " ") && !strings.HasPrefix(s, "\t") {
		c.buf = append(c.buf, s...)
		return
	}
	c.buf = append(c.buf, '"')
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			break
		}
		c.buf = append(append(c.buf, s[:i]...), `""`...)
		s = s[i+1:]
	}
	c.buf = append(append(c.buf, s...), '"')
}

// Cell appends what [Quoted] returned.
func (c *CSV) Cell(quoted string) {
	c.comma()
	c.buf = append(c.buf, quoted...)
}

// Quoted is what [CSV.String] writes, for texts that are written often.
func Quoted(s string) string {
	c := CSV{first: true}
	if c.String(s); string(c.buf) == s {
		return s
	}
	return string(c.buf)
}

// Int appends a number.
func (c *CSV) Int(n int64) {
	c.comma()
	c.buf = strconv.AppendInt(c.buf, n, 10)
}

// Uint appends an unsigned number.
func (c *CSV) Uint(n uint64) {
	c.comma()
	c.buf = strconv.AppendUint(c.buf, n, 10)
}

// Float appends a number with as many digits as it needs to be read back.
func (c *CSV) Float(f float64) {
	c.comma()
	c.buf = strconv.AppendFloat(c.buf, f, 'f', -1, 64)
}

// End ends the row and returns the first error of the writer so far.
func (c *CSV) End() error {
	c.first = true
	if c.buf = append(c.buf, '\n'); len(c.buf) < csvBuffer {
		return c.err
	}
	return c.Flush()
}

// Flush writes what is buffered and returns the first error of the writer.
func (c *CSV) Flush() error {
	if c.err == nil {
		_, c.err = c.w.Write(c.buf)
	}
	c.buf = c.buf[:0]
	return c.err
}

// comma separates a cell from the one before it.
func (c *CSV) comma() {
	if !c.first {
		c.buf = append(c.buf, ',')
	}
	c.first = false
}
