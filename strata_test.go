package strata_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// put writes files below a fresh directory, the later ones newer.
func put(t *testing.T, files map[string][]byte, order ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range order {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// export returns the bytes of a small nsys export.
func export(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	cfg := nsysgen.Default(1)
	cfg.Steps = 2
	if _, err := nsysgen.Write(path, cfg); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gz(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func relative(dir string, files []string) []string {
	out := []string{}
	for _, f := range files {
		rel, err := filepath.Rel(dir, f)
		if err != nil {
			rel = f
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out
}

func parts(dir string, rec *strata.Recording) (read, unread []string) {
	for _, p := range rec.Parts {
		read = append(read, p.Path)
	}
	for _, u := range rec.NotRead {
		unread = append(unread, u.Path+": "+u.Why)
	}
	return relative(dir, read), relative(dir, unread)
}

// TestOpenDirectories: what is read of a directory, and what not and why.
func TestOpenDirectories(t *testing.T) {
	j, db := demo.Trace(), export(t)
	all := map[string][]byte{
		"1-TP-0-DECODE.trace.json.gz": j, "1-TP-0-EXTEND.trace.json.gz": j, "1-TP-1-DECODE.trace.json.gz": j,
		"0-TP-0-DECODE.trace.json.gz": j,
		"merged-1.trace.json.gz":      j, "run.sqlite": db, "run.sqlite.gz": gz(db), "run.nsys-rep": []byte("x"),
		"server_args.json": []byte("{}"), "other.json": []byte(`{"a": 1}`),
	}
	for _, c := range []struct {
		name         string
		files        []string
		o            strata.Options
		read, unread []string
	}{
		{"one rank of all stages", []string{"0-TP-0-DECODE.trace.json.gz", "1-TP-0-DECODE.trace.json.gz",
			"1-TP-0-EXTEND.trace.json.gz", "1-TP-1-DECODE.trace.json.gz", "merged-1.trace.json.gz"}, strata.Options{},
			[]string{"1-TP-0-DECODE.trace.json.gz", "1-TP-0-EXTEND.trace.json.gz"},
			[]string{"0-TP-0-DECODE.trace.json.gz: not the newest recording",
				"1-TP-1-DECODE.trace.json.gz: another rank", "merged-1.trace.json.gz: it holds all ranks once more"}},
		{"all ranks", []string{"1-TP-0-DECODE.trace.json.gz", "1-TP-1-DECODE.trace.json.gz"},
			strata.Options{AllRanks: true},
			[]string{"1-TP-0-DECODE.trace.json.gz", "1-TP-1-DECODE.trace.json.gz"}, []string{}},
		{"one file", []string{"1-TP-0-DECODE.trace.json.gz", "1-TP-0-EXTEND.trace.json.gz"},
			strata.Options{MaxFiles: 1},
			[]string{"1-TP-0-DECODE.trace.json.gz"}, []string{"1-TP-0-EXTEND.trace.json.gz: another stage"}},
		{"an export", []string{"run.sqlite", "server_args.json", "other.json"}, strata.Options{},
			[]string{"run.sqlite"}, []string{}},
		{"a compressed export and its report", []string{"run.sqlite.gz", "run.nsys-rep"}, strata.Options{},
			[]string{"run.sqlite.gz"}, []string{"run.nsys-rep: it is read only where it is named, by another program"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := put(t, all, c.files...)
			t.Setenv("PATH", t.TempDir()) // no program can be started
			rec, err := strata.Open(t.Context(), dir, c.o)
			if err != nil {
				t.Fatal(err)
			}
			read, unread := parts(dir, rec)
			if d := cmp.Diff(c.read, read); d != "" {
				t.Errorf("read (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.unread, unread); d != "" {
				t.Errorf("not read (-want +got):\n%s", d)
			}
			for _, p := range rec.Parts {
				if p.Trace == nil || p.Trace.Len(event.LaneGPU) == 0 || p.Trace.Meta().Path != p.Path {
					t.Errorf("%s: trace %v", p.Path, p.Trace)
				}
			}
		})
	}
	dir := put(t, all, "run.nsys-rep")
	if _, err := strata.Open(t.Context(), dir, strata.Options{}); !errors.Is(err, trace.ErrNoTrace) ||
		!strings.Contains(err.Error(), "run.nsys-rep") {
		t.Errorf("a report alone in a directory: %v, want ErrNoTrace that names it", err)
	}
}

// TestOpenSeveral: patterns and lists are read in order, hints of the names
// included.
func TestOpenSeveral(t *testing.T) {
	dir := put(t, map[string][]byte{"a-TP-0.json.gz": demo.Trace(), "a-TP-1-DECODE.json.gz": demo.Trace(),
		"b.txt": []byte("x")}, "a-TP-1-DECODE.json.gz", "a-TP-0.json.gz", "b.txt")
	rec, err := strata.Open(t.Context(), filepath.Join(dir, "a-*.gz"), strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Parts) != 2 || rec.Parts[0].Rank != 0 || rec.Parts[1].Rank != 1 || rec.Parts[1].Stage != "decode" ||
		rec.Parts[0].Stage != "" {
		t.Errorf("parts of a pattern: %+v", rec.Parts)
	}
	if _, err := strata.OpenFiles(t.Context(), []string{filepath.Join(dir, "a-TP-0.json.gz"),
		filepath.Join(dir, "b.txt")}, strata.Options{}); !errors.Is(err, trace.ErrFormat) ||
		!strings.Contains(err.Error(), "b.txt") {
		t.Errorf("a list with a text: %v, want ErrFormat that names it", err)
	}
	for path, want := range map[string]error{filepath.Join(dir, "c-*"): trace.ErrNoTrace,
		filepath.Join(dir, "absent"): os.ErrNotExist, t.TempDir(): trace.ErrNoTrace} {
		if _, err := strata.Open(t.Context(), path, strata.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, err := strata.OpenFiles(t.Context(), nil, strata.Options{}); !errors.Is(err, trace.ErrNoTrace) {
		t.Errorf("no files: %v", err)
	}
}

// TestOpenStdin: the standard input is read to its end, whatever it is.
func TestOpenStdin(t *testing.T) {
	want := map[string]int{}
	data := map[string][]byte{"json.gz": demo.Trace(), "sqlite": export(t), "sqlite.gz": gz(export(t))}
	for name, d := range data {
		rec, err := strata.Open(t.Context(), "-", strata.Options{Stdin: bytes.NewReader(d)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want[name] = rec.Parts[0].Trace.Len()
		if want[name] == 0 || rec.Parts[0].Rank != -1 {
			t.Errorf("%s: %d events, rank %d", name, want[name], rec.Parts[0].Rank)
		}
	}
	if want["sqlite"] != want["sqlite.gz"] {
		t.Errorf("events %v, want the same of both exports", want)
	}
}

// TestOpenSaysWhatAFileIs: one true sentence for each kind that is no trace.
func TestOpenSaysWhatAFileIs(t *testing.T) {
	var tarball bytes.Buffer
	w := tar.NewWriter(&tarball)
	if err := w.WriteHeader(&tar.Header{Name: "run/a.json", Mode: 0o600, Size: 2}); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("{}"))
	w.Close()
	var wide bytes.Buffer
	binary.Write(&wide, binary.LittleEndian, append([]uint16{0xfeff}, utf16.Encode([]rune(`{"traceEvents": []}`))...))
	for _, c := range []struct {
		says string
		data []byte
	}{
		{"tar archive", tarball.Bytes()}, {"tar archive", gz(tarball.Bytes())}, {"UTF-16", wide.Bytes()},
		{"UTF-16", wide.Bytes()[2:]},
		{"xz-compressed", []byte("\xfd7zXZ\x00abc")}, {"7-Zip", []byte("7z\xbc\xaf\x27\x1cabc")},
		{"lz4", []byte("\x04\x22\x4d\x18abc")},
		{"empty", nil}, {"HTML page", []byte("<html>")}, {"text that is not JSON", []byte("hello")},
		{"nsys export --type sqlite", []byte("PAR1")}, {"nsys export --type sqlite", []byte("ARROW1")},
		{"Proton profile as a tree", []byte(`[ {"children": [], "frame": {"name": "ROOT"}, "metrics": {}}]`)},
		{"an SQLite database without tables", otherDatabase()},
		{"config.json", []byte(`{"architectures": ["A"], "model_type": "a"}`)},
	} {
		path := filepath.Join(t.TempDir(), "x.bin")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := strata.Open(t.Context(), path, strata.Options{})
		if !errors.Is(err, trace.ErrFormat) || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with ErrFormat that says so and names the file", c.says, err)
		}
	}
}

// otherDatabase is an SQLite database with no tables: one page, of 512 bytes.
func otherDatabase() []byte {
	b := make([]byte, 512)
	copy(b, "SQLite format 3\x00\x02\x00\x01\x01\x00\x40\x20\x20\x00\x00\x00\x01\x00\x00\x00\x01")
	b[47], b[59], b[95] = 4, 1, 1 // schema format, UTF-8, version-valid-for
	b[100] = 13                   // an empty leaf
	b[105], b[106] = 2, 0
	return b
}

// ownSource is the recorder of a format that a user adds.
const ownSource trace.Source = "lines"

// TestOwnFormat passes a format as a value: everything that opens files knows
// it, beside those that are built in.
func TestOwnFormat(t *testing.T) {
	own := trace.Format{
		Name: "lines", Suffixes: []string{".lines"},
		Match: func(head []byte) bool { return bytes.HasPrefix(head, []byte("LINES\n")) },
		Open: func(ctx context.Context, in *trace.Input, o trace.Options) (*trace.Trace, error) {
			data, err := io.ReadAll(in.R)
			if err != nil {
				return nil, err
			}
			b := trace.NewBuilder(trace.Options{})
			b.Meta = trace.Meta{Path: in.Name, Source: ownSource, Rank: -1}
			for i, name := range strings.Fields(string(data))[1:] {
				b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: int64(10 * i), Duration: 5, Stream: 7})
			}
			return b.Finish(ctx)
		},
	}
	o := strata.Options{Trace: trace.Options{Formats: append(strata.Formats(), own)}}
	dir := put(t, map[string][]byte{"a.lines.gz": gz([]byte("LINES\nx\ny\n"))}, "a.lines.gz")
	for _, path := range []string{dir, filepath.Join(dir, "a.lines.gz"), "-"} {
		o.Stdin = strings.NewReader("LINES\nx\ny\n")
		rec, err := strata.Open(t.Context(), path, o)
		if err != nil {
			t.Fatal(err)
		}
		if tr := rec.Parts[0].Trace; tr.Len(event.LaneGPU) != 2 || tr.Meta().Source != ownSource {
			t.Errorf("%s: %d activities of %s", path, tr.Len(event.LaneGPU), tr.Meta().Source)
		}
	}
	if _, err := strata.Open(t.Context(), dir, strata.Options{}); !errors.Is(err, trace.ErrNoTrace) {
		t.Errorf("without the format: %v, want ErrNoTrace", err)
	}
}

// TestOpenSpoolsNothingBehind: what a stream was written to is gone.
func TestOpenSpoolsNothingBehind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, data := range [][]byte{export(t), export(t)[:5000]} {
		strata.Open(t.Context(), "-", strata.Options{Stdin: bytes.NewReader(data)})
	}
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		// nsysgen's own folders are t.TempDir's.
		for _, e := range left {
			if strings.HasPrefix(e.Name(), "strata-") {
				t.Errorf("left behind: %s", e.Name())
			}
		}
	}
}

// The page of the report has a waterfall; floors of weights where the model is known, and none where neither that is
// nor inputs of ops are.
func TestReportHTMLHasTheSpeedOfLight(t *testing.T) {
	path := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	config, err := profile.LoadConfig(testdata.Shared(t, "configs/qwen3-8b.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []bool{true, false} {
		rec, err := strata.Open(context.Background(), path, strata.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var o strata.ReportOptions
		if known {
			o.Layers.Config = config
		}
		r, err := strata.Analyze(context.Background(), rec, o)
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		if err := r.WriteHTML(&page); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(page.String(), "floor: GEMMs (weights)"); got != known {
			t.Errorf("the model is known: %t; the page has a floor of weights: %t", known, got)
		}
	}
}
