package strata_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/whole"
)

// mistake is a file of a kind in the table of docs/format/input.md.
type mistake struct {
	row  string // a piece of the row's first cell
	says string // what is in its second cell and in the message
	data []byte
}

// TestTableOfMistakes: every row of the table has a file here, and strata prints the row's text for it.
func TestTableOfMistakes(t *testing.T) {
	rows := tableOfMistakes(t)
	held := map[string]bool{}
	for _, m := range mistakes(t) {
		found := false
		for row, says := range rows {
			if !strings.Contains(row, m.row) {
				continue
			}
			found, held[row] = true, true
			if !strings.Contains(says, m.says) {
				t.Errorf("%s: the page says %q, want %q in it", m.row, says, m.says)
			}
		}
		if !found {
			t.Errorf("%s is in no row", m.row)
		}
		path := filepath.Join(t.TempDir(), "x.bin")
		if err := os.WriteFile(path, m.data, 0o600); err != nil {
			t.Fatal(err)
		}
		rec, err := strata.Open(t.Context(), path, strata.Options{})
		switch {
		case m.row == "zip of several":
			if err != nil || len(rec.Parts) == 0 {
				t.Errorf("%s: %v, want the traces in it", m.row, err)
			}
		case err == nil || !strings.Contains(err.Error(), m.says) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: %v, want one line with %q", m.row, err, m.says)
		}
	}
	for row := range rows {
		if !held[row] {
			t.Errorf("no file for the row %q", row)
		}
	}
}

// tableOfMistakes is the first table after the page's heading.
func tableOfMistakes(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("docs/format/input.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## What people hand in by mistake")
	_, text, _ = strings.Cut(text, "|---|---|\n")
	rows := map[string]string{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			break
		}
		rows[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[2])
	}
	if len(rows) < 18 {
		t.Fatalf("%d rows in the table", len(rows))
	}
	return rows
}

func mistakes(t *testing.T) []mistake {
	t.Helper()
	var tarball, wide, narrow, several, locked bytes.Buffer
	w := tar.NewWriter(&tarball)
	if err := w.WriteHeader(&tar.Header{Name: "run/a.json", Mode: 0o600, Size: 2}); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("{}"))
	w.Close()
	words := utf16.Encode([]rune("{\"traceEvents\": []}"))
	binary.Write(&wide, binary.LittleEndian, append([]uint16{0xfeff}, words...))
	binary.Write(&narrow, binary.BigEndian, words)
	z := zip.NewWriter(&several)
	for _, name := range []string{"a.json", "b.json"} {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(whole.Tiny(gen.Eager, gen.NVIDIA))
	}
	z.Close()
	z = zip.NewWriter(&locked)
	if _, err := z.CreateRaw(&zip.FileHeader{Name: "a.json", Flags: 1, Method: zip.Deflate, CompressedSize64: 4,
		UncompressedSize64: 9}); err != nil {
		t.Fatal(err)
	}
	z.Close()
	text := func(s string) []byte { return []byte(s) }
	return []mistake{
		{"`.tar`", "tar archive", tarball.Bytes()}, {"`.tar`", "tar archive", gz(tarball.Bytes())},
		{"`.tar`", "an empty tar archive", make([]byte, 10_240)}, {"JSON without events", "JSON without traceEvents", text("null")},
		{"zip of several", "", several.Bytes()}, {"encrypted zip", "an encrypted zip archive", locked.Bytes()},
		{"`.xz`", "xz-compressed", text("\xfd7zXZ\x00abc")}, {"`.7z`", "7-Zip", text("7z\xbc\xaf\x27\x1cabc")},
		{"`.rar`", "RAR", text("Rar!\x1a\a")}, {"lz4", "lz4", text("\x04\x22\x4d\x18abc")},
		{"UTF-16", "UTF-16 text", wide.Bytes()}, {"UTF-16", "UTF-16 text", wide.Bytes()[2:]},
		{"UTF-16", "UTF-16 text", narrow.Bytes()},
		{"`.ncu-rep`", "Nsight Compute report", text("NVR\x00abcdef")},
		{"LFS", "git lfs pull", text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")},
		{"gzip twice", "gzip data inside compressed data", gz(gz(text(`{"traceEvents": []}`)))},
		{"memory timeline", "array of arrays", text(`[[1, 2], [3, 4]]`)},
		{"execution trace", "execution trace", text(`{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [{"id": 1, "name": "a", "ctrl_deps": 0}]}`)},
		{"memory snapshot", "memory snapshot", text("\x80\x04\x95abc")},
		{"pickle", "a Python pickle", text("\x80\x02abc")},
		{"`config.json`", "config.json", text(`{"architectures": ["A"], "model_type": "a"}`)},
		{"HTML", "an HTML page", text("<!DOCTYPE html><html>")}, {"XML", "XML", text("<?xml version=\"1.0\"?><a/>")},
		{"PDF", "PDF", text("%PDF-1.4")}, {"PNG", "PNG", text("\x89PNG\r\n")},
		{"another SQLite", "an SQLite database without tables", otherDatabase()},
		{"HDF5", "nsys export --type sqlite", text("\x89HDF\r\n")},
		{"Parquet", "nsys export --type sqlite", text("PAR1")}, {"Arrow", "nsys export --type sqlite", text("ARROW1")},
		{"Proton's tree", "a Proton profile as a tree of sums",
			text(`[ {"children": [], "frame": {"name": "ROOT"}, "metrics": {}}]`)},
		{"other binary", "a binary file of no kind known here", text("\x01\x02\x03\x04")},
		{"text, nothing", "text that is not JSON", text("hello")}, {"text, nothing", "empty", nil},
		{"text, nothing", "blank", text("  \n")},
	}
}

// TestReportOfHostileNames: names of kernels that are pages long, that command a
// terminal or turn text around, leave the report's lines readable.
func TestReportOfHostileNames(t *testing.T) {
	for _, name := range []string{strings.Repeat("n", 65_000), `\u001b[2J\u001b]0;x\u0007`, `\u202egnp.exe`,
		`a\nb\tc`} {
		var events []string
		for i := range 40 {
			events = append(events, fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"%s%d","pid":0,"tid":7,"ts":%d,"dur":50,"args":{"device":0,"stream":7,"correlation":%d}}`, name, i, 100*i, i+1))
		}
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, []byte(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		rec, err := strata.Open(t.Context(), path, strata.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := strata.Analyze(t.Context(), rec, strata.ReportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.WriteText(&out, strata.ReportText{}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > 1000 || strings.ContainsAny(line, "\x1b\x07\u202e\t") {
				t.Errorf("%.20q: the line %.200q", name, line)
			}
		}
	}
}
