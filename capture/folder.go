package capture

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
	// root is where everything goes through.
	root *os.Root
	// path is absolute.
	path string
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

// openExisting does not create it.
func openExisting(dir string) (*folder, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("capture: output folder: %w", err)
	}
	return openFolder(dir)
}

// close lets go of it.
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

// move renames from to a free name below dir, and falls back to a copy where renaming is refused. It returns the new
// name and whether the original stayed.
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
		stem, ext := splitName(base)
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

// sha256 is the sum of a file, in hex.
func (f *folder) sha256(ctx context.Context, name string) (string, error) {
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", fmt.Errorf("capture: %w", err)
	}
	defer file.Close()
	h, buf := sha256.New(), make([]byte, 1<<20)
	for {
		n, err := file.Read(buf)
		h.Write(buf[:n])
		switch {
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", fmt.Errorf("capture: %w", err)
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		}
	}
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
	// In one step: a process may be killed at any time. The name is that of no trace.
	part := filepath.Join(filepath.Dir(p), "."+filepath.Base(p)+".new")
	err := f.root.WriteFile(part, data, 0o666)
	if err == nil {
		err = f.root.Rename(part, p)
	}
	if err != nil {
		return fmt.Errorf("capture: write %s: %w", f.abs(name), err)
	}
	return nil
}

// writeJSON replaces a document of ours.
func (f *folder) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("capture: write %s: %w", f.abs(name), err)
	}
	return f.write(name, append(text, '\n'))
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
	if err := f.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("capture: remove %s: %w", f.abs(name), err)
	}
	return nil
}
