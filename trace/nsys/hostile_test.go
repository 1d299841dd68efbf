package nsys_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen/database"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// pageSize is that of the databases of scripts, in bytes.
const pageSize = 1024

// made makes an SQLite file with a script of package database.
func made(tb testing.TB, script string) string {
	tb.Helper()
	db := database.Database{PageSize: pageSize}
	if err := db.Exec(script); err != nil {
		tb.Fatal(err)
	}
	return write(tb, db.Bytes())
}

func write(tb testing.TB, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "x.sqlite")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestWhatIsNoExportIsRefusedWithTheReason(t *testing.T) {
	good, err := os.ReadFile(generate(t, nsysgen.Default(1)))
	if err != nil {
		t.Fatal(err)
	}
	// An encrypted database has no readable header.
	encrypted := bytes.Clone(good)
	for i := range encrypted {
		encrypted[i] ^= byte(i*7 + 1)
	}
	// Page 1 destroyed after an intact header: its b-tree has no valid type.
	broken := bytes.Clone(good)
	for i := 100; i < 4096; i++ {
		broken[i] = 0xAA
	}
	for _, c := range []struct {
		name, path string
		is         error
		says       string
	}{
		{"empty", write(t, nil), nsys.ErrNotExport, "empty"},
		{"JSON", write(t, []byte(`{"traceEvents": []}`)), nsys.ErrNotExport, "no SQLite header"},
		{"encrypted", write(t, encrypted), nsys.ErrNotExport, "encrypted"},
		{"header only", write(t, good[:50]), nsys.ErrTruncated, "shorter"},
		{"half", write(t, good[:len(good)/2]), nsys.ErrTruncated, "header announces"},
		{"damaged", write(t, broken), nsys.ErrDamaged, "malformed"},
		{"other database", made(t, "CREATE TABLE users (id INTEGER, name TEXT)"), nsys.ErrNotExport,
			"without tables of a profile, its first one is users"},
		{"rocprofv3 database", made(t, "CREATE TABLE rocpd_kernel_dispatch_a1 (id INTEGER)"), nsys.ErrNotExport,
			"rocpd"},
		{"directory", t.TempDir(), nsys.ErrNotExport, "directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := nsys.Open(context.Background(), c.path, trace.Options{})
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), c.path) {
				t.Errorf("error = %v, want %v with %q and the path", err, c.is, c.says)
			}
			if c.is == nsys.ErrNotExport && !errors.Is(err, trace.ErrFormat) {
				t.Errorf("error = %v, want trace.ErrFormat in its chain", err)
			}
		})
	}
	if _, err := nsys.Open(context.Background(), filepath.Join(t.TempDir(), "absent.sqlite"),
		trace.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v, want os.ErrNotExist", err)
	}
	if !errors.Is(nsys.ErrTruncated, io.ErrUnexpectedEOF) {
		t.Error("ErrTruncated does not wrap io.ErrUnexpectedEOF")
	}
}

const strings3 = `CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (9223372036854775807, 'far');`

func TestOddRows(t *testing.T) {
	const kernels = `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, shortName);`
	for _, c := range []struct {
		name, script string
		check        func(t *testing.T, tr *trace.Trace)
	}{
		{"only NVTX", `CREATE TABLE NVTX_EVENTS (start, end, text); INSERT INTO NVTX_EVENTS VALUES (5, 9, 'step'), (6, NULL, 'mark'), (7, 0, 'mark');`, func(t *testing.T, tr *trace.Trace) {
			if tr.Len(event.LaneAnnotation) != 3 || tr.Health().Status != trace.HealthUnusable {
				t.Errorf("%d ranges, health %v, want 3, unusable", tr.Len(event.LaneAnnotation), tr.Health().Status)
			}
			if k := tr.LaneAt(event.LaneAnnotation, 2).Kind(); k != event.Mark {
				t.Errorf("range without end is a %v, want mark", k)
			}
		}},
		{"text and textId null", `CREATE TABLE NVTX_EVENTS (start, end, text, textId); INSERT INTO NVTX_EVENTS VALUES (5, 9, NULL, NULL), (5, 9, NULL, 77);`, func(t *testing.T, tr *trace.Trace) {
			if n := loss(tr, "bad-event"); n != 2 || tr.Len(event.LaneAnnotation) != 0 {
				t.Errorf("lost %d, kept %d, want 2, 0", n, tr.Len(event.LaneAnnotation))
			}
		}},
		{"negative durations and no times", strings3 + kernels +
			`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 50, 0, 7, 1, 0, 1), (NULL, 50, 0, 7, 1, 0, 1), (100, 150, 0, 7, 1, 0, 1);`, func(t *testing.T, tr *trace.Trace) {
			if tr.Len(event.LaneGPU) != 1 || loss(tr, "negative-duration") != 1 || loss(tr, "bad-time") != 1 {
				t.Errorf("kept %d, losses %v", tr.Len(event.LaneGPU), tr.Health().Losses)
			}
		}},
		{"huge ids and times", strings3 + kernels + `INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
			(-9223372036854775808, 9223372036854775807, 0, 7, 1, 0, 1),
			(100, 150, 9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807),
			(100, 150, -5, -5, -5, -5, -5);`, func(t *testing.T, tr *trace.Trace) {
			if tr.Len(event.LaneGPU) != 2 || loss(tr, "bad-time") != 1 {
				t.Fatalf("kept %d, losses %v", tr.Len(event.LaneGPU), tr.Health().Losses)
			}
			if e := tr.LaneAt(event.LaneGPU, 0); e.Device() != trace.None || e.Name() != "far" {
				t.Errorf("device %d, name %q", e.Device(), e.Name())
			}
		}},
		{"wrong types", strings3 + kernels + `INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('100', 150.7, 'zero', x'0102', 'one', 0, 'gemm');`, func(t *testing.T, tr *trace.Trace) {
			if e := tr.LaneAt(event.LaneGPU, 0); !e.Valid() || e.Duration() != 50 || e.Name() != "[unnamed kernel]" {
				t.Errorf("event %v %v %q", e.Valid(), e.Duration(), e.Name())
			}
		}},
		{"a view is not a table", strings3 + `CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start+1 FROM n) SELECT start, start+1 AS end FROM n;`, func(t *testing.T, tr *trace.Trace) {
			if tr.Len(event.LaneGPU) != 0 {
				t.Errorf("%d rows of an endless view", tr.Len(event.LaneGPU))
			}
		}},
		{"graph row without times", `CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, graphId); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (0, 0, 2147483647, 1), (5, 8, 2147483647, 1);`, func(t *testing.T, tr *trace.Trace) {
			if loss(tr, "not-collected") != 1 || tr.Len(event.LaneGPU) != 1 ||
				tr.LaneAt(event.LaneGPU, 0).Device() != trace.None {
				t.Errorf("kept %d, losses %v", tr.Len(event.LaneGPU), tr.Health().Losses)
			}
		}},
		{"overhead and sync rows", strings3 + `
			CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, end, globalTid, overheadType); INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (5, 9, 1, 3), (5, 9, 1, 99), (NULL, 9, 1, 3);
			CREATE TABLE PROFILER_OVERHEAD (start, end, globalTid, nameId); INSERT INTO PROFILER_OVERHEAD VALUES (10, 12, 1, 1);
			CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, streamId, correlationId, syncType); INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 2, 0, 4294967295, 1, 3), (3, 4, 0, 7, 1, 77);`, func(t *testing.T, tr *trace.Trace) {
			var names []string
			for e := range tr.Events(event.LaneSync) {
				names = append(names, e.Name())
			}
			slices.Sort(names)
			want := []string{"Buffer flush (Profiler)", "Overhead", "Profiler overhead: gemm", "Stream Sync", "Unknown"}
			if !slices.Equal(names, want) || loss(tr, "bad-time") != 1 {
				t.Errorf("names %q, want %q; losses %v", names, want, tr.Health().Losses)
			}
		}},
		{"declarations and text logs", `CREATE TABLE NVTX_EVENTS (start, end, text, eventType); INSERT INTO NVTX_EVENTS VALUES (1, NULL, 'cat', 33), (1, NULL, 'thread', 39), (1, NULL, 'cat', 64), (1, NULL, 'meta', 73), (2, NULL, 'mark', 65), (3, 4, 'range', 70);`, func(t *testing.T, tr *trace.Trace) {
			if n := tr.Len(event.LaneAnnotation); n != 2 {
				t.Errorf("%d annotations, want the mark and the range", n)
			}
		}},
		{"emit_nvtx ranges are ops", `CREATE TABLE NVTX_EVENTS (start, end, text, domainId, eventType, globalTid); INSERT INTO NVTX_EVENTS VALUES
			(1, 9, 'aten::mm, seq = 3, op_id = 12, sizes = [[2, 3], [3, 4]]', 0, 59, 1), (1, 9, 'forward, op_id = 3', 0, 59, 1),
			(1, 9, 'aten::mm, op_id = 12', 4, 59, 1), (0, NULL, 'NCCL', 4, 75, 1);`, func(t *testing.T, tr *trace.Trace) {
			op := tr.LaneAt(event.LaneOp, 0)
			if tr.Len(event.LaneOp) != 1 || op.Name() != "aten::mm" || op.Shape() != "[[2, 3], [3, 4]]" {
				t.Errorf("%d ops, %q %q", tr.Len(event.LaneOp), op.Name(), op.Shape())
			}
			if got := tr.LaneAt(event.LaneAnnotation, 1).Data().Domain; got != "NCCL" {
				t.Errorf("domain = %q, want NCCL", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, open(t, made(t, c.script))) })
	}
}

func loss(tr *trace.Trace, reason event.Loss) int64 {
	for _, l := range tr.Health().Losses {
		if l.Reason == reason {
			return l.Count
		}
	}
	return 0
}

// TestFileIsLeftAlone opens an export in WAL mode, the one in which SQLite
// would create files, as a read-only file in a read-only folder.
func TestFileIsLeftAlone(t *testing.T) {
	path := generate(t, nsysgen.Default(1))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before[18], before[19] = 2, 2 // read and written with a log
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	dir := filepath.Dir(path)
	for p, mode := range map[string]os.FileMode{path: 0o400, dir: 0o500} {
		if err := os.Chtimes(p, past, past); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	if n := open(t, path).Len(event.LaneGPU); n != 6720 {
		t.Errorf("%d activities, want 6720", n)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the file's bytes changed")
	}
	for _, p := range []string{path, dir} {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if !st.ModTime().Equal(past) {
			t.Errorf("%s was modified at %v", p, st.ModTime())
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
		t.Errorf("files in the folder: %v", names)
	}
}

func TestOddPaths(t *testing.T) {
	data, err := os.ReadFile(generate(t, nsysgen.Default(1)))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "50% of a#b?mode=rwc&x.sqlite")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Skip("the file system refuses the name:", err)
	}
	if n := open(t, path).Len(event.LaneGPU); n != 6720 {
		t.Errorf("%d activities, want 6720", n)
	}
}

// FuzzOpen changes bytes of a small export: whatever happens, Open returns.
func FuzzOpen(f *testing.F) {
	cfg := nsysgen.Default(1)
	cfg.Steps, cfg.Layers, cfg.SyncEachStep = 2, 1, true
	good, err := os.ReadFile(generate(f, cfg))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(18), []byte{1}, uint32(0))
	f.Add(uint32(100), []byte{5, 0, 0}, uint32(0))
	f.Add(uint32(4096), []byte{13, 0, 0, 255, 255}, uint32(5000))
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, size uint32) {
		data := bytes.Clone(good)
		if size > 0 {
			data = data[:min(int(size), len(data))]
		}
		copy(data[min(int(at), len(data)):], patch)
		tr, err := nsys.Open(context.Background(), write(t, data), trace.Options{})
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		for l := event.LaneGPU; l <= event.LaneOther; l++ {
			for e := range tr.Events(l) {
				if e.Duration() < 0 {
					t.Fatalf("event %d lasts %v", e.ID(), e.Duration())
				}
				e.Launch()
				e.Parent()
			}
		}
	})
}
