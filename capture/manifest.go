package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-json"
)

// maxManifest bounds the size of a capture.json; one of many ranks has some hundred kilobytes.
const maxManifest = 16 << 20

// StageOf finds what [Run] said about the window in which a trace was recorded: in the capture.json of the trace's
// folder or of the one above. It returns the manifest's path, too, also where that cannot be read. Nil: nothing is
// known.
func StageOf(trace string) (st *StageResult, manifest string) {
	if trace == "" {
		return nil, ""
	}
	dir := filepath.Dir(trace)
	for _, d := range []string{dir, filepath.Dir(dir)} {
		path := filepath.Join(d, manifestFile)
		r, err := readManifest(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			manifest = path
			continue
		}
		for i := range r.Stages {
			s := &r.Stages[i]
			// Folders are moved and renamed; the names of files stay.
			named := slices.ContainsFunc(s.Traces, func(t Trace) bool { return filepath.Base(t.Path) == filepath.Base(trace) })
			if named && (d == dir || filepath.Base(s.Dir) == filepath.Base(dir)) {
				return s, path
			}
		}
	}
	return nil, manifest
}

// readManifest reads a capture.json.
func readManifest(path string) (*Result, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fs.ErrNotExist
	case info.Size() > maxManifest:
		return nil, fmt.Errorf("%s: %d bytes, more than a manifest has", path, info.Size())
	}
	text, err := os.ReadFile(path)
	var r Result
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return &r, err
}
