package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-json"
)

// Limits of one look at a folder: servers write tens of files, two levels deep
// at most. A folder past them is not a trace folder.
const (
	maxDepth   = 3
	maxEntries = 100_000
)

// folder is the output folder. Everything goes through an os.Root, so that no
// name a server or its files come up with leads out of it.
type folder struct {
	root *os.Root
	path string // absolute
}

// openFolder creates the folder if need be.
func openFolder(dir string) (*folder, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(abs, 0o777) // the server often runs as another user; the umask has the last word
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("capture: output folder: %w", err)
	}
	return &folder{root, abs}, nil
}

// openExisting does not create it.
func openExisting(dir string) (*folder, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("capture: output folder: %w", err)
	}
	return openFolder(dir)
}

// close closes it.
func (f *folder) close() { f.root.Close() }

// abs is the path of a slash-separated name for people and for open calls.
func (f *folder) abs(name string) string { return filepath.Join(f.path, filepath.FromSlash(name)) }

// mkdir makes a folder below. A file or a link in its place is an error.
func (f *folder) mkdir(name string) error {
	err := f.root.MkdirAll(name, 0o777)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.root.Lstat(name); err == nil && !info.IsDir() {
			err = errors.New("a link or a file, not a folder")
		}
	}
	if err != nil {
		return fmt.Errorf("capture: folder %s: %w", f.abs(name), err)
	}
	return nil
}

// look lists the regular files below dir by their path relative to it, without
// those in skip. Links are not followed and not listed.
func (f *folder) look(dir string, skip []string) (map[string]fs.FileInfo, error) {
	found, entries := map[string]fs.FileInfo{}, 0
	below, err := fs.Sub(f.root.FS(), dir)
	if err == nil {
		err = fs.WalkDir(below, ".", func(name string, e fs.DirEntry, err error) error {
			entries++
			switch {
			case err != nil && name != "." && errors.Is(err, fs.ErrNotExist):
				return nil // a folder that vanishes meanwhile has nothing to say
			case err != nil:
				return err
			case entries > maxEntries:
				return fmt.Errorf("more than %d entries", maxEntries)
			case e.IsDir() && name != "." && (strings.Count(name, "/") >= maxDepth || slices.Contains(skip, name) ||
				strings.HasPrefix(e.Name(), ".")):
				return fs.SkipDir
			case e.Type().IsRegular():
				if info, err := e.Info(); err == nil { // else gone since: renamed from .tmp, for one
					found[name] = info
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("capture: output folder %s: %w", f.abs(dir), err)
	}
	return found, nil
}

// move renames from to a free name below dir, and returns that.
func (f *folder) move(from, dir string) (string, error) {
	base := path.Base(from)
	stem, ext := splitName(base)
	to := path.Join(dir, base)
	for i := 1; ; i++ {
		if _, err := f.root.Lstat(to); err != nil { // none, or the next step says why
			break
		}
		to = path.Join(dir, fmt.Sprintf("%s.%d%s", stem, i, ext)) // before the extension and after the rank
	}
	if err := f.root.Rename(from, to); err != nil {
		return "", fmt.Errorf("capture: move %s to %s: %w", f.abs(from), f.abs(dir), err)
	}
	return to, nil
}

// writeJSON replaces a document of ours, in one step: a process may be killed at any time. A link in its place is
// replaced, not written through. The name of the part is that of no trace.
func (f *folder) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	part := path.Join(path.Dir(name), "."+path.Base(name)+".new")
	if err == nil {
		err = f.root.WriteFile(part, append(text, '\n'), 0o666)
	}
	if err == nil {
		err = f.root.Rename(part, name)
	}
	if err != nil {
		return fmt.Errorf("capture: write %s: %w", f.abs(name), err)
	}
	return nil
}

// readJSON reads a document of ours, and leaves v as it is where there is none.
func (f *folder) readJSON(name string, v any) error {
	text, err := f.root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	return err
}

// remove deletes a file of ours, if it is there.
func (f *folder) remove(name string) error {
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("capture: remove %s: %w", f.abs(name), err)
	}
	return nil
}
