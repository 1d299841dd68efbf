// Package database writes and reads SQLite databases of plain tables, so that tests have such files without SQL and
// without the readers that they test. The layout is that of https://www.sqlite.org/fileformat2.html; the module
// trace/internal/reference holds it against SQLite itself.
package database

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"strings"
)

// Database is what a file holds. The zero value is an empty one.
type Database struct {
	PageSize int // bytes; 0: 4096
	Tables   []*Table
	views    [][2]string // names and statements
}

// Table is a table with rowids.
type Table struct {
	Name    string
	Columns []string // as the statement defines them, the name first
	Root    int      // the first page, once the table was written or read
	options string   // of the statement, after the columns
	key     int      // the column that is the rowid, or -1
	cells   []byte   // of all rows, one after the other, as a leaf page holds them
	last    int64    // rowid
}

// NewTable returns a table without rows that belongs to no database yet.
func NewTable(name string, columns ...string) *Table {
	t := &Table{Name: name, Columns: columns}
	t.key = slices.IndexFunc(columns, func(c string) bool {
		words := strings.Fields(strings.ToUpper(c))
		return len(words) > 1 && words[1] == integerKey && slices.Contains(words, "PRIMARY")
	})
	return t
}

// Table returns the table of a name, or nil.
func (d *Database) Table(name string) *Table {
	for _, t := range d.Tables {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Column returns the place of a column, or -1.
func (t *Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c string) bool { return unquoted(strings.Fields(c)[0]) == name })
}

// Insert adds a row of int, int64, float64, string, []byte and nil. Values that are missing at the end are NULL.
func (t *Table) Insert(values ...any) {
	t.last++
	if t.key >= 0 && values[t.key] != nil {
		t.last, _ = values[t.key].(int64)
		if n, ok := values[t.key].(int); ok {
			t.last = int64(n)
		}
		values = slices.Clone(values)
		values[t.key] = nil
	}
	payload := record(values)
	t.cells = appendVarint(t.cells, uint64(len(payload)))
	t.cells = appendVarint(t.cells, uint64(t.last))
	t.cells = append(t.cells, payload...)
}

// Last returns the rowid of the row that was added last.
func (t *Table) Last() int64 { return t.last }

// Rows returns the rows, whose values are int64, float64, string, []byte and nil.
func (t *Table) Rows() iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for c := range t.all() {
			row := values(c.payload)
			if t.key >= 0 && t.key < len(row) {
				row[t.key] = c.rowid
			}
			if !yield(row) {
				return
			}
		}
	}
}

// Replace puts other rows, or other columns, in place of those of the table.
func (t *Table) Replace(columns []string, rows [][]any) {
	name, options := t.Name, t.options
	*t = *NewTable(name, columns...)
	t.options = options
	for _, r := range rows {
		t.Insert(r...)
	}
}

// WriteFile writes the database, replacing what is there.
func (d *Database) WriteFile(path string) error { return os.WriteFile(path, d.Bytes(), 0o666) }

// cell is a row of a leaf page, or a child of an interior one.
type cell struct {
	rowid   int64
	payload []byte
}

// all returns the rows as they are encoded.
func (t *Table) all() iter.Seq[cell] {
	return func(yield func(cell) bool) {
		for rest := t.cells; len(rest) > 0; {
			size, n := varint(rest)
			rowid, m := varint(rest[n:])
			rest = rest[n+m:]
			if !yield(cell{int64(rowid), rest[:size]}) {
				return
			}
			rest = rest[size:]
		}
	}
}

// record encodes a row.
func record(values []any) []byte {
	var head, body []byte
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			head = append(head, 0)
		case int:
			head, body = integer(head, body, int64(v))
		case int64:
			head, body = integer(head, body, v)
		case float64:
			head, body = append(head, 7), binary.BigEndian.AppendUint64(body, math.Float64bits(v))
		case string:
			head, body = appendVarint(head, uint64(2*len(v)+13)), append(body, v...)
		case []byte:
			head, body = appendVarint(head, uint64(2*len(v)+12)), append(body, v...)
		default:
			panic(fmt.Sprintf("database: a value is a %T", v))
		}
	}
	size := len(head) + 1
	if size > 127 {
		size++
	}
	return slices.Concat(appendVarint(nil, uint64(size)), head, body)
}

// integerBytes are the bytes of integers by their types in the head of a record.
var integerBytes = []int{0, 1, 2, 3, 4, 6, 8, 7: 8, 0, 0}

func integer(head, body []byte, v int64) (newHead, newBody []byte) {
	if v == 0 || v == 1 {
		return append(head, byte(8+v)), body
	}
	kind := 1
	for kind < 6 && v<<(64-8*integerBytes[kind])>>(64-8*integerBytes[kind]) != v {
		kind++
	}
	for at := integerBytes[kind] - 1; at >= 0; at-- {
		body = append(body, byte(v>>(8*at)))
	}
	return append(head, byte(kind)), body
}

// values decodes a record.
func values(payload []byte) []any {
	size, n := varint(payload)
	head, body := payload[n:size], payload[size:]
	var out []any
	for len(head) > 0 {
		kind, n := varint(head)
		head = head[n:]
		length := (int(kind) - 12) / 2
		if kind < 12 {
			length = integerBytes[kind]
		}
		raw := body[:length]
		body = body[length:]
		switch {
		case kind == 0:
			out = append(out, nil)
		case kind == 7:
			out = append(out, math.Float64frombits(binary.BigEndian.Uint64(raw)))
		case kind == 8 || kind == 9:
			out = append(out, int64(kind-8))
		case kind < 7:
			v := int64(int8(raw[0]))
			for _, b := range raw[1:] {
				v = v<<8 | int64(b)
			}
			out = append(out, v)
		case kind%2 == 0:
			out = append(out, raw)
		default:
			out = append(out, string(raw))
		}
	}
	return out
}

// appendVarint appends a number in groups of 7 bits, the highest first; the ninth byte has 8.
func appendVarint(b []byte, v uint64) []byte {
	if v>>56 != 0 {
		for at := 57; at >= 8; at -= 7 {
			b = append(b, byte(v>>at)|0x80)
		}
		return append(b, byte(v))
	}
	groups := 1
	for v>>(7*groups) != 0 {
		groups++
	}
	for groups--; groups > 0; groups-- {
		b = append(b, byte(v>>(7*groups))|0x80)
	}
	return append(b, byte(v&0x7f))
}

// varint returns a number and how many bytes it takes.
func varint(b []byte) (v uint64, n int) {
	for n < 8 {
		v = v<<7 | uint64(b[n]&0x7f)
		n++
		if b[n-1] < 0x80 {
			return v, n
		}
	}
	return v<<8 | uint64(b[8]), 9
}
