package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/table"
)

// output is where results go: stdout, or a file that appears under its name
// only when the program succeeded.
type output struct {
	*bufio.Writer
	width    int              // of tables, 0 for no limit
	markdown bool             // is wanted, not text
	prose    *prose           // breaks long lines; nil where nothing limits them
	clean    *table.Cleaner   // of everything
	stdout   *pipe            // nil where a file is written
	file     *atomicfile.File // nil for stdout
}

// Width is the width of tables in characters; see package table.
func (o *output) Width() int { return o.width }

// Markdown says whether text is written as Markdown; see package table.
func (o *output) Markdown() bool { return o.markdown }

// pipe is stdout, and remembers whether its reader has gone.
type pipe struct {
	w      io.Writer
	closed bool
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.closed = p.closed || ClosedPipe(err)
	return n, err
}

// bufferSize holds a screen or two, so that few writes reach the system.
const bufferSize = 64 << 10

// fileMode is that of new files, less the umask.
const fileMode = 0o666

// stdio is the path of standard input and output.
const stdio = "-"

// openOutput opens the file, or stdout for "" and "-".
func openOutput(path string, stdout io.Writer) (*output, error) {
	if path == "" || path == stdio {
		p := &pipe{w: stdout}
		clean := table.NewCleaner(p)
		return &output{Writer: bufio.NewWriterSize(clean, bufferSize), clean: clean, stdout: p}, nil
	}
	f, err := atomicfile.Create(path, fileMode)
	if err != nil {
		return nil, fmt.Errorf("output %w", err)
	}
	clean := table.NewCleaner(f)
	return &output{Writer: bufio.NewWriterSize(clean, bufferSize), clean: clean, file: f}, nil
}

// fit breaks long lines of text from here on; nothing may have been written.
func (o *output) fit() {
	o.prose = &prose{w: o.clean, width: o.width}
	o.Writer = bufio.NewWriterSize(o.prose, bufferSize)
}

// finish flushes and, where the program succeeded, puts the file in its place;
// otherwise nothing is left of it. It returns the program's error, or else its
// own.
func (o *output) finish(err error) error {
	if flushErr := o.Flush(); err == nil {
		err = flushErr
	}
	if o.prose != nil && err == nil {
		err = o.prose.end()
	}
	if endErr := o.clean.End(); err == nil {
		err = endErr
	}
	if o.file == nil {
		return err
	}
	return o.file.Finish(err)
}

// gone reports whether the reader of stdout went away.
func (o *output) gone() bool { return o.stdout != nil && o.stdout.closed }

// ClosedPipe reports whether a write failed because nobody reads any more.
func ClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
