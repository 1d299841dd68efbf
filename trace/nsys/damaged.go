package nsys

import (
	"errors"
	"fmt"

	"github.com/llmstrata/strata/trace/event"
)

// NOTE: a table is a tree of pages, and SQLite ends a query at the first page
// that contradicts itself. What is after that page is read from the other
// end, in descending order, until it is met again. Rows in between are lost.

// damagedTable is a table with unreadable rows.
type damagedTable struct {
	table    string
	missing  int64 // rowids between those that could be read
	disorder int64 // rows whose rowid is not above that of the row before: a page is where another did
}

// around runs a query that selects rowid after its n columns, and goes on
// after a damaged page.
func (db *database) around(table, query string, n int, f func(*row) error) error {
	lost := damagedTable{table: table}
	last, seen := int64(0), false
	err := db.each(query, func(r *row) error {
		id := r.int(n)
		if seen && id <= last {
			lost.disorder++
			return nil // it was read already, or belongs to another table
		}
		last, seen = id, true
		return f(r)
	})
	if errors.Is(err, errDamaged) {
		damage := err
		next, any := int64(0), false
		err = db.each(query+" ORDER BY rowid DESC", func(r *row) error {
			id := r.int(n)
			if seen && id <= last || any && id >= next {
				return errMet
			}
			next, any = id, true
			return f(r)
		})
		switch {
		case !any && !seen:
			return damage
		case errors.Is(err, errDamaged) || errors.Is(err, errMet):
			err = nil
		}
		lost.missing = 1
		if any && seen {
			lost.missing = max(1, next-last-1)
		}
	}
	if lost.missing+lost.disorder > 0 {
		db.lost = append(db.lost, lost)
	}
	return err
}

// errMet ends the reading from the other end.
var errMet = errors.New("met")

// reportDamage puts into the health what a connection could not read.
func (l *loader) reportDamage(db *database) {
	const recover = "; sqlite3 FILE .recover may save more"
	for _, d := range db.lost {
		if d.missing > 0 {
			l.b.LoseDetail(event.BadEvent, d.missing, fmt.Sprintf("rows of %s on damaged pages%s", d.table, recover))
		}
		if d.disorder > 0 {
			l.b.LoseDetail(event.BadEvent, d.disorder, fmt.Sprintf("rows of %s out of order, as where a page was copied over another%s", d.table, recover))
		}
	}
}
