package database_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen/database"
)

// TestWhatIsWrittenIsRead: values of each kind and size, rowids in any order, and rows that need pages of their own come
// back, at each size of pages.
func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, size := range []int{0, 512, 1 << 16} {
		db := database.Database{PageSize: size}
		if err := db.Exec(`CREATE TABLE t (a, "id" INTEGER NOT NULL PRIMARY KEY, b TEXT -- what, it is (
			); INSERT INTO t VALUES (?, 9, 'it''s; (a, b)'), (NULL, 3, x'00ff'); INSERT INTO t(b, id) VALUES (2.5, ?)`,
			-129, 1<<40); err != nil {
			t.Fatal(err)
		}
		want := [][]any{{nil, int64(3), []byte{0, 255}}, {int64(-129), int64(9), "it's; (a, b)"}}
		for bits := range 63 {
			text := strings.Repeat("x", bits*bits*10)
			db.Table("t").Insert(int64(1)<<bits, int64(10+bits), text)
			want = append(want, []any{int64(1) << bits, int64(10 + bits), text})
		}
		want = append(want, []any{nil, int64(1) << 40, 2.5})
		again, err := database.Read(db.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, slices.Collect(again.Table("t").Rows())); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%.2000s", size, diff)
		}
		if c := again.Table("t").Column("id"); c != 1 || again.Table("t").Last() != 1<<40 || again.Table("u") != nil {
			t.Errorf("id is column %d, the last rowid %d", c, again.Table("t").Last())
		}
	}
}

// TestUnknownSQLIsRefused: a statement of a test that is not understood fails, and says which.
func TestUnknownSQLIsRefused(t *testing.T) {
	for _, sql := range []string{"UPDATE t SET a = 1", "INSERT INTO t SELECT 1", "INSERT INTO u VALUES (1)",
		"INSERT INTO t(b) VALUES (1)", "INSERT INTO t VALUES (random())", "CREATE TABLE x AS SELECT 1"} {
		db := database.Database{Tables: []*database.Table{database.NewTable("t", "a")}}
		if err := db.Exec(sql); err == nil {
			t.Errorf("%s: no error", sql)
		}
	}
	if _, err := database.Read([]byte("no database")); err == nil {
		t.Error("a text is read")
	}
}
