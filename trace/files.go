package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/scan"
)

// File is a trace file found by [ListFiles].
type File struct {
	Path    string    `json:"path"`
	Rank    int       `json:"rank"`              // from the name; −1 when it has none
	Stage   string    `json:"stage,omitempty"`   // "prefill" or "decode" where the path says so
	Size    int64     `json:"size_bytes"`        // on disk
	ModTime time.Time `json:"mod_time"`          // last written
	Merged  bool      `json:"merged,omitempty"`  // a merged-* file, which holds all ranks
	Partial bool      `json:"partial,omitempty"` // a *.tmp left by a killed server
	// External files are read by starting another program; see [Format].
	External bool `json:"external,omitempty"`
}

// ErrNoTrace is wrapped by [ListFiles]'s error when nothing looks like a trace.
var ErrNoTrace = errors.New("no trace file found")

// Bounds of the search below a directory. Profile directories are two levels
// deep; a home directory given by mistake should not be walked for minutes.
const (
	maxListDepth   = 6
	maxListEntries = 100_000
)

// ListFiles returns every trace file at or below path, ordered by path. Files
// of a directory are taken by the suffixes of the formats ([Kineto]'s where none
// are given). Of those whose suffix many files have, such as .json, the first
// bytes are looked at; server_args.json, metadata.json and config.json are never
// taken. No other program is started.
func ListFiles(path string, formats ...Format) ([]File, error) {
	if len(formats) == 0 {
		formats = []Format{Kineto()}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []File{newFile(path, info)}, nil
	}
	root := filepath.Clean(path)
	var out []File
	var entries int
	var exported bool
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if p == root {
				return err
			}
			return nil // an unreadable corner must not hide the rest
		}
		if entries++; entries > maxListEntries {
			return fmt.Errorf("trace: more than %d files below %s: name a directory closer to the traces",
				maxListEntries, root)
		}
		rel, _ := filepath.Rel(root, p)
		if d.IsDir() {
			if strings.Count(rel, string(filepath.Separator)) >= maxListDepth || p != root &&
				strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		format := nameOf(formats, d.Name())
		if format == nil {
			exported = exported || isExportedTable(d.Name())
			return nil
		}
		info, err := os.Stat(p) // follows links, which result directories are full of
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		if strings.HasSuffix(framework.BareName(p), ".json") &&
			!strings.HasSuffix(framework.BareName(p), ".trace.json") && !holdsEvents(p) {
			return nil
		}
		f := newFile(p, info)
		f.External = format.External
		out = append(out, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch {
	case len(out) == 0 && exported:
		return nil, fmt.Errorf("trace: %w in %s: it holds tables that Nsight Systems exported one by one, which are not "+
			"read; make an SQLite database of the report: nsys export --type sqlite REPORT.nsys-rep", ErrNoTrace, path)
	case len(out) == 0:
		return nil, fmt.Errorf("trace: %w in %s", ErrNoTrace, path)
	}
	return out, nil
}

// exportedTables begin the names of tables of Nsight Systems.
var exportedTables = []string{"CUPTI_ACTIVITY_KIND_", "TARGET_INFO_", "StringIds"}

// isExportedTable reports whether a file is named like one of those that
// Nsight Systems writes for --type parquetdir and arrowdir: a table each.
func isExportedTable(name string) bool {
	base, ok := strings.CutSuffix(name, ".parquet")
	if !ok {
		base, ok = strings.CutSuffix(name, ".arrow")
	}
	return ok && slices.ContainsFunc(exportedTables, func(t string) bool { return strings.HasPrefix(base, t) })
}

func newFile(path string, info fs.FileInfo) File {
	says := framework.ReadFileName(framework.All(), path)
	return File{Path: path, Rank: says.Rank, Stage: says.Stage, Size: info.Size(), ModTime: info.ModTime(),
		Merged: says.Merged, Partial: says.Partial}
}

// nameOf returns the format whose files have names like this one, nil for none.
func nameOf(formats []Format, base string) *Format {
	switch framework.BareName(base) {
	case framework.ServerArgsFile, framework.MetadataFile, framework.ConfigFile:
		return nil
	}
	for i := range formats {
		if framework.Ends(base, formats[i].Suffixes) {
			return &formats[i]
		}
	}
	return nil
}

// eventsWithin is how far holdsEvents looks. The longest metadata before
// the events in our real traces is 50 KB.
const eventsWithin = 1 << 20

// holdsEvents looks whether a JSON file holds trace events.
func holdsEvents(path string) bool {
	f, err := atomicfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	d, err := decompress.NewReader(f, decompress.Limits{})
	if err != nil {
		return false
	}
	defer d.Close()
	head, _ := io.ReadAll(io.LimitReader(d, eventsWithin)) // a cut file may still hold events
	if scan.Sniff(head) != "" {
		return false
	}
	if bytes.Contains(head, []byte(`"traceEvents"`)) {
		return true
	}
	trimmed := bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")
	return bytes.HasPrefix(trimmed, []byte("[")) && bytes.Contains(head, []byte(`"ph"`))
}
