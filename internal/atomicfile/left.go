package atomicfile

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// A killed program cannot remove what it was writing. So a program, one that
// holds a [Guard], notes each temporary file and directory in the user's cache,
// in a file that it holds locked for as long. The next program finds the notes
// that nobody holds, and removes what they name.

// notesDir is where the notes are, "" where the system has no such place.
func notesDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "strata", "writing")
}

// temporary are the names that are given to temporary files and directories: nothing else is ever removed.
var temporary = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\..*\.[0-9]+-[0-9]+\.tmp|strata-[A-Za-z0-9-]*[0-9]+)$`)
})

// Temporary notes a temporary file or directory, best effort. Done is to be
// called when it is gone.
func Temporary(path string) (done func()) {
	done = func() {}
	inputs.Lock()
	guarded := inputs.guards > 0
	inputs.Unlock()
	dir := notesDir()
	abs, err := filepath.Abs(path)
	if !guarded || dir == "" || err != nil || os.MkdirAll(dir, 0o700) != nil {
		return done
	}
	f, err := os.CreateTemp(dir, "note-")
	if err != nil {
		return done
	}
	locked := lock(f) // before it names anything: what a note names and nobody holds is removed
	if locked {
		_, err = f.WriteString(abs)
	}
	if err != nil || !locked {
		f.Close()
		os.Remove(f.Name())
		return done
	}
	return sync.OnceFunc(func() {
		os.Remove(f.Name())
		f.Close()
	})
}

// removeKilled removes what killed programs left behind.
func removeKilled() {
	dir := notesDir()
	if dir == "" {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // nothing was ever noted
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "note-") || !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if lock(f) {
			if path, err := os.ReadFile(name); err == nil && filepath.IsAbs(string(path)) &&
				temporary().MatchString(filepath.Base(string(path))) {
				os.RemoveAll(string(path)) // best effort: it is tried again where that fails
			}
			os.Remove(name)
		}
		f.Close()
	}
}
