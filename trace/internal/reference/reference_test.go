package reference

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	reference "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/llmstrata/strata/internal/gen/database"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace/internal/sqlite"
)

var update = flag.Bool("update", false, "keep what SQLite writes")

// kept is where the tests of trace/internal/sqlite read what SQLite wrote.
const kept = "../sqlite/testdata/written.json.gz"

// Written is a database that SQLite wrote, and the rows of one of its tables as SQLite reads them.
type Written struct {
	Name, Table string
	Columns     []string
	Rows        [][]Value // the rowid first
	File        []byte
}

// Value is a column of a row.
type Value struct {
	Kind sqlite.Kind
	Int  int64
	Text string
}

// write makes a database with a script.
func write(tb testing.TB, script string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "x.sqlite")
	conn, err := reference.OpenConn(path, reference.OpenReadWrite|reference.OpenCreate)
	if err != nil {
		tb.Fatal(err)
	}
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		tb.Fatalf("%v: %.300s", err, script)
	}
	if err := conn.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// expected reads a table with SQLite; wide says that its text is in UTF-16.
func expected(t *testing.T, path, table string, columns []string, wide bool) [][]Value {
	t.Helper()
	conn, err := reference.OpenConn(path, reference.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	kinds := map[reference.ColumnType]sqlite.Kind{reference.TypeNull: sqlite.Null, reference.TypeInteger: sqlite.Integer,
		reference.TypeFloat: sqlite.Real, reference.TypeText: sqlite.Text, reference.TypeBlob: sqlite.Blob}
	var out [][]Value
	err = sqlitex.ExecuteTransient(conn, fmt.Sprintf(`SELECT "%s", rowid FROM "%s" NOT INDEXED ORDER BY rowid`,
		strings.Join(columns, `", "`), strings.ReplaceAll(table, `"`, `""`)),
		&sqlitex.ExecOptions{ResultFunc: func(s *reference.Stmt) error {
			row := []Value{{Int: s.ColumnInt64(len(columns))}}
			for i := range columns {
				kind := kinds[s.ColumnType(i)]
				v := Value{Kind: kind, Int: s.ColumnInt64(i), Text: s.ColumnText(i)}
				if kind == sqlite.Blob {
					v.Int = 0 // which number a blob is does not matter
					if wide {
						v.Text = "" // nor which text of two bytes a letter
					}
				}
				if kind == sqlite.Real {
					v.Text = "" // nor how a real is written
				}
				row = append(row, v)
			}
			out = append(out, row)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// randomValue is a literal of SQL.
func randomValue(r *rand.Rand) string {
	switch r.IntN(9) {
	case 0:
		return "NULL"
	case 1:
		return fmt.Sprint(r.IntN(3))
	case 2:
		return fmt.Sprint(int64(r.Uint64()) >> r.IntN(64))
	case 3:
		return fmt.Sprintf("%g", (r.Float64()-.5)*1e6)
	case 4:
		return "'" + strings.Repeat("ä7 ", r.IntN(30)) + "'"
	case 5:
		return fmt.Sprintf("'%dab'", int64(r.Uint64())>>r.IntN(64))
	case 6:
		return fmt.Sprintf("x'%s'", strings.Repeat("0f", r.IntN(9)))
	case 7:
		return "'" + strings.Repeat("long text, ", r.IntN(800)) + "'"
	}
	return fmt.Sprint(r.IntN(1 << 20))
}

// written makes the databases that trace/internal/sqlite is tested with.
func written(t *testing.T) []Written {
	var out []Written
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ name, before, table, columns, after string }{
		{"plain", "", `t (a, b INTEGER, c TEXT, d NUMERIC)`, "a b c d", ""},
		{"rowid", "PRAGMA page_size = 512;", `t (a INTEGER PRIMARY KEY, b, c)`, "a b c", ""},
		{"rowid as table constraint", "", `t (a INTEGER NOT NULL, b, c, CONSTRAINT k PRIMARY KEY ("a"))`, "a b c", ""},
		{"no rowid: INT", "", `t (a INT PRIMARY KEY, b, c)`, "a b c", ""},
		{"no rowid: DESC", "", `t (a INTEGER PRIMARY KEY DESC, b, c)`, "a b c", ""},
		{"key of two", "", `t (a INTEGER, b INTEGER, c, PRIMARY KEY (a, b))`, "a b c", ""},
		{"autoincrement", "", `t ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "x y" VARCHAR(20) DEFAULT '(,', [c d] DECIMAL(3, 4) CHECK (1 > 0))`, "id|x y|c d", ""},
		{"comments", "", "t (a -- the first, )\n, /* b ) */ b, `c`, FOREIGN KEY (b) REFERENCES t(a))", "a b c", ""},
		{"generated", "", `t (a, v AS (a || 'x'), s GENERATED ALWAYS AS (1) STORED, b, c)`, "a b c", ""},
		{"UTF-16", "PRAGMA encoding = 'UTF-16be'; PRAGMA page_size = 65536;", `t (a, b, c TEXT)`, "a b c", ""},
		{"UTF-16le", "PRAGMA encoding = 'UTF-16le';", `t (a, b, c TEXT)`, "a b c", ""},
		{"holes", "PRAGMA page_size = 1024;", `t (a, b, c)`, "a b c", "DELETE FROM t WHERE rowid % 3 = 1; CREATE INDEX i " +
			"ON t(b);"},
		{"vacuum", "PRAGMA auto_vacuum = FULL;", `t (a, b, c)`, "a b c", "DELETE FROM t WHERE rowid > 20;"},
		{"dropped", "", `t (a, b, c, e)`, "a b c", "ALTER TABLE t DROP COLUMN e;"},
		{"strict", "", `t (a ANY, b ANY, c ANY) STRICT`, "a b c", ""},
		{"quotes", "", `"t""(," (a, "b""" TEXT, 'c')`, "", ""},
	} {
		table, columns := "t", strings.Fields(c.columns)
		if strings.Contains(c.columns, "|") {
			columns = strings.Split(c.columns, "|")
		}
		if c.columns == "" {
			table, columns = `t"(,`, []string{"a", `b"`, "c"}
		}
		quoted := strings.ReplaceAll(table, `"`, `""`)
		script := c.before + "CREATE TABLE before (x); CREATE TABLE " + c.table + "; CREATE VIEW v AS SELECT 1; "
		names := make([]string, len(columns))
		for i, n := range columns {
			names[i] = `"` + strings.ReplaceAll(n, `"`, `""`) + `"`
		}
		var b strings.Builder
		b.WriteString(script)
		for i := range 100 {
			values := []string{fmt.Sprint(7 * i)}
			for range columns[1:] {
				values = append(values, randomValue(r))
			}
			fmt.Fprintf(&b, "INSERT INTO \"%s\" (%s) VALUES (%s);\n", quoted, strings.Join(names, ", "),
				strings.Join(values, ", "))
		}
		path := write(t, b.String()+c.after)
		escaped := make([]string, len(columns))
		for i, n := range columns {
			escaped[i] = strings.ReplaceAll(n, `"`, `""`)
		}
		want := expected(t, path, table, escaped, strings.HasPrefix(c.name, "UTF-16"))
		if len(want) < 15 {
			t.Fatalf("%s: %d rows to compare", c.name, len(want))
		}
		out = append(out, Written{c.name, table, columns, want, contents(t, path)})
	}
	path := write(t, `CREATE TABLE w (a PRIMARY KEY, b) WITHOUT ROWID; CREATE VIEW V AS SELECT * FROM w;
		CREATE VIRTUAL TABLE f USING fts5(x); CREATE TABLE copied AS SELECT 1 AS one, 'x' AS [two 2];`)
	return append(out, Written{Name: "no tables", File: contents(t, path)})
}

// TestKeptIsWhatSQLiteWrites: the databases and rows of the tests of trace/internal/sqlite are those of SQLite.
func TestKeptIsWhatSQLiteWrites(t *testing.T) {
	now := written(t)
	if *update {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(z).Encode(now); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(kept, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(contents(t, kept)))
	if err != nil {
		t.Fatal(err)
	}
	var was []Written
	if err := json.NewDecoder(z).Decode(&was); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(now, was); diff != "" {
		t.Errorf("run it with -update (-SQLite +kept):\n%.2000s", diff)
	}
}

// same compares a table of package database with SQLite's reading of a file.
func same(t *testing.T, path string, table *database.Table) {
	t.Helper()
	conn, err := reference.OpenConn(path, reference.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var want [][]any
	err = sqlitex.ExecuteTransient(conn, `SELECT * FROM "`+table.Name+`" NOT INDEXED ORDER BY rowid`,
		&sqlitex.ExecOptions{ResultFunc: func(s *reference.Stmt) error {
			row := make([]any, s.ColumnCount())
			for i := range row {
				switch s.ColumnType(i) {
				case reference.TypeInteger:
					row[i] = s.ColumnInt64(i)
				case reference.TypeFloat:
					row[i] = s.ColumnFloat(i)
				case reference.TypeText:
					row[i] = s.ColumnText(i)
				case reference.TypeBlob:
					row[i] = append([]byte{}, s.ColumnText(i)...)
				}
			}
			want = append(want, row)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	var got [][]any
	for row := range table.Rows() {
		got = append(got, row)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s of %s (-SQLite +package database):\n%.2000s", table.Name, path, diff)
	}
}

// TestDatabasesOfTests: SQLite finds what package database writes intact and reads what was inserted, at each size of
// pages, of tables of one page and of trees of pages, with rows that need pages of their own.
func TestDatabasesOfTests(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, size := range []int{512, 1024, 4096, 1 << 16} {
		for _, rows := range []int{0, 1, 40, 4000} {
			db := database.Database{PageSize: size}
			var script strings.Builder
			script.WriteString("CREATE TABLE first (x); CREATE TABLE t (a, id INTEGER PRIMARY KEY, b, c);")
			for i := range 30 {
				fmt.Fprintf(&script, "CREATE TABLE more%d (x, y); INSERT INTO more%[1]d VALUES (%[1]d, 'it''s');", i)
			}
			for i := range rows {
				id := int64(i) + 1
				if i == rows-1 {
					id = 1 << 62
				}
				fmt.Fprintf(&script, "INSERT INTO t(a, id, b, c) VALUES (%s, %d, %s, %s);", randomValue(r), id,
					randomValue(r), randomValue(r))
			}
			if err := db.Exec(script.String()); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "x.sqlite")
			if err := db.WriteFile(path); err != nil {
				t.Fatal(err)
			}
			conn, err := reference.OpenConn(path, reference.OpenReadOnly)
			if err != nil {
				t.Fatal(err)
			}
			err = sqlitex.ExecuteTransient(conn, "PRAGMA integrity_check",
				&sqlitex.ExecOptions{ResultFunc: func(s *reference.Stmt) error {
					if said := s.ColumnText(0); said != "ok" {
						t.Errorf("pages of %d, %d rows: %s", size, rows, said)
					}
					return nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			for _, table := range db.Tables {
				same(t, path, table)
			}
			again, err := database.Read(contents(t, path))
			if err != nil || len(again.Tables) != len(db.Tables) {
				t.Fatalf("%d tables, error %v", len(again.Tables), err)
			}
			for _, table := range again.Tables {
				same(t, path, table)
			}
		}
	}
}

// TestExportsAsOracle: package database reads the activities of recorded exports as SQLite does.
func TestExportsAsOracle(t *testing.T) {
	compared := 0
	for _, path := range testdata.SharedGlob(t, "traces/nsys/*.sqlite") {
		db, err := database.Read(contents(t, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range db.Tables {
			if strings.HasPrefix(table.Name, "CUPTI_ACTIVITY_KIND_") {
				same(t, path, table)
				compared++
			}
		}
	}
	if compared == 0 {
		t.Error("no table to compare")
	}
}
