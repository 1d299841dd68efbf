package testdata

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Module is the module path whose root [Root] looks for. Nested modules below
// the root have paths of their own and are passed over.
const Module = "github.com/llmstrata/strata"

// sharedDir is where the reference data lies, relative to the module's root.
const sharedDir = "../shared"

// Root returns the absolute path of the module's root directory: the nearest
// directory above the test's working directory (its package directory) whose
// go.mod declares [Module]. It fails the test where there is none.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	root, err := findRoot(dir)
	if err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	return root
}

// Shared returns the path of a file or directory of the reference data, given
// by its slash-separated path below shared (for example
// "traces/torch/train-pair-rank-0.json.gz"). Where the data or this
// part of it is absent it returns a distilled copy if there is one of the whole
// trace; else the test is skipped with a message that names the missing path. Any
// other error fails the test.
func Shared(tb testing.TB, rel string) string {
	tb.Helper()
	path := filepath.Join(Root(tb), filepath.FromSlash(sharedDir), filepath.FromSlash(rel))
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return path
	case errors.Is(err, fs.ErrNotExist):
		if path := standIn(tb, rel); path != "" {
			return path
		}
		tb.Skipf("SKIPPED, NOT CHECKED: reference data missing: %s", path)
	default:
		tb.Fatalf("testdata: %v", err)
	}
	return ""
}

// SharedGlob returns the paths of the reference files that match a
// slash-separated pattern below shared, sorted by name. It skips the test like
// [Shared] where nothing matches.
func SharedGlob(tb testing.TB, pattern string) []string {
	tb.Helper()
	full := filepath.Join(Root(tb), filepath.FromSlash(sharedDir), filepath.FromSlash(pattern))
	paths, err := filepath.Glob(full) // sorted by definition
	if err != nil {
		tb.Fatalf("testdata: pattern %q: %v", pattern, err)
	}
	if len(paths) == 0 {
		tb.Skipf("SKIPPED, NOT CHECKED: reference data missing: %s", full)
	}
	return paths
}

// Long reports whether STRATA_LONG is set: tests then leave nothing out for the
// sake of time. Otherwise those that repeat one check on many inputs take a part.
// It is a variable of the environment because "go test ./... -args -long" fails in
// every package whose tests do not register the flag.
func Long() bool { return os.Getenv("STRATA_LONG") != "" }

// raced says that the race detector watches.
var raced bool

// ManyInputs skips a test that asks the same of many inputs, one after another, where the race detector watches:
// another test of its package starts the same goroutines, and each input takes ten times as long.
func ManyInputs(t testing.TB) {
	t.Helper()
	if raced && !Long() {
		t.Skip("SKIPPED: set STRATA_LONG=1 to ask many inputs under the race detector")
	}
}

// Large is the size in bytes from which on a reference trace is read by a third
// of the tests only.
const Large = 1e6

// Spread leaves out two thirds of the large files among paths, other ones for
// each test, so that every file is read by some tests of a package, and all files
// by every test where [Long] is true. Six of the 26 traces are large, and
// take most of the time.
func Spread(tb testing.TB, paths []string) []string {
	tb.Helper()
	if Long() {
		return paths
	}
	first := int(crc32.ChecksumIEEE([]byte(tb.Name())))
	large := 0
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		info, err := os.Stat(path)
		if err != nil || info.Size() < Large {
			return false
		}
		large++
		return (first+large)%3 != 0
	})
}

// Smallest returns the n smallest files among paths, in the order of paths.
func Smallest(paths []string, n int) []string {
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	bySize := slices.SortedStableFunc(slices.Values(paths), func(a, b string) int { return cmp.Compare(size(a), size(b)) })
	kept := bySize[:min(n, len(bySize))]
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !slices.Contains(kept, path) })
}

// findRoot walks up from dir to the directory whose go.mod declares Module.
func findRoot(dir string) (string, error) {
	for at := dir; ; {
		ok, err := declaresModule(filepath.Join(at, "go.mod"))
		if err != nil {
			return "", err
		}
		if ok {
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", fmt.Errorf("no go.mod of %s above %s", Module, dir)
		}
		at = up
	}
}

// declaresModule reports whether the go.mod file at path declares Module; a
// missing file declares nothing.
func declaresModule(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if name, ok := strings.CutPrefix(sc.Text(), "module "); ok {
			return name == Module, nil
		}
	}
	return false, sc.Err()
}

// Restrict returns of a decoded JSON document got only the fields that want has,
// at every depth: what documents gained since is no difference.
func Restrict(got, want any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for k := range w {
			if v, ok := g[k]; ok {
				out[k] = Restrict(v, w[k])
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		out := make([]any, len(g))
		for i := range g {
			out[i] = Restrict(g[i], w[i])
		}
		return out
	}
	return got
}
