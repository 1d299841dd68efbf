// Package sqlite reads the tables of an SQLite 3 database, row after row. It knows
// the file format (https://www.sqlite.org/fileformat2.html, sections in comments) and no
// SQL: no view is run, no index is used, nothing is written, and no lock is taken.
//
// A file may be hostile: each page of a table is read once, no text or blob is longer
// than the file, and what a damaged page costs is that page.
package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/llmstrata/strata/internal/atomicfile"
)

// Types of the rows of the list of tables that are read.
const (
	typeView  = "view"
	typeTable = "table"
)

// What is no table with rowids, as [Database.Unread] calls it; and a view.
const (
	virtualTable = "virtual table"
	withoutRowid = "table without rowids"
	withoutRoot  = "table whose first page is missing"
	otherTable   = "table of another kind"
)

// Magic is how each SQLite 3 database begins.
const Magic = "SQLite format 3\x00"

// What can be wrong with a file. Test with [errors.Is].
var (
	// ErrOther says that the file is no SQLite database.
	ErrOther = errors.New("no SQLite database")
	// ErrTruncated says that the file ends before the database does.
	ErrTruncated = fmt.Errorf("truncated database: %w", io.ErrUnexpectedEOF)
	// ErrDamaged says that the database contradicts itself.
	ErrDamaged = errors.New("damaged database")
)

// Database is an open database. Several goroutines may read its tables.
type Database struct {
	Tables map[string]*Table // by the name in lower case; SQLite's names have no case
	Unread map[string]string // what else can be selected from, by the name in lower case: "view", "virtual table" …
	Size   int64             // bytes

	file     *os.File
	page     int    // bytes of a page
	usable   int    // bytes of it that hold data
	pages    uint32 // of the file
	encoding uint32 // of text: utf8 and others below
}

// Table is a table with rowids.
type Table struct {
	Name    string
	Columns []string // names as the table gives them

	stored []int  // where a record has each column, ofRowid for the one that is the rowid
	whole  []bool // whether its type is INTEGER
	keyed  bool   // a constraint names the key
	root   uint32
}

// headerBytes are those of the database's header (§1.3), which page 1 begins with.
const headerBytes = 100

// Open opens the database at path and reads the list of its tables.
func Open(ctx context.Context, path string) (*Database, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	db := &Database{Tables: map[string]*Table{}, Unread: map[string]string{}, file: f}
	if err = db.readHeader(); err == nil {
		err = db.readSchema(ctx)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return db, nil
}

// Close closes the file.
func (db *Database) Close() error { return db.file.Close() }

func (db *Database) readHeader() error {
	st, err := db.file.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file", ErrOther)
	}
	db.Size = st.Size()
	var head [headerBytes]byte
	n, err := io.ReadFull(db.file, head[:])
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF):
		return err
	case n == 0:
		return fmt.Errorf("%w: the file is empty", ErrOther)
	case !strings.HasPrefix(string(head[:n]), Magic):
		return fmt.Errorf("%w: no SQLite header (another format, or an encrypted database)", ErrOther)
	case n < len(head):
		return fmt.Errorf("%w: %d bytes, shorter than a database header", ErrTruncated, n)
	}
	db.page = int(binary.BigEndian.Uint16(head[16:]))
	if db.page == 1 {
		db.page = 1 << 16 // §1.3.2
	}
	db.usable = db.page - int(head[20])
	db.encoding = binary.BigEndian.Uint32(head[56:])
	// §1.3.2: at least 512, a power of two; §1.3.4: at least 480 of it are used.
	if db.page < 512 || db.page&(db.page-1) != 0 || db.usable < 480 {
		return fmt.Errorf("%w: pages of %d bytes, %d of them used", ErrDamaged, db.page, db.usable)
	}
	db.pages = uint32(min((db.Size+int64(db.page)-1)/int64(db.page), 1<<32-2))
	// The number of pages is valid only if the change counter is the one that it was written at (§1.3.7).
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	if string(head[24:28]) == string(head[92:96]) && db.Size < int64(db.page)*pages {
		return fmt.Errorf("%w: %d bytes of the %d its header announces", ErrTruncated, db.Size, int64(db.page)*pages)
	}
	return nil
}

// readSchema reads the table of tables (§2.6), whose root is page 1.
func (db *Database) readSchema(ctx context.Context) error {
	schema := &Table{Columns: []string{"type", "name", "rootpage", "sql"}, stored: []int{0, 1, 3, 4}, root: 1}
	damaged, err := db.Scan(ctx, schema, schema.Columns, func(r *Row) error {
		name, root, sql := r.Text(1), r.Int(2), r.Text(3)
		key := strings.ToLower(name)
		switch r.Text(0) {
		case typeView:
			db.Unread[key] = typeView
		case typeTable:
			switch t, why := parseTable(sql); {
			case t == nil:
				db.Unread[key] = why
			case root < 1 || root > int64(db.pages):
				db.Unread[key] = withoutRoot
			default:
				t.Name, t.root = name, uint32(root)
				db.Tables[key] = t
			}
		}
		return nil
	})
	if err == nil && damaged > 0 {
		err = fmt.Errorf("%w: the list of its tables is malformed", ErrDamaged)
	}
	return err
}

// IsRowid reports whether a column is the rowid by another name.
func (t *Table) IsRowid(column string) bool {
	i := t.Column(column)
	return i >= 0 && t.stored[i] == ofRowid
}

// Has reports whether there is a table of that name.
func (db *Database) Has(table string) bool { return db.Table(table) != nil }

// Table returns the table of that name, nil where there is none.
func (db *Database) Table(name string) *Table { return db.Tables[strings.ToLower(name)] }

// Column returns the place of a column in t.Columns, -1 where the table, which may be nil, has none of that name.
func (t *Table) Column(name string) int {
	if t != nil {
		for i, c := range t.Columns {
			if strings.EqualFold(c, name) {
				return i
			}
		}
	}
	return -1
}

// where lists where records have these columns: absent for those that the table lacks.
func (t *Table) where(columns []string) []int {
	out := make([]int, len(columns))
	for i, c := range columns {
		out[i] = absent
		if k := t.Column(c); k >= 0 {
			out[i] = t.stored[k]
		}
	}
	return out
}
