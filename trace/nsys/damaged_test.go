package nsys_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// manyKernels is the script of a database of n kernels, each 1 ms after the one before, the first of them 1 ms after a
// time in ns.
func manyKernels(n int, after int64) string {
	var b strings.Builder
	b.WriteString(`CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'gemm');
	CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, shortName);
	INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES `)
	for i := range int64(n) {
		start := after + 1_000_000*(i+1)
		fmt.Fprintf(&b, "(%d, %d, 0, 7, %d, 0, 1), ", start, start+5000, i+1)
	}
	return strings.TrimSuffix(b.String(), ", ") + ";"
}

// leaves are the offsets of the table leaf pages that hold many rows.
func leaves(data []byte) []int {
	var out []int
	for at := pageSize; at+pageSize <= len(data); at += pageSize {
		if data[at] == 0x0d && binary.BigEndian.Uint16(data[at+3:]) > 10 {
			out = append(out, at)
		}
	}
	return out
}

// TestDamagedPageCostsItsRows: the rows before a damaged page and after it
// are read, and the health says what is missing; a page in place of
// another is noticed.
func TestDamagedPageCostsItsRows(t *testing.T) {
	data, err := os.ReadFile(made(t, manyKernels(5000, 0)))
	if err != nil {
		t.Fatal(err)
	}
	pages := leaves(data)
	if len(pages) < 20 {
		t.Fatalf("%d leaf pages, want more", len(pages))
	}
	middle := pages[len(pages)/2]
	rows := int(binary.BigEndian.Uint16(data[middle+3:]))
	whole := open(t, write(t, data)).Len(event.LaneGPU)
	if whole != 5000 {
		t.Fatalf("%d kernels, want 5000", whole)
	}

	broken := bytes.Clone(data)
	for i := range pageSize {
		broken[middle+i] = 0xAA
	}
	tr := open(t, write(t, broken))
	if lost := whole - tr.Len(event.LaneGPU); lost < 1 || lost > rows {
		t.Errorf("%d kernels lost with a page of %d", lost, rows)
	}
	if n := loss(tr, "bad-event"); n < 1 || int(n) > rows || tr.Health().Status == trace.HealthOK ||
		!told(tr, ".recover") {
		t.Errorf("losses %+v, health %v, want those of a page of %d rows", tr.Health().Losses, tr.Health().Status, rows)
	}

	copied := bytes.Clone(data)
	copy(copied[middle:middle+1024], data[pages[2]:])
	tr = open(t, write(t, copied))
	if n := loss(tr, "bad-event"); n == 0 || !told(tr, "out of order") {
		t.Errorf("a copied page: %d kernels, losses %+v", tr.Len(event.LaneGPU), tr.Health().Losses)
	}
}

func told(tr *trace.Trace, what string) bool {
	for _, l := range tr.Health().Losses {
		if strings.Contains(l.Detail, what) {
			return true
		}
	}
	return false
}

// TestTextIsNoTime: a text in a column of times is no time, and not 0, which
// would be decades before all others.
func TestTextIsNoTime(t *testing.T) {
	tr := open(t, made(t, manyKernels(5000, 0)+`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('abc', 5, 0, 7, 1, 0, 1), (5, x'01', 0, 7, 1, 0, 1);`))
	if tr.Len(event.LaneGPU) != 5000 || loss(tr, "bad-time") != 2 {
		t.Errorf("%d kernels, losses %+v; want 5000 and two bad times", tr.Len(event.LaneGPU), tr.Health().Losses)
	}
}

// TestOneRowFarFromAllOthers: a row at 0 among thousands an hour and more later
// does not stretch the window.
func TestOneRowFarFromAllOthers(t *testing.T) {
	script := manyKernels(5000, 90_000_000_000_000)
	tr := open(t, made(t, script+`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 5000, 0, 7, 1, 0, 1);`))
	if tr.Len(event.LaneGPU) != 5000 || loss(tr, "bad-time") != 1 {
		t.Errorf("%d kernels, losses %+v; want 5000 and one bad time", tr.Len(event.LaneGPU), tr.Health().Losses)
	}
}

// TestKernelAtZero: few activities at 0, further from the others than these are
// from each other, have no time; those that the others follow have.
func TestKernelAtZero(t *testing.T) {
	const at0 = `INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 5000, 0, 7, 1, 0, 1);`
	const copyAt0 = `CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind);
		INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 5000, 0, 7, 1, 0, 8, 1);`
	for _, tt := range []struct {
		after      int64 // when the other kernels begin
		rows       int   // how many they are
		more       string
		kept, lost int64
	}{
		{5_001_000_000, 5000, at0, 5000, 1},
		{4_990_000_000, 5000, at0, 5001, 0},
		{5_001_000_000, 5000, at0 + at0, 5000, 2},
		{5_001_000_000, 5000, strings.Repeat(at0, 50), 5000, 50},
		{5_001_000_000, 5000, strings.Repeat(at0, 51), 5051, 0}, // one in a hundred
		{4_990_000_000, 5000, at0 + at0, 5002, 0},
		{5_001_000_000, 5000, at0 + copyAt0, 5000, 2},
		{4_990_000_000, 5000, at0 + copyAt0, 5002, 0},
		{5_001_000_000, 20, at0, 20, 1},
		{5_001_000_000, 19, at0, 20, 0},
	} {
		tr := open(t, made(t, manyKernels(tt.rows, tt.after)+tt.more))
		if got := int64(tr.Len(event.LaneGPU)); got != tt.kept || loss(tr, "bad-time") != tt.lost {
			t.Errorf("%d others from %d: %d kernels, losses %+v; want %d and %d lost", tt.rows, tt.after, got,
				tr.Health().Losses, tt.kept, tt.lost)
		}
	}
}

// TestNamesHaveNoCase: SQLite's do not.
func TestNamesHaveNoCase(t *testing.T) {
	script := strings.NewReplacer("CUPTI_ACTIVITY_KIND_KERNEL", "cupti_activity_kind_kernel", "StringIds", "STRINGIDS",
		"shortName", "SHORTNAME", "streamId", "StreamID").Replace(manyKernels(5000, 0))
	tr := open(t, made(t, script))
	if e := tr.LaneAt(event.LaneGPU, 0); tr.Len(event.LaneGPU) != 5000 || e.Name() != "gemm" || e.Stream() != 7 {
		t.Errorf("%d kernels, first %q on stream %d", tr.Len(event.LaneGPU), e.Name(), e.Stream())
	}
}

// TestViewsAreNamed: where views, or tables without rowids, are in the place of the tables the message says so.
func TestViewsAreNamed(t *testing.T) {
	for script, want := range map[string]string{
		"CREATE TABLE k (start, end); CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM k;": `"view"`,
		"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start PRIMARY KEY, end) WITHOUT ROWID;":        `"table without rowids"`,
	} {
		path := made(t, script)
		if _, err := nsys.Open(context.Background(), path, trace.Options{}); !errors.Is(err, nsys.ErrNotExport) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that names a %s", err, want)
		}
	}
	tr := open(t, made(t, strings3+"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start PRIMARY KEY, end) WITHOUT ROWID;"))
	if !told(tr, "CUPTI_ACTIVITY_KIND_KERNEL is a table without rowids") {
		t.Errorf("losses %+v", tr.Health().Losses)
	}
}
