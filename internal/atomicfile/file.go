package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is a file being written. It is not safe for concurrent use.
type File struct {
	f      *os.File
	temp   string // renamed to target at the end, "" where f is written in place
	target string
	gone   func() // temp is: see [Temporary]
}

// Create starts to write the file at path; [File.Finish] must be called. A
// regular file is written beside its final place and keeps the permissions it
// has; a new one gets those of mode, less the umask. A link stays a link: its
// target is replaced. Anything else (a device, a named pipe) is written in
// place; a directory is an error, and so is a file that the program reads
// ([ErrInput], see [Guard]). Errors name path.
func Create(path string, mode fs.FileMode) (*File, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: is a directory", path)
	}
	if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{f: f, gone: func() {}}, nil
	}
	if err == nil {
		mode = info.Mode().Perm()
	}
	if err := checkInput(path); err != nil {
		return nil, err
	}
	f, err := createBeside(path, mode)
	if err != nil {
		// The name that the user gave is reported, not the temporary one's.
		if pathErr := new(fs.PathError); errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &File{f: f, temp: f.Name(), target: path, gone: Temporary(f.Name())}, nil
}

// createBeside makes a new file in the directory of path.
// What killed runs left there under the same name is removed: a file is locked
// for as long as it is written, and what nobody has locked nobody writes.
func createBeside(path string, mode fs.FileMode) (*os.File, error) {
	removeLeft(path)
	const attempts = 1000 // other runs with the same process id, in other containers
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d-%d.tmp", filepath.Base(path), os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil && !own(f) {
			f.Close()
			err = fs.ErrExist
		}
		if err == nil || !errors.Is(err, fs.ErrExist) || i >= attempts {
			return f, err
		}
	}
}

// own locks a new file and reports whether it still has its name: another run
// may have taken it for a leftover before it was locked.
func own(f *os.File) bool {
	lock(f)
	mine, err := f.Stat()
	named, nerr := os.Stat(f.Name())
	return err == nil && nerr == nil && os.SameFile(mine, named)
}

// removeLeft removes temporary files of path that no run writes any more.
func removeLeft(path string) {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return // best effort: creating the file will say what is wrong
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), "."+base+".")
		var pid, n int
		if k, _ := fmt.Sscanf(rest, "%d-%d.tmp", &pid, &n); !ok || k != 2 || rest != fmt.Sprintf("%d-%d.tmp", pid, n) ||
			!e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_WRONLY, 0)
		if err != nil {
			continue
		}
		if lock(f) {
			os.Remove(f.Name())
		}
		f.Close()
	}
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	return n, f.asked(err)
}

// asked names the file that was asked for in an error on the temporary one, such as of a full disk.
func (f *File) asked(err error) error {
	if pathErr := new(fs.PathError); f.temp != "" && errors.As(err, &pathErr) && pathErr.Path == f.temp {
		return &fs.PathError{Op: pathErr.Op, Path: f.target, Err: pathErr.Err}
	}
	return err
}

// Finish closes the file. Where err, the result of writing, is nil, it puts the
// file in its place; otherwise nothing is left of it. It returns err or else its
// own error.
func (f *File) Finish(err error) error {
	defer f.gone()
	if err != nil && f.temp != "" && os.Remove(f.temp) == nil {
		// Where open files can be removed, the last close frees the blocks, which
		// takes long for a large file: nobody needs to wait for that.
		go f.f.Close()
		return err
	}
	if f.temp != "" {
		// On disk before it has the name: else a crash may leave the name with nothing in it.
		err = f.asked(f.f.Sync())
	}
	if closeErr := f.f.Close(); err == nil {
		err = closeErr
	}
	if f.temp == "" {
		return err
	}
	if err == nil {
		err = checkInput(f.target) // again: it may have been opened since
	}
	if err == nil {
		err = os.Rename(f.temp, f.target)
	}
	if err != nil {
		os.Remove(f.temp) // best effort: the first error is reported
	}
	return err
}

// Write writes a file with what write produces, all or nothing.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	return f.Finish(write(f))
}
