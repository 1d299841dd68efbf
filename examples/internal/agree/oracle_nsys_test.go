package agree

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// exportOracle reads the activities of an nsys export. Tables that are missing
// hold nothing. Where processes number their GPUs from 0 each,
// TARGET_INFO_CUDA_DEVICE says which is meant.
func exportOracle(path string) (map[int]*work, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	tables := map[string]bool{}
	err = sqlitex.Execute(conn, "SELECT name FROM sqlite_master",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			tables[s.ColumnText(0)] = true
			return nil
		}})
	if err != nil {
		return nil, err
	}
	devices, spans := map[int]*work{}, map[int][]span{}
	for _, kind := range []string{"KERNEL", "MEMCPY", "MEMSET"} {
		table := "CUPTI_ACTIVITY_KIND_" + kind
		if !tables[table] {
			continue
		}
		err := sqlitex.Execute(conn, "SELECT deviceId, start, end FROM "+table,
			&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
				add(devices, spans, s.ColumnInt(0), kind == "KERNEL", span{s.ColumnInt64(1), s.ColumnInt64(2)})
				return nil
			}})
		if err != nil {
			return nil, err
		}
	}
	return finish(devices, spans), nil
}
