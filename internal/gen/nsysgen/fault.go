package nsysgen

import (
	"cmp"
	"errors"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Fault is what becomes of one kernel of a database.
type Fault struct {
	Added bool // a copy of the kernel changes, and the kernel stays
	// Name is that of the copy, which then runs on a stream of its own; "" is the kernel's.
	Name string
	// Moved returns the new times; first and last are those at which the first and the last kernel start. All are ns.
	Moved func(start, end, first, last int64) (newStart, newEnd int64)
}

// Apply changes the kernel in the middle of the database at path, or nothing if f is nil, and returns its name.
func (f *Fault) Apply(path string) (kernel string, err error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	const table = "CUPTI_ACTIVITY_KIND_KERNEL"
	var row, start, end, first, last int64
	err = sqlitex.ExecuteTransient(conn, "SELECT k.rowid, k.start, k.end, s.value, (SELECT min(start) FROM "+table+
		"), (SELECT max(start) FROM "+table+") FROM "+table+" k JOIN StringIds s ON s.id = k.demangledName"+
		" ORDER BY k.start LIMIT 1 OFFSET (SELECT count(*)/2 FROM "+table+")",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			row, start, end, kernel = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnText(3)
			first, last = s.ColumnInt64(4), s.ColumnInt64(5)
			return nil
		}})
	if err != nil || f == nil {
		return kernel, err
	}
	start, end = f.Moved(start, end, first, last)
	type query struct {
		text string
		args []any
	}
	do := []query{{"UPDATE " + table + " SET start = ?, end = ? WHERE rowid = ?", []any{start, end, row}}}
	if f.Added {
		do = []query{{"CREATE TEMP TABLE one AS SELECT * FROM " + table + " WHERE rowid = ?", []any{row}},
			{"UPDATE one SET start = ?, end = ?", []any{start, end}},
			{"INSERT INTO " + table + " SELECT * FROM one", nil}}
	}
	if kernel = cmp.Or(f.Name, kernel); f.Name != "" {
		last := len(do) - 1
		do = slices.Insert(do, last, query{"INSERT INTO StringIds(id, value) SELECT max(id) + 1, ? FROM StringIds",
			[]any{f.Name}},
			query{"UPDATE one SET streamId = 99, correlationId = 99999999, demangledName = (SELECT max(id) FROM StringIds)," +
				" shortName = (SELECT max(id) FROM StringIds)", nil})
	}
	for _, q := range do {
		if err := sqlitex.ExecuteTransient(conn, q.text, &sqlitex.ExecOptions{Args: q.args}); err != nil {
			return kernel, err
		}
	}
	return kernel, nil
}
