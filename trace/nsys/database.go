package nsys

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/sqlite"
)

// database is an nsys export that is being read, in one goroutine. Only real tables are read, never views: a view can
// be an endless recursive query.
type database struct {
	*sqlite.Database
	ctx  context.Context
	path string
	lost []damagedTable // what could not be read
	wal  bool           // a non-empty -wal file lies beside it, which is not read
}

// damagedTable is a table with unreadable rows.
type damagedTable struct {
	table    string
	missing  int64 // rowids between those that could be read
	disorder int64 // rows whose rowid is not above that of the row before: a page is where another did
}

// openDatabase opens the export at path and reads its table list.
func openDatabase(ctx context.Context, path string) (*database, error) {
	opened, err := sqlite.Open(ctx, path)
	switch {
	case errors.Is(err, sqlite.ErrOther):
		return nil, &readError{Path: path, Err: fmt.Errorf("%w: %w", errNotExport, err)}
	case errors.Is(err, errDamaged):
		return nil, &readError{Path: path, Err: fmt.Errorf("%w; sqlite3 FILE .recover may save what is left", err)}
	case errors.Is(err, errTruncated):
		return nil, &readError{Path: path, Err: err}
	case err != nil:
		return nil, err
	}
	db := &database{Database: opened, ctx: ctx, path: path}
	if st, err := os.Stat(path + "-wal"); err == nil && st.Size() > 0 {
		db.wal = true
	}
	return db, nil
}

// again is the same export for another goroutine.
func (db *database) again() *database {
	c := *db
	c.lost = nil
	return &c
}

// hasColumn reports whether the table exists and has the column.
func (db *database) hasColumn(table, column string) bool { return db.Table(table).Column(column) >= 0 }

// unread says what is in the place of a table and is not read, such as a view; "" for nothing.
func (db *database) unread(name string) string { return db.Unread[strings.ToLower(name)] }

// scan reads the columns of a table in rowid order and calls f for each row. A
// column the table does not have reads as NULL. A missing table is no rows. What a
// damaged page costs is noted.
func (db *database) scan(table string, columns []string, f func(row) error) error {
	t := db.Table(table)
	if t == nil {
		return nil
	}
	lost := damagedTable{table: table}
	var rows, last, damaged int64
	pages, err := db.Scan(db.ctx, t, columns, func(r *sqlite.Row) error {
		if rows > 0 && r.Rowid <= last {
			lost.disorder++
			return nil // it was read already, or belongs to another table
		}
		if r.Damaged > damaged {
			damaged = r.Damaged
			between := int64(1) // at least; how many were before the first row is unknown
			if rows > 0 {
				between = max(1, r.Rowid-last-1)
			}
			lost.missing += between
		}
		rows, last = rows+1, r.Rowid
		return f(row{r})
	})
	switch {
	case err != nil:
		return err
	case pages > 0 && rows == 0:
		return &readError{Path: db.path, Table: table, Err: fmt.Errorf("%w: its %d pages are malformed; "+
			"sqlite3 FILE .recover may save what is left", errDamaged, pages)}
	case pages > damaged:
		lost.missing++ // the last page; how many rows it had is unknown
	}
	if lost.missing+lost.disorder > 0 {
		db.lost = append(db.lost, lost)
	}
	return nil
}

// reportDamage puts into the health what could not be read.
func (l *loader) reportDamage(db *database) {
	const recover = "; sqlite3 FILE .recover may save more"
	for _, d := range db.lost {
		if d.missing > 0 {
			l.b.LoseDetail(event.BadEvent, d.missing, fmt.Sprintf("rows of %s on damaged pages%s", d.table, recover))
		}
		if d.disorder > 0 {
			l.b.LoseDetail(event.BadEvent, d.disorder, fmt.Sprintf("rows of %s out of order, as where a page was copied over "+
				"another%s", d.table, recover))
		}
	}
}

// row is the current row of a scan. It is valid only inside the callback.
type row struct{ *sqlite.Row }

// time is the number in column i, none where it holds nothing or no number: a
// text would be read as 0, which is a time.
func (r row) time(i int) int64 {
	if v := r.Int(i); v != 0 {
		return v // of a text that begins with a number, too
	}
	if k := r.Kind(i); k == sqlite.Integer || k == sqlite.Real {
		return 0
	}
	return noTime
}

// noTime is a time that is not recorded.
const noTime = math.MinInt64

// intOr is the integer in column i, or none when it is NULL.
func (r row) intOr(i int, none int64) int64 {
	if v := r.Int(i); v != 0 || r.Kind(i) != sqlite.Null {
		return v
	}
	return none
}
