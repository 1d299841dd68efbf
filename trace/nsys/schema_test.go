package nsys_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen/database"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// build makes an export that a test changes.
func build(tb testing.TB, cfg nsysgen.Config) *database.Database {
	tb.Helper()
	db, _, err := nsysgen.Build(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

// drop takes a table out, or one of its columns if it is not negative.
func drop(db *database.Database, table string, column int) {
	if column < 0 {
		db.Tables = slices.DeleteFunc(db.Tables, func(t *database.Table) bool { return t.Name == table })
		return
	}
	t := db.Table(table)
	var rows [][]any
	for row := range t.Rows() {
		rows = append(rows, slices.Delete(row, column, column+1))
	}
	t.Replace(slices.Delete(slices.Clone(t.Columns), column, column+1), rows)
}

// TestEveryTableAndColumnMayBeMissing drops each table, and each column, of a
// full export: versions of nsys differ in all of them.
func TestEveryTableAndColumnMayBeMissing(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.Steps, cfg.Layers, cfg.SyncEachStep, cfg.Graphs = 6, 1, true, nsysgen.GraphWhole
	whole := build(t, cfg)
	full := open(t, write(t, whole.Bytes()))
	// What is missing must be reported, not only tolerated.
	told := map[string]string{
		"CUPTI_ACTIVITY_KIND_KERNEL": "no GPU kernels", "CUPTI_ACTIVITY_KIND_RUNTIME": "launch overhead",
		"NVTX_EVENTS":                               "steps",
		"CUPTI_ACTIVITY_KIND_KERNEL.globalPid":      "correlation alone",
		"CUPTI_ACTIVITY_KIND_RUNTIME.globalTid":     "threads unknown",
		"CUPTI_ACTIVITY_KIND_KERNEL.correlationId":  "cannot be attributed",
		"CUPTI_ACTIVITY_KIND_RUNTIME.correlationId": "cannot be attributed",
		"CUPTI_ACTIVITY_KIND_KERNEL.deviceId":       "GPUs", "CUPTI_ACTIVITY_KIND_KERNEL.streamId": "streams",
		"NVTX_EVENTS.globalTid": "no thread", "CUPTI_ACTIVITY_KIND_RUNTIME.nameId": "no name",
	}
	for _, table := range whole.Tables {
		if !testdata.Long() && !strings.HasSuffix(table.Name, "KERNEL") {
			continue
		}
		for column := -1; column < len(table.Columns); column++ {
			name := table.Name
			if column >= 0 {
				name += "." + strings.Fields(table.Columns[column])[0]
			}
			part := build(t, cfg)
			drop(part, table.Name, column)
			tr, err := nsys.Open(context.Background(), write(t, part.Bytes()), trace.Options{})
			if err != nil {
				t.Errorf("without %s: %v", name, err)
				continue
			}
			if tr.Len() > full.Len() {
				t.Errorf("without %s: %d events, more than the %d of the whole export", name, tr.Len(), full.Len())
			}
			var said strings.Builder
			for _, f := range tr.Health().Findings {
				said.WriteString(f.Message)
			}
			if want := told[name]; !strings.Contains(said.String(), want) {
				t.Errorf("without %s: health %q does not say %q", name, said.String(), want)
			}
		}
	}
}

// TestUnknownTablesAndColumnsAreIgnored is an export of a version to come.
func TestUnknownTablesAndColumnsAreIgnored(t *testing.T) {
	path := generate(t, nsysgen.Default(1))
	db := build(t, nsysgen.Default(1))
	// As ALTER TABLE does it: rows that are there stay as short as they are.
	for table, column := range map[string]string{"CUPTI_ACTIVITY_KIND_KERNEL": "launchType INTEGER",
		"NVTX_EVENTS": "jsonText TEXT"} {
		db.Table(table).Columns = append(db.Table(table).Columns, column)
	}
	db.Table("META_DATA_EXPORT").Replace(db.Table("META_DATA_EXPORT").Columns, [][]any{{"EXPORT_SCHEMA_VERSION", "9.99.0"}})
	if err := db.Exec("CREATE TABLE CUPTI_ACTIVITY_KIND_FUTURE (start INTEGER, end INTEGER)"); err != nil {
		t.Fatal(err)
	}
	newer := open(t, write(t, db.Bytes()))
	if got, want := newer.Len(), open(t, path).Len(); got != want {
		t.Errorf("%d events, want %d", got, want)
	}
	if got := newer.Meta().Format; got != "9.99.0" {
		t.Errorf("schema version = %q", got)
	}
}

// contents is all that a load decided: events in order with the numbers of
// their names, and threads.
func contents(tr *trace.Trace) []string {
	var out []string
	for _, th := range tr.Threads() {
		out = append(out, th.Name)
	}
	for l := event.LaneGPU; l <= event.LaneOther; l++ {
		for e := range tr.Events(l) {
			out = append(out, e.Name(), string(rune(e.NameID())), string(rune(e.Launch().ID())))
		}
	}
	return out
}

// TestTimingDoesNotShow loads one export with different numbers of processors:
// the tables are read side by side, the result is the same.
func TestTimingDoesNotShow(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.LayerRanges, cfg.SyncEachStep, cfg.Graphs = 2, true, nsysgen.GraphOff
	path := generate(t, cfg)
	want := contents(open(t, path))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 3, 8} {
		runtime.GOMAXPROCS(procs)
		if diff := cmp.Diff(want, contents(open(t, path))); diff != "" {
			t.Fatalf("with %d processors (-first +now):\n%.2000s", procs, diff)
		}
	}
}

// TestLogBesideTheExportStaysUnread: merging it would write to the export.
func TestLogBesideTheExportStaysUnread(t *testing.T) {
	path := generate(t, nsysgen.Default(1))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", []byte("not merged yet"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := open(t, path)
	if n := loss(tr, "truncated"); n != 1 || tr.Len(event.LaneGPU) != 6720 {
		t.Errorf("losses %v, %d activities", tr.Health().Losses, tr.Len(event.LaneGPU))
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the export changed (%v)", err)
	}
	if log, err := os.ReadFile(path + "-wal"); err != nil || string(log) != "not merged yet" {
		t.Errorf("the log is %q (%v)", log, err)
	}
	if names, _ := filepath.Glob(path + "*"); len(names) != 2 {
		t.Errorf("files: %v", names)
	}
}

// TestTruncationThatTheHeaderHides: writers that do not keep the header's page
// count leave it to the b-trees to find out.
func TestTruncationThatTheHeaderHides(t *testing.T) {
	export, err := os.ReadFile(generate(t, nsysgen.Default(1)))
	if err != nil {
		t.Fatal(err)
	}
	copy(export[28:32], []byte{0, 0, 0, 0})
	for _, part := range []int{2, 3, 10} {
		cut := export[:len(export)*(part-1)/part/4096*4096]
		tr, err := nsys.Open(context.Background(), write(t, cut), trace.Options{})
		if err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%d of %d bytes: error = %v, trace %v; want a damaged database", len(cut), len(export), err,
				tr != nil)
		}
	}
}
