package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	reference "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/llmstrata/strata/trace/internal/sqlite"
)

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

// value is a column of a row as both readers give it.
type value struct {
	Kind sqlite.Kind
	Int  int64
	Text string
}

// expected reads a table with SQLite itself.
func expected(t *testing.T, path, table string, columns []string) [][]value {
	t.Helper()
	conn, err := reference.OpenConn(path, reference.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	kinds := map[reference.ColumnType]sqlite.Kind{reference.TypeNull: sqlite.Null, reference.TypeInteger: sqlite.Integer,
		reference.TypeFloat: sqlite.Real, reference.TypeText: sqlite.Text, reference.TypeBlob: sqlite.Blob}
	var out [][]value
	err = sqlitex.ExecuteTransient(conn, fmt.Sprintf(`SELECT "%s", rowid FROM "%s" NOT INDEXED ORDER BY rowid`,
		strings.Join(columns, `", "`), strings.ReplaceAll(table, `"`, `""`)),
		&sqlitex.ExecOptions{ResultFunc: func(s *reference.Stmt) error {
			row := []value{{Int: s.ColumnInt64(len(columns))}}
			for i := range columns {
				kind := kinds[s.ColumnType(i)]
				v := value{Kind: kind, Int: s.ColumnInt64(i), Text: s.ColumnText(i)}
				if kind == sqlite.Blob {
					v.Int = 0 // which number a blob is does not matter
					if strings.Contains(t.Name(), "UTF-16") {
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

// got reads it with this package.
func got(t *testing.T, path, table string, columns []string) [][]value {
	t.Helper()
	db, err := sqlite.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tab := db.Table(table)
	if tab == nil {
		t.Fatalf("no table %s: %v, %v", table, db.Tables, db.Unread)
	}
	if diff := cmp.Diff(columns, tab.Columns); diff != "" {
		t.Errorf("columns of %s (-want +got):\n%s", table, diff)
	}
	find := db.Finder(tab, columns)
	var out [][]value
	values := func(r *sqlite.Row) []value {
		row := []value{{Int: r.Rowid}}
		for i := range columns {
			v := value{Kind: r.Kind(i), Int: r.Int(i), Text: r.Text(i)}
			switch v.Kind {
			case sqlite.Blob:
				v.Int = 0
				if strings.Contains(t.Name(), "UTF-16") {
					v.Text = ""
				}
			case sqlite.Real:
				v.Text = ""
			}
			row = append(row, v)
		}
		return row
	}
	damaged, err := db.Scan(context.Background(), tab, columns, func(r *sqlite.Row) error {
		row := values(r)
		out = append(out, row)
		found, err := find.Find(r.Rowid)
		if err != nil || found == nil {
			t.Fatalf("row %d is not found: %v", r.Rowid, err)
		}
		if diff := cmp.Diff(row, values(found)); diff != "" {
			t.Fatalf("row %d, scanned and found (-scanned +found):\n%s", r.Rowid, diff)
		}
		if none, _ := find.Find(r.Rowid + 1<<40); none != nil {
			t.Fatalf("row %d is found and not there", r.Rowid+1<<40)
		}
		return nil
	})
	if err != nil || damaged != 0 {
		t.Fatalf("%d damaged pages, error %v", damaged, err)
	}
	if n := len(out); n > 0 && db.LastRowid(tab) != out[n-1][0].Int {
		t.Errorf("last rowid %d, want %d", db.LastRowid(tab), out[n-1][0].Int)
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

// TestAsSQLiteReads: whatever SQLite writes, both read the same.
func TestAsSQLiteReads(t *testing.T) {
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
		t.Run(c.name, func(t *testing.T) {
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
			want := expected(t, path, table, escaped)
			if len(want) < 15 {
				t.Fatalf("%d rows to compare", len(want))
			}
			if diff := cmp.Diff(want, got(t, path, table, columns)); diff != "" {
				t.Errorf("(-SQLite +here):\n%.3000s", diff)
			}
		})
	}
}

// TestWhatIsNoTable: views, virtual tables and tables without rowids are known for what they are.
func TestWhatIsNoTable(t *testing.T) {
	path := write(t, `CREATE TABLE w (a PRIMARY KEY, b) WITHOUT ROWID; CREATE VIEW V AS SELECT * FROM w;
		CREATE VIRTUAL TABLE f USING fts5(x); CREATE TABLE copied AS SELECT 1 AS one, 'x' AS [two 2];`)
	db, err := sqlite.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, want := range map[string]string{"w": "table without rowids", "v": "view", "f": "virtual table"} {
		if db.Unread[name] != want || db.Has(name) {
			t.Errorf("%s is a %q, want %q", name, db.Unread[name], want)
		}
	}
	if diff := cmp.Diff([]string{"one", "two 2"}, db.Table("COPIED").Columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// TestDamageCostsItsPages: whichever bytes are others, rows are rows of the intact table or are missing, and a page
// that is missing is counted.
func TestDamageCostsItsPages(t *testing.T) {
	path := write(t, `PRAGMA page_size = 512; CREATE TABLE t (a INTEGER, b TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 2000)
		INSERT INTO t SELECT i, CASE WHEN i % 100 = 0 THEN hex(zeroblob(700)) ELSE 'row ' || i END FROM n;`)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	count := func(data []byte) (rows, damaged int64, err error) {
		changed := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(changed, data, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := sqlite.Open(context.Background(), changed)
		if err != nil {
			return 0, 0, err
		}
		defer db.Close()
		if !db.Has("t") {
			return 0, 0, errors.New("no table")
		}
		damaged, err = db.Scan(context.Background(), db.Table("t"), []string{"a", "b"}, func(r *sqlite.Row) error {
			rows++
			r.Int(0)
			r.Text(1)
			return nil
		})
		return rows, damaged, err
	}
	if rows, damaged, err := count(data); rows != 2000 || damaged != 0 || err != nil {
		t.Fatalf("intact: %d rows, %d damaged, %v", rows, damaged, err)
	}
	// A leaf overwritten costs its rows only.
	for page := 3; page < 20; page++ {
		broken := bytes.Clone(data)
		if broken[page*512] != 0x0d {
			continue
		}
		copy(broken[page*512:], bytes.Repeat([]byte{0xAA}, 512))
		if rows, damaged, err := count(broken); rows < 2000-60 || rows >= 2000 || damaged != 1 || err != nil {
			t.Errorf("page %d overwritten: %d rows, %d damaged, %v", page, rows, damaged, err)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		broken := bytes.Clone(data)
		for range 1 + r.IntN(8) {
			broken[100+r.IntN(len(broken)-100)] = byte(r.Uint32())
		}
		rows, _, _ := count(broken)
		if rows > 4000 {
			t.Errorf("%d rows of 2,000", rows)
		}
	}
	// A leaf whose cells are all the same one: no more than the file holds.
	same := bytes.Clone(data)
	for page := 3; page < 20; page++ {
		if b := same[page*512:]; b[0] == 0x0d {
			first := [2]byte(b[8:])
			b[3], b[4] = 0, 200
			for i := range 200 {
				copy(b[8+2*i:], first[:])
			}
		}
	}
	if rows, _, err := count(same); rows > int64(len(data)/8) || err != nil {
		t.Errorf("the same cell again and again: %d rows, %v", rows, err)
	}
	// Every page is a child of the one before: nothing is read twice.
	loop := bytes.Clone(data)
	for page := 1; page < len(data)/512; page++ {
		b := loop[page*512:]
		b[0], b[3], b[4] = 5, 0, 0
		b[8], b[9], b[10], b[11] = 0, 0, 0, byte(page%40+2)
	}
	if rows, damaged, err := count(loop); rows != 0 || damaged == 0 || err != nil {
		t.Errorf("pages in a ring: %d rows, %d damaged, %v", rows, damaged, err)
	}
}

// TestDamageIsCounted: a page that a Finder needs and cannot read, and a table whose root is not in the file.
func TestDamageIsCounted(t *testing.T) {
	path := write(t, `PRAGMA page_size = 512; CREATE TABLE t (a); CREATE TABLE u (a);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 2000) INSERT INTO t SELECT i FROM n;`)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 3; page < len(data)/512; page++ {
		if data[page*512] == 0x0d {
			data[page*512] = 0
			break
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := reference.OpenConn(path, reference.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn,
		"PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 99999 WHERE name = 'u';", nil)
	if err = errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.Has("u") || db.Unread["u"] != "table whose first page is missing" {
		t.Errorf("u is %v, %q", db.Table("u"), db.Unread["u"])
	}
	f, lost := db.Finder(db.Table("t"), []string{"a"}), int64(0)
	for id := range int64(2000) {
		r, err := f.Find(id + 1)
		if err != nil || r != nil && r.Int(0) != id+1 {
			t.Fatalf("row %d: %v, %v", id+1, r, err)
		}
		if r == nil {
			lost++
		}
	}
	if lost == 0 || lost > 200 || f.Damaged() != lost {
		t.Errorf("%d rows are not found, %d counted", lost, f.Damaged())
	}
}

// TestLongStatements: what would take long to read is cut.
func TestLongStatements(t *testing.T) {
	for _, sql := range []string{
		"CREATE TABLE t (a INTEGER, " + strings.Repeat("PRIMARY KEY (b), ", 1<<19) + "b)",
		`CREATE TABLE t ("` + strings.Repeat(`""`, 1<<22) + `")`,
		"CREATE TABLE t (" + strings.Repeat("(", 1<<22),
	} {
		path := write(t, "CREATE TABLE t (a)")
		conn, err := reference.OpenConn(path, reference.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA writable_schema = ON", nil); err != nil {
			t.Fatal(err)
		}
		err = sqlitex.ExecuteTransient(conn, "UPDATE sqlite_master SET sql = ?", &sqlitex.ExecOptions{Args: []any{sql}})
		if err = errors.Join(err, conn.Close()); err != nil {
			t.Fatal(err)
		}
		db, err := sqlite.Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		if !db.Has("t") || len(db.Table("t").Columns) > 1 {
			t.Errorf("%.40s: tables %v", sql, db.Tables)
		}
		db.Close()
	}
}

// TestStops: an error of the caller and an ended context end a scan.
func TestStops(t *testing.T) {
	path := write(t, "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);")
	ctx, cancel := context.WithCancel(context.Background())
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stop, rows := errors.New("stop"), 0
	if _, err := db.Scan(ctx, db.Table("t"), nil, func(*sqlite.Row) error { rows++; return stop }); err != stop ||
		rows != 1 {
		t.Errorf("after %d rows: %v", rows, err)
	}
	cancel()
	if _, err := db.Scan(ctx, db.Table("t"), nil, func(*sqlite.Row) error { return nil }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a scan after the end: %v", err)
	}
}
