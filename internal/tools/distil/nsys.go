package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// tables are the tables of an export that stay, with their columns. Those with
// a time lose the rows outside the window, the list of processes those that ran
// nothing on a GPU.
var tables = []struct {
	name, columns string
	timed         bool
}{
	{"StringIds", "id, value", false},
	{"TARGET_INFO_SESSION_START_TIME", "utcEpochNs", false},
	{"TARGET_INFO_GPU", "id, name, smCount, computeMajor, computeMinor", false},
	{"TARGET_INFO_CUDA_DEVICE", "gpuId, cudaId, pid", false},
	{"PROCESSES", "globalPid, pid, name", false},
	{"META_DATA_EXPORT", "name, value", false},
	{"CUPTI_ACTIVITY_KIND_KERNEL", "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, gridX, gridY, gridZ, blockX, blockY, blockZ, graphNodeId", true},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", "start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind, graphNodeId", true},
	{"CUPTI_ACTIVITY_KIND_MEMSET", "start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, graphNodeId", true},
	{"CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId, returnValue", true},
	{"NVTX_EVENTS", "start, end, eventType, text, globalTid, textId, domainId", true},
}

// reduceExport copies the tables of an nsys export that the reader knows.
func reduceExport(path string, rec recipe) ([]byte, error) {
	dir, err := os.MkdirTemp("", "distil")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out.sqlite")
	conn, err := sqlite.OpenConn(out, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	err = copyTables(conn, path, rec)
	if closed := conn.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

func copyTables(conn *sqlite.Conn, path string, rec recipe) error {
	if err := sqlitex.Execute(conn, "ATTACH ? AS src", &sqlitex.ExecOptions{Args: []any{path}}); err != nil {
		return err
	}
	lo, hi, err := exportWindow(conn, rec)
	if err != nil {
		return err
	}
	script := ""
	for _, t := range tables {
		there, err := columns(conn, t.name)
		if err != nil {
			return err
		}
		if len(there) == 0 {
			continue
		}
		var names []string
		for _, c := range strings.Split(t.columns, ", ") {
			if there[c] {
				names = append(names, `"`+c+`"`)
			}
		}
		where := ""
		if t.timed {
			where = fmt.Sprintf(" WHERE start >= %d AND start < %d", lo, hi)
		}
		if t.name == "PROCESSES" {
			where = " WHERE globalPid IN (SELECT globalPid FROM src.CUPTI_ACTIVITY_KIND_KERNEL)"
		}
		script += fmt.Sprintf("CREATE TABLE main.%s AS SELECT %s FROM src.%s%s;\n", t.name, strings.Join(names, ", "),
			t.name, where)
	}
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode = OFF", nil); err != nil {
		return err
	}
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		return err
	}
	if err := sqlitex.ExecuteTransient(conn, "DETACH src", nil); err != nil {
		return err
	}
	return sqlitex.ExecuteTransient(conn, "VACUUM", nil)
}

// columns returns the columns of a table of the source, none where it is not
// there or empty.
func columns(conn *sqlite.Conn, table string) (map[string]bool, error) {
	there := map[string]bool{}
	err := sqlitex.Execute(conn, "SELECT name FROM src.pragma_table_info(?)", &sqlitex.ExecOptions{
		Args: []any{table},
		ResultFunc: func(s *sqlite.Stmt) error {
			there[s.ColumnText(0)] = true
			return nil
		},
	})
	return there, err
}

// exportWindow returns the window of time kept, between the first and the last
// kernel.
func exportWindow(conn *sqlite.Conn, rec recipe) (lo, hi int64, err error) {
	var first, last int64
	err = sqlitex.Execute(conn, "SELECT min(start), max(end) + 1 FROM src.CUPTI_ACTIVITY_KIND_KERNEL",
		&sqlitex.ExecOptions{
			ResultFunc: func(s *sqlite.Stmt) error {
				first, last = s.ColumnInt64(0), s.ColumnInt64(1)
				return nil
			},
		})
	if rec.to == 0 {
		return 0, 1 << 62, err
	}
	width := float64(last - first)
	return first + int64(width*rec.from), first + int64(width*rec.to), err
}
