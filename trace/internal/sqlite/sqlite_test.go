package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen/database"
	"github.com/llmstrata/strata/trace/internal/sqlite"
)

// write writes a file.
func write(tb testing.TB, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "x.sqlite")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// written is a database that SQLite wrote, and the rows of one of its tables as SQLite reads them;
// trace/internal/reference keeps them.
type written struct {
	Name, Table string
	Columns     []string
	Rows        [][]value
	File        []byte
}

// kept returns what SQLite wrote.
func kept(t *testing.T) (out []written) {
	t.Helper()
	data, err := os.ReadFile("testdata/written.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// value is a column of a row as both readers give it.
type value struct {
	Kind sqlite.Kind
	Int  int64
	Text string
}

// got reads a table with this package.
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

// TestAsSQLiteReads: whatever SQLite writes, both read the same.
func TestAsSQLiteReads(t *testing.T) {
	for _, w := range kept(t) {
		if w.Table == "" {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			if diff := cmp.Diff(w.Rows, got(t, write(t, w.File), w.Table, w.Columns)); diff != "" {
				t.Errorf("(-SQLite +here):\n%.3000s", diff)
			}
		})
	}
}

// TestRowsAtTheEndOfAPage: a row that just fits into its page, and one that needs another for a byte, keep their texts.
func TestRowsAtTheEndOfAPage(t *testing.T) {
	table := database.NewTable("t", "a")
	var want [][]value
	for n := range 40 {
		text := strings.Repeat("x", 460+n)
		table.Insert(text)
		want = append(want, []value{{Int: int64(n + 1)}, {Kind: sqlite.Text, Text: text}})
	}
	data := (&database.Database{PageSize: 512, Tables: []*database.Table{table}}).Bytes()
	if diff := cmp.Diff(want, got(t, write(t, data), "t", []string{"a"})); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
}

// TestWhatIsNoTable: views, virtual tables and tables without rowids are known for what they are.
func TestWhatIsNoTable(t *testing.T) {
	all := kept(t)
	db, err := sqlite.Open(context.Background(), write(t, all[len(all)-1].File))
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
	table := database.NewTable("t", "a INTEGER", "b TEXT")
	for i := range 2000 {
		text := fmt.Sprint("row ", i+1)
		if i%100 == 99 {
			text = strings.Repeat("0", 1400)
		}
		table.Insert(i+1, text)
	}
	data := (&database.Database{PageSize: 512, Tables: []*database.Table{table}}).Bytes()
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
	table := database.NewTable("t", "a")
	for i := range 2000 {
		table.Insert(i + 1)
	}
	tables := []*database.Table{table, database.NewTable("u", "a")}
	data := (&database.Database{PageSize: 512, Tables: tables}).Bytes()
	for page := 3; page < len(data)/512; page++ {
		if data[page*512] == 0x0d {
			data[page*512] = 0
			break
		}
	}
	root := bytes.Index(data, []byte("CREATE TABLE u")) - 1
	if int(data[root]) != tables[1].Root {
		t.Fatalf("the first page of u is %d, want %d", data[root], tables[1].Root)
	}
	data[root] = 127
	db, err := sqlite.Open(context.Background(), write(t, data))
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
	for _, columns := range []string{
		"a INTEGER, " + strings.Repeat("PRIMARY KEY (b), ", 1<<19) + "b",
		`"` + strings.Repeat(`""`, 1<<22) + `"`,
		strings.Repeat("(", 1<<22),
	} {
		long := database.Database{Tables: []*database.Table{database.NewTable("t", columns)}}
		db, err := sqlite.Open(context.Background(), write(t, long.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if !db.Has("t") || len(db.Table("t").Columns) > 1 {
			t.Errorf("%.40s: tables %v", columns, db.Tables)
		}
		db.Close()
	}
}

// TestStops: an error of the caller and an ended context end a scan.
func TestStops(t *testing.T) {
	table := database.NewTable("t", "a")
	table.Insert(1)
	table.Insert(2)
	path := write(t, (&database.Database{Tables: []*database.Table{table}}).Bytes())
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
