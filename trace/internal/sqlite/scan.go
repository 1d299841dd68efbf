package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
)

// Kinds of b-tree pages that tables are made of (§1.6).
const (
	interiorPage = 0x05
	leafPage     = 0x0d
)

const (
	// maxDepth is deeper than any tree of 2^32 pages.
	maxDepth = 40
	// windowBytes is how much of the file one read takes: pages of a table mostly follow each other.
	windowBytes = 1 << 16
	// pagesBetween is how many pages are read between two looks at the context.
	pagesBetween = 64
)

// cursor reads pages for one goroutine.
type cursor struct {
	db     *Database
	window []byte // from byte at of the file
	at     int64
	chain  []byte // a page of a chain of overflow pages
	long   []byte // a record that goes on there
	left   uint64 // bytes that records may still take
}

// A scan reads each record once, so that all of them are no longer than the file; what points to the same bytes again
// and again is no table. A Finder may find the same record often: it may read this much for each byte of the file.
const (
	leastBudget  = 1 << 16
	finderBudget = 64
	finderLeast  = 1 << 30
)

func (db *Database) cursor(window int) *cursor {
	return &cursor{db: db, window: make([]byte, 0, max(window, db.page)), left: uint64(db.Size) + leastBudget}
}

// read returns a page, which is valid until the next read. The file's end may cut it.
func (c *cursor) read(page uint32) ([]byte, error) {
	at, size := int64(page-1)*int64(c.db.page), int64(c.db.page)
	if at < c.at || at+size > c.at+int64(len(c.window)) {
		n, err := c.db.file.ReadAt(c.window[:cap(c.window)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		c.window, c.at = c.window[:n], at
	}
	b := c.window[at-c.at:]
	return b[:min(len(b), c.db.page)], nil
}

// header is that of a b-tree page.
type header struct {
	kind  byte
	cells []byte // the offset of each cell, two bytes each
	right uint32 // the last child of an interior page
}

// parsePage reads the header of a page; ok is false where it is no page of a table.
func (c *cursor) parsePage(page uint32, b []byte) (h header, ok bool) {
	at, size := 0, 8
	if page == 1 {
		at = headerBytes
	}
	if len(b) < at+12 {
		return h, false
	}
	h.kind = b[at]
	switch h.kind {
	case leafPage:
	case interiorPage:
		size, h.right = 12, binary.BigEndian.Uint32(b[at+8:])
	default:
		return h, false
	}
	end := at + size + 2*int(binary.BigEndian.Uint16(b[at+3:]))
	if end > len(b) || len(b) < c.db.usable {
		return h, false
	}
	h.cells = b[at+size : end]
	return h, true
}

func (h *header) count() int { return len(h.cells) / 2 }

// cell returns what is from cell i on, empty where it points out of the page.
func (h *header) cell(b []byte, i int) []byte {
	return b[min(int(binary.BigEndian.Uint16(h.cells[2*i:])), len(b)):]
}

// child returns child i of an interior page, which has one more than cells; 0, which is no page, where the cell is
// damaged.
func (h *header) child(b []byte, i int) uint32 {
	if i == h.count() {
		return h.right
	}
	cell := h.cell(b, i)
	if len(cell) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(cell)
}

// Scan calls f for each row of a table, in the order of their rowids; a column that the table lacks is null. It
// returns how many pages were damaged, whose rows are missing. An error of f ends it and is returned as it is.
func (db *Database) Scan(ctx context.Context, t *Table, columns []string, f func(*Row) error) (int64, error) {
	s := &scan{cursor: db.cursor(windowBytes), ctx: ctx, f: f, seen: make([]uint64, db.pages/64+1)}
	s.row = newRow(s.cursor, t.where(columns))
	err := s.walk(t.root, 0)
	return s.row.Damaged, err
}

// scan is one walk through a table.
type scan struct {
	*cursor
	ctx   context.Context
	f     func(*Row) error
	row   *Row
	seen  []uint64 // a bit for each page
	pages int64
}

// walk reads the rows below a page. A page that is damaged, or was met before, is counted and left out.
func (s *scan) walk(page uint32, depth int) error {
	if s.pages++; s.pages%pagesBetween == 1 && s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if page == 0 || page > s.db.pages || depth > maxDepth || s.seen[page/64]>>(page%64)&1 == 1 {
		s.row.Damaged++
		return nil
	}
	s.seen[page/64] |= 1 << (page % 64)
	b, err := s.read(page)
	if err != nil {
		return fmt.Errorf("page %d: %w", page, err)
	}
	h, ok := s.parsePage(page, b)
	switch {
	case !ok:
		s.row.Damaged++
	case h.kind == interiorPage:
		children := make([]uint32, h.count()+1) // the next read overwrites b
		for i := range children {
			children[i] = h.child(b, i)
		}
		for _, child := range children {
			if err := s.walk(child, depth+1); err != nil {
				return err
			}
		}
	default:
		for i := range h.count() {
			if !s.row.parse(h.cell(b, i)) {
				s.row.Damaged++
				return nil
			}
			if err := s.f(s.row); err != nil {
				return err
			}
		}
	}
	return nil
}

// LastRowid returns the largest rowid of a table, 0 where it has none or its pages cannot be read. It costs a
// page for each level of the tree.
func (db *Database) LastRowid(t *Table) int64 {
	b, h, _, err := db.Finder(t, nil).leaf(math.MaxInt64)
	if err != nil || h.count() == 0 {
		return 0
	}
	return h.rowid(h.cell(b, h.count()-1))
}

// Finder finds rows of a table by their rowid. It serves one goroutine.
type Finder struct {
	row   *Row
	root  uint32
	level []*cursor // one for each level of the tree, so that the way to the last row found is not read again
}

// Finder returns a Finder of these columns.
func (db *Database) Finder(t *Table, columns []string) *Finder {
	c := db.cursor(0)
	c.left = finderBudget*uint64(db.Size) + finderLeast
	return &Finder{row: newRow(c, t.where(columns)), root: t.root}
}

// Find returns the row with a rowid, nil where there is none. It is valid until the next call.
func (f *Finder) Find(rowid int64) (*Row, error) {
	b, h, at, err := f.leaf(rowid)
	if err != nil || at == h.count() || h.rowid(h.cell(b, at)) != rowid {
		return nil, err
	}
	if !f.row.parse(h.cell(b, at)) {
		f.row.Damaged++
		return nil, nil
	}
	return f.row, nil
}

// Damaged is how many rows were not found because a page was damaged.
func (f *Finder) Damaged() int64 { return f.row.Damaged }

// leaf returns the page that a row with this rowid is on, and the place of its first cell whose rowid is not below.
// Where the way there is damaged, that is counted, and the page has no cells.
func (f *Finder) leaf(rowid int64) (b []byte, h header, at int, err error) {
	db, page := f.row.db, f.root
	for depth := 0; page > 0 && page <= db.pages && depth < maxDepth; depth++ {
		if depth == len(f.level) {
			f.level = append(f.level, db.cursor(0))
		}
		if b, err = f.level[depth].read(page); err != nil {
			return nil, header{}, 0, fmt.Errorf("page %d: %w", page, err)
		}
		var ok bool
		if h, ok = f.row.parsePage(page, b); !ok {
			break
		}
		at = sort.Search(h.count(), func(i int) bool { return h.rowid(h.cell(b, i)) >= rowid })
		if h.kind == leafPage {
			return b, h, at, nil
		}
		page = h.child(b, at)
	}
	f.row.Damaged++
	return nil, header{}, 0, nil
}

// rowid is that of a cell; on an interior page the largest of its child.
func (h *header) rowid(cell []byte) int64 {
	if h.kind == interiorPage {
		if len(cell) < 4 {
			return 0
		}
		v, _ := varint(cell[4:])
		return int64(v)
	}
	_, rowid, _, _ := cellHead(cell)
	return rowid
}
