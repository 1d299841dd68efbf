package nsys

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/llmstrata/strata/internal/atomicfile"
)

// NOTE: how the user's file stays untouched and hostile files stay harmless.
//
//   - The connection is opened with mode=ro and immutable=1: SQLite then takes
//     no lock, looks for no journal and creates no -wal, -shm or -journal file,
//     so a read-only file in a read-only folder works too.
//   - Only real tables are read, never views or virtual tables: a view can be
//     an endless recursive query.
//   - Scans say NOT INDEXED, so that an index somebody added to the export does
//     not change the row order.
//   - A damaged b-tree can list the same page again and again. A row takes at
//     least minRowBytes of the file and a text is stored once, so the number
//     of rows and the bytes of text of one scan are bounded by the file's size.
//   - No memory map: a file that shrinks while it is mapped kills the process.

// magic opens every SQLite 3 database.
const magic = "SQLite format 3\x00"

// minRowBytes is the least space of one row in a table b-tree leaf: a cell
// pointer of 2 bytes and a cell of at least 4 (SQLite file format, §1.6).
const minRowBytes = 6

// textBudgetFactor bounds the text of one scan to this many times the file's
// size; a UTF-16 database grows by at most 3/2 when read as UTF-8.
const textBudgetFactor = 2

// database is a connection to an nsys export. It serves one goroutine at a
// time; tables never changes, so that connections may share it.
type database struct {
	path   string
	size   int64
	conn   *sqlite.Conn
	tables map[string][]string // columns by table in lower case, in file order
	views  map[string]bool     // in lower case; they are not read
	lost   []damagedTable      // what this connection could not read
	wal    bool                // a non-empty -wal file lies beside it, which is not read
}

// openDatabase opens the export at path and reads its table list.
func openDatabase(ctx context.Context, path string) (*database, error) {
	size, err := checkHeader(path)
	if err != nil {
		return nil, err
	}
	db := &database{path: path, size: size, tables: map[string][]string{}, views: map[string]bool{}}
	if err := db.connect(ctx); err != nil {
		return nil, err
	}
	if st, err := os.Stat(path + "-wal"); err == nil && st.Size() > 0 {
		db.wal = true
	}
	if err := db.readSchema(); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// connect opens the connection. Queries end with an error when ctx does.
func (db *database) connect(ctx context.Context) error {
	conn, err := sqlite.OpenConn(fileURI(db.path), sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		return &readError{Path: db.path, Err: classify(err)}
	}
	conn.SetInterrupt(ctx.Done())
	db.conn = conn
	return nil
}

// again opens one more connection to the same file, for another goroutine.
func (db *database) again(ctx context.Context) (*database, error) {
	c := *db
	c.lost = nil
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	return &c, nil
}

// Close releases the connection.
func (db *database) Close() error { return db.conn.Close() }

// checkHeader refuses what is not a whole SQLite database before SQLite sees
// it, with words that say which it is.
func checkHeader(path string) (size int64, err error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !st.Mode().IsRegular() {
		return 0, &readError{Path: path, Err: fmt.Errorf("%w: not a regular file", errNotExport)}
	}
	var head [100]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return 0, err
	}
	switch {
	case n == 0:
		return 0, &readError{Path: path, Err: fmt.Errorf("%w: the file is empty", errNotExport)}
	case n < len(magic) || !bytes.Equal(head[:len(magic)], []byte(magic)):
		return 0, &readError{Path: path, Err: fmt.Errorf("%w: no SQLite header (another format, or an encrypted database)", errNotExport)}
	case n < len(head):
		return 0, &readError{Path: path, Err: fmt.Errorf("%w: %d bytes, shorter than a database header", errTruncated,
			n)}
	}
	// Offsets and meaning: SQLite file format, §1.3. The page count is valid
	// only if the change counter equals "version valid for".
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	if bytes.Equal(head[24:28], head[92:96]) && pages > 0 && st.Size() < page*pages {
		return 0, &readError{Path: path, Err: fmt.Errorf("%w: %d bytes of the %d its header announces", errTruncated,
			st.Size(), page*pages)}
	}
	return st.Size(), nil
}

// fileURI is the SQLite URI that opens path read-only and immutable.
func fileURI(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	p := filepath.ToSlash(path)
	if runtime.GOOS == "windows" && !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	p = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(p)
	return "file:" + p + "?mode=ro&immutable=1&cache=private"
}

func (db *database) readSchema() error {
	var names []string
	err := db.each("SELECT name, type FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' OR type = 'view'", func(r *row) error {
		if r.text(1) == "view" {
			db.views[strings.ToLower(r.text(0))] = true
		} else {
			names = append(names, r.text(0))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		var cols []string
		if err := db.each("SELECT name FROM pragma_table_info("+quoteText(name)+")", func(r *row) error {
			cols = append(cols, r.text(0))
			return nil
		}); err != nil {
			return err
		}
		db.tables[strings.ToLower(name)] = cols
	}
	return nil
}

// has reports whether the table exists. SQLite's names have no case.
func (db *database) has(table string) bool { _, ok := db.tables[strings.ToLower(table)]; return ok }

// hasColumn reports whether the table exists and has the column.
func (db *database) hasColumn(table, column string) bool {
	return slices.ContainsFunc(db.tables[strings.ToLower(table)],
		func(c string) bool { return strings.EqualFold(c, column) })
}

// scan reads the columns of a table in rowid order and calls f for each row. A
// column the table does not have reads as NULL. A missing table is no rows.
func (db *database) scan(table string, columns []string, f func(*row) error) error {
	return db.scanWhere(table, columns, "", f)
}

// scanWhere is scan for the rows that a condition selects, "" for all.
func (db *database) scanWhere(table string, columns []string, condition string, f func(*row) error) error {
	if !db.has(table) {
		return nil
	}
	var q strings.Builder
	q.WriteString("SELECT ")
	for i, c := range columns {
		if i > 0 {
			q.WriteString(", ")
		}
		if db.hasColumn(table, c) {
			q.WriteString(quoteName(c))
		} else {
			q.WriteString("NULL")
		}
	}
	q.WriteString(", rowid FROM " + quoteName(table) + " NOT INDEXED")
	if condition != "" {
		q.WriteString(" WHERE " + condition)
	}
	err := db.around(table, q.String(), len(columns), f)
	if err != nil {
		var e *readError
		if errors.As(err, &e) && e.Table == "" {
			e.Table = table
		}
	}
	return err
}

// each runs one query; an error of f stops it and is returned as it is.
func (db *database) each(query string, f func(*row) error) error {
	stmt, _, err := db.conn.PrepareTransient(query)
	if err != nil {
		return &readError{Path: db.path, Err: classify(err)}
	}
	defer stmt.Finalize()
	r := row{stmt: stmt, textLeft: textBudgetFactor*db.size + 1<<16}
	maxRows := db.size/minRowBytes + 1
	for n := int64(0); ; n++ {
		more, err := stmt.Step()
		if err != nil {
			return &readError{Path: db.path, Row: n, Err: classify(err)}
		}
		if !more {
			return nil
		}
		if n >= maxRows || r.textLeft < 0 {
			return &readError{Path: db.path, Row: n, Err: fmt.Errorf("%w: more rows than fit into %d bytes", errDamaged,
				db.size)}
		}
		if err := f(&r); err != nil {
			return err
		}
	}
}

// row is the current row of a scan. It is valid only inside the callback.
type row struct {
	stmt     *sqlite.Stmt
	textLeft int64
}

// time is the number in column i, none where it holds nothing or no number: a
// text would be read as 0, which is a time.
func (r *row) time(i int) int64 {
	if v := r.stmt.ColumnInt64(i); v != 0 {
		return v // of a text that begins with a number, too
	}
	switch r.stmt.ColumnType(i) {
	case sqlite.TypeInteger, sqlite.TypeFloat:
		return 0
	}
	return noTime
}

// noTime is a time that is not recorded.
const noTime = math.MinInt64

// int is the integer in column i, 0 when it is NULL.
func (r *row) int(i int) int64 { return r.stmt.ColumnInt64(i) }

// intOr is the integer in column i, or none when it is NULL.
func (r *row) intOr(i int, none int64) int64 {
	if v := r.stmt.ColumnInt64(i); v != 0 || !r.stmt.ColumnIsNull(i) {
		return v
	}
	return none
}

// text is the text in column i, "" when it is NULL.
func (r *row) text(i int) string {
	s := r.stmt.ColumnText(i)
	r.textLeft -= int64(len(s))
	return s
}

func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
