package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	if err != nil {
		return nil, fmt.Errorf("capture: output folder: %w", err)
	}
	// The server often runs as another user; the umask has the last word.
	if err := os.MkdirAll(abs, 0o777); err != nil {
		return nil, fmt.Errorf("capture: output folder: %w", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("capture: output folder: %w", err)
	}
	return &folder{root, abs}, nil
}

func (f *folder) close() { f.root.Close() }

// abs is the path of a slash-separated name for people and for open calls.
func (f *folder) abs(name string) string { return filepath.Join(f.path, filepath.FromSlash(name)) }

// mkdir makes a folder below. A file or a link in its place is an error.
func (f *folder) mkdir(name string) error {
	if err := f.root.MkdirAll(filepath.FromSlash(name), 0o777); err != nil {
		return fmt.Errorf("capture: folder %s: %w", f.abs(name), err)
	}
	info, err := f.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return fmt.Errorf("capture: folder %s: %w", f.abs(name), err)
	}
	if !info.IsDir() {
		return fmt.Errorf("capture: folder %s is a link or a file, not a folder", f.abs(name))
	}
	return nil
}

// look lists the regular files below dir by their path relative to it, without
// those in skip. Links are not followed and not listed.
func (f *folder) look(dir string, skip []string) (map[string]fs.FileInfo, error) {
	found := map[string]fs.FileInfo{}
	entries := 0
	var walk func(rel string, depth int) error
	walk = func(rel string, depth int) error {
		d, err := f.root.Open(filepath.FromSlash(path.Join(dir, rel)))
		if err != nil {
			return err
		}
		defer d.Close()
		for {
			list, err := d.ReadDir(256)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for _, e := range list {
				if entries++; entries > maxEntries {
					return fmt.Errorf("more than %d entries", maxEntries)
				}
				name := path.Join(rel, e.Name())
				switch {
				case e.IsDir():
					if depth < maxDepth && !slices.Contains(skip, name) && !strings.HasPrefix(e.Name(), ".") {
						// A folder that vanishes meanwhile has nothing to say.
						if err := walk(name, depth+1); err != nil && !errors.Is(err, fs.ErrNotExist) {
							return err
						}
					}
				case e.Type().IsRegular():
					// Gone since the listing: renamed from .tmp, for one.
					if info, err := e.Info(); err == nil {
						found[name] = info
					}
				}
			}
		}
	}
	if err := walk(".", 0); err != nil {
		return nil, fmt.Errorf("capture: output folder %s: %w", f.abs(dir), err)
	}
	return found, nil
}

// move renames from to a free name below dir, and falls back to a copy where
// renaming is refused. It returns the new name and whether the original
// stayed.
func (f *folder) move(from, dir string) (to string, copied bool, err error) {
	base := path.Base(from)
	to = path.Join(dir, base)
	for i := 1; ; i++ {
		if _, err := f.root.Lstat(filepath.FromSlash(to)); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", false, fmt.Errorf("capture: move %s: %w", f.abs(from), err)
		}
		if i > 1000 {
			return "", false, fmt.Errorf("capture: move %s: no free name in %s", f.abs(from), f.abs(dir))
		}
		// The number goes before the extension and after the rank.
		stem, ext := splitTraceName(base)
		to = path.Join(dir, fmt.Sprintf("%s.%d%s", stem, i, ext))
	}
	if err := f.root.Rename(filepath.FromSlash(from), filepath.FromSlash(to)); err == nil {
		return to, false, nil
	}
	// The server may own the folder's files and this user not.
	if err := f.copy(from, to); err != nil {
		return "", false, fmt.Errorf("capture: move %s to %s: %w", f.abs(from), f.abs(dir), err)
	}
	return to, true, nil
}

func (f *folder) copy(from, to string) error {
	src, err := f.root.Open(filepath.FromSlash(from))
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := f.root.OpenFile(filepath.FromSlash(to), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// write replaces a file of ours.
func (f *folder) write(name string, data []byte) error {
	p := filepath.FromSlash(name)
	// A link in its place is replaced, not written through.
	if info, err := f.root.Lstat(p); err == nil && !info.Mode().IsRegular() {
		if err := f.root.Remove(p); err != nil {
			return fmt.Errorf("capture: write %s: %w", f.abs(name), err)
		}
	}
	if err := f.root.WriteFile(p, data, 0o666); err != nil {
		return fmt.Errorf("capture: write %s: %w", f.abs(name), err)
	}
	return nil
}

// notTraces are the documents that lie beside traces.
var notTraces = []string{ServerArgsFile, "metadata.json", "config.json", "capture.json", stateFile}

// isTraceName reports whether a finished trace could have this name: *.json or
// *.json.gz, none of the documents that lie beside traces, not hidden.
func isTraceName(name string) bool {
	b := strings.ToLower(path.Base(name))
	if strings.HasPrefix(b, ".") || slices.Contains(notTraces, b) || strings.HasPrefix(b, "execution_trace") {
		return false
	}
	return strings.HasSuffix(b, ".json") || strings.HasSuffix(b, ".json.gz")
}

// partialEndings mark a file that its writer will rename when it is done.
var partialEndings = []string{".tmp", ".part", ".partial", ".incomplete"}

// isPartialName reports whether name is a trace not yet renamed.
func isPartialName(name string) bool {
	b := strings.ToLower(path.Base(name))
	for _, e := range partialEndings {
		if strings.HasSuffix(b, e) || strings.HasSuffix(strings.TrimSuffix(b, ".gz"), e) {
			return strings.Contains(b, ".json") || strings.Contains(b, "trace")
		}
	}
	return false
}

// splitTraceName cuts the longest known ending.
func splitTraceName(base string) (stem, ext string) {
	for _, e := range []string{".pt.trace.json.gz", ".trace.json.gz", ".pt.trace.json", ".trace.json", ".json.gz", ".json"} {
		if strings.HasSuffix(strings.ToLower(base), e) {
			return base[:len(base)-len(e)], base[len(base)-len(e):]
		}
	}
	return base, ""
}
