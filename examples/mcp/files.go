package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mostFiles is how many files of a directory are looked at for links that lead outside.
const mostFiles = 100_000

var errOutside = errors.New("outside of the server's root directory")

// resolve returns the real path of a file or directory below the root. Nothing that a reader of it would open may
// lead outside: neither the file, nor what is below the directory, nor what lies beside the file, such as the model's
// config.json.
func (s *server) resolve(name string) (string, error) {
	if name == "" {
		return "", errors.New("a file name is missing")
	}
	if strings.ContainsAny(name, "*?[") {
		return "", errors.New("patterns are not read: name the directory")
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.root, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // without the server's folders
		}
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if !s.inside(real) {
		return "", fmt.Errorf("%s: %w", name, errOutside)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		err = s.checkTree(real, true)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: neither a file nor a directory", name)
	default:
		err = s.checkTree(filepath.Dir(real), false)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return real, nil
}

func (s *server) inside(real string) bool {
	rel, err := filepath.Rel(s.root, real)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) && !filepath.IsAbs(rel)
}

// checkTree refuses a directory with a link that leads outside, and, where deep, one below it.
func (s *server) checkTree(dir string, deep bool) error {
	n := 0
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n++; n > mostFiles {
			return fmt.Errorf("more than %d files", mostFiles)
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if real, err := filepath.EvalSymlinks(path); err == nil && !s.inside(real) {
				return fmt.Errorf("the link %s leads outside: %w", d.Name(), errOutside)
			}
		}
		if d.IsDir() && path != dir && !deep {
			return filepath.SkipDir
		}
		return nil
	})
}
