package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/atomicfile"
)

// write returns a function that writes text and then fails with err.
func write(text string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		_, werr := io.WriteString(w, text)
		return errors.Join(werr, err)
	}
}

// content fails the test unless the file holds text and its directory nothing
// but the named files.
func content(t *testing.T, path, text string, names ...string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != text {
		t.Errorf("%s holds %q, %v; want %q", path, b, err, text)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("directory holds %q, want %q", got, names)
	}
}

func TestFileAppearsWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	broken := errors.New("broken")
	if err := atomicfile.Write(path, 0o600, write("half", broken)); !errors.Is(err, broken) {
		t.Errorf("Write = %v, want the error of writing", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed write left a file: %v", err)
	}
	if err := atomicfile.Write(path, 0o600, write("first", nil)); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, 0o666, write("half", broken)); !errors.Is(err, broken) {
		t.Errorf("Write = %v, want the error of writing", err)
	}
	content(t, path, "first", "out")
	if err := atomicfile.Write(path, 0o666, write("second", nil)); err != nil {
		t.Fatal(err)
	}
	content(t, path, "second", "out")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a replaced file has mode %v, %v; want 0600 as before", info.Mode(), err)
	}
}

func TestLinkStaysALink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "out"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("out", link); err != nil {
		t.Skipf("SKIPPED: this system makes no links: %v", err)
	}
	if err := atomicfile.Write(link, 0o600, write("new", nil)); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != "out" {
		t.Errorf("link leads to %q, %v", to, err)
	}
	content(t, path, "new", "link", "out")
}

// A device is written to, not replaced by a file.
func TestDeviceStaysADevice(t *testing.T) {
	info, err := os.Stat(os.DevNull)
	if err != nil || info.Mode().IsRegular() {
		t.Skipf("SKIPPED: no %s: %v", os.DevNull, err)
	}
	if err := atomicfile.Write(os.DevNull, 0o600, write("gone", nil)); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is a regular file now: %v, %v", os.DevNull, info.Mode(), err)
	}
}

func TestErrorsNameTheFileThatWasAskedFor(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                                     dir + ": is a directory",
		filepath.Join(dir, "absent", "out.txt"): filepath.Join(dir, "absent", "out.txt") + ": no such file",
	} {
		if _, err := atomicfile.Create(path, 0o600); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Create(%s) = %v, want %q", path, err, want)
		}
	}
	out := filepath.Join(dir, "out.txt")
	f, err := atomicfile.Create(out, 0o600)
	if err == nil {
		err = f.Finish(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), out+": ") { // as of a full disk
		t.Errorf("a write that fails names another file: %v", err)
	}
}

// TestLeftoversOfKilledRunsAreRemoved: what nobody writes any more goes, what
// somebody writes stays, and so do the files of others.
func TestLeftoversOfKilledRunsAreRemoved(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" || runtime.GOOS == "solaris" {
		t.Skip("SKIPPED, NOT CHECKED: files are not locked on " + runtime.GOOS)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "o.json")
	left := []string{".o.json.1-0.tmp", ".o.json.999999-12.tmp"}
	others := []string{".o.json.1-0.tmp.bak", ".o.json.x-0.tmp", ".p.json.1-0.tmp", ".o.json.01-0.tmp"}
	for _, n := range append(left, others...) {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	running, err := atomicfile.Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, 0o600, write("second", nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := running.Write([]byte("first, but later")); err != nil {
		t.Fatal(err)
	}
	if err := running.Finish(nil); err != nil {
		t.Errorf("the run that was writing: %v", err)
	}
	slices.Sort(others)
	content(t, path, "first, but later", append(others, "o.json")...)
}
