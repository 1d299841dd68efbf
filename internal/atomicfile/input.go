package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// ErrInput is wrapped by what [Create] and [File.Finish] return where the file
// is one that the program reads.
var ErrInput = errors.New("it is an input of this run and would be replaced: name another file")

// inputs are the files that were opened to be read since the first of the
// guards that are held.
var inputs struct {
	sync.Mutex
	guards int
	files  map[string]fs.FileInfo // by the path they were opened under
}

// Guard makes every file that [Open] or [Note] sees an input, which no file of
// this package replaces, whatever name leads to it, until release is called. A
// program holds a guard for as long as it runs. The first one also removes
// what killed programs left (see [Temporary]). Importers of the module hold
// none: what they may replace is theirs to say.
func Guard() (release func()) {
	inputs.Lock()
	defer inputs.Unlock()
	if inputs.guards++; inputs.guards == 1 {
		removeKilled()
	}
	return sync.OnceFunc(func() {
		inputs.Lock()
		defer inputs.Unlock()
		if inputs.guards--; inputs.guards == 0 {
			inputs.files = nil
		}
	})
}

// Open opens a file to be read. All reading of files that a user can name goes
// through it: that is how an input is known.
func Open(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err == nil {
		Note(path, f)
	}
	return f, err
}

// ReadFile is [Open] for a whole file.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Note is [Open] for a file that is open already, such as the standard input.
func Note(path string, f *os.File) {
	inputs.Lock()
	defer inputs.Unlock()
	if info, err := f.Stat(); err == nil {
		note(path, info)
	}
}

// NotePath is [Note] for a file that is going to be read, where there is one.
func NotePath(path string) {
	if info, err := os.Stat(path); err == nil {
		inputs.Lock()
		defer inputs.Unlock()
		note(path, info)
	}
}

// note keeps an input; inputs is locked.
func note(path string, info fs.FileInfo) {
	if inputs.guards == 0 || !info.Mode().IsRegular() {
		return // nothing that could be replaced
	}
	if inputs.files == nil {
		inputs.files = map[string]fs.FileInfo{}
	}
	inputs.files[path] = info
}

// Release makes a file that was read one that may be replaced: the user asked
// for it, and nothing reads it any more.
func Release(path string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	inputs.Lock()
	defer inputs.Unlock()
	for p, in := range inputs.files {
		if os.SameFile(in, info) {
			delete(inputs.files, p)
		}
	}
}

// checkInput refuses to replace what is at path where that is an input.
func checkInput(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	inputs.Lock()
	defer inputs.Unlock()
	for read, in := range inputs.files {
		if os.SameFile(in, info) {
			return fmt.Errorf("%s, read as %s: %w", path, read, ErrInput)
		}
	}
	return nil
}
