package database

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// The kinds of b-tree pages of tables.
const (
	interior = 5
	leaf     = 13
)

// kindTable is how the first table calls a table.
const kindTable = "table"

const (
	magic      = "SQLite format 3\x00"
	headerSize = 100 // before the b-tree of the first page
)

// file is a database as its pages are written.
type file struct {
	size int // of a page
	data []byte
}

// Bytes returns the file.
func (d *Database) Bytes() []byte {
	f := &file{size: d.PageSize}
	f.size = cmp.Or(f.size, 4096)
	f.page()
	master := NewTable("sqlite_master")
	for _, t := range d.Tables {
		t.Root = f.page()
	}
	for _, t := range d.Tables {
		f.tree(slices.Collect(t.all()), t.Root)
		master.Insert(kindTable, t.Name, t.Name, t.Root, t.statement())
	}
	for _, v := range d.views {
		master.Insert("view", v[0], v[0], 0, v[1])
	}
	f.tree(slices.Collect(master.all()), 1)
	h := append(f.data[:0:headerSize], magic...)
	h = binary.BigEndian.AppendUint16(h, uint16(f.size%65535)) // 1 for 65,536
	h = append(h, 1, 1, 0, 64, 32, 32)                         // read and written without a log; shares of a page
	for _, v := range []int{1, len(f.data) / f.size, 0, 0, 1, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3_046_000} {
		h = binary.BigEndian.AppendUint32(h, uint32(v))
	}
	return f.data
}

// page adds an empty page and returns its number.
func (f *file) page() int {
	f.data = append(f.data, make([]byte, f.size)...)
	return len(f.data) / f.size
}

func (f *file) at(page int) []byte { return f.data[(page-1)*f.size : page*f.size] }

// tree writes the b-tree of rows, whose first page is root.
func (f *file) tree(rows []cell, root int) {
	byRowid := func(a, b cell) int { return cmp.Compare(a.rowid, b.rowid) }
	if !slices.IsSortedFunc(rows, byRowid) {
		slices.SortStableFunc(rows, byRowid)
	}
	cells := make([]cell, len(rows))
	for i, r := range rows {
		cells[i] = cell{r.rowid, f.leafCell(r)}
	}
	for kind := byte(leaf); ; kind = interior {
		groups := f.groups(kind, cells, root)
		if len(groups) == 1 {
			f.fill(root, kind, groups[0])
			return
		}
		cells = nil
		for _, g := range groups {
			page, last := f.page(), g[len(g)-1].rowid
			f.fill(page, kind, g)
			child := binary.BigEndian.AppendUint32(nil, uint32(page))
			cells = append(cells, cell{last, appendVarint(child, uint64(last))})
		}
	}
}

// groups divides cells among pages; an interior one has two children at least.
func (f *file) groups(kind byte, cells []cell, root int) [][]cell {
	room := f.size - 12
	if root == 1 {
		room -= headerSize
	}
	var out [][]cell
	from, used := 0, 0
	for i, c := range cells {
		if used += len(c.payload) + 2; used > room {
			out = append(out, cells[from:i])
			from, used = i, len(c.payload)+2
		}
	}
	if kind == interior && from > 1 && from == len(cells)-1 {
		from--
		out[len(out)-1] = out[len(out)-1][:len(out[len(out)-1])-1]
	}
	return append(out, cells[from:])
}

// fill writes a page's b-tree. The last child of an interior page is in its head.
func (f *file) fill(page int, kind byte, cells []cell) {
	b, from := f.at(page), 0
	if page == 1 {
		from = headerSize
	}
	pointers := from + 8
	if kind == interior {
		pointers = from + 12
		last := len(cells) - 1
		copy(b[from+8:], cells[last].payload[:4])
		cells = cells[:last]
	}
	end := len(b)
	for i, c := range cells {
		end -= len(c.payload)
		copy(b[end:], c.payload)
		binary.BigEndian.PutUint16(b[pointers+2*i:], uint16(end))
	}
	b[from] = kind
	binary.BigEndian.PutUint16(b[from+3:], uint16(len(cells)))
	binary.BigEndian.PutUint16(b[from+5:], uint16(end)) // 0 for 65,536
}

// local is how many bytes of a row's payload are on its leaf page.
func local(size, page int) int {
	if size <= page-35 {
		return size
	}
	least := (page-12)*32/255 - 23
	if n := least + (size-least)%(page-4); n <= page-35 {
		return n
	}
	return least
}

// leafCell encodes a row, and writes the pages of what does not fit into its leaf page.
func (f *file) leafCell(c cell) []byte {
	here := local(len(c.payload), f.size)
	out := appendVarint(appendVarint(nil, uint64(len(c.payload))), uint64(c.rowid))
	out = append(out, c.payload[:here]...)
	rest := c.payload[here:]
	if len(rest) == 0 {
		return out
	}
	page := f.page()
	out = binary.BigEndian.AppendUint32(out, uint32(page))
	for {
		n := copy(f.at(page)[4:], rest)
		if rest = rest[n:]; len(rest) == 0 {
			return out
		}
		next := f.page()
		binary.BigEndian.PutUint32(f.at(page), uint32(next))
		page = next
	}
}

// Read returns the plain tables of an intact database in UTF-8.
func Read(data []byte) (*Database, error) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("database: no SQLite header in %d bytes", len(data))
	}
	d := &Database{PageSize: int(binary.BigEndian.Uint16(data[16:]))}
	if d.PageSize == 1 {
		d.PageSize = 1 << 16
	}
	f := &file{d.PageSize, data}
	master := NewTable("sqlite_master")
	f.walk(1, master)
	for row := range master.Rows() {
		name, _ := row[1].(string)
		root, _ := row[3].(int64)
		sql, _ := row[4].(string)
		if row[0] != kindTable || root == 0 || strings.Contains(sql, "WITHOUT ROWID") {
			continue
		}
		if err := d.Exec(sql); err != nil {
			return nil, err
		}
		t := d.Tables[len(d.Tables)-1]
		t.Name, t.Root = name, int(root)
		f.walk(t.Root, t)
	}
	return d, nil
}

// walk adds the rows of a b-tree to a table.
func (f *file) walk(page int, t *Table) {
	b, from := f.at(page), 0
	if page == 1 {
		from = headerSize
	}
	cells := int(binary.BigEndian.Uint16(b[from+3:]))
	if b[from] == interior {
		for i := range cells {
			f.walk(int(binary.BigEndian.Uint32(b[binary.BigEndian.Uint16(b[from+12+2*i:]):])), t)
		}
		f.walk(int(binary.BigEndian.Uint32(b[from+8:])), t)
		return
	}
	for i := range cells {
		c := b[binary.BigEndian.Uint16(b[from+8+2*i:]):]
		size, n := varint(c)
		rowid, m := varint(c[n:])
		here := local(int(size), f.size)
		t.cells = append(append(t.cells, c[:n+m]...), c[n+m:n+m+here]...)
		t.last = int64(rowid)
		for rest := int(size) - here; rest > 0; {
			next := f.at(int(binary.BigEndian.Uint32(c[n+m+here:])))
			take := min(rest, f.size-4)
			t.cells = append(t.cells, next[4:4+take]...)
			rest -= take
			c, n, m, here = next, 0, 0, 0
		}
	}
}
