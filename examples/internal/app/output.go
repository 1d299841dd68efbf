package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// output is where results go: stdout, or a file that appears under its name
// only when the program succeeded.
type output struct {
	*bufio.Writer
	stdout *pipe    // nil where a file is written
	file   *os.File // nil for stdout
	temp   string   // renamed to target at the end, "" where file is written in place
	target string
}

// pipe is stdout, and remembers whether its reader has gone.
type pipe struct {
	w      io.Writer
	closed bool
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.closed = p.closed || closedPipe(err)
	return n, err
}

// bufferSize holds a screen or two, so that few writes reach the system.
const bufferSize = 64 << 10

// openOutput opens the file, or stdout for "" and "-". A regular file is
// written beside its final place; anything else (a device, a named pipe) is
// written in place.
func openOutput(path string, stdout io.Writer) (*output, error) {
	if path == "" || path == "-" {
		p := &pipe{w: stdout}
		return &output{Writer: bufio.NewWriterSize(p, bufferSize), stdout: p}, nil
	}
	// A link stays a link: its target is what is replaced.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o666) // less the umask
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, fmt.Errorf("output %s: is a directory", path)
	}
	if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("output: %w", err)
		}
		return &output{Writer: bufio.NewWriterSize(f, bufferSize), file: f}, nil
	}
	if err == nil {
		mode = info.Mode().Perm()
	}
	f, err := createBeside(path, mode)
	if err != nil {
		// The name that the user gave is the one to tell, not the temporary one's.
		if pathErr := new(fs.PathError); errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("output %s: %w", path, err)
	}
	return &output{Writer: bufio.NewWriterSize(f, bufferSize), file: f, temp: f.Name(), target: path}, nil
}

// createBeside makes a new file in the directory of path.
func createBeside(path string, mode fs.FileMode) (*os.File, error) {
	const attempts = 1000 // leftovers of killed runs with the same process id
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d-%d.tmp", filepath.Base(path), os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil || !errors.Is(err, fs.ErrExist) || i >= attempts {
			return f, err
		}
	}
}

// finish flushes and, where the program succeeded, puts the file in its place;
// otherwise nothing is left of it. It returns the program's error, or else its
// own.
func (o *output) finish(err error) error {
	if flushErr := o.Flush(); err == nil {
		err = flushErr
	}
	if o.file == nil {
		return err
	}
	if closeErr := o.file.Close(); err == nil {
		err = closeErr
	}
	if o.temp == "" {
		return err
	}
	if err == nil {
		err = os.Rename(o.temp, o.target)
	}
	if err != nil {
		os.Remove(o.temp) // best effort: the first error is the one to tell
	}
	return err
}

// gone reports whether the reader of stdout went away.
func (o *output) gone() bool { return o.stdout != nil && o.stdout.closed }

// closedPipe reports whether a write failed because nobody reads any more.
func closedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
